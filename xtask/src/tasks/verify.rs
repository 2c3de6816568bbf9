//! `cargo xtask verify`: the random tests of `usm-array` and of the wheel, for long.

use super::test::{WHEEL_TESTS, elsewhere, pytest, require_sycl};
use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{PEERS, PYTEST, SYCL, Venv};
use crate::wheel;

/// Runs the tests of usm-array optimized, `cases` random cases for each property, on the host backend and on a SYCL device; then the
/// tests of the wheel that make random examples, with 10,000 each.
pub(crate) fn run(project: &Project, cases: u32) -> Outcome<()> {
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[PYTEST, SYCL, PEERS].concat())?;
    let tests =
        project.cargo().args(["test", "--release", "--locked", "-p", "usm-array", "--features", "ndarray"]);
    // What properties leave out grows with the cases.
    let variables = ["PROPTEST_CASES", "PROPTEST_MAX_GLOBAL_REJECTS", "PROPTEST_MAX_LOCAL_REJECTS"];
    let tests =
        variables.iter().fold(require_sycl(tests, &venv), |tests, name| tests.env(name, cases.to_string()));
    openly(tests)?;
    venv.install_wheel(&wheel::build(project)?)?;
    let pytest = pytest(project, &venv, WHEEL_TESTS).args(["-m", "hypothesis"]);
    elsewhere(project, pytest.env("USM_REQUIRE_SYCL", "1").env("USM_HYPOTHESIS", "verify"))
}
