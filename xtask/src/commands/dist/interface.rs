//! The public interface of the crates as text, one item a line, beside the committed baseline: a change of it shows in the review.
//!
//! The interface of the wheel has a baseline of its own, which a test of the wheel compares.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::project::{Project, openly, quietly};
use crate::report::Steps;

/// The crates that users name in their manifests, with the features whose items are for users.
const CRATES: [(&str, &str); 5] = [
    ("usm-derive", ""),
    ("sycl-sys", ""),
    ("usm-core", ""),
    ("usm-memory", "cudarc,svg"),
    ("usm-array", "ndarray,svg"),
];

/// Where the baselines are, seen from the root.
const FOLDER: &str = "docs/interface";

/// The program that lists an interface. Its version decides about the form of the lines, and which nightly toolchains it can read.
const LISTER: &str = "cargo-public-api";
const LISTER_VERSION: &str = "0.52.0";

/// Leaves out what the compiler derives for each type: blanket implementations, auto traits, derived ones.
const SHORT: [&str; 3] = ["--omit", "blanket-impls,auto-trait-impls,auto-derived-impls", "--color=never"];

/// Writes the baselines.
pub(super) fn write(project: &Project, steps: &mut Steps) -> Result<()> {
    for (name, features) in CRATES {
        steps.step(&format!("public interface of {name}"), || {
            Ok(project.shell.write_file(baseline(name), list(project, name, features)?)?)
        })?;
    }
    Ok(())
}

/// Fails where an interface differs from its baseline.
pub(super) fn compare(project: &Project, steps: &mut Steps) -> Result<()> {
    for (name, features) in CRATES {
        steps.step(&format!("public interface of {name}"), || {
            let (old, new) = (project.shell.read_file(baseline(name))?, list(project, name, features)?);
            match differences(&old, &new).as_str() {
                "" => Ok(()),
                lines => bail!(
                    "the public interface of {name} differs from {}; where that is intended: \
                     cargo xtask dist --interface\n{lines}",
                    baseline(name).display()
                ),
            }
        })?;
    }
    Ok(())
}

fn baseline(name: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("{name}.txt"))
}

/// The lines that only one text has.
fn differences(old: &str, new: &str) -> String {
    let only = |sign, of: &str, other: &str| {
        let others: Vec<_> = other.lines().collect();
        let lines = of.lines().filter(|line| !others.contains(line));
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    only('-', old, new) + &only('+', new, old)
}

/// The public interface of a crate.
fn list(project: &Project, name: &str, features: &str) -> Result<String> {
    let tools = project.target.join("tools");
    let lister = tools.join("bin").join(LISTER);
    if !project.shell.path_exists(&lister) {
        let install = project.cargo("install --locked --root").arg(&tools).arg(LISTER);
        openly(install.args(["--version", LISTER_VERSION]))?;
    }
    let command = project.command(lister).args(["public-api", "--package", name, "--features", features]);
    // Warnings of rustdoc go to the other stream.
    quietly(command.args(SHORT)).context(
        "the list of the public interface needs a nightly toolchain: rustup toolchain install nightly",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_both_sides() {
        let (old, new) = ("pub mod a\npub fn a::b()\n", "pub mod a\npub fn a::b(u8)\n");
        assert_eq!(differences(old, new), "- pub fn a::b()\n+ pub fn a::b(u8)\n");
        assert_eq!(differences(old, old), "");
    }
}
