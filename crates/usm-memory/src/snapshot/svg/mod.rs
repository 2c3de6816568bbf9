//! Drawings of snapshots and timelines: SVG elements and pages that need nothing but themselves, and text that cannot break out of them.
//!
//! | file | job |
//! |---|---|
//! | `live.rs` | a snapshot: bars, and a table over time |
//! | `timeline.rs` | a timeline: steps and bars, and a table over time |
//! | `rows.rs` | the table over time, with the parts of it that the reader chooses |

mod live;
mod rows;
mod timeline;

use std::fmt::{self, Display, Write};

use usm_core::UsmKind;

use crate::html::{Escaped, theme};

/// The colour of a kind.
fn colour(kind: UsmKind) -> &'static str {
    match kind {
        UsmKind::Host => "#4477aa",
        UsmKind::Device => "#cc6677",
        UsmKind::Shared => "#228833",
    }
}

/// Colours of the reader's theme in place of those of the elements.
const RULES: &str = ".usm-drawing{background:var(--usm-page);max-width:100%}.usm-drawing text{fill:var(--usm-text)}\
    .usm-drawing [data-kind=host]{fill:var(--usm-host)}.usm-drawing [data-kind=device]{fill:var(--usm-device)}\
    .usm-drawing [data-kind=shared]{fill:var(--usm-shared)}.usm-drawing .reserve{fill:var(--usm-reserve)}\
    .usm-drawing .host{stroke:var(--usm-host)}.usm-drawing .device{stroke:var(--usm-device)}\
    .usm-drawing .shared{stroke:var(--usm-shared)}\
    .usm-drawing rect:hover{stroke:var(--usm-text);stroke-width:2}";

/// A drawing.
struct Svg(String);

impl Svg {
    fn new(title: &str, width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"usm-drawing\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{}\"><title>{}</title>\n\
             <style>{}{RULES}</style>\n",
            Escaped(title),
            Escaped(title),
            theme("usm-drawing")
        ))
    }

    fn text(&mut self, x: f64, y: f64, text: impl Display) {
        self.add(format_args!("<text x=\"{x:.2}\" y=\"{y:.2}\">{}</text>\n", Escaped(text)));
    }

    /// A rectangle that tells what it is when it is pointed at.
    fn bar(&mut self, place: [f64; 4], class: &str, kind: UsmKind, about: impl Display) {
        let [x, y, width, height] = place;
        let fill = colour(kind);
        self.add(format_args!(
            "<rect class=\"{class}\" data-kind=\"{kind}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\">\
             <title>{}</title></rect>\n",
            Escaped(about)
        ));
    }

    fn line(&mut self, points: impl Iterator<Item = (f64, f64)>, class: &str, stroke: &str) {
        self.add(format_args!("<polyline class=\"{class}\" fill=\"none\" stroke=\"{stroke}\" points=\""));
        points.for_each(|(x, y)| self.add(format_args!("{x:.2},{y:.2} ")));
        self.add(format_args!("\"/>\n"));
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn add(&mut self, what: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        self.0.write_fmt(what).ok();
    }
}
