//! Cells, labels and arrows as SVG

use std::fmt::Write as _;

use super::touch::{Touch, Touches};
use super::window::windows;
use crate::dtype::Dtype;
use crate::layout::Layout;

/// Height of a cell, in pixels, and of a row with the displacements below the cells.
const CELL_HEIGHT: usize = 30;
const ROW_HEIGHT: usize = 62;
const MARGIN: usize = 16;
/// Height of the title and the numbers of the layout, in pixels.
const HEAD_HEIGHT: usize = 84;
const MAX_LABEL: usize = 16;

const STYLE: &str = "text{font:12px monospace;fill:#222}.small{font-size:10px;fill:#666}.title{font-weight:bold}\
.cell{stroke:#555;stroke-width:1}.touched{fill:#9ecae1}.unknown{fill:#fdd0a2}.gap{fill:#eee}.free{fill:#fff}\
.outside{stroke:#d62728;stroke-dasharray:3 2}.zero{stroke-width:3}.arrow{fill:none;stroke:#d62728;stroke-width:1.5}";

/// A cell and where it stands.
struct Cell {
    at: i128,
    x: usize,
    y: usize,
    touch: Result<Option<Touch>, ()>,
}

pub(super) fn draw(layout: &Layout, dtype: Dtype, capacity: usize, title: &str) -> String {
    let windows = windows(layout, capacity);
    let touches = Touches::of(layout);
    let places = windows
        .iter()
        .map(|&(first, last)| (first..=last).map(|at| (at, touches.at(at))).collect::<Vec<_>>());
    let places: Vec<Vec<_>> = places.collect();
    let longest = places.iter().flatten().map(|(_, touch)| label(touch).chars().count()).max().unwrap_or(0);
    let cell_width = (longest * 8 + 10).max(40);
    let per_row = (1000 / cell_width).clamp(1, 16);

    let mut notes = Vec::new();
    let mut cells = Vec::new();
    let mut y = HEAD_HEIGHT;
    for (number, places) in places.into_iter().enumerate() {
        if number > 0 {
            let skipped = windows[number].0 - windows[number - 1].1 - 1;
            notes.push((y - 8, format!("… {skipped} elements of the memory are not drawn …")));
            y += 20;
        }
        let rows = places.len().div_ceil(per_row);
        for (i, (at, touch)) in places.into_iter().enumerate() {
            let (column, row) = (i % per_row, i / per_row);
            cells.push(Cell { at, x: MARGIN + column * cell_width, y: y + row * ROW_HEIGHT, touch });
        }
        y += rows * ROW_HEIGHT;
    }
    let last = windows.last().map_or(-1, |window| window.1);
    if last + 1 < capacity as i128 {
        notes.push((
            y - 8,
            format!("… {} elements of the memory are not drawn …", capacity as i128 - last - 1),
        ));
        y += 20;
    }
    // The longest line of text may be wider than the cells.
    let head = head(layout, dtype, capacity, &windows);
    let text_width =
        head.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(title.chars().count()) * 8;
    let width = 2 * MARGIN + (per_row * cell_width).max(text_width).max(360);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" fill=\"#d62728\"/></marker></defs>\n",
        escaped(title)
    );
    text(&mut svg, MARGIN, 22, "title", title);
    for (line, words) in head.iter().enumerate() {
        text(&mut svg, MARGIN, 40 + 16 * line, "", words);
    }
    for cell in &cells {
        draw_cell(&mut svg, cell, layout, capacity, cell_width);
    }
    for (y, note) in &notes {
        text(&mut svg, MARGIN, *y, "small", note);
    }
    draw_arrows(&mut svg, &cells, layout, cell_width);
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
    vec![shortened(&numbers, 160), place]
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
    let below = if is_zero { format!("{} ←offset", cell.at) } else { cell.at.to_string() };
    text(svg, x + 2, y + CELL_HEIGHT + 11, "small", &below);
}

/// One step of index zero along each axis with a negative stride.
fn draw_arrows(svg: &mut String, cells: &[Cell], layout: &Layout, cell_width: usize) {
    if layout.is_empty() {
        return;
    }
    let find = |at: i128| cells.iter().find(|cell| cell.at == at);
    let axes = layout.shape().iter().zip(layout.strides()).enumerate();
    for (axis, (_, &stride)) in axes.filter(|&(_, (&n, &stride))| n > 1 && stride < 0) {
        let zero = layout.offset() as i128;
        // Ends that are not drawn are far away.
        let (Some(from), Some(to)) = (find(zero), find(zero + stride as i128)) else { continue };
        let half = cell_width / 2;
        let (x0, x1) = (from.x + half, to.x + half);
        let (middle, above) = ((x0 + x1) / 2, from.y.min(to.y).saturating_sub(14 + 4 * (axis % 4)));
        let _ = writeln!(
            svg,
            "<path class=\"arrow\" data-axis=\"{axis}\" data-from=\"{}\" data-to=\"{}\" marker-end=\"url(#head)\" \
             d=\"M{x0} {} Q{middle} {above} {x1} {}\"><title>axis {axis}: stride {stride}</title></path>",
            from.at, to.at, from.y, to.y
        );
    }
}

fn text(svg: &mut String, x: usize, y: usize, class: &str, content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", escaped(content));
}

/// Text as XML, without the characters that no XML can have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
