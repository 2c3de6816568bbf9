//! Parts of a plan: for threads, and those that pieces are made of

use super::{CopyPlan, Loop, Side, merged};
use crate::layout::Axes;

/// Long runs are cut at multiples of so many elements, which keeps cache lines and pages whole.
const RUN_ELEMENTS: usize = 4096;

/// Loops are cut at multiples of so many steps, where parts have as many: whole lines of the target, if its steps lie side by side.
const STEPS: usize = 64;

impl CopyPlan {
    /// The steps `first .. first + count` of the loop `axis`, which has them.
    fn cut(&self, axis: usize, first: usize, count: usize) -> Self {
        let mut part = self.clone();
        let step = self.loops[axis];
        // An element on both sides, by P2.
        part.dst_start += step.dst * first.cast_signed();
        part.src_start += step.src * first.cast_signed();
        part.loops[axis].count = count;
        if count == 1 {
            // For P3.
            part.loops = part.loops.iter().copied().filter(|step| step.count > 1).collect();
        }
        part
    }

    /// About `wanted` parts of equal size whose targets have no byte in common, as many as can be had with at least `min_size`
    /// elements in each. `choose` says along which loop a plan is cut: 0, the outermost one, keeps the parts in the plan's order
    /// and the bytes between their elements apart.
    pub(crate) fn parts(self, wanted: usize, min_size: usize, choose: &impl Fn(&Self) -> usize) -> Vec<Self> {
        let wanted = wanted.min(self.size() / min_size.max(1));
        if wanted < 2 || self.loops.is_empty() {
            return vec![self];
        }
        let axis = if self.is_ascending() { choose(&self) } else { 0 };
        let Some(count) =
            self.loops.get(axis).map(|step| step.count).filter(|_| self.is_disjoint_along(axis))
        else {
            return vec![self];
        };
        if count < wanted {
            let inside = wanted.div_ceil(count);
            let steps = (0..count).map(|step| self.cut(axis, step, 1));
            return steps.flat_map(|step| step.parts(inside, min_size, choose)).collect();
        }
        let each = count.div_ceil(wanted);
        let unit = if self.loops.len() == 1 { RUN_ELEMENTS } else { STEPS.min(1 << each.ilog2()) };
        let each = each.next_multiple_of(unit);
        (0..count).step_by(each).map(|first| self.cut(axis, first, each.min(count - first))).collect()
    }

    /// One part for each step of the loop that goes farthest on a side; `None` for a single element there.
    pub(crate) fn steps(&self, side: Side) -> Option<Vec<Self>> {
        let axis = self.farthest(side)?;
        Some((0..self.loops[axis].count).map(|step| self.cut(axis, step, 1)).collect())
    }

    /// Two halves along the loop that goes farthest on a side; `None` for a single element there.
    pub(crate) fn halves(&self, side: Side) -> Option<[Self; 2]> {
        let axis = self.farthest(side)?;
        let count = self.loops[axis].count;
        let half = count / 2; // not 0, by P3
        Some([self.cut(axis, 0, half), self.cut(axis, half, count - half)])
    }

    /// Two plans that do the same together: into dense memory, in the order in which the elements lie on a side, and from there to the
    /// target. Elements that the source repeats are in the dense memory once.
    pub(crate) fn through_packed(&self, order: Side) -> (Self, Self) {
        let mut pack = Self { dst_start: 0, src_start: self.src_start, loops: Axes::new() };
        let mut unpack = Self { dst_start: self.dst_start, src_start: 0, loops: self.loops.clone() };
        let mut step = 1;
        let mut moving: Axes<usize> = self.moving().collect();
        moving.sort_by_key(|&axis| self.loops[axis].stride(order).unsigned_abs());
        for &axis in moving.iter() {
            let axis = &mut unpack.loops[axis];
            pack.loops.push(Loop { count: axis.count, dst: step, src: axis.src });
            axis.src = step;
            step *= axis.count.cast_signed(); // at most the size
        }
        pack.loops.reverse();
        pack.loops = merged(&pack.loops);
        unpack.loops = merged(&unpack.loops);
        (pack, unpack)
    }

    /// Parts of which [`through_packed`](Self::through_packed) packs at most so many elements, in the order of a side.
    pub(crate) fn packed_parts(self, order: Side, max_len: usize) -> Vec<Self> {
        let len = self.moving().map(|axis| self.loops[axis].count).product::<usize>();
        let farthest = self.moving().max_by_key(|&axis| self.loops[axis].stride(order).unsigned_abs());
        let Some(axis) = farthest.filter(|_| len > max_len.max(1)) else {
            return vec![self];
        };
        let count = self.loops[axis].count;
        let most = (max_len / (len / count)).max(1);
        let each = count.div_ceil(count.div_ceil(most)); // equal ones, so that none has a few elements of a line
        (0..count)
            .step_by(each)
            .flat_map(|first| self.cut(axis, first, each.min(count - first)).packed_parts(order, max_len))
            .collect()
    }

    /// The loops along which the source moves, the innermost first.
    fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.loops.len()).rev().filter(|&axis| self.loops[axis].src != 0)
    }

    /// The loop with the largest stride on a side, if any loop moves there.
    pub(crate) fn farthest(&self, side: Side) -> Option<usize> {
        let strides = self.loops.iter().map(|axis| axis.stride(side).unsigned_abs()).enumerate();
        strides.filter(|&(_, stride)| stride > 0).max_by_key(|&(_, stride)| stride).map(|(axis, _)| axis)
    }
}
