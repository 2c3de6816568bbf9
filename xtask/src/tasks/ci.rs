//! `cargo xtask ci`: the checks of continuous integration, the fastest first.

use std::path::PathBuf;
use std::thread;

use super::test::rust::LIBRARIES;
use super::test::{Build, Peers};
use super::{dist, docs, test, verify};
use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{STYLE, Venv};
use crate::report::Steps;
use crate::wheel::EXTENSION_MANIFEST;

/// Runs everything, stops at the first failure, and prints the table of steps.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let mut steps = Steps::default();
    let outcome = all(project, &mut steps);
    steps.finish(outcome)
}

fn all(project: &Project, steps: &mut Steps) -> Outcome<()> {
    let peers = Peers::Light;
    let beside = project.again()?;
    thread::scope(|scope| {
        // Each takes one core, and some checks of the sources leave one free.
        let begun = scope.spawn(move || {
            test::prepare(&beside, peers)?;
            verify::miri_in_gate(&beside)
        });
        sources(project, steps)?;
        steps.step("packages for Python, and Miri, begun at the start", || test::joined(begun))
    })?;
    test::all(project, peers, Build::Released, steps)?;
    steps.step("contents of the wheel", || dist::run(project))
}

/// The checks that run no test.
fn sources(project: &Project, steps: &mut Steps) -> Outcome<()> {
    steps.step("format", || {
        openly(project.cargo().args(["fmt", "--all", "--check"]))?;
        openly(project.cargo().args(["fmt", "--check", "--manifest-path"]).arg(extension(project)))
    })?;
    steps.step("Python style", || {
        let tools = Venv::ensure(project, "venv-tools")?;
        tools.require(STYLE)?;
        openly(tools.program("ruff").args(["check", "--quiet", "--no-cache"]).arg(project.root()))?;
        openly(tools.program("ruff").args(["format", "--quiet", "--no-cache", "--check"]).arg(project.root()))
    })?;
    steps.step("clippy", || {
        let clippy = project.cargo_with_python()?.args(["clippy", "--quiet", "--locked"]);
        let all = [
            "--workspace",
            "--all-targets",
            "--features",
            "usm-core/testing,usm-array/ndarray,usm-python/svg",
        ];
        openly(clippy.args(all).args(["--", "-D", "warnings"]))
    })?;
    steps.step("clippy without default features", || {
        let clippy = project.cargo().args(["clippy", "--quiet", "--locked"]).args(LIBRARIES.split(' '));
        // The tests have their turn in `cargo xtask verify features`.
        openly(clippy.args(["--no-default-features", "--", "-D", "warnings"]))
    })?;
    steps.step("clippy of the extension", || {
        let clippy = project.cargo_with_python()?.args(["clippy", "--quiet", "--locked", "--manifest-path"]);
        // Crates of others are checked already there.
        let clippy = clippy.arg(extension(project)).arg("--target-dir").arg(project.target());
        openly(clippy.args(["--", "-D", "warnings"]))
    })?;
    steps.step("documentation", || docs::run(project))
}

fn extension(project: &Project) -> PathBuf {
    project.root().join(EXTENSION_MANIFEST)
}
