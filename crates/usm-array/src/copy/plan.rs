//! In which order, and in which runs, elements are copied from one layout to another
//!
//! Elements may be copied in any order, so the plan picks a good one: axes of size 1 go away, the
//! destination is walked upwards with its smallest stride innermost, and axes that follow each
//! other without a gap on both sides become one.

use std::cmp::Reverse;

use crate::layout::{Axes, Layout};

/// One loop of a copy: so many steps, and how far each goes on either side, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) count: usize,
    pub(super) dst: isize,
    pub(super) src: isize,
}

/// A nest of loops that visits every pair of elements once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyPlan {
    // P1. The displacements visited are those of the destination layout paired with those of the
    //     source layout, index by index.
    pub(super) dst_start: isize,
    pub(super) src_start: isize,
    /// Outermost first
    pub(super) outer: Axes<Loop>,
    /// The innermost loop
    pub(super) row: Loop,
}

impl CopyPlan {
    /// The plan for two layouts of one shape; `None` if there is nothing to copy.
    ///
    /// With different shapes only the common leading part of the axes is used.
    pub(super) fn new(dst: &Layout, src: &Layout) -> Option<Self> {
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
                // From the other end; the last index is an element on both sides, so none of this
                // overflows, by L3.
                let last = (count - 1).cast_signed();
                dst_start += last * axis.dst;
                src_start += last * axis.src;
                axis.dst = -axis.dst;
                axis.src = -axis.src;
            }
            loops.push(axis);
        }
        loops.sort_by_key(|axis| Reverse((axis.dst, axis.src.unsigned_abs())));

        let mut merged: Axes<Loop> = Axes::new();
        for &inner in loops.iter() {
            match merged.last_mut() {
                Some(outer) if continues(*outer, inner) => {
                    *outer = Loop {
                        count: outer.count * inner.count, // at most the size
                        ..inner
                    };
                }
                _ => merged.push(inner),
            }
        }
        let row = merged.last().copied().unwrap_or(Loop { count: 1, dst: 1, src: 1 });
        let outer = merged.len().saturating_sub(1);
        Some(Self { dst_start, src_start, outer: merged.iter().copied().take(outer).collect(), row })
    }

    /// True when the elements of a row lie side by side in both layouts.
    pub(super) fn has_dense_rows(&self) -> bool {
        self.row.dst == 1 && self.row.src == 1
    }

    /// True when all elements together are one dense run in both layouts.
    pub(super) fn is_one_run(&self) -> bool {
        self.outer.is_empty() && self.has_dense_rows()
    }
}

/// True when the end of the inner loop is where the outer one goes next, on both sides.
fn continues(outer: Loop, inner: Loop) -> bool {
    let count = inner.count.cast_signed();
    inner.dst.checked_mul(count) == Some(outer.dst) && inner.src.checked_mul(count) == Some(outer.src)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::Order;
    use crate::layout::brute_force::{displacements, small_layouts};

    fn pairs(plan: &CopyPlan) -> Vec<(i128, i128)> {
        let mut pairs = vec![(plan.dst_start as i128, plan.src_start as i128)];
        for axis in plan.outer.iter().chain([&plan.row]) {
            pairs = pairs
                .iter()
                .flat_map(|&(dst, src)| {
                    (0..axis.count as i128)
                        .map(move |i| (dst + i * axis.dst as i128, src + i * axis.src as i128))
                })
                .collect();
        }
        pairs
    }

    fn layout(shape: &[usize], strides: &[isize]) -> Layout {
        Layout::new(shape, Some(strides), 0, Order::C).expect("small")
    }

    #[test]
    fn equal_dense_layouts_are_one_run() {
        for strides in [&[12, 4, 1][..], &[1, 2, 6], &[4, 8, 1]] {
            let dense = layout(&[2, 3, 4], strides);
            let plan = CopyPlan::new(&dense, &dense).expect("not empty");
            assert!(plan.is_one_run(), "{strides:?}: {plan:?}");
            assert_eq!(plan.row.count, 24);
        }
        let backwards = layout(&[4], &[-1]);
        let plan = CopyPlan::new(&backwards, &backwards).expect("not empty");
        assert!(plan.is_one_run());
        assert_eq!((plan.dst_start, plan.src_start), (-3, -3));
    }

    #[test]
    fn rows_of_a_submatrix_are_dense() {
        let plan = CopyPlan::new(&layout(&[2, 3], &[3, 1]), &layout(&[2, 3], &[8, 1]));
        let plan = plan.expect("not empty");
        assert!(plan.has_dense_rows() && !plan.is_one_run());
        assert_eq!(plan.row.count, 3);
        assert_eq!(*plan.outer, [Loop { count: 2, dst: 3, src: 8 }]);
    }

    #[test]
    fn one_element_is_one_run_and_none_is_nothing() {
        let one = layout(&[1, 1], &[7, -9]);
        assert!(CopyPlan::new(&one, &one).expect("not empty").is_one_run());
        let none = layout(&[3, 0], &[1, 1]);
        assert_eq!(CopyPlan::new(&none, &none), None);
    }

    proptest! {
        #[test]
        fn every_pair_is_visited_once(
            (dst, strides, offset) in small_layouts().prop_flat_map(|dst| {
                let strides = prop::collection::vec(-12_isize..=12, dst.ndim());
                (Just(dst), strides, -60_isize..60)
            }),
        ) {
            let src = Layout::new(dst.shape(), Some(&strides), offset, Order::C).expect("small");
            let mut expected: Vec<_> = displacements(&dst).into_iter().zip(displacements(&src)).collect();
            let mut found = CopyPlan::new(&dst, &src).map_or(vec![], |plan| pairs(&plan));
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
