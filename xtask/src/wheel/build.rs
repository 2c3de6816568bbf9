//! Builds wheels and the source distribution with maturin from a venv of its own.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::Cmd;

use super::{Platform, sbom};
use crate::project::{Project, quietly};
use crate::python::{MAKE, Venv, ZIG};

/// Manifests of the wheel and of the example of an extension.
const MANIFEST: &str = "crates/usm-python/Cargo.toml";
const EXTENSION_MANIFEST: &str = "examples/pyext/Cargo.toml";

/// The options of a wheel for users.
const PUBLISHED: &str = "--profile wheel --compression-level 9";

/// The options of a wheel for tests: built in a third of the time, with a larger and slower library.
const QUICK: &str = "--profile quick --compression-level 1";

/// The moment written into every build, so that the same sources give the same bytes: the first one
/// that a zip file can express, 1980-01-01.
const SOURCE_DATE_EPOCH: &str = "315532800";

/// The folder of all that is published, under the build directory.
const PUBLISHED_FOLDER: &str = "wheels";

/// The folder of wheels for Windows, which are not published.
const WINDOWS_FOLDER: &str = "wheels-windows";

/// Builds the wheel for this machine alone, with the C library of this machine, and returns its path.
pub(crate) fn build_native(project: &Project) -> Result<PathBuf> {
    native(project, MANIFEST, "wheels-native", PUBLISHED)
}

/// Builds the same for tests.
pub(crate) fn build_quick(project: &Project) -> Result<PathBuf> {
    native(project, MANIFEST, "wheels-quick", QUICK)
}

/// Builds the same with a sanitizer, which the variables say, for a target: the flags reach no program of the build then.
pub(crate) fn build_sanitized(
    project: &Project,
    target: &str,
    variables: [(&str, OsString); 3],
) -> Result<PathBuf> {
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    let folder = project.target.join("wheels-sanitized");
    project.shell.remove_path(&folder)?;
    // The run-time library, which the wheel does not name, has its symbols.
    let options = format!("{QUICK} --target {target} --compatibility linux --auditwheel skip");
    quietly(maturin(&tools, MANIFEST, &folder, &options).envs(variables))?;
    only_one(project, &folder, ".whl")
}

/// Builds the wheel of the example of an extension, for tests. With the features of our wheel, it needs none of our crates once more.
pub(crate) fn build_extension(project: &Project) -> Result<PathBuf> {
    let options = format!("{QUICK} --features usm-python/svg");
    native(project, EXTENSION_MANIFEST, "wheels-pyext", &options)
}

/// Builds the wheel of a platform for users, and returns its path: in `target/wheels/` where it is published.
pub(crate) fn build(project: &Project, platform: Platform) -> Result<PathBuf> {
    let folder = if platform == Platform::Windows { WINDOWS_FOLDER } else { PUBLISHED_FOLDER };
    for_platform(project, platform, folder, PUBLISHED)
}

/// Builds a wheel for tests on another platform.
pub(crate) fn build_quick_for(project: &Project, platform: Platform) -> Result<PathBuf> {
    for_platform(project, platform, &format!("wheels-quick-{}", platform.tag()), QUICK)
}

/// Builds the source distribution into `target/wheels/`, and returns its path.
pub(crate) fn build_sdist(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join(PUBLISHED_FOLDER);
    remove(project, &folder, ".tar.gz")?;
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    let maturin = tools.program("maturin").args(["sdist", "--manifest-path", MANIFEST]);
    quietly(maturin.arg("--out").arg(&folder).env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH))?;
    only_one(project, &folder, ".tar.gz")
}

/// A search path on which programs find Zig, which comes in a wheel, as the linker.
pub(crate) fn path_with_zig(tools: &Venv<'_>) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [tools.dir.join("bin")].into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).context("PATH has a folder with a colon")
}

fn native(project: &Project, manifest: &str, folder: &str, options: &str) -> Result<PathBuf> {
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    let folder = project.target.join(folder);
    project.shell.remove_path(&folder)?;
    quietly(maturin(&tools, manifest, &folder, options))?;
    only_one(project, &folder, ".whl")
}

/// With a list of crates. On Linux the linker is Zig, which has the symbols of old C libraries. On Windows it is the one of mingw-w64.
fn for_platform(project: &Project, platform: Platform, folder: &str, options: &str) -> Result<PathBuf> {
    platform.require_std(project)?;
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    let folder = project.target.join(folder);
    let ending = format!("{}.whl", platform.tag());
    remove(project, &folder, &ending)?;
    let sbom = sbom::write(project, platform)?;
    let maturin = maturin(&tools, MANIFEST, &folder, options).arg("--sbom-include").arg(sbom);
    let maturin = maturin.args(["--target", platform.target()]);
    let maturin = match platform.compatibility() {
        Some(library) => {
            tools.require(ZIG, &[])?;
            maturin.args(["--zig", "--compatibility", library]).env("PATH", path_with_zig(&tools)?)
        }
        None => maturin,
    };
    quietly(maturin)?;
    only_one(project, &folder, &ending)
}

fn maturin<'p>(tools: &Venv<'p>, manifest: &str, folder: &Path, options: &str) -> Cmd<'p> {
    let maturin = tools.program("maturin").args(["build", "--locked", "--manifest-path", manifest]);
    let maturin = maturin.args(options.split(' ')).arg("--interpreter").arg(&tools.executable);
    maturin.arg("--out").arg(folder).env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH)
}

/// The files of a folder whose names end so.
fn files(project: &Project, folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files = project.shell.read_dir(folder).unwrap_or_default();
    files.retain(|path| path.to_string_lossy().ends_with(ending));
    files
}

fn remove(project: &Project, folder: &Path, ending: &str) -> Result<()> {
    files(project, folder, ending).iter().try_for_each(|path| Ok(project.shell.remove_path(path)?))
}

fn only_one(project: &Project, folder: &Path, ending: &str) -> Result<PathBuf> {
    match &files(project, folder, ending)[..] {
        [file] => Ok(file.clone()),
        files => {
            bail!("maturin left {} files `*{ending}` in {} in place of one", files.len(), folder.display())
        }
    }
}
