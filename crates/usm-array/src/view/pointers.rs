//! Pointers to the elements of a layout in row-major order. No unsafe code

use crate::layout::{Layout, Run, Runs};
use std::ops::Range;

/// Iterator over pointers to elements, which are made by arithmetic alone. An element of a run costs an addition, and a whole run is
/// one loop in [`fold`](Iterator::fold), on which `sum`, `for_each` and others are built.
#[derive(Clone, Debug)]
pub(super) struct Pointers<'a, T> {
    start: *mut T,
    /// The next element of the run at hand
    next: *mut T,
    stride: isize,
    /// Elements of the run at hand that are left
    left: usize,
    /// The elements behind that run
    runs: Runs<'a>,
}

impl<'a, T> Pointers<'a, T> {
    /// To all elements, whose displacements count from `start`.
    pub(super) fn new(layout: &'a Layout, start: *mut T) -> Self {
        Self::in_range(layout, start, 0..layout.size())
    }

    /// To the elements with numbers in a range, counted in row-major order; as many as there are.
    pub(super) fn in_range(layout: &'a Layout, start: *mut T, numbers: Range<usize>) -> Self {
        let mut new = Self { start, next: start, stride: 1, left: 0, runs: layout.runs_in(numbers) };
        new.has_more();
        new
    }

    /// Takes the next run, if there is one.
    #[inline]
    fn has_more(&mut self) -> bool {
        let Some(Run { offset, stride, len }) = self.runs.next() else { return false };
        (self.next, self.stride, self.left) = (self.start.wrapping_offset(offset), stride, len);
        true
    }
}

impl<T> Iterator for Pointers<'_, T> {
    type Item = *mut T;

    #[inline]
    fn next(&mut self) -> Option<*mut T> {
        if self.left == 0 && !self.has_more() {
            return None;
        }
        let place = self.next;
        self.left -= 1;
        self.next = place.wrapping_offset(self.stride);
        Some(place)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.left + self.runs.len();
        (len, Some(len))
    }

    #[inline]
    fn nth(&mut self, mut n: usize) -> Option<*mut T> {
        while n >= self.left {
            n -= self.left;
            self.left = 0;
            if !self.has_more() {
                return None;
            }
        }
        self.left -= n;
        self.next = self.next.wrapping_offset(self.stride * n.cast_signed()); // within the run
        self.next()
    }

    #[inline]
    fn fold<B, F: FnMut(B, *mut T) -> B>(mut self, init: B, mut function: F) -> B {
        let mut folded = init;
        while self.left > 0 || self.has_more() {
            let Self { next, stride, left, .. } = self;
            // Two loops: the compiler computes several elements at a time where the distance is the number 1.
            folded = match stride {
                1 => (0..left).fold(folded, |folded, i| function(folded, next.wrapping_add(i))),
                _ => (0..left.cast_signed())
                    .fold(folded, |folded, i| function(folded, next.wrapping_offset(stride * i))),
            };
            self.left = 0;
        }
        folded
    }
}

impl<T> DoubleEndedIterator for Pointers<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<*mut T> {
        match self.runs.next_back() {
            Some(offset) => Some(self.start.wrapping_offset(offset)),
            None => {
                self.left = self.left.checked_sub(1)?;
                Some(self.next.wrapping_offset(self.stride * self.left.cast_signed()))
            }
        }
    }
}

impl<T> ExactSizeIterator for Pointers<'_, T> {}
