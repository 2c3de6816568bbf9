//! Blocks for copies that transpose
//!
//! Where the fastest axis of the target is not that of the source, walking along either of them wastes most of every cache
//! line on the other side. So the axes that are fast in the source (`across`) and those that are fast in the target (`along`)
//! are cut into blocks together; all others are loops around them.

use std::cmp::Reverse;

use super::{CopyPlan, Loop};
use crate::layout::Axes;

/// Elements on adjacent indices of an axis share a line below this many bytes from one to the next.
const LINE_BYTES: usize = 64;

/// A plan whose innermost loops are two groups. The elements of a group are equally far from each other, on the source's side
/// for `across` and on the target's for `along`, from the first to the last index of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    // Invariant T1: The pairs of `outer`, `across` and `along` from the two starts are those of the plan.
    // Invariant T2: The stride of an `across` loop is, on the source's side, that of the next one times its count; the last one's is
    //     positive. The same holds for `along` on the target's side.
    pub(crate) dst_start: isize,
    pub(crate) src_start: isize,
    /// Each group outermost first.
    pub(crate) outer: Axes<Loop>,
    pub(crate) across: Axes<Loop>,
    pub(crate) along: Axes<Loop>,
}

impl Tiles {
    /// The blocks of a plan, or `None` if rows do as well. Groups grow until they have `wanted` elements, if they can.
    pub(crate) fn new(plan: &CopyPlan, src_itemsize_bytes: usize, wanted: usize) -> Option<Self> {
        let (row, outside) = plan.loops.split_last()?;
        let fastest = outside.iter().enumerate().filter(|(_, axis)| axis.src != 0);
        let (fastest, axis) = fastest.min_by_key(|(_, axis)| axis.src.unsigned_abs())?;
        let stride = axis.src.unsigned_abs();
        if row.dst <= 0
            || stride >= row.src.unsigned_abs()
            || stride.saturating_mul(src_itemsize_bytes) >= LINE_BYTES
        {
            return None;
        }
        let mut tiles = Self {
            dst_start: plan.dst_start,
            src_start: plan.src_start,
            outer: Axes::new(),
            across: Axes::new(),
            along: Axes::new(),
        };
        let mut rest: Axes<Loop> = plan.loops.iter().copied().collect();
        // Outwards from the fastest loops. A loop that was taken is marked by a count of 0.
        let mut along: Axes<Loop> = Axes::new();
        take(&mut rest, &mut along, outside.len(), wanted, Some(fastest), |axis| axis.dst);
        for axis in rest.iter_mut().filter(|axis| axis.src < 0 && axis.count > 0) {
            // Forwards in the source; where that is in the target does not matter.
            axis.reverse(&mut tiles.dst_start, &mut tiles.src_start);
        }
        let mut across: Axes<Loop> = Axes::new();
        take(&mut rest, &mut across, fastest, wanted, None, |axis| axis.src);
        tiles.across = across.iter().rev().copied().collect();
        tiles.along = along.iter().rev().copied().collect();
        tiles.outer = rest.iter().copied().filter(|axis| axis.count > 0).collect();
        // Reads wait for memory and writes do not: adjacent elements of the source come one after the other.
        tiles.outer.sort_by_key(|axis| Reverse(axis.src.unsigned_abs()));
        Some(tiles)
    }
}

/// Moves the loop `first` into a group, then those that continue it on one side, until the group is large enough.
fn take(
    rest: &mut Axes<Loop>,
    group: &mut Axes<Loop>,
    first: usize,
    wanted: usize,
    keep: Option<usize>,
    stride: impl Fn(&Loop) -> isize,
) {
    let mut next = Some(first);
    let mut size = 1_usize;
    while let Some(index) = next {
        let axis = rest[index];
        rest[index].count = 0;
        group.push(axis);
        size *= axis.count; // at most the size of the plan
        if size >= wanted {
            return;
        }
        let end = stride(&axis).checked_mul(axis.count.cast_signed());
        let continues = |(index, axis): (usize, &Loop)| {
            axis.count > 0 && Some(index) != keep && Some(stride(axis)) == end
        };
        next = rest.iter().enumerate().position(continues);
    }
}
