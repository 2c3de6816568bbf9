//! The part `windows`: the library crates for Windows, and their tests under Wine.

use std::path::Path;

use anyhow::{Result, ensure};
use xshell::Cmd;

use crate::commands::test::rust::runner;
use crate::project::{Project, openly, openly_for_long, quietly};
use crate::report::Steps;

const TARGET: &str = "x86_64-pc-windows-gnu";

/// The crates that work there.
const CRATES: &str = "-p sycl-sys -p usm-core -p usm-memory -p usm-array --features usm-core/testing";

/// A library that the standard library needs, and that older versions of Wine do not have. It goes to the libraries of the system: some
/// tests have children without variables such as PATH.
const LIBRARY: &str = "tests/wine/bcryptprimitives.rs";
const LIBRARY_AT: &str = "drive_c/windows/system32/bcryptprimitives.dll";

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
        quietly(in_wine(project.command("wine").args(["wineboot", "--init"]), &prefix))?;
        // Some tests have children that die of faults, which no debugger is to catch.
        let debugger = ["reg", "add", DEBUGGER, "/v", "Debugger", "/d", "none", "/f"];
        quietly(in_wine(project.command("wine").args(debugger), &prefix))?;
        let library = prefix.join(LIBRARY_AT);
        if library.exists() {
            return Ok(());
        }
        let make = project.command("rustc").args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort"]);
        quietly(make.args(["--target", TARGET, LIBRARY]).arg("-o").arg(library)).map(drop)
    })?;
    steps.step("tests under Wine", || {
        let tests = runner(project, &format!("--target {TARGET} {CRATES}"));
        openly_for_long(in_wine(tests, &prefix).env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine"))
    })
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
