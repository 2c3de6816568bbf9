//! One step of index zero along each axis, as an arrow in a lane of its own, and a legend of the axes

use std::fmt::Write as _;

use super::cell::{CELL_HEIGHT, Cell};
use crate::layout::Layout;

/// Axes with a line in the legend. A layout has at most 64.
const MAX_LINES: usize = 12;
/// Height of a lane, in pixels, and distance of the lines that lead down from lanes.
const LANE: usize = 13;
const DOWN: usize = 6;
/// Lines that lead down side by side; those of further axes are in one place.
const MAX_DOWN: usize = 6;

pub(super) const STYLE: &str = ".usm-layout .arrow{fill:none;stroke-width:1.5}.usm-layout .negative{stroke-dasharray:5 3}\
.usm-layout .tip{stroke:none}\
.usm-layout .axis0{stroke:var(--usm-axis0)}.usm-layout .axis1{stroke:var(--usm-axis1)}\
.usm-layout .axis2{stroke:var(--usm-axis2)}.usm-layout .axis3{stroke:var(--usm-axis3)}\
.usm-layout .tip.axis0{fill:var(--usm-axis0)}.usm-layout .tip.axis1{fill:var(--usm-axis1)}\
.usm-layout .tip.axis2{fill:var(--usm-axis2)}.usm-layout .tip.axis3{fill:var(--usm-axis3)}\
.usm-layout .lane{font-size:10px;paint-order:stroke;stroke:var(--usm-page);stroke-width:3px}";

/// One step along an axis with several elements whose stride is not 0.
pub(super) struct Step {
    axis: usize,
    stride: isize,
    /// Displacement of index one
    pub(super) to: i128,
}

pub(super) fn steps(layout: &Layout) -> Vec<Step> {
    if layout.is_empty() {
        return Vec::new();
    }
    let axes = layout.shape().iter().zip(layout.strides()).enumerate();
    axes.filter(|&(_, (&n, &stride))| n > 1 && stride != 0)
        .map(|(axis, (_, &stride))| Step { axis, stride, to: layout.offset() as i128 + stride as i128 })
        .collect()
}

/// Space above the row of index zero.
pub(super) fn height(steps: &[Step]) -> usize {
    if steps.is_empty() { 0 } else { steps.len() * LANE + 6 }
}

/// Space at the right of each cell.
pub(super) fn width(steps: &[Step]) -> usize {
    DOWN * steps.len().min(MAX_DOWN)
}

/// A line for each axis, and its arrow, if it has one.
pub(super) fn legend(layout: &Layout) -> Vec<(Option<Step>, String)> {
    let mut steps = steps(layout).into_iter().peekable();
    let axes = layout.shape().iter().zip(layout.strides()).enumerate();
    let mut lines: Vec<_> = axes
        .take(MAX_LINES)
        .map(|(axis, (&n, &stride))| {
            let meaning = match (n, stride) {
                (0 | 1, _) => " (no second element)",
                (_, 0) => " (each index is the same element)",
                (_, 1..) => " (forwards)",
                (_, _) => " (backwards)",
            };
            let elements = if n == 1 { "element" } else { "elements" };
            let text = format!("axis {axis}: {n} {elements}, stride {stride}{meaning}");
            (steps.next_if(|step| step.axis == axis), text)
        })
        .collect();
    if layout.ndim() > MAX_LINES {
        lines.push((None, format!("… and {} more axes", layout.ndim() - MAX_LINES)));
    }
    lines
}

fn class(step: &Step) -> String {
    let negative = if step.stride < 0 { " negative" } else { "" };
    format!("axis{}{negative}", step.axis % 4)
}

/// The arrow beside a line of the legend: it points to the left where the stride is negative.
pub(super) fn draw_sample(svg: &mut String, x: usize, y: usize, step: &Step) {
    let class = class(step);
    let (tail, head, back) = if step.stride < 0 { (x + 18, x, x + 7) } else { (x, x + 18, x + 11) };
    let _ = writeln!(
        svg,
        "<path class=\"arrow sample {class}\" d=\"M{tail} {y}H{back}\"/><path class=\"tip {class}\" d=\"M{head} {y}L{back} {}V{}z\"/>",
        y - 4,
        y + 4
    );
}

/// An arrow between two cells.
pub(super) struct Arrow<'a> {
    pub(super) step: &'a Step,
    pub(super) lane: usize,
    pub(super) from: &'a Cell,
    pub(super) to: &'a Cell,
    pub(super) cell_width: usize,
}

impl Arrow<'_> {
    /// Up from index zero to the lane, along it, and to index one: from above, or from below in a row further up.
    pub(super) fn draw(&self, svg: &mut String) {
        let Self { step, lane, from, to, cell_width } = self;
        let class = class(step);
        let inset = cell_width - 5 - DOWN * (*lane).min(MAX_DOWN - 1);
        let (x0, x1) = (from.x + inset, to.x + inset);
        let lane_y = from.y - 6 - LANE * lane;
        let (end, before) = match to.y < from.y {
            true => (to.y + CELL_HEIGHT, to.y + CELL_HEIGHT + 7),
            false => (to.y, to.y - 6),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<path class=\"arrow {class}\" data-axis=\"{axis}\" data-from=\"{}\" data-to=\"{}\" d=\"M{x0} {}V{lane_y}H{x1}V{before}\">\
             <title>axis {axis}: stride {}</title></path><path class=\"tip {class}\" d=\"M{x1} {end}L{} {before}H{}z\"/>",
            from.at,
            to.at,
            from.y,
            step.stride,
            x1 - 4,
            x1 + 4,
            axis = step.axis
        );
        let middle = usize::midpoint(x0, x1).saturating_sub(3);
        let _ =
            writeln!(svg, "<text class=\"lane\" x=\"{middle}\" y=\"{}\">{}</text>", lane_y + 4, step.axis);
    }
}
