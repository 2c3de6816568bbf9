//! How long Python takes on this machine, beside the one on which the bounds that are times were set.

use serde::Deserialize;

use super::goals::Bound;
use super::record::Case;
use super::statistics::Summary;

/// A call that has nothing of ours, and how long it took on that machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Yardstick {
    pub(super) case: String,
    pub(super) contender: String,
    pub(super) took: Bound,
}

impl Yardstick {
    /// How many times as long it took in this run, if it took part.
    fn times(&self, cases: &[Case]) -> Option<f64> {
        let case = cases.iter().find(|case| case.name == self.case)?;
        Some(case.contender(&self.contender)?.summary()?.median / self.took.value)
    }
}

/// The factor by which bounds that are times are longer here: the median of the yardsticks, and never below 1. Without any of them in the
/// run it is 1.
pub(super) fn pace(yardsticks: &[Yardstick], cases: &[Case]) -> f64 {
    let times: Vec<f64> = yardsticks.iter().filter_map(|yardstick| yardstick.times(cases)).collect();
    Summary::of(&times).map_or(1.0, |times| times.median.max(1.0))
}
