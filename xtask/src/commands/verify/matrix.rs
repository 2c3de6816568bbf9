//! Parts with the tests of the gate in other settings: features, devices, interpreters, peers.

use anyhow::{Error, Result};

use super::Options;
use crate::commands::dist;
use crate::commands::test::python::{Tests, WHEEL_TESTS};
use crate::commands::test::{Peers, pythons, rust};
use crate::project::{Project, openly};
use crate::python::{ARRAY_API_SUITE, HEAVY_PEERS, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::Steps;
use crate::wheel;

/// The crates whose tests differ without their default features.
const WITHOUT_DEFAULTS: &str =
    "-p sycl-sys -p usm-core -p usm-memory --features usm-core/testing --no-default-features";

/// Takes the short cut to device memory of a CPU away, so that the path of other devices is tested.
const STRICT: (&str, &str) = ("USM_STRICT_DEVICE", "1");

/// Leaves PoCL as the only driver of OpenCL.
const POCL: [(&str, &str); 2] = [("USM_SYCL_AUTOCONFIG", "0"), ("OCL_ICD_FILENAMES", "libpocl.so.2")];

pub(super) fn features(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("clippy without default features", || {
        let clippy =
            project.cargo("").args(["clippy", "--quiet", "--locked"]).args(WITHOUT_DEFAULTS.split(' '));
        openly(clippy.args(["-p", "usm-array", "--all-targets", "--", "-D", "warnings"]))
    })?;
    steps.step("Rust tests without default features", || {
        openly(rust::runner(project).args(WITHOUT_DEFAULTS.split(' ')))
    })
}

pub(super) fn modules(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("building all modules of kernels", || {
        let venv = Venv::with(project, "venv", &[])?;
        venv.require(SYCL, &[])?;
        let tests =
            project.cargo("").args(["test", "--locked", "-p", "usm-array", "--lib", "--", "--ignored"]);
        openly(rust::require_sycl(tests, &venv))
    })
}

pub(super) fn strict(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    on_other_device(project, &[STRICT], steps)
}

pub(super) fn pocl(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    on_other_device(project, &POCL, steps)
}

pub(super) fn pythons(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    let wheel = steps.step("wheel", || wheel::build_quick(project))?;
    pythons::all(project, &wheel, steps)
}

/// The wheel as it would be published, and the kernels that users get.
pub(super) fn published(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("build and contents of the wheel", || dist::run(project))?;
    steps.step("pytest", || {
        let venv = Venv::with(project, "venv", &[])?;
        venv.require(&[PYTEST, TYPES, SYCL, NVRTC, PEERS].concat(), &[])?;
        venv.install_wheel(&wheel::build(project)?)?;
        Tests::with_sycl(project, &venv, WHEEL_TESTS, Peers::Light).run()
    })
}

pub(super) fn peers(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("pytest with all peers", || {
        let venv = Venv::with(project, "venv", &[])?;
        venv.require(&[PYTEST, TYPES, SYCL, PEERS, HEAVY_PEERS].concat(), &[])?;
        venv.install_wheel(&wheel::build_quick(project)?)?;
        // Some of their own tests take minutes, in one test of ours.
        let tests = Tests::with_sycl(project, &venv, WHEEL_TESTS, Peers::All);
        tests.args(&["-o", "faulthandler_timeout=600"]).run()
    })
}

/// Writes the figures to `docs/array-api.md`. No registry has the suite.
pub(super) fn array_api(project: &Project, options: &Options, steps: &mut Steps) -> Result<()> {
    let Some(clone) = &options.array_api else {
        return Err(Error::msg(
            "array-api: found no --array-api CLONE, allowed is the folder of a clone with its submodule: \
             git clone --recurse-submodules https://github.com/data-apis/array-api-tests",
        ));
    };
    steps.step("array-api-tests", || {
        let venv = Venv::with(project, "venv", &[])?;
        venv.require(&[PYTEST, SYCL, PEERS, ARRAY_API_SUITE].concat(), &[])?;
        venv.install_wheel(&wheel::build_quick(project)?)?;
        let report = project.root.join("docs/array-api.md");
        openly(
            venv.python()
                .arg(project.root.join("tests/array_api/run.py"))
                .arg(clone)
                .arg("--report")
                .arg(report),
        )
    })
}

/// The Rust tests and the ones of the wheel with these variables.
fn on_other_device(project: &Project, variables: &[(&str, &str)], steps: &mut Steps) -> Result<()> {
    let venv = Venv::with(project, "venv", &[])?;
    steps.step("Rust tests", || {
        venv.require(&[PYTEST, TYPES, SYCL, PEERS].concat(), &[])?;
        rust::tests(project, &venv, variables)
    })?;
    steps.step("pytest", || {
        venv.install_wheel(&wheel::build_quick(project)?)?;
        let tests = Tests::with_sycl(project, &venv, WHEEL_TESTS, Peers::Light);
        variables.iter().fold(tests, |tests, (name, value)| tests.env(name, value)).run()
    })
}
