//! A small report for the tests of what is written.

use std::collections::BTreeMap;

use super::super::machine::Machine;
use super::super::record::{Case, Contender, Report, State, Verdict};
use super::super::statistics::Summary;

/// Two cases, one of which could not be measured.
pub(super) fn report() -> Report {
    let contender = |name: &str, samples: &[f64]| Contender {
        name: name.to_owned(),
        samples: samples.to_vec(),
        missing: samples.is_empty().then(|| "no attribute".to_owned()),
    };
    let case = |name: &str, ours: &[f64]| Case {
        name: name.to_owned(),
        bytes: 0,
        unit: "ns".to_owned(),
        x: None,
        contenders: vec![contender("usm", ours), contender("NumPy", &[50.0, 50.0])],
    };
    let verdict = |case: &str, state, share, found: &str| Verdict {
        row: "views".to_owned(),
        case: case.to_owned(),
        contender: "usm".to_owned(),
        at_most: "1 × NumPy".to_owned(),
        state,
        share,
        found: found.to_owned(),
        why: "the reason".to_owned(),
        needed: vec![case.to_owned()],
    };
    let share = Summary { low: 1.9, median: 2.0, high: 2.1 };
    let machine = Machine {
        processor: "a processor".to_owned(),
        processors: 2,
        memory_bytes: 1 << 30,
        load_before: 0.0,
        load_after: 1.0,
        versions: BTreeMap::new(),
        commit: "0000000".to_owned(),
    };
    Report::new(
        true,
        machine,
        vec![case("view/a.T", &[100.0, 100.0]), case("view/a[3]", &[])],
        vec![],
        vec![
            verdict("view/a.T", State::Missed, Some(share), "2.00 × NumPy"),
            verdict("view/a[3]", State::Unmeasured, None, "usm: no attribute"),
        ],
    )
}
