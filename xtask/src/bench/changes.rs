//! What changed since a saved run, and which of it may be noise.

use super::record::{Case, Contender, Report};
use super::statistics::Summary;

/// All contenders that both runs have.
pub(super) struct Changes {
    pub(super) rows: Vec<Change>,
    /// Factors of the neighbours, who did not change: how much the machine did.
    pub(super) neighbours: Option<Summary>,
    /// Cases that only one of them has.
    pub(super) only_before: Vec<String>,
    pub(super) only_now: Vec<String>,
}

/// One of ours.
pub(super) struct Change {
    pub(super) case: String,
    pub(super) contender: String,
    pub(super) unit: String,
    pub(super) before: Summary,
    pub(super) now: Summary,
    /// The middle halves of the samples have something in common.
    pub(super) may_be_noise: bool,
}

impl Change {
    /// Above 1: it takes longer now.
    pub(super) fn factor(&self) -> f64 {
        self.now.median / self.before.median
    }
}

/// Compares by the names of cases and contenders.
pub(super) fn between(before: &Report, now: &Report) -> Changes {
    let pairs = now.cases.iter().filter_map(|case| Some((find(before, &case.name)?, case)));
    let all: Vec<(bool, Change)> = pairs.flat_map(|(before, now)| changes(before, now)).collect();
    let neighbours: Vec<f64> =
        all.iter().filter(|(ours, _)| !ours).map(|(_, change)| change.factor()).collect();
    let mut rows: Vec<Change> = all.into_iter().filter(|(ours, _)| *ours).map(|(_, change)| change).collect();
    // What is certain first, the biggest first.
    let size = |change: &Change| change.factor().ln().abs();
    rows.sort_by(|a, b| a.may_be_noise.cmp(&b.may_be_noise).then(size(b).total_cmp(&size(a))));
    Changes {
        rows,
        neighbours: Summary::of(&neighbours),
        only_before: missing(before, now),
        only_now: missing(now, before),
    }
}

fn find<'r>(report: &'r Report, name: &str) -> Option<&'r Case> {
    report.cases.iter().find(|case| case.name == name)
}

fn missing(from: &Report, other: &Report) -> Vec<String> {
    let gone = from.cases.iter().filter(|case| find(other, &case.name).is_none());
    gone.map(|case| case.name.clone()).collect()
}

/// Of one case, each with whether it is one of ours.
fn changes(before: &Case, now: &Case) -> Vec<(bool, Change)> {
    let change = |contender: &Contender| {
        let (before, after) = (before.contender(&contender.name)?.summary()?, contender.summary()?);
        let change = Change {
            case: now.name.clone(),
            contender: contender.name.clone(),
            unit: now.unit.clone(),
            before,
            now: after,
            may_be_noise: !after.is_apart_from(&before),
        };
        Some((contender.name.starts_with("usm"), change))
    };
    now.contenders.iter().filter_map(change).collect()
}
