//! `cargo xtask test --device cuda`: the tests of the crates and of the wheel on a GPU, here or packed for another machine.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;

use super::test::python::WHEEL_TESTS;
use super::test::rust::{self, DEVICE_LIBRARIES, DRIVER, STAND_IN, TestProgram};
use crate::project::{Project, openly, quietly};
use crate::python::{ARRAY_API_COMPAT, NUMPY, PYTEST, Venv};
use crate::report::say;
use crate::wheel;

/// Runs the packed tests, seen from the root.
const RUNNER: &str = "tests/packed/run.py";
/// The programs that tests of the wheel run, seen from the root.
const EXAMPLES: &str = "examples";
/// The folder and its archive, in the build directory.
const FOLDER: &str = "packed";
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
    let tests = Venv::with(project, "venv-cuda", &[PYTEST, NUMPY])?.python().arg(folder.join("run.py"));
    openly(match kind {
        Kind::Cuda => tests,
        Kind::CudaStandIn => tests.env(DRIVER, folder.join("rust").join(STAND_IN)),
    })
}

/// Leaves an archive with all that a machine with a GPU needs, next to Python and pytest.
pub(crate) fn archive(project: &Project) -> Result<()> {
    pack(project).and_then(|folder| compress(project, &folder))
}

/// Makes an archive of a folder, beside it.
pub(super) fn compress(project: &Project, folder: &Path) -> Result<()> {
    let archive = folder.with_extension("tar.xz");
    // The programs have most of their bytes in common, some hundred megabytes apart.
    let xz = "xz --lzma2=preset=3,dict=512MiB";
    quietly(xshell::cmd!(
        project.shell,
        "tar --create --use-compress-program {xz} --file {archive} --directory {folder} ."
    ))?;
    say(&format!("unpack {} there, and run `python3 run.py` in its folder", archive.display()));
    Ok(())
}

/// Puts test programs, wheel, tests of the wheel, and the runner into a folder.
fn pack(project: &Project) -> Result<PathBuf> {
    let folder = start(project, FOLDER, &wheel::build_quick(project)?, RUNNER, &[WHEEL_TESTS, EXAMPLES])?;
    let programs = project.shell.create_dir(folder.join("rust"))?;
    for program in test_programs(project)? {
        project.shell.copy_file(program.file, &programs)?;
    }
    copy_stand_ins(project, &programs)?;
    Ok(folder)
}

/// Makes a folder with the wheel, with what providers need beside CuPy and PyTorch, which a machine with these libraries may lack,
/// with a program as `run.py`, and with parts of the checkout at the places that they have there.
pub(super) fn start(
    project: &Project,
    name: &str,
    wheel: &Path,
    runner: &str,
    parts: &[&str],
) -> Result<PathBuf> {
    let shell = &project.shell;
    let folder = project.target.join(name);
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    shell.copy_file(wheel, &folder)?;
    let venv = Venv::with(project, "venv-cuda", &[])?;
    let download = venv.python().args(["-m", "pip", "download", "-q", "--no-deps", ARRAY_API_COMPAT, "-d"]);
    quietly(download.arg(&folder))?;
    shell.copy_file(project.root.join(runner), folder.join("run.py"))?;
    quietly(xshell::cmd!(shell, "cp -r --parents {parts...} {folder}"))?;
    // What Python has compiled stays here.
    quietly(xshell::cmd!(shell, "find {folder} -path */__pycache__* -delete"))?;
    Ok(folder)
}

/// The test programs of the libraries, built without symbols, which would be most of their size.
pub(super) fn test_programs(project: &Project) -> Result<Vec<TestProgram>> {
    let build = project.cargo("test --no-run --locked --lib --tests");
    let build = build.args(["--config", "profile.dev.strip=\"symbols\""]).args(DEVICE_LIBRARIES.split(' '));
    rust::programs(build.arg("--target-dir").arg(project.target.join(BUILD)))
}

/// Copies the stand-ins, which are built with the test programs, beside the programs that use them.
pub(super) fn copy_stand_ins(project: &Project, programs: &Path) -> Result<()> {
    let built = project.shell.read_dir(project.target.join(BUILD).join("debug/deps"))?;
    let stand_ins = built.into_iter().filter(|file| file.to_string_lossy().ends_with("_loopback.so"));
    Ok(stand_ins.into_iter().try_for_each(|file| project.shell.copy_file(file, programs))?)
}
