//! A snapshot as a drawing: a bar for each entry.

use super::Svg;
use super::rows::{self, Row};
use crate::html::{Escaped, fragment, page};
use crate::snapshot::{MAX_BARS, Snapshot};

impl Snapshot {
    /// A drawing: a bar for each entry in the order of addresses, as long as it has bytes. At most the 2000 largest are drawn, and
    /// what is left out is said.
    #[must_use]
    pub fn to_svg(&self) -> String {
        const ROW: f64 = 16.0;
        let mut drawn: Vec<_> = self.iter().collect();
        if drawn.len() > MAX_BARS {
            drawn.sort_by_key(|live| std::cmp::Reverse(live.len_bytes));
            drawn.truncate(MAX_BARS);
            drawn.sort_by_key(|live| live.address);
        }
        let longest = drawn.iter().map(|live| live.len_bytes).max().unwrap_or(1).max(1);
        let mut svg = Svg::new("live memory", 1000.0, 40.0 + ROW * drawn.len() as f64);
        let left_out = self.len() - drawn.len();
        svg.text(4.0, 16.0, format_args!("{} entries, {left_out} smaller ones left out", self.len()));
        for (row, live) in drawn.into_iter().enumerate() {
            let y = 28.0 + ROW * row as f64;
            let width = 500.0 * live.len_bytes as f64 / longest as f64;
            svg.bar([0.0, y, width, ROW - 3.0], live.holder.as_str(), live.kind, live);
            svg.text(510.0, y + 11.0, live);
        }
        svg.end()
    }

    /// A table over time as a part of a page, such as the output of a notebook's cell: a bar for each entry, from its allocation to
    /// the snapshot. Check boxes choose kinds, owners and labels. At most the 2000 largest entries are in it. The text of the
    /// snapshot is at its end.
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        let oldest = self.iter().map(|live| live.age.as_secs_f64()).fold(0.0, f64::max);
        let rows = self.iter().map(|live| {
            let age = live.age.as_secs_f64();
            Row {
                address: live.address,
                len_bytes: live.len_bytes,
                kind: live.kind,
                holder: if live.is_reserve { "reserve" } else { live.holder.as_str() },
                tag: live.tag.as_deref(),
                device: &live.device,
                life: (if oldest > 0.0 { 1.0 - age / oldest } else { 0.0 }, 1.0),
                times: format!("for {age:.3} s"),
            }
        });
        let time = format!("the last {oldest:.3} s");
        let table = rows::table("Live memory", &time, rows.collect());
        let text = format!("<details><summary>as text</summary><pre>{}</pre></details>\n", Escaped(self));
        fragment("Live memory", rows::RULES, &format!("{table}{text}"))
    }

    /// The table over time as a page that needs no network and no scripts.
    #[must_use]
    pub fn to_html(&self) -> String {
        page("Live memory", &self.to_html_fragment())
    }
}
