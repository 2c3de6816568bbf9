//! The part `windows`: the library crates for Windows, and their tests under Wine.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::project::{Project, openly, openly_for_long, quietly};
use crate::report::Steps;

const TARGET: &str = "x86_64-pc-windows-gnu";

/// The crates that work there.
const CRATES: &str = "-p sycl-sys -p usm-core -p usm-memory -p usm-array --features usm-core/testing";

/// A library that the standard library needs, and that older versions of Wine do not have.
const LIBRARY: &str = "tests/wine/bcryptprimitives.rs";
const LIBRARY_NAME: &str = "bcryptprimitives.dll";

/// A program that the part needs, and the command that installs it.
const PROGRAMS: [(&str, &str); 2] =
    [("x86_64-w64-mingw32-gcc", "apt install gcc-mingw-w64-x86-64"), ("wine", "apt install wine wine64")];

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
    steps.step("tests under Wine", || {
        let libraries = project.target.join("wine-libraries");
        std::fs::create_dir_all(&libraries)?;
        let library =
            project.command("rustc").args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort"]);
        quietly(library.args(["--target", TARGET, LIBRARY]).arg("-o").arg(libraries.join(LIBRARY_NAME)))?;
        let tests = project.cargo(&format!("test --locked --target {TARGET} {CRATES} --lib --tests"));
        // The prefix is a folder of ours. Wine reports about itself what concerns no test.
        let tests = tests.env("WINEPREFIX", project.target.join("wine")).env("WINEDEBUG", "-all");
        // Some tests have children that die of faults, which no debugger is to catch.
        let tests = tests.env("WINEDLLOVERRIDES", "winedbg.exe=d");
        // Drive Z is the root of the file system. Libraries of the system come first.
        let tests = tests.env("WINEPATH", format!("Z:{}", libraries.display()).replace('/', "\\"));
        openly_for_long(tests.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine"))
    })
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
