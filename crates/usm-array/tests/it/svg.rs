//! Drawings of layouts: well-formed, bounded, and true

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::collections::{BTreeMap, BTreeSet};

use common::{indices, layouts, places};
use proptest::prelude::*;
use usm_array::{Dtype, Layout, Order, SliceItem, UsmArray, layout_svg};

/// An element of the document with its attributes.
#[derive(Debug)]
struct Tag {
    name: String,
    attributes: BTreeMap<String, String>,
}

/// Scans a document, which must be well-formed: tags that close in order, quoted attributes, escaped text, no references.
fn scan(svg: &str) -> Vec<Tag> {
    let (mut tags, mut open) = (vec![], vec![]);
    let mut rest = svg;
    while let Some((text, after)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        assert!(!tag.contains('<'), "{tag}");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags close in order");
            continue;
        }
        let (tag, is_closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut left) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = BTreeMap::new();
        while !left.trim().is_empty() {
            let (key, value) = left.trim_start().split_once("=\"").expect("attributes are quoted");
            let (value, after) = value.split_once('"').expect("quotes close");
            assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{key}");
            check_text(value);
            assert!(attributes.insert(key.to_owned(), value.to_owned()).is_none(), "{key} twice");
            left = after;
        }
        if !is_closed {
            open.push(name.to_owned());
        }
        tags.push(Tag { name: name.to_owned(), attributes });
    }
    check_text(rest);
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?}");
    assert_eq!(tags[0].name, "svg");
    for tag in &tags {
        assert!(!tag.attributes.keys().any(|key| key.contains("href")), "{tag:?}");
        assert!(tag.name != "script" && tag.name != "image", "{tag:?}");
    }
    tags
}

fn check_text(text: &str) {
    assert!(!text.contains('>'), "{text}");
    for part in text.split('&').skip(1) {
        assert!(
            ["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|entity| part.starts_with(entity)),
            "{text}"
        );
    }
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

fn cells(tags: &[Tag]) -> Vec<&Tag> {
    tags.iter().filter(|tag| tag.name == "rect").collect()
}

fn number<T: std::str::FromStr>(tag: &Tag, key: &str) -> T {
    tag.attributes[key].parse().ok().unwrap_or_else(|| panic!("{key} of {tag:?}"))
}

/// No text covers another one, or leaves the page. Fonts of 12 and 10 pixels have characters of at most 7.5 and 6.3 pixels.
fn check_texts(tags: &[Tag], svg: &str) {
    let page: (f64, f64) = (number(&tags[0], "height"), number(&tags[0], "width"));
    let texts = svg.split("<text ").skip(1).map(|part| {
        let (attributes, content) = part.split_once('>').unwrap();
        let content = content.split_once('<').unwrap().0;
        let value = |key: &str| {
            attributes.split_once(&format!("{key}=\"")).map(|(_, after)| after.split_once('"').unwrap().0)
        };
        let (x, y): (f64, f64) = (value("x").unwrap().parse().unwrap(), value("y").unwrap().parse().unwrap());
        let (size, character) =
            if matches!(value("class"), Some("small" | "lane")) { (10.0, 6.3) } else { (12.0, 7.5) };
        (x, y - size * 0.8, x + content.chars().count() as f64 * character, y + size * 0.2, content)
    });
    let texts: Vec<_> = texts.collect();
    for (number, one) in texts.iter().enumerate() {
        assert!(one.0 >= 0.0 && one.1 >= 0.0 && one.2 <= page.1 && one.3 <= page.0, "{one:?} on {page:?}");
        for other in &texts[number + 1..] {
            let is_apart = one.2 <= other.0 || other.2 <= one.0 || one.3 <= other.1 || other.3 <= one.1;
            assert!(is_apart, "{one:?} covers {other:?} in {svg}");
        }
    }
}

/// Each displacement with the indices that are there, by the formula of the container specification.
fn by_counting(layout: &Layout) -> BTreeMap<i128, (String, usize)> {
    let mut expected = BTreeMap::new();
    for index in indices(layout.shape()) {
        let steps = index.iter().zip(layout.strides());
        let place = layout.offset() as i128 + steps.map(|(&i, &s)| i as i128 * s as i128).sum::<i128>();
        let label = index.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        expected.entry(place).or_insert((label, 0)).1 += 1;
    }
    expected
}

proptest! {
    #[test]
    fn each_cell_has_the_indices_that_are_there(
        layout in layouts(),
        shift in -6_isize..7,
        capacity in 0_usize..150,
        dtype in prop::sample::select(&Dtype::ALL[..]),
    ) {
        let layout = layout.with_offset(layout.offset() + shift).unwrap();
        let svg = layout_svg(&layout, dtype, capacity, "a layout");
        let tags = scan(&svg);
        let cells = cells(&tags);
        let expected = by_counting(&layout);
        let places: Vec<i128> = cells.iter().map(|cell| number(cell, "data-at")).collect();
        let first = expected.keys().next().map_or(0, |&first| first.min(0));
        let last = expected.keys().next_back().map_or(-1, |&last| last).max(capacity as i128 - 1);
        prop_assert_eq!(&places, &(first..=last).collect::<Vec<_>>(), "everything small is drawn");
        let page: (usize, usize) = (number(&tags[0], "height"), number(&tags[0], "width"));
        let mut corners = BTreeSet::new();
        for (cell, place) in cells.iter().zip(places) {
            let found = cell.attributes.get("data-index").map(|index| (index.clone(), number(cell, "data-count")));
            prop_assert_eq!(found.as_ref(), expected.get(&place));
            let classes: Vec<&str> = cell.attributes["class"].split(' ').collect();
            prop_assert_eq!(classes.contains(&"touched"), expected.contains_key(&place));
            prop_assert_eq!(classes.contains(&"outside"), !(0..capacity as i128).contains(&place));
            prop_assert_eq!(classes.contains(&"zero"), !layout.is_empty() && place == layout.offset() as i128);
            // Cells are side by side, in the order of memory, and on the page.
            let corner: (usize, usize) = (number(cell, "y"), number(cell, "x"));
            prop_assert!(corners.last().is_none_or(|last| *last < corner));
            corners.insert(corner);
            let far = (corner.0 + number::<usize>(cell, "height"), corner.1 + number::<usize>(cell, "width"));
            prop_assert!(far.0 <= page.0 && far.1 <= page.1);
        }
        let arrows: Vec<(usize, i128, i128, bool)> = tags
            .iter()
            .filter(|tag| tag.attributes.contains_key("data-axis"))
            .map(|tag| {
                let is_negative = tag.attributes["class"].split(' ').any(|class| class == "negative");
                (number(tag, "data-axis"), number(tag, "data-from"), number(tag, "data-to"), is_negative)
            })
            .collect();
        let axes = layout.shape().iter().zip(layout.strides()).enumerate();
        let zero = layout.offset() as i128;
        let steps = axes
            .filter(|&(_, (&n, &s))| n > 1 && s != 0)
            .map(|(axis, (_, &s))| (axis, zero, zero + s as i128, s < 0));
        prop_assert_eq!(arrows, if layout.is_empty() { vec![] } else { steps.collect() });
        check_texts(&tags, &svg);
    }
}

#[test]
fn the_figures_of_the_specification() {
    type Figure<'a> = (&'a [usize], &'a [isize], isize, usize, &'a str);
    let figures: [Figure<'_>; 5] = [
        (&[2, 3], &[3, 1], 0, 6, "0,0 0,1 0,2 1,0 1,1 1,2"),
        (&[2, 3], &[1, 2], 0, 6, "0,0 1,0 0,1 1,1 0,2 1,2"),
        (&[2, 2], &[3, 1], 0, 6, "0,0 0,1 * 1,0 1,1 *"),
        (&[4], &[-2], 7, 8, "* 3 * 2 * 1 * 0"),
        (&[2, 2], &[2, -1], 1, 4, "0,1 0,0 1,1 1,0"),
    ];
    for (shape, strides, offset, capacity, expected) in figures {
        let layout = Layout::new(shape, Some(strides), offset, Order::C).unwrap();
        let tags = scan(&layout_svg(&layout, Dtype::U16, capacity, "figure"));
        let found = cells(&tags)
            .into_iter()
            .map(|cell| cell.attributes.get("data-index").map_or("*", |i| i.as_str()));
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{layout:?}");
    }
}

#[test]
fn large_memory_is_summarised_and_says_so() {
    let cases = [
        (Layout::contiguous(&[1 << 20, 1 << 20, 1 << 19], Order::C).unwrap(), 1 << 62),
        (Layout::new(&[1 << 40], Some(&[-1]), 1 << 41, Order::C).unwrap(), 1 << 42),
        (Layout::new(&[1 << 20, 1 << 20], Some(&[-3, 1 << 22]), 1 << 30, Order::C).unwrap(), 1 << 50),
        (Layout::new(&[3; 39], Some(&[1; 39]), 500, Order::C).unwrap(), 1000),
        (Layout::contiguous(&[0, 5], Order::C).unwrap(), 1 << 40),
        (Layout::contiguous(&[1; 64], Order::C).unwrap(), 1 << 40),
    ];
    for (layout, capacity) in cases {
        let svg = layout_svg(&layout, Dtype::F64, capacity, "large");
        assert!(svg.len() < 400_000, "{} bytes", svg.len());
        assert!(svg.contains("summarised:") && svg.contains("are not drawn"), "{layout:?}");
        let tags = scan(&svg);
        assert!(cells(&tags).len() <= 240);
        let zero = layout.offset();
        let is_drawn = cells(&tags).iter().any(|cell| number::<isize>(cell, "data-at") == zero);
        assert!(is_drawn, "index zero of {layout:?}");
    }
}

#[test]
fn titles_of_any_kind_are_text() {
    let layout = Layout::contiguous(&[2], Order::C).unwrap();
    for title in
        ["<script>alert(1)</script>", "a & b \"quoted\" 'too'", "\u{0}\u{1}\u{7f}\n\t]]>", "日本語 ← ≤"]
    {
        let svg = layout_svg(&layout, Dtype::I8, 2, title);
        scan(&svg);
        assert!(!svg.contains("<script"));
    }
}

#[test]
fn arrays_draw_their_buffers_without_touching_them() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[8], Dtype::F32).unwrap();
        let view = array.slice(&[SliceItem::Slice { start: Some(7), stop: None, step: -2 }]).unwrap();
        let svg = view.layout_svg();
        assert_eq!(cells(&scan(&svg)).len(), 8);
        assert!(svg.contains(&format!("float32 array in {kind} memory")));
        assert!(
            svg.contains("shape (4), strides (-2)")
                && svg.contains("offset 7, 4 float32 elements, memory for 8")
        );
    }
}
