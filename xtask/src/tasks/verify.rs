//! `cargo xtask verify`: the random tests of `usm-array`, for long.

use super::test::require_sycl;
use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{SYCL, Venv};

/// Runs the tests of usm-array optimized, `cases` random cases for each property, on the host backend and on a SYCL device.
pub(crate) fn run(project: &Project, cases: u32) -> Outcome<()> {
    let venv = Venv::ensure(project, "venv")?;
    venv.require(SYCL)?;
    let tests =
        project.cargo().args(["test", "--release", "--locked", "-p", "usm-array", "--features", "ndarray"]);
    openly(require_sycl(tests, &venv).env("PROPTEST_CASES", cases.to_string()))
}
