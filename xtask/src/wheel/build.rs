//! Builds wheels with maturin from a venv of its own.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::project::{Project, quietly};
use crate::python::{MAKE, Venv};

/// Manifests of the wheel and of the example of an extension.
const MANIFEST: &str = "crates/usm-python/Cargo.toml";
const EXTENSION_MANIFEST: &str = "examples/pyext/Cargo.toml";

/// The options of a wheel for tests: built in a third of the time, with a larger and slower library.
const QUICK: &str = "--profile quick --compression-level 1";

/// The moment written into every build, so that the same sources give the same bytes: the first one
/// that a zip file can express, 1980-01-01.
const SOURCE_DATE_EPOCH: &str = "315532800";

/// Builds `target/wheels/usm-….whl`, the only file there afterwards, and returns its path.
pub(crate) fn build(project: &Project) -> Result<PathBuf> {
    maturin(project, MANIFEST, "wheels", "--profile wheel --compression-level 9")
}

/// Builds the same for tests.
pub(crate) fn build_quick(project: &Project) -> Result<PathBuf> {
    maturin(project, MANIFEST, "wheels-quick", QUICK)
}

/// Builds the wheel of the example of an extension, for tests. With the features of our wheel, it needs none of our crates once more.
pub(crate) fn build_extension(project: &Project) -> Result<PathBuf> {
    let options = format!("{QUICK} --features usm-python/svg");
    maturin(project, EXTENSION_MANIFEST, "wheels-pyext", &options)
}

fn maturin(project: &Project, manifest: &str, folder: &str, options: &str) -> Result<PathBuf> {
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    let folder = project.target.join(folder);
    project.shell.remove_path(&folder)?;
    let maturin = tools.program("maturin").args(["build", "--locked", "--manifest-path", manifest]);
    let maturin = maturin.args(options.split(' ')).arg("--interpreter").arg(&tools.executable);
    quietly(maturin.arg("--out").arg(&folder).env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH))?;
    match &project.shell.read_dir(&folder)?[..] {
        [wheel] => Ok(wheel.clone()),
        files => bail!("maturin left {} files in {} in place of one wheel", files.len(), folder.display()),
    }
}
