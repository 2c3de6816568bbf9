//! Programs of other authors that parts need: those that are missing are installed under the build directory.

use std::path::PathBuf;

use anyhow::Result;

use crate::project::{Project, openly};

/// A program of crates.io, and its version.
type Tool = [&'static str; 2];

pub(super) const CARGO_FUZZ: Tool = ["cargo-fuzz", "^0.13"];
pub(super) const CARGO_DENY: Tool = ["cargo-deny", "^0.20"];
/// Its version has to know the format of the nightly toolchain's rustdoc.
pub(super) const CARGO_PUBLIC_API: Tool = ["cargo-public-api", "^0.52"];
pub(super) const CARGO_MUTANTS: Tool = ["cargo-mutants", "^27"];

/// The path of a program.
pub(super) fn installed(project: &Project, [name, version]: Tool) -> Result<PathBuf> {
    let folder = project.target.join("tools");
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        let install = project.command("cargo").args(["install", "--locked", "--root"]).arg(&folder);
        openly(install.args([name, "--version", version]))?;
    }
    Ok(program)
}
