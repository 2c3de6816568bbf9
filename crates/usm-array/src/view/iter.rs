//! Iteration over the elements of a view

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use crate::dtype::Element;
use crate::layout::{Axes, Layout, Offsets};

/// Iterator over the elements of a view in row-major order, made by
/// [`ArrayView::iter`](super::ArrayView::iter) and [`ArrayViewMut::iter`](super::ArrayViewMut::iter).
#[derive(Debug)]
pub struct Iter<'a, T> {
    offsets: Offsets<'a>,
    // Invariant I1: For `'a`, every displacement of `offsets` from here, in elements, is a readable and
    //     aligned `T`.
    start: *const T,
    _memory: PhantomData<&'a T>,
}

impl<'a, T: Element> Iter<'a, T> {
    /// # Safety
    /// 1. For `'a`, there is a readable and aligned `T` at each displacement of the layout,
    ///    counted in elements from `start`.
    pub(super) unsafe fn new(layout: &'a Layout, start: *const u8) -> Self {
        // SAFETY: promise 1.
        unsafe { Self::in_range(layout, start, 0..layout.size()) }
    }

    /// The elements with numbers in a range, counted in row-major order; as many as there are.
    ///
    /// # Safety
    /// As [`new`](Self::new).
    pub(super) unsafe fn in_range(layout: &'a Layout, start: *const u8, numbers: Range<usize>) -> Self {
        Self {
            offsets: layout.offsets_in(numbers),
            start: start.cast(), // I1 is promise 1
            _memory: PhantomData,
        }
    }

    fn at(&self, offset: isize) -> T {
        let place = self.start.wrapping_offset(offset);
        // SAFETY: a displacement of `offsets`, so by I1; every pattern of bytes is a `T` (promise 2 of `Element`).
        unsafe { place.read() }
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let offset = self.offsets.next()?;
        Some(self.at(offset))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

/// From the last element: each one costs a division for each axis.
impl<T: Element> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        let offset = self.offsets.next_back()?;
        Some(self.at(offset))
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}
impl<T: Element> FusedIterator for Iter<'_, T> {}

/// The index of an element: one number for each axis. Up to six axes need no heap allocation.
#[derive(Clone, Debug)]
pub struct ElementIndex(Axes<usize>);

impl Deref for ElementIndex {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

/// Iterator over the elements of a view in row-major order with their indices, made by
/// [`ArrayView::indexed_iter`](super::ArrayView::indexed_iter).
#[derive(Debug)]
pub struct IndexedIter<'a, T>(pub(super) Iter<'a, T>);

impl<T: Element> Iterator for IndexedIter<'_, T> {
    type Item = (ElementIndex, T);

    fn next(&mut self) -> Option<(ElementIndex, T)> {
        let index = ElementIndex(Axes::from(self.0.offsets.index()));
        Some((index, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for IndexedIter<'_, T> {}
impl<T: Element> FusedIterator for IndexedIter<'_, T> {}
