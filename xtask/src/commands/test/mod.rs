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

use anyhow::{Error, Result};

use self::python::{EXTENSION_TESTS, Tests, WHEEL_TESTS};
use super::demo::EXAMPLE;
use crate::project::{Project, quietly};
use crate::python::{HEAVY_PEERS, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::{Steps, say};
use crate::wheel;

/// The crates whose tests are those of the wheel.
const PYTHON_CRATE: &str = "usm-python";

/// Which other libraries must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// None but dpctl and NumPy
    None,
    /// The packages of [`PEERS`]
    Light,
    /// The packages of [`HEAVY_PEERS`] as well
    All,
}

impl Peers {
    /// The request of the flags `--peers` and `--all-peers`.
    pub(crate) fn asked(peers: bool, all_peers: bool) -> Self {
        match (peers, all_peers) {
            (_, true) => Self::All,
            (true, false) => Self::Light,
            (false, false) => Self::None,
        }
    }

    /// The packages to install for them.
    fn requirements(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::None => &[],
            Self::Light => &[PEERS],
            Self::All => &[PEERS, HEAVY_PEERS],
        }
    }

    /// The variables that make a missing one a failure.
    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Light => &["USM_REQUIRE_PEERS"],
            Self::All => &["USM_REQUIRE_PEERS", "USM_REQUIRE_ALL_PEERS"],
        }
    }
}

/// The wheel, and the one of the example of an extension.
struct Wheels {
    usm: PathBuf,
    extension: PathBuf,
}

impl Wheels {
    fn build(project: &Project) -> Result<Self> {
        Ok(Self { usm: wheel::build_quick(project)?, extension: wheel::build_extension(project)? })
    }
}

/// Runs the tests of some crates, or of all, and prints the table of steps.
pub(crate) fn run(project: &Project, peers: Peers, packages: &[String]) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = match packages {
        [] => all(project, peers, &mut steps),
        _ => some(project, peers, packages, &mut steps),
    };
    steps.finish(outcome)
}

/// Runs all tests as steps of a bigger command. They stop at the first step that fails.
pub(super) fn all(project: &Project, peers: Peers, steps: &mut Steps) -> Result<()> {
    let [for_venvs, for_wheel] = [project.again()?, project.again()?];
    // The packages come over the network while the compiler has the cores, and two builds fill the gaps of each other.
    let wheels = thread::scope(|scope| {
        let venvs = scope.spawn(move || prepare(&for_venvs, peers));
        let wheels = scope.spawn(move || Wheels::build(&for_wheel));
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
    let (sycl, bare) = venvs_of(project)?;
    wheel_tests(project, peers, &wheels, [&sycl, &bare], steps)
}

/// The outcome of a thread's work.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| Error::msg("a thread of this command panicked"))?
}

/// Runs the tests of some crates as steps.
fn some(project: &Project, peers: Peers, packages: &[String], steps: &mut Steps) -> Result<()> {
    steps.step("packages for Python", || prepare(project, peers))?;
    let (sycl, bare) = venvs_of(project)?;
    for package in packages {
        if package == PYTHON_CRATE {
            steps.step("stand-in of the CUDA driver", || rust::build_stand_in(project))?;
            let wheels = steps.step("wheels", || Wheels::build(project))?;
            wheel_tests(project, peers, &wheels, [&sycl, &bare], steps)?;
        } else {
            steps.step(&format!("tests of {package}"), || rust::tests_of(project, &sycl, package))?;
            steps
                .step(&format!("doctests of {package}"), || rust::doctests(project, &sycl, Some(package)))?;
        }
    }
    Ok(())
}

/// Makes and fills the venvs.
pub(super) fn prepare(project: &Project, peers: Peers) -> Result<()> {
    let sycl = Venv::with(project, "venv", &[])?;
    sycl.require(&[&[PYTEST, TYPES, SYCL, NVRTC], peers.requirements()].concat().concat(), &[])?;
    Venv::with(project, "venv-bare", &[])?.require(PYTEST, &[])
}

/// The venvs with SYCL and without, in this order.
fn venvs_of(project: &Project) -> Result<(Venv<'_>, Venv<'_>)> {
    Ok((Venv::with(project, "venv", &[])?, Venv::with(project, "venv-bare", &[])?))
}

/// Runs the tests of the wheel and of the example of an extension as steps.
fn wheel_tests(
    project: &Project,
    peers: Peers,
    wheels: &Wheels,
    venvs: [&Venv<'_>; 2],
    steps: &mut Steps,
) -> Result<()> {
    let [sycl, bare] = venvs;
    steps.step("installation of the wheels", || {
        for venv in venvs {
            venv.install_wheel(&wheels.usm)?;
            venv.install_wheel(&wheels.extension)?;
        }
        Ok(())
    })?;
    steps.step("pytest on the stand-in of the CUDA driver", || Tests::stand_in(project, sycl).run())?;
    // What passed on the host backend does not run again.
    let passed = project.target.join("passed-without-sycl").display().to_string();
    let bare_tests = |folder| Tests::without_sycl(project, bare, folder);
    let (kernels, value) = rust::SCALAR_KERNELS;
    let sycl_tests = |folder| Tests::with_sycl(project, sycl, folder, peers).env(kernels, value);
    steps.step("pytest without SYCL and NumPy", || {
        bare_tests(WHEEL_TESTS).args(&["--write-passed", &passed]).run()
    })?;
    steps.step("pytest with SYCL", || sycl_tests(WHEEL_TESTS).args(&["--leave-out", &passed]).run())?;
    steps.step("pytest of the extension without SYCL and NumPy", || bare_tests(EXTENSION_TESTS).run())?;
    steps.step("pytest of the extension with SYCL", || sycl_tests(EXTENSION_TESTS).run())?;
    steps.step("example with SYCL", || quietly(example(project, sycl)).map(drop))?;
    steps.step("example without SYCL", || quietly(python::hide_sycl(example(project, bare))).map(drop))
}

fn example<'p>(project: &Project, venv: &Venv<'p>) -> xshell::Cmd<'p> {
    venv.python().arg(project.root.join(EXAMPLE))
}
