//! Drawings of series: what a copy costs by its bytes, by its rank, by what else is live.

use std::fmt::Write;

use super::super::record::{Case, Report};
use super::super::statistics::{Summary, readable};
use super::plot::{Scale, escape};

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 320.0;
const COLOURS: [&str; 8] =
    ["#0b6e99", "#c05a00", "#2b7a2b", "#8a2be2", "#b00030", "#666600", "#008080", "#444444"];

/// One drawing for each group that has series.
pub(super) fn drawings(report: &Report) -> String {
    let mut groups: Vec<&str> = vec![];
    for case in report.cases.iter().filter(|case| case.series().is_some()) {
        if !groups.contains(&case.group()) {
            groups.push(case.group());
        }
    }
    groups.into_iter().map(|group| drawing(group, report)).collect()
}

/// A series: its name, and a place, a cost and its spread for each member.
struct Line<'r> {
    name: &'r str,
    points: Vec<(f64, Summary)>,
}

fn lines<'r>(group: &str, report: &'r Report) -> Vec<Line<'r>> {
    let mut lines: Vec<Line<'r>> = vec![];
    for case in report.cases.iter().filter(|case| case.group() == group) {
        let (Some(name), Some(point)) = (case.series(), point(case)) else { continue };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    lines
}

/// For each MiB where the case has bytes.
#[expect(clippy::cast_precision_loss)]
fn point(case: &Case) -> Option<(f64, Summary)> {
    let summary = case.ours()?.summary()?;
    let share = if case.bytes > 0 { f64::from(1 << 20) / case.bytes as f64 } else { 1.0 };
    Some((case.x?, summary.scaled(share)))
}

fn drawing(group: &str, report: &Report) -> String {
    let lines = lines(group, report);
    let points = || lines.iter().flat_map(|line| &line.points);
    if points().count() == 0 {
        return String::new();
    }
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = ends(&mut points().map(|(x, _)| *x));
    let (low, _) = ends(&mut points().map(|(_, y)| y.low));
    let (_, high) = ends(&mut points().map(|(_, y)| y.high));
    let x = Scale { low: left, high: right.max(left * 1.01), from: 70.0, to: WIDTH - 15.0 };
    let y = Scale { low: low / 1.2, high: high * 1.2, from: HEIGHT - 30.0, to: 15.0 };
    let per_byte =
        report.cases.iter().any(|case| case.group() == group && case.x.is_some() && case.bytes > 0);
    let what = if per_byte { "time for each MiB of the result" } else { "time" };
    let mut svg = format!(
        r#"<figure><figcaption>{}: {what}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" class="plot">"#,
        escape(group)
    );
    for tick in y.ticks(2.0) {
        let at = y.at(tick);
        let _ = write!(svg, r#"<line class="grid" x1="70" x2="{WIDTH}" y1="{at:.1}" y2="{at:.1}"/>"#);
        let _ =
            write!(svg, r#"<text class="label" x="64" y="{:.1}">{}</text>"#, at + 4.0, readable(tick, "ns"));
    }
    let mut places: Vec<f64> = points().map(|(x, _)| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    for place in places {
        let unit = if group == "bytes" { readable(place, "B") } else { place.to_string() };
        let _ = write!(
            svg,
            r#"<text class="tick" x="{:.1}" y="{:.1}">{unit}</text>"#,
            x.at(place),
            HEIGHT - 10.0
        );
    }
    let mut legend = String::new();
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let path: Vec<String> = line
            .points
            .iter()
            .map(|(at, cost)| format!("{:.1},{:.1}", x.at(*at), y.at(cost.median)))
            .collect();
        let _ = write!(svg, r#"<polyline fill="none" stroke="{colour}" points="{}"/>"#, path.join(" "));
        for (at, cost) in &line.points {
            let (at, top, bottom) = (x.at(*at), y.at(cost.high), y.at(cost.low));
            let _ = write!(
                svg,
                r#"<line stroke="{colour}" x1="{at:.1}" x2="{at:.1}" y1="{top:.1}" y2="{bottom:.1}"/>"#
            );
            let _ =
                write!(svg, r#"<circle fill="{colour}" cx="{at:.1}" cy="{:.1}" r="3"/>"#, y.at(cost.median));
        }
        let _ = write!(legend, r#"<span style="color:{colour}">■ {}</span> "#, escape(line.name));
    }
    format!("{svg}</svg><p>{legend}</p></figure>")
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::report;
    use super::*;

    #[test]
    fn a_series_is_drawn_for_each_byte() {
        let mut report = report();
        let mut case = report.cases[0].clone();
        report.cases = [1_u32, 4]
            .map(|mib| {
                case.name = format!("bytes/transpose/{mib} MiB");
                case.bytes = u64::from(mib) << 20;
                case.x = Some(f64::from(mib));
                case.clone()
            })
            .to_vec();
        let lines = lines("bytes", &report);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].name, "bytes/transpose");
        let costs: Vec<f64> = lines[0].points.iter().map(|(_, cost)| cost.median).collect();
        assert_eq!(costs, [100.0, 25.0]);
        assert!(drawings(&report).contains("for each MiB"));
    }
}
