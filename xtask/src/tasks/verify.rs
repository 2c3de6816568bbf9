//! `cargo xtask verify`: the property tests of the layout arithmetic, for long.

use crate::failure::Outcome;
use crate::project::{Project, openly};

/// Runs the tests of usm-array optimized, `cases` random cases for each property.
pub(crate) fn run(project: &Project, cases: u32) -> Outcome<()> {
    let tests = project.cargo().args(["test", "--release", "--locked", "-p", "usm-array"]);
    openly(tests.env("PROPTEST_CASES", cases.to_string()))
}
