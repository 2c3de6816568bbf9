//! What all pages and drawings have in common: escaped text, colours for light and dark pages, tables of facts
//!
//! | file | job |
//! |---|---|
//! | `device.rs` | a device as a table |

mod device;

use std::fmt::{self, Display, Write};

pub use self::device::device_html;

/// Text between tags or in an attribute, whatever it contains.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

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

/// Each text has a contrast of at least 4.5 with its ground, each bar and line one of 3.
const LIGHT: &str = "color-scheme:light;--usm-text:#1f2328;--usm-muted:#59636e;--usm-page:#ffffff;--usm-line:#6e7781;\
    --usm-host:#3a6ea5;--usm-device:#b8405a;--usm-shared:#1f7a31;--usm-reserve:#d0d7de;--usm-hover:#fff3c4;\
    --usm-touched:#9ecae1;--usm-unknown:#fdd0a2;--usm-gap:#e6eaef;--usm-alert:#c62828;\
    --usm-axis0:#b3261e;--usm-axis1:#1b5e20;--usm-axis2:#6a1b9a;--usm-axis3:#7a4100";
const DARK: &str = "color-scheme:dark;--usm-text:#e6edf3;--usm-muted:#9aa4af;--usm-page:#0d1117;--usm-line:#8b949e;\
    --usm-host:#79b0e6;--usm-device:#f08a9b;--usm-shared:#5cc46e;--usm-reserve:#3d444d;--usm-hover:#3a3413;\
    --usm-touched:#1f5f8b;--usm-unknown:#7a4b12;--usm-gap:#262c34;--usm-alert:#ff8a80;\
    --usm-axis0:#ff8a80;--usm-axis1:#7ee787;--usm-axis2:#d2a8ff;--usm-axis3:#ffb86b";

/// Colours for elements of a class, as rules of a style sheet: those that the reader's system prefers, or those of the theme of a
/// notebook or a page, which Jupyter, Visual Studio Code and Sphinx name.
#[must_use]
pub fn theme(class: &str) -> String {
    let within = |marks: [&str; 3]| marks.map(|mark| format!("{mark} .{class}")).join(",");
    let light = within(["[data-jp-theme-light=true]", "[data-theme=light]", ".vscode-light"]);
    let dark = within(["[data-jp-theme-light=false]", "[data-theme=dark]", ".vscode-dark"]);
    format!(
        ".{class}{{{LIGHT}}}@media (prefers-color-scheme:dark){{.{class}{{{DARK}}}}}{light}{{{LIGHT}}}{dark}{{{DARK}}}"
    )
}

/// The rules of all fragments: a table of facts, and parts that scroll in place of the page.
const RULES: &str = ".usm-view{color:var(--usm-text);background:var(--usm-page);font:14px/1.4 system-ui,sans-serif;padding:8px;\
    max-width:100%;box-sizing:border-box;text-align:left}\
    .usm-view .usm-scroll{overflow-x:auto;max-width:100%}\
    .usm-view .usm-scroll:focus-visible,.usm-view summary:focus-visible,.usm-view input:focus-visible{\
    outline:2px solid var(--usm-host);outline-offset:2px}\
    .usm-view table{border-collapse:collapse;margin:4px 0;color:inherit;background:none}\
    .usm-view caption{text-align:left;font-weight:bold;padding:2px 0;color:inherit}\
    .usm-view th,.usm-view td{padding:2px 10px 2px 0;text-align:left;vertical-align:top;border:0;color:inherit;background:none}\
    .usm-view .usm-facts th{color:var(--usm-muted);font-weight:normal;white-space:nowrap}\
    .usm-view pre,.usm-view code{font:12px/1.4 ui-monospace,monospace;color:inherit;background:none;margin:4px 0}\
    .usm-view summary{cursor:pointer}";

/// A part of a page, such as the output of a notebook's cell. `content` is HTML, and `rules` are rules for it.
#[must_use]
pub fn fragment(label: &str, rules: &str, content: &str) -> String {
    format!(
        "<section class=\"usm-view\" aria-label=\"{}\"><style>{}{RULES}{rules}</style>\n{content}</section>\n",
        Escaped(label),
        theme("usm-view")
    )
}

/// A page around a fragment.
#[must_use]
pub fn page(title: &str, fragment: &str) -> String {
    let title = Escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>{title}</title>\
         <style>{}body{{margin:0;background:var(--usm-page);color:var(--usm-text);font-family:system-ui,sans-serif}}\
         main{{padding:8px}}h1{{font-size:20px;margin:8px}}</style></head>\n\
         <body class=\"usm-page\"><main><h1>{title}</h1>\n{fragment}</main></body></html>\n",
        theme("usm-page")
    )
}

/// Facts by name, as a table. The values are HTML.
#[must_use]
pub fn facts(caption: &str, rows: &[(&str, String)]) -> String {
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>\n"))
        .collect();
    format!(
        "<table class=\"usm-facts\"><caption>{}</caption><tbody>\n{rows}</tbody></table>\n",
        Escaped(caption)
    )
}

/// Something wide, which scrolls by itself, also by keyboard.
#[must_use]
pub fn scrolling(label: &str, content: &str) -> String {
    format!(
        "<div class=\"usm-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{content}</div>\n",
        Escaped(label)
    )
}

#[cfg(test)]
mod tests {
    use super::{DARK, Escaped, LIGHT};

    #[test]
    fn text_cannot_break_out() {
        let text = Escaped("<b a=\"'\">&amp;\u{0}\u{1b}\u{ffff}ä\n").to_string();
        assert_eq!(text, "&lt;b a=&quot;&#39;&quot;&gt;&amp;amp;\u{fffd}\u{fffd}\u{fffd}ä\n");
    }

    /// Relative luminance of WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let number = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap();
        let parts = [16, 8, 0].map(|shift| f64::from(number >> shift & 0xff) / 255.0);
        let [r, g, b] =
            parts.map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    #[test]
    fn colours_have_contrast() {
        for theme in [LIGHT, DARK] {
            let colour = |name: &str| {
                let (_, after) = theme.split_once(&format!("--usm-{name}:")).unwrap();
                luminance(&after[..7])
            };
            let contrast = |a: &str, b: &str| {
                let (a, b) = (colour(a), colour(b));
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            for text in ["text", "muted"] {
                for ground in ["page", "hover"] {
                    assert!(contrast(text, ground) >= 4.5, "{text} on {ground}");
                }
            }
            for ground in ["touched", "unknown", "gap"] {
                assert!(contrast("text", ground) >= 4.5, "text on {ground}");
            }
            for part in ["host", "device", "shared", "line", "alert", "axis0", "axis1", "axis2", "axis3"] {
                assert!(contrast(part, "page") >= 3.0, "{part}");
            }
        }
    }
}
