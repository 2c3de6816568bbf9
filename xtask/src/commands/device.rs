//! `cargo xtask test --device cuda`: the tests of the crates and of the wheel on a GPU, here or packed for another machine.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use clap::ValueEnum;

use super::demo::EXAMPLE;
use super::test::python::WHEEL_TESTS;
use super::test::rust::{DEVICE_LIBRARIES, DRIVER, STAND_IN};
use crate::project::{Project, openly, quietly};
use crate::python::{ARRAY_API_COMPAT, NUMPY, PYTEST, Venv};
use crate::report::say;
use crate::wheel;

/// Runs the packed tests, seen from the root.
const RUNNER: &str = "tests/packed/run.py";
/// The folder and its archive, in the build directory.
const FOLDER: &str = "packed";
const ARCHIVE: &str = "packed.tar.xz";
/// The programs are built here, in the build directory.
const BUILD: &str = "packed-build";

/// A CUDA device for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The first GPU.
    Cuda,
    /// The stand-in of the driver, `cuda-loopback`.
    CudaStandIn,
}

/// Runs the tests on a CUDA device.
pub(crate) fn run(project: &Project, kind: Kind) -> Result<()> {
    let folder = pack(project)?;
    let venv = Venv::with(project, "venv-cuda", &[])?;
    venv.require(&[PYTEST, NUMPY].concat(), &[])?;
    let tests = venv.python().arg(folder.join("run.py"));
    openly(match kind {
        Kind::Cuda => tests,
        Kind::CudaStandIn => tests.env(DRIVER, folder.join("rust").join(STAND_IN)),
    })
}

/// Leaves an archive with all that a machine with a GPU needs, next to Python and pytest.
pub(crate) fn archive(project: &Project) -> Result<()> {
    let folder = pack(project)?;
    compress(project, &folder, ARCHIVE)
}

/// Makes an archive of a folder, in the build directory.
pub(super) fn compress(project: &Project, folder: &Path, archive: &str) -> Result<()> {
    let archive = project.target.join(archive);
    // The programs have most of their bytes in common, some hundred megabytes apart.
    let xz = "xz --lzma2=preset=3,dict=512MiB";
    let tar = xshell::cmd!(
        project.shell,
        "tar --create --use-compress-program {xz} --file {archive} --directory {folder} ."
    );
    quietly(tar)?;
    say(&format!("unpack {} there, and run `python3 run.py` in its folder", archive.display()));
    Ok(())
}

/// Puts test programs, wheel, tests of the wheel, and the runner into a folder.
fn pack(project: &Project) -> Result<PathBuf> {
    let shell = &project.shell;
    let folder = project.target.join(FOLDER);
    shell.remove_path(&folder)?;
    let programs = shell.create_dir(folder.join("rust"))?;
    for program in test_programs(project)? {
        shell.copy_file(program, &programs)?;
    }
    // The stand-ins lie beside the programs that use them.
    for library in shell.read_dir(project.target.join(BUILD).join("debug/deps"))? {
        if library.to_string_lossy().ends_with("_loopback.so") {
            shell.copy_file(library, &programs)?;
        }
    }
    shell.copy_file(wheel::build_quick(project)?, &folder)?;
    download_providers(project, &folder)?;
    shell.copy_file(project.root.join(RUNNER), &folder)?;
    copy_parts(project, &folder, &[WHEEL_TESTS, EXAMPLE])?;
    Ok(folder)
}

/// Puts what providers need beside CuPy and PyTorch into a folder: a machine with these libraries may lack it.
pub(super) fn download_providers(project: &Project, folder: &Path) -> Result<()> {
    let venv = Venv::with(project, "venv-cuda", &[])?;
    let download = venv.python().args(["-m", "pip", "download", "-q", "--no-deps", ARRAY_API_COMPAT, "-d"]);
    quietly(download.arg(folder)).map(drop)
}

/// Copies parts of the checkout to the places in a folder that they have in the checkout, without what Python has compiled there.
pub(super) fn copy_parts(project: &Project, folder: &Path, parts: &[&str]) -> Result<()> {
    let shell = &project.shell;
    for part in parts {
        let (from, to) = (project.root.join(part), folder.join(part));
        shell.create_dir(to.parent().unwrap_or(folder))?;
        quietly(xshell::cmd!(shell, "cp -r {from} {to}"))?;
        quietly(xshell::cmd!(shell, "find {to} -path */__pycache__* -delete"))?;
    }
    Ok(())
}

/// The test programs of the libraries, built without symbols, which would be most of their size.
fn test_programs(project: &Project) -> Result<Vec<PathBuf>> {
    const KEY: &str = "\"executable\":\"";
    let build = project.cargo("").args(["test", "--no-run", "--locked", "--message-format", "json"]);
    let build = build
        .args(["--config", "profile.dev.strip=\"symbols\"", "--lib", "--tests"])
        .args(DEVICE_LIBRARIES.split(' '));
    let build = build.arg("--target-dir").arg(project.target.join(BUILD));
    let messages = quietly(build)?;
    let executable = |line: &str| {
        let (_, path) = line.split_once(KEY)?;
        Some(PathBuf::from(path.split_once('"')?.0))
    };
    let programs: Vec<_> = messages.lines().filter_map(executable).collect();
    if programs.is_empty() {
        return Err(Error::msg("cargo built no test program"));
    }
    Ok(programs)
}
