//! Cells, labels and arrows as SVG

use std::fmt::Write as _;

use usm_memory::html::{Escaped, theme};

use super::arrows::{self, Arrow};
use super::cell::{CELL_HEIGHT, Cell};
use super::touch::{Touch, Touches};
use super::window::windows;
use crate::dtype::Dtype;
use crate::layout::Layout;

/// Height of a row: cells and the displacements below them, in pixels.
const ROW_HEIGHT: usize = 56;
const MARGIN: usize = 16;
/// Distance of lines of text, in pixels.
const LINE: usize = 17;
const MAX_LABEL: usize = 16;
/// Width of a character of each size of text, in tenths of pixels, rounded up for fonts that are wide.
const CHARACTER: usize = 75;
const SMALL_CHARACTER: usize = 63;

const STYLE: &str = ".usm-layout{background:var(--usm-page);max-width:none}\
.usm-layout text{font:12px monospace;fill:var(--usm-text)}.usm-layout .small{font-size:10px;fill:var(--usm-muted)}\
.usm-layout .title{font-weight:bold}.usm-layout .cell{stroke:var(--usm-line);stroke-width:1}\
.usm-layout .touched{fill:var(--usm-touched)}.usm-layout .unknown{fill:var(--usm-unknown)}\
.usm-layout .gap{fill:var(--usm-gap)}.usm-layout .free{fill:var(--usm-page)}\
.usm-layout .outside{stroke:var(--usm-alert);stroke-dasharray:3 2}\
.usm-layout .frame{fill:none;stroke:var(--usm-text);stroke-width:3}";

pub(super) fn draw(layout: &Layout, dtype: Dtype, capacity: usize, title: &str) -> String {
    let windows = windows(layout, capacity);
    let touches = Touches::of(layout);
    let places = windows
        .iter()
        .map(|&(first, last)| (first..=last).map(|at| (at, touches.at(at))).collect::<Vec<_>>());
    let places: Vec<Vec<_>> = places.collect();
    let steps = arrows::steps(layout);
    let cells = places.iter().flatten();
    let longest = cells.map(|(at, touch)| {
        let label = label(touch).chars().count() * CHARACTER;
        label.max(at.to_string().len() * SMALL_CHARACTER).div_ceil(10)
    });
    // Arrows lead down at the right of the text.
    let cell_width = (longest.max().unwrap_or(0) + 10 + arrows::width(&steps)).max(40);
    let per_row = (1000 / cell_width).clamp(1, 16);

    let head = head(layout, dtype, capacity, &windows);
    let legend = arrows::legend(layout);
    let first_line = 40;
    let zero = (!layout.is_empty()).then_some(layout.offset() as i128);
    let mut notes = Vec::new();
    let mut cells = Vec::new();
    let mut y = first_line + LINE * (head.len() + legend.len());
    for (number, places) in places.into_iter().enumerate() {
        if number > 0 {
            let skipped = windows[number].0 - windows[number - 1].1 - 1;
            notes.push((y + 6, format!("… {skipped} elements of the memory are not drawn …")));
            y += 20;
        }
        let mut row = places.into_iter().peekable();
        while row.peek().is_some() {
            let places: Vec<_> = row.by_ref().take(per_row).collect();
            if places.iter().any(|(at, _)| Some(*at) == zero) {
                y += arrows::height(&steps);
            }
            for (column, (at, touch)) in places.into_iter().enumerate() {
                cells.push(Cell { at, x: MARGIN + column * cell_width, y, touch });
            }
            y += ROW_HEIGHT;
        }
    }
    let last = windows.last().map_or(-1, |window| window.1);
    if last + 1 < capacity as i128 {
        let skipped = capacity as i128 - last - 1;
        notes.push((y + 6, format!("… {skipped} elements of the memory are not drawn …")));
        y += 20;
    }
    // The longest line of text may be wider than the cells.
    let lines = head.iter().chain(legend.iter().map(|(_, text)| text));
    let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0).max(title.chars().count());
    let text_width = longest * CHARACTER / 10 + 24;
    let width = 2 * MARGIN + (per_row * cell_width).max(text_width).max(360);

    let said: Vec<&str> =
        head.iter().chain(legend.iter().map(|(_, text)| text)).map(String::as_str).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"usm-layout\" width=\"{width}\" height=\"{y}\" \
         viewBox=\"0 0 {width} {y}\" role=\"img\" aria-label=\"{title}: {}\">\n\
         <title>{title}</title>\n<style>{}{STYLE}{}</style>\n",
        Escaped(one_line(&said.join("; "))),
        theme("usm-layout"),
        arrows::STYLE,
        title = Escaped(one_line(title))
    );
    text(&mut svg, MARGIN, 22, "title", title);
    for (line, words) in head.iter().enumerate() {
        text(&mut svg, MARGIN, first_line + LINE * line, "", words);
    }
    for (line, (axis, words)) in legend.iter().enumerate() {
        let y = first_line + LINE * (head.len() + line);
        if let Some(axis) = axis {
            arrows::draw_sample(&mut svg, MARGIN, y - 4, axis);
        }
        text(&mut svg, MARGIN + 24, y, "", words);
    }
    for cell in &cells {
        draw_cell(&mut svg, cell, layout, capacity, cell_width);
    }
    for (y, note) in &notes {
        text(&mut svg, MARGIN, *y, "small", note);
    }
    let find = |at: i128| cells.iter().find(|cell| cell.at == at);
    // After the cells, whose borders would cover it.
    if let Some(Cell { x, y, .. }) = zero.and_then(find) {
        let _ =
            writeln!(svg, "<path class=\"frame\" d=\"M{x} {y}h{cell_width}v{CELL_HEIGHT}h-{cell_width}z\"/>");
    }
    for (lane, step) in steps.iter().enumerate() {
        // Ends that are not drawn are far away.
        if let (Some(from), Some(to)) = (find(layout.offset() as i128), find(step.to)) {
            Arrow { step, lane, from, to, cell_width }.draw(&mut svg);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The numbers of the layout, and a note on omitted parts.
fn head(layout: &Layout, dtype: Dtype, capacity: usize, windows: &[(i128, i128)]) -> Vec<String> {
    let numbers = format!("shape {}, strides {}", list(layout.shape()), list(layout.strides()));
    let elements = layout.size();
    let mut place = format!("offset {}, {elements} {dtype} elements, memory for {capacity}", layout.offset());
    let drawn: i128 = windows.iter().map(|(first, last)| last - first + 1).sum();
    if drawn < capacity as i128 {
        let _ = write!(place, "; summarised: {drawn} cells are drawn");
    }
    let mut lines = vec![shortened(&numbers, 160), place];
    if !layout.is_empty() {
        lines.push("thick frame: index zero, at the offset".to_owned());
    }
    lines
}

fn list(numbers: &[impl ToString]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("({})", numbers.join(", "))
}

fn index_text(touch: &Touch) -> String {
    touch.first.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The text of a cell.
fn label(touch: &Result<Option<Touch>, ()>) -> String {
    match touch {
        Ok(None) => String::new(),
        Ok(Some(touch)) if touch.count > 1 => {
            format!("{} ×{}", shortened(&format!("[{}]", index_text(touch)), MAX_LABEL), touch.count)
        }
        Ok(Some(touch)) => shortened(&format!("[{}]", index_text(touch)), MAX_LABEL),
        Err(()) => "?".to_owned(),
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn draw_cell(svg: &mut String, cell: &Cell, layout: &Layout, capacity: usize, cell_width: usize) {
    let within = |extent: crate::layout::Extent| (extent.min as i128..=extent.max as i128).contains(&cell.at);
    let mut class = match &cell.touch {
        Ok(Some(_)) => "touched",
        Err(()) => "unknown",
        Ok(None) if layout.extent_with_offset().is_some_and(within) => "gap",
        Ok(None) => "free",
    }
    .to_owned();
    if !(0..capacity as i128).contains(&cell.at) {
        class.push_str(" outside");
    }
    let is_zero = cell.at == layout.offset() as i128 && !layout.is_empty();
    if is_zero {
        class.push_str(" zero");
    }
    let mut data = format!("data-at=\"{}\"", cell.at);
    if let Ok(Some(touch)) = &cell.touch {
        let _ = write!(data, " data-index=\"{}\" data-count=\"{}\"", index_text(touch), touch.count);
    }
    let (x, y) = (cell.x, cell.y);
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<rect class=\"cell {class}\" x=\"{x}\" y=\"{y}\" width=\"{cell_width}\" height=\"{CELL_HEIGHT}\" {data}/>"
    );
    let label = label(&cell.touch);
    if !label.is_empty() {
        text(svg, x + 5, y + 19, "", &label);
    }
    text(svg, x + 3, y + CELL_HEIGHT + 12, "small", &cell.at.to_string());
}

pub(super) fn text(svg: &mut String, x: usize, y: usize, class: &str, content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", Escaped(one_line(content)));
}

/// Text without ends of lines and tabulators.
fn one_line(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}
