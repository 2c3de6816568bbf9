//! Drawings in SVG: shares on a scale of factors, and boxes of how samples are spread.

use std::fmt::Write;

use super::super::record::{State, Verdict};
use super::super::statistics::{Summary, digits};

const WIDTH: f64 = 960.0;
const LABELS: f64 = 360.0;
const LINE: f64 = 15.0;

/// Text between tags.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A scale whose equal steps are equal factors.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Scale {
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share.min(1.0) * (self.to - self.from)
    }

    /// Powers of `base` within.
    pub(super) fn ticks(&self, base: f64) -> Vec<f64> {
        let mut tick = base.powf((self.low.ln() / base.ln()).ceil());
        let mut ticks = vec![];
        while tick <= self.high * 1.000_1 && ticks.len() < 40 {
            ticks.push(tick);
            tick *= base;
        }
        ticks
    }
}

/// One line for each verdict that has a number: 1 is just what is allowed.
pub(super) fn shares(verdicts: &[&Verdict]) -> String {
    let measured: Vec<(&Verdict, Summary)> =
        verdicts.iter().filter_map(|verdict| Some((*verdict, verdict.share?))).collect();
    if measured.is_empty() {
        return String::new();
    }
    let ends = measured.iter().fold((0.5, 2.0), |(low, high): (f64, f64), (_, share)| {
        (low.min(share.low.max(1e-3)), high.max(share.high.min(1e4)))
    });
    let scale = Scale { low: ends.0 / 1.1, high: ends.1 * 1.1, from: LABELS, to: WIDTH - 20.0 };
    #[expect(clippy::cast_precision_loss)]
    let height = LINE * (measured.len() + 2) as f64;
    let mut svg = format!(r#"<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" class="plot">"#);
    for tick in [0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 1000.0] {
        if tick < scale.low || tick > scale.high {
            continue;
        }
        let (x, class) = (scale.at(tick), if tick == 1.0 { "goal" } else { "grid" });
        let _ = write!(svg, r#"<line class="{class}" x1="{x:.1}" x2="{x:.1}" y1="{LINE}" y2="{height}"/>"#);
        let _ = write!(svg, r#"<text class="tick" x="{x:.1}" y="11">{tick}</text>"#);
    }
    for (index, (verdict, share)) in measured.iter().enumerate() {
        #[expect(clippy::cast_precision_loss)]
        let y = LINE * (index as f64 + 1.7);
        let class = match verdict.state {
            State::Reached => "reached",
            State::AtFloor => "known",
            _ => "missed",
        };
        let [low, median, high] = [share.low, share.median, share.high].map(|value| scale.at(value));
        let title =
            format!("{}, {}: {} (goal {})", verdict.case, verdict.contender, verdict.found, verdict.at_most);
        let _ = write!(
            svg,
            r#"<g class="{class}"><title>{}</title><text class="label" x="{:.1}" y="{:.1}">{}</text><line x1="{low:.1}" x2="{high:.1}" y1="{y:.1}" y2="{y:.1}"/><circle cx="{median:.1}" cy="{y:.1}" r="3.5"/></g>"#,
            escape(&title),
            LABELS - 8.0,
            y + 4.0,
            escape(&format!("{}, {}", verdict.case, verdict.contender)),
        );
    }
    svg + "</svg>"
}

/// Each contender's samples as a box from quartile to quartile with a line at the median, and a point for each sample.
pub(super) fn boxes(contenders: &[(&str, &[f64], Summary)]) -> String {
    let all = contenders.iter().flat_map(|(_, samples, _)| samples.iter().copied());
    let (low, high) =
        all.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let scale = Scale { low: low.max(1e-9) / 1.05, high: high.max(1e-9) * 1.05, from: 2.0, to: 218.0 };
    #[expect(clippy::cast_precision_loss)]
    let height = 8.0 * contenders.len() as f64 + 2.0;
    let mut svg = format!(r#"<svg viewBox="0 0 220 {height}" width="220" class="boxes">"#);
    for (index, (name, samples, summary)) in contenders.iter().enumerate() {
        #[expect(clippy::cast_precision_loss)]
        let y = 8.0 * index as f64 + 2.0;
        let [from, middle, to] = [summary.low, summary.median, summary.high].map(|value| scale.at(value));
        let class = if name.starts_with("usm") { "ours" } else { "theirs" };
        let _ = write!(svg, r#"<g class="{class}"><title>{}</title>"#, escape(name));
        for sample in *samples {
            let _ = write!(svg, r#"<circle cx="{:.1}" cy="{:.1}" r="1"/>"#, scale.at(*sample), y + 3.0);
        }
        let width = (to - from).max(1.0);
        let _ = write!(svg, r#"<rect x="{from:.1}" y="{y}" width="{width:.1}" height="6"/>"#);
        let _ = write!(svg, r#"<line x1="{middle:.1}" x2="{middle:.1}" y1="{y}" y2="{}"/></g>"#, y + 6.0);
    }
    svg + "</svg>"
}

/// "12.3 (11.9 … 13.0)".
pub(super) fn spread(summary: &Summary) -> String {
    format!("{} ({} … {})", digits(summary.median), digits(summary.low), digits(summary.high))
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::report;
    use super::*;

    #[test]
    fn equal_factors_are_equal_steps() {
        let scale = Scale { low: 1.0, high: 100.0, from: 0.0, to: 200.0 };
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(scale.at(1000.0), 200.0);
        assert_eq!(scale.ticks(10.0), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn only_what_was_measured_is_drawn() {
        let report = report();
        let verdicts: Vec<&Verdict> = report.verdicts.iter().collect();
        let svg = shares(&verdicts);
        assert!(svg.contains("view/a.T, usm: 2.00 × NumPy") && !svg.contains("a[3]"), "{svg}");
        assert_eq!(shares(&verdicts[1..]), "");
    }
}
