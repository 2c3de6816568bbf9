//! Builds the wheel with maturin from a venv of its own.

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::project::{Project, quietly};
use crate::python::{MAKE, Venv};

/// The moment written into every build, so that the same sources give the same bytes: the first one
/// that a zip file can express, 1980-01-01.
const SOURCE_DATE_EPOCH: &str = "315532800";

/// Builds `target/wheels/usm-….whl`, the only file there afterwards, and returns its path.
pub(crate) fn build(project: &Project) -> Outcome<PathBuf> {
    let tools = Venv::ensure(project, "venv-tools")?;
    tools.require(MAKE)?;
    let shell = project.shell();
    let folder = project.target().join("wheels");
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    let manifest = project.root().join("crates/usm-python/Cargo.toml");
    let maturin = tools
        .program("maturin")
        .args(["build", "--profile", "wheel", "--locked", "--interpreter"])
        .arg(tools.executable())
        .arg("--out")
        .arg(&folder)
        .arg("--manifest-path")
        .arg(manifest)
        .env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH);
    quietly(maturin)?;
    match &shell.read_dir(&folder)?[..] {
        [wheel] => Ok(wheel.clone()),
        files => Err(Failure::new(format!(
            "maturin left {} files in {} in place of one wheel",
            files.len(),
            folder.display()
        ))),
    }
}
