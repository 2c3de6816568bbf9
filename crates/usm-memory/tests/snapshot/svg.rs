//! Drawings of snapshots and timelines: well-formed, bounded, and true.

use std::sync::Arc;
use std::time::Duration;

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::snapshot::{Snapshot, Timeline};
use usm_memory::usm_core::UsmKind;
use usm_memory::{UsmBuffer, snapshot};

use super::alone;
use super::common::{direct, each, host_queue};

#[test]
fn drawings_of_snapshots_agree_with_the_data() {
    let _alone = alone();
    each(|queue, kind| {
        let buffers = [100, 50, 200].map(|len| direct(queue, kind, len));
        buffers[1].set_tag("a<b>&'c'\"d\"\u{1}");
        let seen = snapshot();
        let svg = elements(&seen.to_svg());
        let bars: Vec<_> = svg.iter().filter(|element| element.name == "rect").collect();
        assert_eq!(bars.len(), seen.len());
        let longest = seen.iter().map(|live| live.len_bytes).max().unwrap() as f64;
        for (bar, live) in bars.iter().zip(&seen) {
            assert!((bar.number("width") - 500.0 * live.len_bytes as f64 / longest).abs() < 0.01);
            assert_eq!(bar.get("class"), "owned");
        }
        let titles: Vec<_> = svg.iter().filter(|element| element.name == "title").collect();
        let tagged = seen.iter().position(|live| live.address == buffers[1].address()).unwrap();
        assert!(
            titles[tagged + 1].text.ends_with("owned a<b>&'c'\"d\"\u{fffd}"),
            "{}",
            titles[tagged + 1].text
        );
        let page = seen.to_html();
        assert!(!page.contains("a<b>") && !page.contains("<script") && !page.contains("href"));
        check_table(&elements(page.strip_prefix("<!DOCTYPE html>\n").unwrap()), &seen, &page);
    });
}

/// Each entry has a row with a bar over its time, and a check box for each of its properties.
fn check_table(page: &[Element], seen: &Snapshot, text: &str) {
    let rows: Vec<_> = page
        .iter()
        .filter(|element| element.name == "tr" && element.attribute("data-kind").is_some())
        .collect();
    let bars: Vec<_> = page.iter().filter(|element| element.has("class", "usm-life")).collect();
    assert_eq!((rows.len(), bars.len()), (seen.len(), seen.len()));
    let oldest = seen.iter().map(|live| live.age.as_secs_f64()).fold(0.0, f64::max);
    for ((row, bar), live) in rows.iter().zip(&bars).zip(seen) {
        assert_eq!(row.get("data-kind"), live.kind.as_str());
        assert_eq!(row.get("data-holder"), if live.is_reserve { "reserve" } else { live.holder.as_str() });
        let part = |name: &str| -> f64 {
            bar.get("style")
                .split_once(&format!("{name}:"))
                .unwrap()
                .1
                .split_once('%')
                .unwrap()
                .0
                .parse()
                .unwrap()
        };
        let age = if oldest > 0.0 { 100.0 * live.age.as_secs_f64() / oldest } else { 100.0 };
        assert!((part("width") - age).abs() < 0.011 && (part("margin-left") + age - 100.0).abs() < 0.011);
        for (attribute, value) in
            ["kind", "holder", "label"].map(|name| (name, row.get(&format!("data-{name}"))))
        {
            let class = format!("usm-{attribute}-{value}");
            let boxes = page.iter().filter(|element| element.name == "input" && element.has("class", &class));
            assert_eq!(boxes.count(), 1, "{class}");
            let rule = format!(
                ":has(.{class}:not(:checked)) :is(tr,.bar,.reserve)[data-{attribute}=\"{value}\"]{{display:none}}"
            );
            assert!(text.contains(&rule), "{rule}");
        }
    }
}

/// Bars and steps of the drawing are those of the data.
pub(crate) fn check(timeline: &Timeline, kind: UsmKind) {
    let svg = elements(&timeline.to_svg());
    let seconds = timeline.duration().as_secs_f64();
    let across = |time: Duration| 1000.0 * time.as_secs_f64() / seconds;
    let class = |class: &str| svg.iter().filter(|element| element.has("class", class)).collect::<Vec<_>>();
    assert!(
        class("bar")
            .iter()
            .zip(timeline.bars().iter().filter(|bar| !bar.is_reserve))
            .all(|(drawn, bar)| { drawn.get("data-kind") == bar.kind.as_str() })
    );
    let (bars, reserves) = (class("bar"), class("reserve"));
    assert_eq!(bars.len() + reserves.len(), timeline.bars().len());
    // The slab holds the blocks: two places, of which the slab is one.
    let total: usize = {
        let mut ranges: Vec<_> =
            timeline.bars().iter().map(|bar| bar.address..bar.address + bar.len_bytes).collect();
        ranges.sort_by_key(|range| range.start);
        let mut end = 0;
        ranges
            .iter()
            .map(|range| {
                let from = range.start.max(end);
                end = end.max(range.end);
                end - from.min(end)
            })
            .sum()
    };
    let data = timeline.bars().iter().filter(|bar| !bar.is_reserve);
    for (drawn, bar) in bars.iter().zip(data) {
        let (start, end) = (bar.start.map_or(0.0, across), bar.end.map_or(1000.0, across));
        assert!(
            (drawn.number("x") - start).abs() < 0.011
                && (drawn.number("width") - (end - start)).abs() < 0.011
        );
        assert!((drawn.number("height") - 400.0 * bar.len_bytes as f64 / total as f64).abs() < 0.011);
    }
    let slab = timeline.bars().iter().find(|bar| bar.is_reserve).unwrap();
    for (drawn, bar) in bars.iter().zip(timeline.bars().iter().filter(|bar| !bar.is_reserve)) {
        if (slab.address..slab.address + slab.len_bytes).contains(&bar.address) {
            let offset = 400.0 * (bar.address - slab.address) as f64 / total as f64;
            assert!((drawn.number("y") - reserves[0].number("y") - offset).abs() < 0.021);
        }
    }
    let steps = timeline.steps(kind);
    let points: Vec<(f64, f64)> = class(kind.as_str())[0]
        .get("points")
        .split_whitespace()
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    assert_eq!(points.len(), 2 * steps.len());
    let peak = timeline.peak_bytes(kind) as f64;
    for (corners, (time, bytes)) in points.chunks(2).zip(&steps) {
        assert!((corners[0].0 - across(*time)).abs() < 0.011);
        let y = 288.0 - 200.0 * *bytes as f64 / peak;
        assert!((corners[0].1 - y).abs() < 0.011 && (corners[1].1 - y).abs() < 0.011);
    }
    let legend = format!("{kind}: at most {} bytes in use", timeline.peak_bytes(kind));
    assert!(svg.iter().any(|element| element.name == "text" && element.text == legend));
    elements(timeline.to_html().strip_prefix("<!DOCTYPE html>\n").unwrap());
}

#[test]
fn large_drawings_say_what_they_leave_out() {
    let _alone = alone();
    let queue = host_queue();
    let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    let recording = Timeline::record(10_000);
    let allocate = |len| UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len).unwrap();
    let buffers: Vec<_> = (0..2100).map(|_| allocate(64)).collect();
    let (seen, timeline) = (snapshot(), recording.finish());
    let count = |svg: &str| svg.matches("<rect").count();
    assert_eq!(count(&seen.to_svg()), 2000);
    assert!(seen.to_svg().contains(&format!("{} smaller ones left out", seen.len() - 2000)));
    assert_eq!(count(&timeline.to_svg()), 2000 + 3, "with the legend");
    drop(buffers);
}

/// An element of a drawing, with the text right behind its start.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn get(&self, name: &str) -> &str {
        self.attribute(name).unwrap()
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.attributes.iter().any(|(found, is)| found == name && is == value)
    }

    fn number(&self, name: &str) -> f64 {
        self.get(name).parse().unwrap()
    }
}

/// Reads a document strictly: every start has its end, every attribute its quotes, every `&` is one of the five.
fn elements(document: &str) -> Vec<Element> {
    let (mut found, mut open): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = document.trim_end();
    assert!(rest.starts_with('<'));
    while let Some(after) = rest.strip_prefix('<') {
        let (tag, after) = after.split_once('>').unwrap();
        assert!(!tag.contains('<'), "{tag}");
        let text_end = after.find('<').unwrap_or(after.len());
        let text = unescape(&after[..text_end]);
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().unwrap(), name);
        } else {
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, mut attributes_text) = tag.split_once(' ').unwrap_or((tag, ""));
            let mut attributes = Vec::new();
            while let Some((key, after)) = attributes_text.split_once("=\"") {
                let (value, after) = after.split_once('"').unwrap();
                attributes.push((key.trim().to_owned(), unescape(value)));
                attributes_text = after;
            }
            assert!(attributes_text.trim().is_empty(), "{tag}");
            if !is_empty {
                open.push(name.to_owned());
            }
            found.push(Element { name: name.to_owned(), attributes, text });
        }
        rest = &after[text_end..];
        assert!(!open.is_empty() || rest.is_empty(), "one root");
    }
    assert!(open.is_empty() && rest.is_empty());
    found
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('&');
    let mut whole = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap();
        whole.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => panic!("&{other};"),
        });
        whole.push_str(after);
    }
    assert!(!whole.contains(|char: char| char.is_control() && !"\n\t\r".contains(char)));
    whole
}
