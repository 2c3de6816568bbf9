//! The packages of the crates: built from nothing else, and used by a program that depends on them.

use anyhow::{Context, Result, ensure};

use super::versions;
use crate::project::{Project, openly, quietly};

/// The crates that are published, in the order in which a registry takes them.
pub(in crate::commands) const PUBLISHED: [&str; 6] =
    ["usm-derive", "sycl-sys", "usm-core", "usm-memory", "usm-array", "usm-python"];

/// What each package must have beside its sources.
const REQUIRED: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The most that a package may weigh, in bytes; the registry takes ten million.
const MAX_BYTES: u64 = 4_000_000;

/// A program of a user, on the host device.
const PROGRAM: &str = r#"
use usm_array::usm_core::{Runtime, UsmKind};
use usm_array::{SliceItem, UsmArray};

fn main() -> usm_array::Result<()> {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(&runtime.select("host")?)?;
    let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_i32, 2, 3, 4, 5, 6])?;
    let mirrored = array.slice((.., SliceItem::every(-1)))?;
    assert_eq!(mirrored.to_vec::<i32>()?, [3, 2, 1, 6, 5, 4]);
    println!("usable");
    Ok(())
}
"#;

/// Packages the crates, and builds and runs a program that depends on the packages.
pub(super) fn check(project: &Project) -> Result<()> {
    let manifest = project.shell.read_file("Cargo.toml")?;
    let version = versions::of_workspace(&manifest)?;
    let selection = PUBLISHED.map(|name| format!("--package={name}"));
    for name in PUBLISHED {
        let list = quietly(project.cargo("package --locked --allow-dirty --list --package").arg(name))?;
        for file in REQUIRED {
            ensure!(list.lines().any(|line| line == file), "the package of {name} has no file {file}");
        }
        let manifest = project.shell.read_file(format!("crates/{name}/Cargo.toml"))?;
        ensure!(manifest.contains("[package.metadata.docs.rs]"), "{name} says nothing to docs.rs");
    }
    // Each package is unpacked and built, with the packages of the others in place of a registry.
    let package = project.cargo_with_python("package --locked --allow-dirty")?.args(selection);
    // A module for Python links no library of Python.
    let package = package.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    openly(package.env("CARGO_TARGET_DIR", project.target.join("package-build")))?;
    let packages = project.target.join("package-build/package");
    for name in PUBLISHED {
        let path = packages.join(format!("{name}-{version}.crate"));
        let bytes = path.metadata().with_context(|| format!("no {}", path.display()))?.len();
        ensure!(bytes <= MAX_BYTES, "{} has {bytes} bytes; at most {MAX_BYTES} are allowed", path.display());
    }
    run_program(project, version)
}

fn run_program(project: &Project, version: &str) -> Result<()> {
    let folder = project.target.join("fresh/program");
    let shell = &project.shell;
    shell.remove_path(&folder)?;
    let patches = PUBLISHED.iter().filter(|name| **name != "usm-python").map(|name| {
        let path = project.target.join(format!("package-build/package/{name}-{version}"));
        format!("{name} = {{ path = {path:?} }}\n")
    });
    let patches = patches.collect::<String>();
    shell.write_file(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"program\"\nedition = \"2024\"\n\n[dependencies]\nusm-array = \"{version}\"\n\n\
             [workspace]\n\n[patch.crates-io]\n{patches}"
        ),
    )?;
    shell.write_file(folder.join("src/main.rs"), PROGRAM)?;
    let _back_at_the_end = shell.push_dir(&folder);
    let run = project.cargo("run --quiet").env("CARGO_TARGET_DIR", project.target.join("package-build"));
    let told = quietly(run)?;
    ensure!(told.trim() == "usable", "the program on the packages said: {told}");
    Ok(())
}
