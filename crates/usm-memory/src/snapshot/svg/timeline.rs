//! A timeline as a drawing: bytes in use as steps, memory as bars over address and time.

use std::time::Duration;

use usm_core::UsmKind;

use super::rows::{self, Row};
use super::{Svg, colour};
use crate::html::{fragment, page, scrolling};
use crate::snapshot::{Bar, MAX_BARS, Timeline};

const WIDTH: f64 = 1000.0;
const LEGEND: f64 = 88.0;
const STEPS: f64 = 200.0;
const BARS: f64 = 400.0;
const GAP: f64 = 24.0;

impl Timeline {
    /// A drawing: above, the bytes in use of each kind over time; below, a bar for each buffer, as high as it has bytes, over the
    /// time that it lived, at its place in the address space without the gaps. Reserves of pools are pale. At most the 2000
    /// largest bars are drawn; what is left out or was dropped is said.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let mut svg = Svg::new("memory over time", WIDTH, LEGEND + STEPS + GAP + BARS);
        svg.text(4.0, 16.0, self);
        let across = |time: Duration| WIDTH * fraction(time.as_secs_f64(), self.duration().as_secs_f64());
        let highest = UsmKind::ALL.map(|kind| self.peak_bytes(kind)).into_iter().max().unwrap_or(0);
        for (row, kind) in UsmKind::ALL.into_iter().enumerate() {
            let steps = self.steps(kind);
            let y = 32.0 + 16.0 * row as f64;
            svg.bar([4.0, y, 12.0, 12.0], "legend", kind, kind);
            svg.text(22.0, y + 10.0, format_args!("{kind}: at most {} bytes in use", self.peak_bytes(kind)));
            let up = |bytes: usize| LEGEND + STEPS * (1.0 - fraction(bytes as f64, highest as f64));
            // Each value holds until the next one.
            let ends = steps.iter().skip(1).map(|(time, _)| *time).chain([self.duration()]);
            let corners = steps.iter().zip(ends);
            let corners =
                corners.flat_map(|(&(start, bytes), end)| [start, end].map(|time| (across(time), up(bytes))));
            svg.line(corners, kind.as_str(), colour(kind));
        }
        let mut drawn: Vec<_> = self.bars().iter().collect();
        if drawn.len() > MAX_BARS {
            drawn.sort_by_key(|bar| std::cmp::Reverse(bar.len_bytes));
            drawn.truncate(MAX_BARS);
        }
        // Reserves lie behind what is handed out from them.
        drawn.sort_by_key(|bar| !bar.is_reserve);
        let places = Places::of(&drawn);
        for bar in drawn {
            let start = bar.start.map_or(0.0, across);
            let end = bar.end.map_or(WIDTH, across);
            let y = LEGEND + STEPS + GAP + BARS * fraction(places.offset(bar.address), places.total_bytes);
            let height = BARS * fraction(bar.len_bytes as f64, places.total_bytes);
            let class = if bar.is_reserve { "reserve" } else { "bar" };
            svg.bar([start, y, end - start, height], class, bar.kind, bar);
        }
        svg.end()
    }

    /// The drawing, and a table over time as a part of a page, such as the output of a notebook's cell: a bar for each buffer, from
    /// its allocation to its release. Check boxes choose kinds, reserves and labels. The boxes of kinds choose bars of the drawing,
    /// too. At most the 2000 largest buffers are in it.
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        let whole = self.duration().as_secs_f64();
        let text = |time: Option<Duration>, without: &str| {
            time.map_or_else(|| without.to_owned(), |time| format!("{:.6} s", time.as_secs_f64()))
        };
        let rows = self.bars().iter().map(|bar| Row {
            address: bar.address,
            len_bytes: bar.len_bytes,
            kind: bar.kind,
            holder: if bar.is_reserve { "reserve" } else { "allocated" },
            tag: bar.tag.as_deref(),
            device: "",
            life: (
                bar.start.map_or(0.0, |time| fraction(time.as_secs_f64(), whole)),
                bar.end.map_or(1.0, |time| fraction(time.as_secs_f64(), whole)),
            ),
            times: format!("{} to {}", text(bar.start, "before"), text(bar.end, "the end")),
        });
        let table = rows::table("Memory over time", &format!("0 to {whole:.3} s"), rows.collect());
        let drawing = scrolling("Drawing of memory over time", &self.to_svg());
        fragment("Memory over time", rows::RULES, &format!("{drawing}{table}"))
    }

    /// The drawing and the table as a page that needs no network and no scripts.
    #[must_use]
    pub fn to_html(&self) -> String {
        page("Memory over time", &self.to_html_fragment())
    }
}

fn fraction(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// The address ranges that were in use, one after the other.
struct Places {
    /// First address, first address after, and bytes of all ranges before.
    ranges: Vec<(usize, usize, f64)>,
    total_bytes: f64,
}

impl Places {
    fn of(bars: &[&Bar]) -> Self {
        let mut ends: Vec<_> =
            bars.iter().map(|bar| (bar.address, bar.address.saturating_add(bar.len_bytes))).collect();
        ends.sort_unstable();
        let mut ranges: Vec<(usize, usize, f64)> = Vec::new();
        for (start, end) in ends {
            match ranges.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => ranges.push((start, end, 0.0)),
            }
        }
        let mut total_bytes = 0.0;
        for (start, end, before) in &mut ranges {
            *before = total_bytes;
            total_bytes += (*end - *start) as f64;
        }
        Self { ranges, total_bytes }
    }

    fn offset(&self, address: usize) -> f64 {
        let index = self.ranges.partition_point(|(start, ..)| *start <= address).saturating_sub(1);
        self.ranges.get(index).map_or(0.0, |(start, _, before)| before + (address - start) as f64)
    }
}
