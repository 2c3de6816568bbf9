//! `cargo xtask test`: the tests of the crates and of the wheel, with SYCL where it is needed and without it where not.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the steps of the command |
//! | `rust.rs` | Rust tests and doctests |
//! | `python.rs` | pytest on a wheel |
//! | `pythons.rs` | pytest on other interpreters, a part of `cargo xtask verify` |

pub(in crate::commands) mod python;
pub(in crate::commands) mod pythons;
pub(in crate::commands) mod rust;

use std::path::PathBuf;
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Result, anyhow};

use self::python::{
    EXTENSION_TESTS, STAND_INS, WHEEL_TESTS, hide_sycl, pytest, with_sycl, without_sycl_places,
};
use super::demo::EXAMPLE;
use crate::project::{Project, openly, quietly};
use crate::python::{DASK, HEAVY_PEERS, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::{Steps, say};
use crate::wheel;

/// The crate that the tests of the wheel test.
const PYTHON_CRATE: &str = "usm-python";

/// Other libraries that must be there beside dpctl and NumPy: the variable that makes a missing one a failure, and the packages.
pub(crate) type Peers = &'static [(&'static str, &'static [&'static str])];

/// The libraries of `--peers`, and the ones of `--all-peers`.
pub(crate) const LIGHT_PEERS: Peers = &[("USM_REQUIRE_PEERS", PEERS)];
pub(crate) const ALL_PEERS: Peers = &[LIGHT_PEERS[0], ("USM_REQUIRE_ALL_PEERS", HEAVY_PEERS)];

/// The wheel, and the one of the example of an extension.
type Wheels = [PathBuf; 2];

fn build_wheels(project: &Project) -> Result<Wheels> {
    Ok([wheel::build_quick(project)?, wheel::build_extension(project)?])
}

/// Runs the tests of some crates, or of all, and prints the table of steps.
pub(crate) fn run(project: &Project, peers: Peers, packages: &[String]) -> Result<()> {
    Steps::report(|steps| match packages {
        [] => all(project, peers, steps),
        _ => some(project, peers, packages, steps),
    })
}

/// Runs all tests as steps of a bigger command. They stop at the first step that fails.
pub(super) fn all(project: &Project, peers: Peers, steps: &mut Steps) -> Result<()> {
    let [for_venvs, for_wheel] = [project.again()?, project.again()?];
    // The packages come over the network while the compiler has the cores, and two builds fill the gaps of each other.
    let wheels = thread::scope(|scope| {
        let venvs = scope.spawn(move || prepare(&for_venvs, peers));
        let wheels = scope.spawn(move || build_wheels(&for_wheel));
        let run = || {
            steps.step("build of the Rust tests", || rust::build(project))?;
            steps.step("packages for Python, begun at the start", || joined(venvs))?;
            let sycl = Venv::with(project, "venv", &[])?;
            steps.step("Rust tests", || rust::tests(project, &sycl, &[rust::SCALAR_KERNELS]))?;
            steps.step("doctests", || rust::doctests(project, &sycl, None))?;
            steps.step("wheels, begun at the start", || joined(wheels))
        };
        run().inspect_err(|_| say("    waiting for the end of what was begun at the start"))
    })?;
    wheel_tests(project, peers, &wheels, steps)
}

/// The outcome of a thread's work.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a thread of this command panicked"))?
}

/// Runs the tests of some crates as steps.
fn some(project: &Project, peers: Peers, packages: &[String], steps: &mut Steps) -> Result<()> {
    steps.step("packages for Python", || prepare(project, peers))?;
    let sycl = Venv::with(project, "venv", &[])?;
    for package in packages {
        if package == PYTHON_CRATE {
            steps.step("stand-ins of CUDA and SYCL", || rust::build_stand_ins(project))?;
            let wheels = steps.step("wheels", || build_wheels(project))?;
            wheel_tests(project, peers, &wheels, steps)?;
        } else {
            steps.step(&format!("tests of {package}"), || rust::tests_of(project, &sycl, package))?;
            let doctests = format!("doctests of {package}");
            steps.step(&doctests, || rust::doctests(project, &sycl, Some(package)))?;
        }
    }
    Ok(())
}

/// Makes and fills the venvs.
pub(super) fn prepare(project: &Project, peers: Peers) -> Result<()> {
    let peers = peers.iter().map(|(_, packages)| *packages);
    let groups: Vec<_> = [PYTEST, TYPES, SYCL, DASK, NVRTC].into_iter().chain(peers).collect();
    Venv::with(project, "venv", &groups)?;
    Venv::with(project, "venv-bare", &[PYTEST]).map(drop)
}

/// Runs the tests of the wheel and of the example of an extension as steps.
fn wheel_tests(project: &Project, peers: Peers, wheels: &Wheels, steps: &mut Steps) -> Result<()> {
    let [sycl, bare] = [Venv::with(project, "venv", &[])?, Venv::with(project, "venv-bare", &[])?];
    steps.step("installation of the wheels", || {
        for (venv, wheel) in wheels.iter().flat_map(|wheel| [(&sycl, wheel), (&bare, wheel)]) {
            venv.install_wheel(wheel)?;
        }
        Ok(())
    })?;
    let run = |tests| python::run(project, openly, tests);
    let pytest = |venv, folder| pytest(project, venv, &[folder]).env(STAND_INS, rust::stand_ins(project));
    let bare_tests = |folder| hide_sycl(pytest(&bare, folder));
    let (kernels, value) = rust::SCALAR_KERNELS;
    let sycl_tests = |folder| with_sycl(pytest(&sycl, folder), peers).env(kernels, value);
    steps.step("pytest on the stand-in of the CUDA driver", || run(python::on_stand_in(project, &sycl)))?;
    // What passed on the host backend does not run again.
    let passed = project.target.join("passed-without-sycl");
    steps.step("pytest without SYCL and NumPy", || {
        run(bare_tests(WHEEL_TESTS).arg("--write-passed").arg(&passed))
    })?;
    steps.step("pytest with SYCL", || run(sycl_tests(WHEEL_TESTS).arg("--leave-out").arg(&passed)))?;
    steps.step("pytest of the extension without SYCL and NumPy", || run(bare_tests(EXTENSION_TESTS)))?;
    steps.step("pytest of the extension with SYCL", || run(sycl_tests(EXTENSION_TESTS)))?;
    steps.step("example with SYCL", || quietly(sycl.python().arg(EXAMPLE)).map(drop))?;
    steps.step("example without SYCL", || quietly(without_sycl_places(bare.python().arg(EXAMPLE))).map(drop))
}
