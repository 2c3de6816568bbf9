//! `cargo xtask ci`: the checks of continuous integration, the fastest first.

use std::thread;

use anyhow::Result;

use super::{docs, test, verify};
use crate::project::{Project, openly};
use crate::python::{STYLE, Venv};
use crate::report::Steps;

/// Runs everything, stops at the first failure, and prints the table of steps.
pub(crate) fn run(project: &Project) -> Result<()> {
    Steps::report(|steps| all(project, steps))
}

fn all(project: &Project, steps: &mut Steps) -> Result<()> {
    let peers = test::LIGHT_PEERS;
    let [for_packages, for_miri] = [project.again()?, project.again()?];
    thread::scope(|scope| {
        // Packages come over the network, and Miri has one thread: both leave a core to what runs beside.
        let packages = scope.spawn(move || test::prepare(&for_packages, peers));
        sources(project, steps)?;
        steps.step("packages for Python, begun at the start", || test::joined(packages))?;
        let miri = scope.spawn(move || verify::miri_in_gate(&for_miri));
        test::all(project, peers, steps)?;
        steps.step("site and its links", || docs::site_in_gate(project))?;
        steps.step("Miri, begun before the build of the Rust tests", || test::joined(miri))
    })
}

/// The checks that run no test.
fn sources(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("format", || openly(project.cargo("fmt --all --check")))?;
    steps.step("Python style", || {
        let tools = Venv::with(project, "venv-tools", &[STYLE])?;
        openly(tools.program("ruff").args(["check", "--quiet", "--no-cache"]))?;
        openly(tools.program("ruff").args(["format", "--quiet", "--no-cache", "--check"]))
    })?;
    steps.step("clippy", || {
        let clippy =
            project.cargo_with_python("clippy --quiet --locked --workspace --all-targets --features")?;
        // With the same features, what is checked here needs no check for the documentation.
        openly(clippy.arg(docs::ALL_FEATURES).args(["--", "-D", "warnings"]))
    })?;
    steps.step("documentation of the crates", || docs::rustdoc(project))
}
