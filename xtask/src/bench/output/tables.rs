//! The tables of the report.

use std::fmt::Write;

use super::super::changes::Changes;
use super::super::record::{Case, Criterion, Report, State, Verdict};
use super::super::statistics::{Summary, digits, readable};
use super::plot::{boxes, escape, spread};

/// Every goal.
pub(super) fn goals(verdicts: &[Verdict]) -> String {
    let mut table =
        "<table><tr><th>goal<th>case<th>contender<th>at most<th>found<th>share of what is allowed<th>\n"
            .to_owned();
    for verdict in verdicts {
        let share = verdict.share.as_ref().map_or_else(String::new, spread);
        let state = verdict.state.words();
        let _ = writeln!(
            table,
            "<tr class=\"{}\"><td>{}<td>{}<td>{}<td>{}<td>{}<td>{share}<td>{state}",
            state.replace(' ', "-"),
            escape(&verdict.row) + &why(verdict),
            escape(&verdict.case),
            escape(&verdict.contender),
            escape(&verdict.at_most),
            escape(&verdict.found),
        );
    }
    table + "</table>"
}

/// What the file of goals says to a missed one.
fn why(verdict: &Verdict) -> String {
    if matches!(verdict.state, State::Missed | State::AtFloor) && !verdict.why.is_empty() {
        return format!("<br><small>{}</small>", escape(&verdict.why));
    }
    String::new()
}

/// A table for each group, a column for each contender.
pub(super) fn cases(report: &Report) -> String {
    let mut groups: Vec<(&str, Vec<&Case>)> = vec![];
    for case in &report.cases {
        match groups.iter_mut().find(|(group, _)| *group == case.group()) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((case.group(), vec![case])),
        }
    }
    groups
        .into_iter()
        .map(|(group, cases)| format!("<h3>{}</h3>{}", escape(group), of_group(&cases)))
        .collect()
}

fn of_group(cases: &[&Case]) -> String {
    let mut names: Vec<&str> = vec![];
    for contender in cases.iter().flat_map(|case| &case.contenders) {
        if !names.contains(&contender.name.as_str()) {
            names.push(&contender.name);
        }
    }
    let heads: String = names.iter().map(|name| format!("<th>{}", escape(name))).collect();
    let mut table = format!("<table><tr><th>case{heads}<th>samples\n");
    for case in cases {
        let _ = write!(table, "<tr><td>{}", escape(&case.name));
        for name in &names {
            let _ = write!(table, "<td>{}", cell(case, name));
        }
        let drawn: Vec<(&str, &[f64], Summary)> = case
            .contenders
            .iter()
            .filter_map(|contender| {
                Some((contender.name.as_str(), &contender.samples[..], contender.summary()?))
            })
            .collect();
        let _ = writeln!(table, "<td>{}", boxes(&drawn));
    }
    table + "</table>"
}

/// The median with its quartiles, and how many times as long ours takes.
fn cell(case: &Case, name: &str) -> String {
    let Some(contender) = case.contender(name) else { return String::new() };
    let Some(found) = contender.summary() else {
        let reason = contender.missing.as_deref().unwrap_or("it gave no number");
        return format!("<span class=\"none\" title=\"{}\">not measured</span>", escape(reason));
    };
    let [low, median, high] = [found.low, found.median, found.high].map(|value| readable(value, &case.unit));
    let ours = case.ours().filter(|ours| ours.name != contender.name);
    let ratio = ours.and_then(|ours| Summary::of_ratios(&ours.samples, &contender.samples));
    let ratio = ratio.map_or_else(String::new, |ratio| {
        format!(
            "<br><b title=\"{} … {}\">ours {} ×</b>",
            digits(ratio.low),
            digits(ratio.high),
            digits(ratio.median)
        )
    });
    format!("<span title=\"{low} … {high}, {} rounds\">{median}</span>{ratio}", contender.samples.len())
}

/// What criterion found.
pub(super) fn criterion(found: &[Criterion]) -> String {
    if found.is_empty() {
        return "<p>Criterion did not run: quick runs and checks leave it out.</p>".to_owned();
    }
    let mut table = "<table><tr><th>benchmark<th>median<th>95 % of its estimates\n".to_owned();
    for one in found {
        let [median, low, high] = [one.median, one.low, one.high].map(|value| readable(value, "ns"));
        let _ = writeln!(table, "<tr><td>{}<td>{median}<td>{low} … {high}", escape(&one.name));
    }
    table + "</table>"
}

/// What changed since the saved run.
pub(super) fn changes(changes: &Changes) -> String {
    let machine = changes.neighbours.as_ref().map_or_else(String::new, |factor| {
        format!("<p>The neighbours take {} times as long: so much is the machine.</p>", spread(factor))
    });
    let mut table = "<table><tr><th>case<th>contender<th>before<th>now<th>factor<th>\n".to_owned();
    for change in &changes.rows {
        let of = |summary: Summary| {
            let [low, median, high] =
                [summary.low, summary.median, summary.high].map(|value| readable(value, &change.unit));
            format!("{median} ({low} … {high})")
        };
        let _ = writeln!(
            table,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&change.case),
            escape(&change.contender),
            of(change.before),
            of(change.now),
            digits(change.factor()),
            if change.may_be_noise { "may be noise" } else { "" }
        );
    }
    machine + &table + "</table>"
}
