//! `cargo xtask verify`: the random tests of `usm-array` and of the wheel, and the tests of forked children, for long.

use super::test::{WHEEL_TESTS, elsewhere, pytest, require_sycl};
use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{PEERS, PYTEST, SYCL, Venv};
use crate::wheel;

/// How many children the tests of forked children fork beside each kind of activity.
const FORKS: (&str, &str) = ("USM_TEST_FORKS", "1000");

/// Runs the tests of usm-array optimized, `cases` random cases for each property, on the host backend and on a SYCL device; then the
/// tests of the wheel that make random examples, with 10,000 each. The tests of forked children fork 1,000 for each kind of activity.
pub(crate) fn run(project: &Project, cases: u32) -> Outcome<()> {
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[PYTEST, SYCL, PEERS].concat())?;
    let tests = project.cargo().args([
        "test",
        "--release",
        "--locked",
        "-p",
        "usm-array",
        "--features",
        "ndarray,svg",
    ]);
    // The number of rejected cases grows with the cases.
    let variables = ["PROPTEST_CASES", "PROPTEST_MAX_GLOBAL_REJECTS", "PROPTEST_MAX_LOCAL_REJECTS"];
    let tests =
        variables.iter().fold(require_sycl(tests, &venv), |tests, name| tests.env(name, cases.to_string()));
    openly(tests)?;
    let crates = ["-p", "usm-core", "-p", "usm-memory", "-p", "usm-array", "--features", "usm-core/testing"];
    let forks = project.cargo().args(["test", "--locked"]).args(crates).args(["--test", "fork_load"]);
    openly(forks.env(FORKS.0, FORKS.1))?;
    venv.install_wheel(&wheel::build(project)?)?;
    let random = pytest(project, &venv, WHEEL_TESTS).args(["-m", "hypothesis"]);
    elsewhere(project, random.env("USM_REQUIRE_SYCL", "1").env("USM_HYPOTHESIS", "verify"))?;
    let forks = pytest(project, &venv, WHEEL_TESTS).args(["-k", "test_robust_fork"]);
    elsewhere(project, forks.env("USM_REQUIRE_SYCL", "1").env(FORKS.0, FORKS.1))
}
