//! A snapshot as a drawing: a bar for each entry.

use super::{Svg, colour, fragment, page};
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
            svg.bar([0.0, y, width, ROW - 3.0], live.holder.as_str(), colour(live.kind), live);
            svg.text(510.0, y + 11.0, live);
        }
        svg.end()
    }

    /// The drawing and the table as a part of a page, such as the output of a notebook's cell.
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        fragment(&self.to_svg(), self)
    }

    /// The drawing and the table as a page that needs no network and no scripts.
    #[must_use]
    pub fn to_html(&self) -> String {
        page("Live memory", &self.to_svg(), self)
    }
}
