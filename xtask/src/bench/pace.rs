//! How long Python takes on this machine at the moment, beside the one on which the bounds that are times were set.

use serde::Deserialize;

use super::bound::Bound;
use super::record::Case;
use super::statistics::Summary;

/// A contender that has nothing of ours, and how long it took on that machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Yardstick {
    contender: String,
    took: Bound,
}

impl Yardstick {
    /// The factors by which bounds that are times are longer in each round of a case, none below 1; nothing where the contender does not
    /// take part.
    pub(super) fn factors(&self, case: &Case) -> Option<Vec<f64>> {
        let samples = &case.contender(&self.contender)?.samples;
        let factors: Vec<f64> = samples.iter().map(|sample| (sample / self.took.value).max(1.0)).collect();
        Summary::of(&factors).map(|_| factors)
    }
}
