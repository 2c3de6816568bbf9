//! Parts with many random cases: properties, forks, drops, orders of imports.

use anyhow::Result;

use super::Options;
use crate::commands::test::python::{Tests, WHEEL_TESTS};
use crate::commands::test::rust::require_sycl;
use crate::project::{Project, openly_for_long};
use crate::python::{PEERS, PYTEST, SYCL, Venv};
use crate::report::Steps;
use crate::wheel;

/// How many children the tests of forked children fork beside each kind of activity.
const FORKS: (&str, &str) = ("USM_TEST_FORKS", "1000");
/// How many turns the tests of random drops make.
const DROPS: (&str, &str) = ("USM_TEST_DROPS", "100000");

/// The tests of usm-array, optimized, on the host backend and on a SYCL device.
pub(super) fn properties(project: &Project, options: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("properties of usm-array", || {
        let venv = venv(project)?;
        let tests = ["test", "--release", "--locked", "-p", "usm-array", "--features", "ndarray,svg"];
        // The number of rejected cases grows with the cases.
        let variables = ["PROPTEST_CASES", "PROPTEST_MAX_GLOBAL_REJECTS", "PROPTEST_MAX_LOCAL_REJECTS"];
        let tests = require_sycl(project.cargo("").args(tests), &venv);
        let cases = options.cases.to_string();
        openly_for_long(variables.iter().fold(tests, |tests, name| tests.env(name, &cases)))
    })
}

/// The tests of the wheel that make random examples.
pub(super) fn examples(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("random examples of the wheel", || {
        let venv = with_wheel(project)?;
        let tests = wheel_tests(project, &venv).args(&["-m", "hypothesis"]).args(&NO_LIMIT);
        tests.env("USM_HYPOTHESIS", "verify").run_for_long()
    })
}

/// The tests of forked children.
pub(super) fn forks(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("forks in Rust", || {
        let crates = ["-p", "usm-core", "-p", "usm-memory", "-p", "usm-array"];
        let tests = project.cargo("").args(["test", "--locked"]).args(crates);
        let tests = tests.args(["--features", "usm-core/testing", "--test", "fork_load"]);
        openly_for_long(tests.env(FORKS.0, FORKS.1))
    })?;
    steps.step("forks in Python", || {
        let venv = with_wheel(project)?;
        let tests = wheel_tests(project, &venv).args(&["-k", "test_robust_fork"]);
        tests.env(FORKS.0, FORKS.1).args(&NO_LIMIT).run_for_long()
    })
}

/// The tests of random drops, and of memory that is dropped after a submit, on a SYCL device, with queues for all device memory and without.
pub(super) fn drops(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    for strict in ["0", "1"] {
        steps.step(&format!("drops in Rust, USM_STRICT_DEVICE={strict}"), || {
            let venv = venv(project)?;
            let tests = project.cargo("").args(["test", "--release", "--locked", "-p", "usm-memory"]);
            let tests = tests.args(["--test", "random_drops", "--test", "drop_after_submit"]);
            let tests = require_sycl(tests, &venv).env(DROPS.0, DROPS.1);
            openly_for_long(tests.env("USM_STRICT_DEVICE", strict))
        })?;
    }
    // These tests set the variable themselves.
    steps.step("drops in Python", || {
        let venv = with_wheel(project)?;
        let tests = wheel_tests(project, &venv).args(&["-k", "test_random_drops"]).args(&NO_LIMIT);
        tests.env(DROPS.0, DROPS.1).run_for_long()
    })
}

/// Each order of imports, in a process of its own.
pub(super) fn imports(project: &Project, _: &Options, steps: &mut Steps) -> Result<()> {
    steps.step("orders of imports", || {
        let venv = with_wheel(project)?;
        let tests = wheel_tests(project, &venv).args(&["-k", "test_import_order"]).args(&NO_LIMIT);
        tests.env("USM_HYPOTHESIS", "verify").run_for_long()
    })
}

/// Takes away the limit of a test, for those whose length a variable decides.
const NO_LIMIT: [&str; 2] = ["-o", "faulthandler_timeout=0"];

fn venv(project: &Project) -> Result<Venv<'_>> {
    let venv = Venv::with(project, "venv", &[])?;
    venv.require(&[PYTEST, SYCL, PEERS].concat(), &[])?;
    Ok(venv)
}

fn with_wheel(project: &Project) -> Result<Venv<'_>> {
    let venv = venv(project)?;
    venv.install_wheel(&wheel::build_quick(project)?)?;
    Ok(venv)
}

fn wheel_tests<'p>(project: &'p Project, venv: &Venv<'p>) -> Tests<'p> {
    Tests::of(project, venv, &[WHEEL_TESTS.to_owned()]).env("USM_REQUIRE_SYCL", "1")
}
