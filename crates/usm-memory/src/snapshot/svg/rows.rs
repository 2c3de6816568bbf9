//! Memory as a table: each row has a bar over the time that it lived
//!
//! The page has no script. Check boxes hide rows by rules of the style sheet, so that they also work where scripts are not allowed.

use std::collections::HashMap;
use std::fmt::Write as _;

use usm_core::{ByteCount, UsmKind};

use crate::html::{Escaped, scrolling};
use crate::snapshot::MAX_BARS;

/// Labels that have a check box of their own: those with the most bytes. The others share one.
const MAX_LABELS: usize = 12;

pub(super) const RULES: &str = ".usm-view .usm-rows{width:100%;font-size:12px}\
    .usm-view .usm-rows thead th{border-bottom:1px solid var(--usm-line);white-space:nowrap}\
    .usm-view .usm-rows td,.usm-view .usm-rows tbody th{white-space:nowrap;font-weight:normal}\
    .usm-view .usm-number{text-align:right}\
    .usm-view .usm-rows tbody tr:hover th,.usm-view .usm-rows tbody tr:hover td{background:var(--usm-hover)}\
    .usm-view .usm-time{width:40%;min-width:160px}\
    .usm-view .usm-life{display:block;height:12px;min-width:3px;border-radius:2px;background:var(--usm-reserve)}\
    .usm-view [data-kind=host] .usm-life,.usm-view .usm-box[data-kind=host]{background:var(--usm-host)}\
    .usm-view [data-kind=device] .usm-life,.usm-view .usm-box[data-kind=device]{background:var(--usm-device)}\
    .usm-view [data-kind=shared] .usm-life,.usm-view .usm-box[data-kind=shared]{background:var(--usm-shared)}\
    .usm-view [data-holder=reserve] .usm-life{background:var(--usm-reserve);outline:1px solid var(--usm-line)}\
    .usm-view .usm-box{display:inline-block;width:10px;height:10px;margin:0 4px}\
    .usm-view fieldset{border:1px solid var(--usm-line);margin:4px 0;padding:2px 8px;min-width:0}\
    .usm-view fieldset label{display:inline-block;margin:2px 14px 2px 0;max-width:100%;overflow-wrap:anywhere}";

/// Memory of a snapshot or of a timeline.
pub(super) struct Row<'a> {
    pub(super) address: usize,
    pub(super) len_bytes: usize,
    pub(super) kind: UsmKind,
    /// `"owned"` and so on; `"allocated"` where that is not known; `"reserve"` for memory that a pool holds to hand out parts of it
    pub(super) holder: &'static str,
    pub(super) tag: Option<&'a str>,
    pub(super) device: &'a str,
    /// Part of the whole time at which it begins and ends, from 0 to 1
    pub(super) life: (f64, f64),
    /// The same in words
    pub(super) times: String,
}

/// The check boxes, with rules for them, and the table. At most the 2000 largest rows are in it.
pub(super) fn table(caption: &str, time: &str, mut rows: Vec<Row<'_>>) -> String {
    let all = rows.len();
    if all > MAX_BARS {
        rows.sort_by_key(|row| std::cmp::Reverse(row.len_bytes));
        rows.truncate(MAX_BARS);
        rows.sort_by_key(|row| row.address);
    }
    let labels = labels(&rows);
    let label_of =
        |row: &Row<'_>| labels.iter().position(|(label, _)| *label == row.tag).unwrap_or(MAX_LABELS);

    let mut chosen = Choices::default();
    chosen.begin("kind");
    for kind in UsmKind::ALL {
        let of_kind = rows.iter().filter(|row| row.kind == kind).map(|row| row.len_bytes);
        let swatch = format!("<span class=\"usm-box\" data-kind=\"{kind}\"></span>");
        chosen.add("kind", kind.as_str(), &swatch, kind.as_str(), of_kind);
    }
    chosen.end();
    chosen.begin("owner");
    for holder in ["owned", "borrowed", "leased", "allocated", "reserve"] {
        let of_holder = rows.iter().filter(|row| row.holder == holder).map(|row| row.len_bytes);
        chosen.add("holder", holder, "", holder, of_holder);
    }
    chosen.end();
    chosen.begin("label");
    for (number, (label, _)) in labels.iter().enumerate() {
        let of_label = rows.iter().filter(|row| row.tag == *label).map(|row| row.len_bytes);
        chosen.add("label", &number.to_string(), "", label.unwrap_or("no label"), of_label);
    }
    let others = rows.iter().filter(|row| label_of(row) == MAX_LABELS).map(|row| row.len_bytes);
    chosen.add("label", &MAX_LABELS.to_string(), "", "other labels", others);
    chosen.end();

    let mut body = String::new();
    for row in &rows {
        let Row { address, kind, holder, device, times, life: (start, end), .. } = row;
        let (left, width) = (100.0 * start, 100.0 * (end - start));
        // Writing to a string cannot fail.
        let _ = writeln!(
            body,
            "<tr data-kind=\"{kind}\" data-holder=\"{holder}\" data-label=\"{}\"><th scope=\"row\"><code>{address:#x}</code></th>\
             <td class=\"usm-time\"><span class=\"usm-life\" title=\"{times}\" \
             style=\"margin-left:{left:.2}%;width:{width:.2}%\"></span></td><td>{times}</td><td class=\"usm-number\" title=\"{} bytes\">\
             {}</td><td>{kind}</td><td>{holder}</td><td>{}</td><td>{}</td></tr>",
            label_of(row),
            row.len_bytes,
            ByteCount::from(row.len_bytes).rounded(),
            Escaped(device),
            Escaped(row.tag.unwrap_or("")),
        );
    }
    let left_out = match all - rows.len() {
        0 => String::new(),
        count => format!("; {count} smaller ones are left out"),
    };
    let table = format!(
        "<table class=\"usm-rows\"><caption>{}: {all} entries{left_out}</caption>\n<thead><tr><th scope=\"col\">address</th>\
         <th scope=\"col\" class=\"usm-time\">{}</th><th scope=\"col\">time</th><th scope=\"col\" class=\"usm-number\">size</th>\
         <th scope=\"col\">kind</th><th scope=\"col\">owner</th><th scope=\"col\">device</th><th scope=\"col\">label</th></tr></thead>\n\
         <tbody>{body}</tbody></table>",
        Escaped(caption),
        Escaped(time)
    );
    format!("<style>{}</style>\n{}{}", chosen.rules, chosen.boxes, scrolling(caption, &table))
}

/// The labels with the most bytes, and their bytes; `None` stands for memory without a label.
fn labels<'a>(rows: &[Row<'a>]) -> Vec<(Option<&'a str>, usize)> {
    let mut sums: HashMap<Option<&str>, usize> = HashMap::new();
    for row in rows {
        let sum = sums.entry(row.tag).or_default();
        *sum = sum.saturating_add(row.len_bytes);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    sums.truncate(MAX_LABELS);
    sums
}

/// Check boxes, and the rules by which they hide rows and bars.
#[derive(Default)]
struct Choices {
    boxes: String,
    rules: String,
}

impl Choices {
    fn begin(&mut self, legend: &str) {
        let _ = writeln!(self.boxes, "<fieldset><legend>{legend}</legend>");
    }

    fn end(&mut self) {
        self.boxes.push_str("</fieldset>\n");
    }

    /// A check box for the rows whose attribute has a value, if there are any.
    fn add(
        &mut self,
        attribute: &str,
        value: &str,
        swatch: &str,
        text: &str,
        sizes: impl Iterator<Item = usize>,
    ) {
        let (count, bytes) =
            sizes.fold((0_usize, 0_usize), |(count, sum), size| (count + 1, sum.saturating_add(size)));
        if count == 0 {
            return;
        }
        let _ = writeln!(
            self.boxes,
            "<label><input type=\"checkbox\" class=\"usm-{attribute}-{value}\" checked=\"checked\"/>{swatch}{} ({count}, {})</label>",
            Escaped(text),
            ByteCount::from(bytes).rounded()
        );
        let _ = write!(
            self.rules,
            ".usm-view:has(.usm-{attribute}-{value}:not(:checked)) :is(tr,.bar,.reserve)[data-{attribute}=\"{value}\"]{{display:none}}"
        );
    }
}
