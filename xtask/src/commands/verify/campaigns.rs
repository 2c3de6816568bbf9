//! Parts with many random cases: properties, forks, drops, ends of processes, orders of imports.

use anyhow::Result;

use crate::commands::test::python::{self, wheel_tests};
use crate::commands::test::rust::require_sycl;
use crate::project::{Project, openly_for_long};
use crate::python::{PEERS, PYTEST, SYCL, Venv};
use crate::report::Steps;
use crate::wheel;

const PACKAGES: [&[&str]; 3] = [PYTEST, SYCL, PEERS];

/// How many children the tests of forked children fork beside each kind of activity.
const FORKS: (&str, &str) = ("USM_TEST_FORKS", "1000");
/// How many turns the tests of random drops make.
const DROPS: (&str, &str) = ("USM_TEST_DROPS", "100000");
/// How many arrays eight processes share while some of them end: 10,000 each. Missing rights are a failure then.
const STORM: (&str, &str) = ("USM_TEST_STORM", "80000");
/// Many examples of properties of the wheel, and all orders of imports.
const EXAMPLES: (&str, &str) = ("USM_HYPOTHESIS", "verify");

/// The tests of usm-array, optimized, on the host backend and on a SYCL device.
pub(super) fn properties(project: &Project, cases: u32, steps: &mut Steps) -> Result<()> {
    steps.step("properties of usm-array", || {
        let tests = project.cargo("test --release --locked -p usm-array --features ndarray,svg");
        // The number of rejected cases grows with the cases.
        let variables = ["PROPTEST_CASES", "PROPTEST_MAX_GLOBAL_REJECTS", "PROPTEST_MAX_LOCAL_REJECTS"];
        let tests = tests.envs(variables.map(|name| (name, cases.to_string())));
        openly_for_long(require_sycl(tests, &Venv::with(project, "venv", &PACKAGES)?))
    })
}

/// The tests of the wheel that make random examples.
pub(super) fn examples(project: &Project, steps: &mut Steps) -> Result<()> {
    of_wheel(project, "random examples of the wheel", ["-m", "hypothesis"], EXAMPLES, steps)
}

/// The tests of forked children.
pub(super) fn forks(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("forks in Rust", || {
        let crates = "-p usm-core -p usm-memory -p usm-array --features usm-core/testing";
        openly_for_long(project.cargo(&format!("test --locked {crates} --test fork_load")).envs([FORKS]))
    })?;
    of_wheel(project, "forks in Python", ["-k", "test_robust_fork"], FORKS, steps)
}

/// The tests of random drops, and of memory that is dropped after a submit, on a SYCL device, with queues for all device memory and without.
pub(super) fn drops(project: &Project, steps: &mut Steps) -> Result<()> {
    for strict in ["0", "1"] {
        steps.step(&format!("drops in Rust, USM_STRICT_DEVICE={strict}"), || {
            let tests = "--test random_drops --test drop_after_submit";
            let tests = project.cargo(&format!("test --release --locked -p usm-memory {tests}"));
            openly_for_long(
                require_sycl(tests, &Venv::with(project, "venv", &PACKAGES)?)
                    .envs([DROPS, ("USM_STRICT_DEVICE", strict)]),
            )
        })?;
    }
    // These tests set the variable themselves.
    of_wheel(project, "drops in Python", ["-k", "test_random_drops"], DROPS, steps)
}

/// The tests of processes that are killed, and of other users, namespaces and sandboxes.
pub(super) fn processes(project: &Project, steps: &mut Steps) -> Result<()> {
    of_wheel(project, "processes that end at any moment", ["-k", "test_robust_processes"], STORM, steps)
}

/// Each order of imports, in a process of its own.
pub(super) fn imports(project: &Project, steps: &mut Steps) -> Result<()> {
    of_wheel(project, "orders of imports", ["-k", "test_import_order"], EXAMPLES, steps)
}

/// Some tests of the wheel as a step, with a variable that decides about their length, and without the limit of a test.
fn of_wheel(
    project: &Project,
    step: &str,
    selection: [&str; 2],
    variable: (&str, &str),
    steps: &mut Steps,
) -> Result<()> {
    steps.step(step, || {
        let tests = wheel_tests(project, &PACKAGES, &wheel::build_quick(project)?, &[])?;
        let tests = tests.args(selection).args(["-o", "faulthandler_timeout=0"]).envs([variable]);
        python::run(project, openly_for_long, tests)
    })
}
