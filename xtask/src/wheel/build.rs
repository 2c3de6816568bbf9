//! Builds wheels with maturin from a venv of its own.

use std::path::PathBuf;

use anyhow::{Error, Result};

use crate::project::{Project, quietly};
use crate::python::{MAKE, Venv};

const MANIFEST: &str = "crates/usm-python/Cargo.toml";

/// The example of an extension, seen from the root.
const EXTENSION_MANIFEST: &str = "examples/pyext/Cargo.toml";

/// The moment written into every build, so that the same sources give the same bytes: the first one
/// that a zip file can express, 1980-01-01.
const SOURCE_DATE_EPOCH: &str = "315532800";

/// Builds `target/wheels/usm-….whl`, the only file there afterwards, and returns its path.
pub(crate) fn build(project: &Project) -> Result<PathBuf> {
    maturin(project, MANIFEST, "wheels", &["--profile", "wheel", "--compression-level", "9"])
}

/// Builds the same for tests: in a third of the time, with a larger and slower library.
pub(crate) fn build_quick(project: &Project) -> Result<PathBuf> {
    maturin(project, MANIFEST, "wheels-quick", &["--profile", "quick", "--compression-level", "1"])
}

/// Builds the wheel of the example of an extension, for tests. With the features of our wheel, it needs none of our crates once more.
pub(crate) fn build_extension(project: &Project) -> Result<PathBuf> {
    let options = ["--profile", "quick", "--compression-level", "1", "--features", "usm-python/svg"];
    maturin(project, EXTENSION_MANIFEST, "wheels-pyext", &options)
}

fn maturin(project: &Project, manifest: &str, folder: &str, options: &[&str]) -> Result<PathBuf> {
    let tools = Venv::with(project, "venv-tools", &[])?;
    tools.require(MAKE, &[])?;
    let shell = &project.shell;
    let folder = project.target.join(folder);
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    let maturin = tools
        .program("maturin")
        .args(["build", "--locked"])
        .args(options)
        .arg("--interpreter")
        .arg(&tools.executable)
        .arg("--out")
        .arg(&folder)
        .arg("--manifest-path")
        .arg(project.root.join(manifest))
        .env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH);
    quietly(maturin)?;
    match &shell.read_dir(&folder)?[..] {
        [wheel] => Ok(wheel.clone()),
        files => Err(Error::msg(format!(
            "maturin left {} files in {} in place of one wheel",
            files.len(),
            folder.display()
        ))),
    }
}
