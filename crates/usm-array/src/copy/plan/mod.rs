//! In which order elements are copied from one layout to another
//!
//! Elements may be copied in any order, so the plan picks a good one: axes of size 1 go away, the target is walked upwards with
//! its smallest stride innermost, and axes that follow each other without a gap on both sides become one. Only arithmetic.
//!
//! | file | job |
//! |---|---|
//! | `split.rs` | parts of a plan |
//! | `pieces.rs` | pieces of device memory that go through host memory |
//! | `reach.rs` | what bytes a plan touches on either side, and in which direction |
//! | `tiles.rs` | blocks for copies that transpose |

mod pieces;
mod reach;
mod split;
mod tiles;

pub(super) use reach::Side;
pub(super) use tiles::Tiles;

use std::cmp::Reverse;

use crate::layout::{Axes, Layout};

/// One loop of a copy: so many steps, and how far each goes on either side, in elements of that side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) count: usize,
    pub(crate) dst: isize,
    pub(crate) src: isize,
}

impl Loop {
    /// Lets the loop begin at its other end, and moves where both sides start: to elements, whose displacements do not overflow.
    pub(crate) fn reverse(&mut self, dst_start: &mut isize, src_start: &mut isize) {
        let last = (self.count - 1).cast_signed();
        *dst_start += last * self.dst;
        *src_start += last * self.src;
        self.dst = -self.dst;
        self.src = -self.src;
    }

    /// Whether its end is where the loop around it goes next, on both sides.
    pub(crate) fn is_continued_by(self, outer: Self) -> bool {
        let count = self.count.cast_signed();
        self.dst.checked_mul(count) == Some(outer.dst) && self.src.checked_mul(count) == Some(outer.src)
    }
}

/// The loop of a single element.
pub(super) const ONE: Loop = Loop { count: 1, dst: 1, src: 1 };

/// A nest of loops that visits every pair of elements once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyPlan {
    // Invariant P1: The displacements visited are those of the target layout paired with those of the source layout, index by index; they count
    //     from the start of the layouts' memory, or after `counted_from_lowest` from the lowest elements.
    // Invariant P2: The displacement after any number of the steps that each loop has is that of an element, so none overflows.
    // Invariant P3: Every loop has at least two steps.
    pub(crate) dst_start: isize,
    pub(crate) src_start: isize,
    /// Outermost first.
    pub(crate) loops: Axes<Loop>,
}

impl CopyPlan {
    /// The plan for two layouts of one shape; `None` if there is nothing to copy.
    ///
    /// With different shapes only the common leading part of the axes is used.
    pub(crate) fn new(dst: &Layout, src: &Layout) -> Option<Self> {
        if dst.is_empty() || src.is_empty() {
            return None;
        }
        let (mut dst_start, mut src_start) = (dst.offset(), src.offset());
        let steps = dst.strides().iter().zip(src.strides());
        let mut loops: Axes<Loop> = Axes::new();
        for (&count, (&dst, &src)) in dst.shape().iter().zip(steps) {
            let mut axis = Loop { count, dst, src };
            if count == 1 {
                continue;
            }
            if axis.dst < 0 {
                // The last index is an element on both sides, so none of this overflows, by L3.
                axis.reverse(&mut dst_start, &mut src_start);
            }
            loops.push(axis);
        }
        loops.sort_by_key(|axis| Reverse((axis.dst, axis.src.unsigned_abs())));
        Some(Self { dst_start, src_start, loops: merged(&loops) })
    }

    /// The innermost loop.
    pub(super) fn row(&self) -> Loop {
        self.loops.last().copied().unwrap_or(ONE)
    }

    /// Number of elements.
    pub(super) fn size(&self) -> usize {
        self.loops.iter().map(|axis| axis.count).product() // at most the size of the layouts
    }

    /// True when all elements together are one dense run in both layouts.
    pub(super) fn is_one_run(&self) -> bool {
        self.loops.len() <= 1 && self.row().dst == 1 && self.row().src == 1
    }

    /// True when the elements come in the same order on both sides, but for their directions.
    pub(super) fn keeps_order(&self) -> bool {
        let strides: Axes<usize> = self.loops.iter().map(|axis| axis.src.unsigned_abs()).collect();
        let moving = strides.iter().filter(|&&stride| stride != 0);
        moving.clone().zip(moving.skip(1)).all(|(outer, inner)| outer >= inner)
    }

    /// How many of the innermost loops together fill one dense run of the target.
    pub(super) fn dense_target_loops(&self) -> usize {
        let mut next = 1;
        let dense = self.loops.iter().rev().take_while(|axis| {
            let follows = axis.dst == next;
            next = axis.dst.saturating_mul(axis.count.cast_signed());
            follows
        });
        dense.count()
    }
}

/// The same pairs in fewer loops, in the same order.
fn merged(loops: &[Loop]) -> Axes<Loop> {
    let mut merged: Axes<Loop> = Axes::new();
    for &inner in loops {
        match merged.last_mut() {
            Some(outer) if inner.is_continued_by(*outer) => {
                *outer = Loop {
                    count: outer.count * inner.count, // at most the size
                    ..inner
                };
            }
            _ => merged.push(inner),
        }
    }
    merged
}

/// Calls `visit` with the displacements of every combination of steps, counted from the start.
pub(super) fn for_each_step(loops: &[Loop], mut visit: impl FnMut(isize, isize)) {
    let mut index: Axes<usize> = loops.iter().map(|_| 0).collect();
    let (mut dst, mut src) = (0, 0);
    loop {
        visit(dst, src);
        // The innermost loop that has a step left takes it, those inside it start again.
        let mut axis = loops.len();
        loop {
            let Some(outer) = axis.checked_sub(1) else {
                return;
            };
            axis = outer;
            let step = loops[axis];
            if index[axis] + 1 < step.count {
                index[axis] += 1;
                dst += step.dst;
                src += step.src;
                break;
            }
            let back = index[axis].cast_signed();
            dst -= step.dst * back;
            src -= step.src * back;
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
