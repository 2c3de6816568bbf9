//! Drawings of snapshots and timelines: SVG elements and pages that need nothing but themselves, and text that cannot break out of them.

mod live;
mod timeline;

use std::fmt::{self, Display, Write};

use usm_core::UsmKind;

/// Text between tags or in an attribute, whatever it contains.
struct Escaped<T>(T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);
        impl Write for Escaping<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                for char in text.chars() {
                    match char {
                        '&' => self.0.write_str("&amp;")?,
                        '<' => self.0.write_str("&lt;")?,
                        '>' => self.0.write_str("&gt;")?,
                        '"' => self.0.write_str("&quot;")?,
                        '\'' => self.0.write_str("&#39;")?,
                        // What XML 1.0 has no characters for.
                        '\u{fffe}' | '\u{ffff}' => self.0.write_char(char::REPLACEMENT_CHARACTER)?,
                        char if char.is_control() && !"\t\n\r".contains(char) => {
                            self.0.write_char(char::REPLACEMENT_CHARACTER)?;
                        }
                        char => self.0.write_char(char)?,
                    }
                }
                Ok(())
            }
        }
        write!(Escaping(f), "{}", self.0)
    }
}

/// The colour of a kind.
fn colour(kind: UsmKind) -> &'static str {
    match kind {
        UsmKind::Host => "#4477aa",
        UsmKind::Device => "#cc6677",
        UsmKind::Shared => "#228833",
    }
}

/// A drawing.
struct Svg(String);

impl Svg {
    fn new(title: &str, width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
             font-size=\"12\"><title>{}</title>\n",
            Escaped(title)
        ))
    }

    fn text(&mut self, x: f64, y: f64, text: impl Display) {
        self.add(format_args!("<text x=\"{x:.2}\" y=\"{y:.2}\">{}</text>\n", Escaped(text)));
    }

    /// A rectangle that tells what it is when it is pointed at.
    fn bar(&mut self, place: [f64; 4], class: &str, fill: &str, about: impl Display) {
        let [x, y, width, height] = place;
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\">\
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

/// A drawing and a table of text, to be put into a page.
fn fragment(drawing: &str, table: impl Display) -> String {
    format!("{drawing}<pre>{}</pre>\n", Escaped(table))
}

/// A page around a drawing and a table of text.
fn page(title: &str, drawing: &str, table: impl Display) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>{title}</title></head>\n<body><h1>{title}</h1>\n\
         {}</body></html>\n",
        fragment(drawing, table),
        title = Escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn text_cannot_break_out() {
        let text = Escaped("<b a=\"'\">&amp;\u{0}\u{1b}\u{ffff}ä\n").to_string();
        assert_eq!(text, "&lt;b a=&quot;&#39;&quot;&gt;&amp;amp;\u{fffd}\u{fffd}\u{fffd}ä\n");
    }
}
