//! `cargo xtask bench`: the criterion benchmarks.

use crate::failure::Outcome;
use crate::project::{Project, openly};

/// Runs `cargo bench` of usm-bench; `args` go to criterion.
pub(crate) fn run(project: &Project, args: &[String]) -> Outcome<()> {
    openly(project.cargo().args(["bench", "--locked", "-p", "usm-bench", "--"]).args(args))
}
