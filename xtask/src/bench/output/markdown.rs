//! The summary: a line for each row of the goals, what could not be measured and why, what changed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::changes::{Change, Changes};
use super::super::record::{Report, State};
use super::super::statistics::{digits, readable};
use super::plot::spread;
use super::rows::rows;

/// The whole text.
pub(super) fn summary(report: &Report, changes: Option<&Changes>) -> String {
    let mut text = String::new();
    let kind = if report.quick { "quick" } else { "full" };
    let counts: Vec<String> =
        State::ALL.iter().map(|state| format!("{} {}", report.count(*state), state.words())).collect();
    let _ = writeln!(text, "# Comparison, {kind}\n\n{}\n", report.machine.words());
    let _ = writeln!(
        text,
        "{}\n\n{} goals: {}.\n",
        report.machine.load_words(),
        report.verdicts.len(),
        counts.join(", ")
    );
    goals(&mut text, report);
    unmeasured(&mut text, report);
    if let Some(changes) = changes {
        changed(&mut text, changes);
    }
    text
}

fn goals(text: &mut String, report: &Report) {
    let _ = writeln!(text, "| goal | reached | farthest from it | goal | found | share of what is allowed |");
    let _ = writeln!(text, "|---|---|---|---|---|---|");
    for row in rows(report) {
        let Some(worst) = row.worst() else { continue };
        let (found, share) = match &worst.share {
            Some(share) => (worst.found.as_str(), spread(share)),
            None => ("not measured", "–".to_owned()),
        };
        let _ = writeln!(
            text,
            "| {} | {} of {} | {}, {} | ≤ {} | {found} | {share} |",
            row.name,
            row.count(State::Reached),
            row.verdicts.len(),
            worst.case,
            worst.contender,
            worst.at_most
        );
    }
}

/// Reasons, each with what it concerns.
fn unmeasured(text: &mut String, report: &Report) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for verdict in report.verdicts.iter().filter(|verdict| verdict.state == State::Unmeasured) {
        reasons.entry(&verdict.found).or_default().push(&verdict.case);
    }
    if !reasons.is_empty() {
        let _ = writeln!(text, "\nNot measured:\n");
    }
    for (reason, cases) in reasons {
        let _ = writeln!(text, "- {}: {}", cases.join("; "), first_line(reason));
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn changed(text: &mut String, changes: &Changes) {
    let (noise, certain): (Vec<&Change>, Vec<&Change>) =
        changes.rows.iter().partition(|change| change.may_be_noise);
    let _ = writeln!(text, "\n## Since the saved run\n");
    if let Some(factor) = changes.neighbours {
        let [low, median, high] = [factor.low, factor.median, factor.high].map(digits);
        let _ = writeln!(
            text,
            "The neighbours take {median} times as long ({low} … {high}): so much is the machine.\n"
        );
    }
    let _ = writeln!(text, "| case | contender | before | now | factor |\n|---|---|---|---|---|");
    for change in certain {
        let [before, now] = [change.before, change.now].map(|summary| readable(summary.median, &change.unit));
        let _ = writeln!(
            text,
            "| {} | {} | {before} | {now} | {} |",
            change.case,
            change.contender,
            digits(change.factor())
        );
    }
    let _ = writeln!(text, "\n{} others changed less than they vary.", noise.len());
    for (what, cases) in [("Not any more", &changes.only_before), ("New", &changes.only_now)] {
        if !cases.is_empty() {
            let _ = writeln!(text, "{what}: {}.", cases.join("; "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::statistics::Summary;
    use super::super::tests_support::report;
    use super::*;

    #[test]
    fn a_summary_names_what_was_not_measured() {
        let text = summary(&report(), None);
        assert!(text.contains("2 goals: 1 missed, 1 not measured"), "{text}");
        assert!(
            text.contains(
                "| views | 0 of 2 | view/a.T, usm | ≤ 1 × NumPy | 2.00 × NumPy | 2.00 (1.90 … 2.10) |"
            ),
            "{text}"
        );
        assert!(text.contains("- view/a[3]: usm: no attribute"), "{text}");
    }

    #[test]
    fn changes_tell_noise_from_what_is_not() {
        let change = |case: &str, now: f64, may_be_noise| Change {
            case: case.to_owned(),
            contender: "usm".to_owned(),
            unit: "ns".to_owned(),
            before: Summary { low: 90.0, median: 100.0, high: 110.0 },
            now: Summary { low: now, median: now, high: now },
            may_be_noise,
        };
        let rows = vec![change("slower", 200.0, false), change("same", 105.0, true)];
        let changes =
            Changes { rows, neighbours: None, only_before: vec!["gone".to_owned()], only_now: vec![] };
        let text = summary(&report(), Some(&changes));
        assert!(text.contains("| slower | usm | 100 ns | 200 ns | 2.00 |"), "{text}");
        assert!(text.contains("1 others changed less") && !text.contains("| same"), "{text}");
        assert!(text.contains("Not any more: gone."), "{text}");
    }
}
