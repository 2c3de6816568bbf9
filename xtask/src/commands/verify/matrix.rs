//! Parts with the tests of the gate in other settings: features, devices, interpreters, peers.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::commands::dist;
use crate::commands::test::python::{self, WHEEL_TESTS, wheel_tests};
use crate::commands::test::{ALL_PEERS, LIGHT_PEERS, pythons, rust};
use crate::project::{Project, openly, openly_for_long};
use crate::python::{ARRAY_API_SUITE, DASK, HEAVY_PEERS, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::Steps;
use crate::wheel::{self, Platform};

/// The crates whose tests differ without their default features.
const WITHOUT_DEFAULTS: &str =
    "-p sycl-sys -p usm-core -p usm-memory --features usm-core/testing --no-default-features";

/// Sets of features of the libraries whose parts are public only with them. Tests have all of these features.
const FEATURES: [&str; 4] =
    ["", "--no-default-features", "--features across-copies", "--features interpreter"];

/// Takes the short cut to device memory of a CPU away, so that the path of other devices is tested.
pub(super) const STRICT: &[(&str, &str)] = &[("USM_STRICT_DEVICE", "1")];

/// Leaves PoCL as the only driver of OpenCL.
pub(super) const POCL: &[(&str, &str)] =
    &[("USM_SYCL_AUTOCONFIG", "0"), ("OCL_ICD_FILENAMES", "libpocl.so.2")];

pub(super) fn features(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("clippy without default features", || {
        let options = "-p usm-array --all-targets -- -D warnings";
        openly(project.cargo(&format!("clippy --quiet --locked {WITHOUT_DEFAULTS} {options}")))
    })?;
    steps.step("clippy of the libraries with each set of features", || {
        FEATURES.iter().try_for_each(|features| {
            let options = format!("-p usm-core -p usm-memory -p usm-array --lib {features} -- -D warnings");
            openly(project.cargo(&format!("clippy --quiet --locked {options}")))
        })
    })?;
    steps.step("Rust tests without default features", || openly(rust::runner(project, WITHOUT_DEFAULTS)))
}

pub(super) fn modules(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("building all modules of kernels", || {
        let tests = project.cargo("test --locked -p usm-array --lib -- --ignored");
        openly(rust::require_sycl(tests, &Venv::with(project, "venv", &[SYCL])?))
    })
}

/// The tests of the wheel on the host backend, whose device memory nobody but its queues reaches.
pub(super) fn protected(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("pytest on protected device memory", || {
        let venv = Venv::with(project, "venv-bare", &[PYTEST])?;
        venv.install_wheel(&wheel::build_quick(project)?)?;
        python::run(project, openly, python::hide_sycl(python::pytest(project, &venv, &[WHEEL_TESTS])))
    })
}

pub(super) fn pythons(project: &Project, steps: &mut Steps) -> Result<()> {
    let wheel = steps.step("wheel", || wheel::build_quick(project))?;
    pythons::all(project, &wheel, steps)
}

/// The wheel as it would be published, and the kernels that users get.
pub(super) fn published(project: &Project, steps: &mut Steps) -> Result<()> {
    let native = Platform::of_this_machine()?;
    let wheel = steps.step("build and contents of the wheel", || dist::wheel(project, native))?;
    steps.step("pytest", || {
        let groups = [PYTEST, TYPES, SYCL, DASK, NVRTC, PEERS];
        python::run(project, openly, wheel_tests(project, &groups, &wheel, LIGHT_PEERS)?)
    })
}

/// All that is published, as its users would find it.
pub(super) fn packages(project: &Project, steps: &mut Steps) -> Result<()> {
    dist::checked(project, steps)
}

pub(super) fn peers(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("pytest with all peers", || {
        let groups = [PYTEST, TYPES, SYCL, DASK, PEERS, HEAVY_PEERS];
        let tests = wheel_tests(project, &groups, &wheel::build_quick(project)?, ALL_PEERS)?;
        // Some of their own tests take minutes, in one test of ours.
        python::run(project, openly, tests.args(["-o", "faulthandler_timeout=600"]))
    })
}

/// The tests about Dask: its own ones of a chunk type, and workers on two hosts, too.
pub(super) fn dask(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("pytest of Dask", || {
        let groups = [PYTEST, TYPES, SYCL, DASK, PEERS];
        let tests = wheel_tests(project, &groups, &wheel::build_quick(project)?, LIGHT_PEERS)?;
        python::run(project, openly, tests.args(["-k", "test_dask"]).env("USM_REQUIRE_DASK", "1"))
    })
}

/// Writes the figures to `docs/array-api.md`. No registry has the suite.
pub(super) fn array_api(project: &Project, clone: Option<&PathBuf>, steps: &mut Steps) -> Result<()> {
    let clone = clone.context(
        "array-api: found no --array-api CLONE, allowed is the folder of a clone with its submodule: \
         git clone --recurse-submodules https://github.com/data-apis/array-api-tests",
    )?;
    steps.step("array-api-tests", || {
        let venv = Venv::with(project, "venv", &[PYTEST, SYCL, PEERS, ARRAY_API_SUITE])?;
        venv.install_wheel(&wheel::build_quick(project)?)?;
        let suite = venv.python().arg("tests/array_api/run.py").arg(clone);
        openly(suite.args(["--report", "docs/array-api.md"]))
    })
}

/// The tests of usm-array, optimized, on the host backend and on a SYCL device.
pub(super) fn properties(project: &Project, cases: u32, steps: &mut Steps) -> Result<()> {
    steps.step("properties of usm-array", || {
        let tests = project.cargo("test --release --locked -p usm-array --features ndarray,svg");
        // The number of rejected cases grows with the cases.
        let variables = ["PROPTEST_CASES", "PROPTEST_MAX_GLOBAL_REJECTS", "PROPTEST_MAX_LOCAL_REJECTS"];
        let tests = tests.envs(variables.map(|name| (name, cases.to_string())));
        openly_for_long(rust::require_sycl(tests, &Venv::with(project, "venv", &[PYTEST, SYCL, PEERS])?))
    })
}

/// The Rust tests and the ones of the wheel with these variables.
pub(super) fn on_other_device(
    project: &Project,
    variables: &[(&str, &str)],
    steps: &mut Steps,
) -> Result<()> {
    let groups = [PYTEST, TYPES, SYCL, DASK, PEERS];
    steps.step("Rust tests", || rust::tests(project, &Venv::with(project, "venv", &groups)?, variables))?;
    steps.step("pytest", || {
        let tests = wheel_tests(project, &groups, &wheel::build_quick(project)?, LIGHT_PEERS)?;
        python::run(project, openly, tests.envs(variables.iter().copied()))
    })
}
