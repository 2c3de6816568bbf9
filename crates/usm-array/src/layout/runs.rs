//! The elements in row-major order, as runs at one distance

use std::ops::Range;

use super::inner::unravel;
use super::{Axes, Layout};

/// Elements that follow each other in row-major order, each at one distance from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Displacement of the first element
    pub(crate) offset: isize,
    /// Distance of two adjacent elements
    pub(crate) stride: isize,
    /// Number of elements, at least 1
    pub(crate) len: usize,
}

impl Layout {
    /// The elements with numbers in a range, counted in row-major order, as many as there are, in the longest runs. A layout that is
    /// C-contiguous is one run.
    pub(crate) fn runs_in(&self, numbers: Range<usize>) -> Runs<'_> {
        let end = numbers.end.min(self.size());
        let start = numbers.start.min(end);
        let (mut outer_ndim, mut len, mut stride) = (self.ndim(), 1_usize, 1);
        for (size, step) in self.axes().rev() {
            if len == 1 {
                (len, stride) = (size, if size == 1 { 1 } else { step });
            } else if size == 1 || stride.checked_mul(len.cast_signed()) == Some(step) {
                len *= size; // at most all elements, by L2
            } else {
                break;
            }
            outer_ndim -= 1;
        }
        // Without elements there is no run.
        let (first, skipped) = if start == end { (0, 0) } else { (start / len, start % len) };
        let next = if first == 0 { self.offset } else { self.outer_offset(outer_ndim, first) };
        let index = unravel(first, &self.shape[..outer_ndim]);
        Runs { layout: self, index, next, len, stride, skipped, numbers: start..end }
    }
}

/// Iterator over the elements of a layout in row-major order, a run at a time from the front, an element at a time from the back.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    layout: &'a Layout,
    /// Index of the next run along the first axes; the other axes are the run
    index: Axes<usize>,
    /// Displacement of the first element of the next run
    next: isize,
    /// Elements of a whole run
    len: usize,
    stride: isize,
    /// Elements of the next run that are left out
    skipped: usize,
    /// The elements that are left
    numbers: Range<usize>,
}

impl Runs<'_> {
    /// Number of elements that are left.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The displacement of the last element that is left. It costs a division for each axis.
    pub(crate) fn next_back(&mut self) -> Option<isize> {
        self.numbers.next_back().map(|number| self.layout.offset_of_number(number))
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        if self.numbers.is_empty() {
            return None;
        }
        let len = (self.len - self.skipped).min(self.numbers.len());
        // Displacements of elements here and below, so nothing overflows, by L3.
        let offset = self.next + self.stride * self.skipped.cast_signed();
        self.numbers.start += len;
        self.skipped = 0;
        for (axis, i) in self.index.iter_mut().enumerate().rev() {
            let stride = self.layout.strides[axis];
            if *i + 1 < self.layout.shape[axis] {
                *i += 1;
                self.next += stride;
                break;
            }
            self.next -= stride * i.cast_signed();
            *i = 0;
        }
        Some(Run { offset, stride: self.stride, len })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{displacements, small_layouts};
    use super::*;

    fn runs(layout: &Layout) -> Vec<(isize, isize, usize)> {
        layout.runs_in(0..layout.size()).map(|run| (run.offset, run.stride, run.len)).collect()
    }

    #[test]
    fn axes_become_one_run_where_their_elements_are_at_one_distance() {
        let layout = Layout::contiguous(&[2, 1, 3, 4], Order::C).expect("small");
        assert_eq!(runs(&layout), [(0, 1, 24)]);
        assert_eq!(runs(&layout.flip(None).expect("all axes")), [(23, -1, 24)]);
        let columns = (0..12).map(|i| (i / 3 + 4 * (i % 3), 12, 2));
        assert_eq!(runs(&layout.transpose()), columns.collect::<Vec<_>>());
        let matrix = Layout::new(&[2, 3], Some(&[5, 1]), 7, Order::C).expect("small");
        assert_eq!(runs(&matrix), [(7, 1, 3), (12, 1, 3)]);
        let repeated = Layout::new(&[2, 3], Some(&[0, 0]), 4, Order::C).expect("small");
        assert_eq!(runs(&repeated), [(4, 0, 6)]);
        assert_eq!(runs(&Layout::contiguous(&[], Order::C).expect("small")), [(0, 1, 1)]);
        assert_eq!(runs(&Layout::contiguous(&[3, 0], Order::C).expect("small")), []);
    }

    proptest! {
        #[test]
        fn runs_are_the_elements(layout in small_layouts(), first in 0_usize..40, last in 0_usize..80, back in 0_usize..5) {
            let expected = displacements(&layout);
            let end = last.min(expected.len());
            let mut expected = expected[first.min(end)..end].to_vec();
            let mut runs = layout.runs_in(first..last);
            prop_assert_eq!(runs.len(), expected.len());
            for _ in 0..back {
                prop_assert_eq!(runs.next_back().map(|o| o as i128), expected.pop());
            }
            let found: Vec<i128> = runs
                .flat_map(|run| (0..run.len as i128).map(move |i| run.offset as i128 + i * run.stride as i128))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
