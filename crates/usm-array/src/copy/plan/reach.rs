//! What bytes a plan touches on either side, and in which direction

use std::ops::Range;

use super::{CopyPlan, Loop};

/// One of the two sides of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Target,
    Source,
}

impl Loop {
    pub(crate) fn stride(self, side: Side) -> isize {
        match side {
            Side::Target => self.dst,
            Side::Source => self.src,
        }
    }
}

impl CopyPlan {
    /// From the lowest element to one past the highest, in elements of that side.
    pub(crate) fn span(&self, side: Side) -> Range<isize> {
        let start = match side {
            Side::Target => self.dst_start,
            Side::Source => self.src_start,
        };
        let (mut low, mut high) = (start, start);
        for axis in self.loops.iter() {
            // Elements both, by P2.
            let reach = axis.stride(side) * (axis.count - 1).cast_signed();
            if reach < 0 { low += reach } else { high += reach }
        }
        low..high + 1
    }

    /// The same pairs, whose displacements count from the lowest element that is visited on either side.
    pub(crate) fn counted_from_lowest(mut self) -> Self {
        self.dst_start -= self.span(Side::Target).start;
        self.src_start -= self.span(Side::Source).start;
        self
    }

    /// True when steps of the loop `axis` lead out of everything that the loops inside it touch, on the target's side: parts of the
    /// plan that are split there have no byte in common.
    pub(crate) fn is_disjoint_along(&self, axis: usize) -> bool {
        let inside = self.loops.iter().skip(axis + 1);
        let reach: isize = inside.map(|axis| axis.dst.abs() * (axis.count - 1).cast_signed()).sum();
        self.loops.get(axis).is_some_and(|axis| axis.dst.abs() > reach)
    }

    /// True when every element of the target is visited once, and in the order of addresses.
    pub(crate) fn is_ascending(&self) -> bool {
        (0..self.loops.len()).all(|axis| self.loops[axis].dst > 0 && self.is_disjoint_along(axis))
    }

    /// True when the loops of both sides step alike, so that source and target are one pattern, shifted.
    pub(crate) fn has_equal_strides(&self) -> bool {
        self.loops.iter().all(|axis| axis.dst == axis.src)
    }

    /// The same pairs from the last to the first, except that the elements of dense rows keep their order.
    pub(crate) fn reversed(mut self) -> Self {
        let dense = self.row().dst == 1 && self.row().src == 1;
        let rows = self.loops.len() - usize::from(dense && !self.loops.is_empty());
        (0..rows).for_each(|axis| self.reverse(axis));
        self
    }

    /// The same pairs, but of all loops around the `inside` innermost ones those that go down in the source go up.
    pub(crate) fn upwards_in_source(mut self, inside: usize) -> Self {
        for axis in 0..self.loops.len().saturating_sub(inside) {
            if self.loops[axis].src < 0 {
                self.reverse(axis);
            }
        }
        self
    }

    /// Lets one of the loops begin at its other end.
    fn reverse(&mut self, axis: usize) {
        // P2: both ends are displacements of elements.
        self.loops[axis].reverse(&mut self.dst_start, &mut self.src_start);
    }
}
