//! The performance page of the guide: what is fast, what is not, and why, out of a run.

use std::fmt::Write;

use super::super::record::{Case, Report, State};
use super::super::statistics::{Summary, digits, readable};
use super::rows::{Row, rows};
use crate::failure::{Failure, Outcome};

/// The neighbours of the tables, in this order.
const NEIGHBOURS: [&str; 6] = ["NumPy", "dpnp", "dpctl", "ndarray", "C", "limit"];

/// Refuses runs that the page must not tell of.
pub(super) fn worthy(report: &Report) -> Outcome<()> {
    let objection = if report.quick || report.count(State::LeftOut) > 0 {
        "the page tells of whole runs: leave --quick and --case out"
    } else if report.machine.was_busy() {
        "the machine was busy with other work: the page needs a quiet one"
    } else {
        return Ok(());
    };
    Err(Failure::new(objection))
}

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "# Performance\n\n\
         Written by `cargo xtask bench --page`, {}. Do not edit: reasons stand in `crates/usm-bench/goals.toml`.\n\
         [How this is measured](benchmarks.md), the decisions: [PERFORMANCE.md](../PERFORMANCE.md).\n\n{}\n",
        report.date(),
        report.machine.words()
    );
    let rows = rows(report);
    let (reached, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| row.is_reached());
    let (missed, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        others.into_iter().partition(|row| row.count(State::Missed) > 0);
    let (known, unmeasured): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        others.into_iter().partition(|row| row.count(State::AtFloor) > 0);
    section(&mut text, "What reaches its goal", &reached);
    section(&mut text, "What misses its goal, with a known reason", &known);
    section(&mut text, "What misses its goal", &missed);
    section(&mut text, "What could not be measured", &unmeasured);
    side_by_side(&mut text, report);
    text
}

fn section(text: &mut String, title: &str, rows: &[&Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "## {title}\n\n| | goal | farthest from it | found |\n|---|---|---|---|");
    for row in rows {
        if let Some(worst) = row.worst() {
            let found = worst.found.lines().next().unwrap_or_default();
            let _ = writeln!(
                text,
                "| {} | ≤ {} | `{}`, {} | {found} |",
                row.name, worst.at_most, worst.case, worst.contender
            );
        }
    }
    text.push('\n');
    for row in rows.iter().filter(|row| row.count(State::Missed) + row.count(State::AtFloor) > 0) {
        if let Some(why) = row.verdicts.iter().map(|verdict| &verdict.why).find(|why| !why.is_empty()) {
            let _ = writeln!(text, "**{}**: {why}\n", row.name);
        }
    }
}

/// Every case: ours, and how many times as long the others take.
fn side_by_side(text: &mut String, report: &Report) {
    let _ = writeln!(
        text,
        "## Side by side\n\nThe numbers of the others are how many times as long they take as ours.\n"
    );
    let _ = writeln!(text, "| case | ours | {} |", NEIGHBOURS.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(NEIGHBOURS.len()));
    for case in &report.cases {
        let Some((ours, found)) = case.ours().and_then(|ours| Some((ours, ours.summary()?))) else {
            continue;
        };
        let times = NEIGHBOURS.map(|name| times(case, &ours.samples, name));
        let ours = readable(found.median, &case.unit);
        let _ = writeln!(text, "| `{}` | {ours} | {} |", case.name, times.join(" | "));
    }
}

fn times(case: &Case, ours: &[f64], name: &str) -> String {
    let contender = case.contender(name);
    let ratio = contender.and_then(|contender| Summary::of_ratios(&contender.samples, ours));
    ratio.map_or_else(String::new, |ratio| digits(ratio.median))
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::report;
    use super::*;

    #[test]
    fn what_is_missed_has_its_reason() {
        let page = page(&report());
        assert!(page.contains("## What misses its goal\n"), "{page}");
        assert!(page.contains("| views | ≤ 1 × NumPy | `view/a.T`, usm | 2.00 × NumPy |"), "{page}");
        assert!(page.contains("**views**: the reason"), "{page}");
        assert!(page.contains("| `view/a.T` | 100 ns | 0.50 |"), "{page}");
    }

    #[test]
    fn only_whole_runs_of_quiet_machines_are_worthy() {
        let mut report = report();
        report.verdicts.retain(|verdict| verdict.state != State::LeftOut);
        assert!(worthy(&report).is_err());
        report.quick = false;
        assert!(worthy(&report).is_ok());
        report.machine.load_before = 2.0;
        assert!(worthy(&report).is_err());
        report.machine.load_before = 0.0;
        let state = std::mem::replace(&mut report.verdicts[0].state, State::LeftOut);
        assert!(worthy(&report).is_err());
        report.verdicts[0].state = state;
        assert!(worthy(&report).is_ok());
    }
}
