//! Iteration over the elements of a view

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use super::pointers::Pointers;
use crate::dtype::Element;
use crate::layout::{Axes, Layout, Offsets};

/// Iterator over the elements of a view in row-major order, made by
/// [`ArrayView::iter`](super::ArrayView::iter) and [`ArrayViewMut::iter`](super::ArrayViewMut::iter).
///
/// Where the elements of the last axes follow each other, `sum`, `for_each`, `fold` and others are loops over slices.
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    // Invariant I1: for `'a`, each of these leads to a readable and aligned `T`, which nobody writes.
    pointers: Pointers<'a, T>,
    _memory: PhantomData<&'a T>,
}

// SAFETY: by I1 it is worth a `&'a [T]`: all threads may read the elements, which are `Sync` as every `Element` is.
unsafe impl<T: Element> Send for Iter<'_, T> {}

// SAFETY: as for `Send`, by I1; a shared iterator gives nothing but its length.
unsafe impl<T: Element> Sync for Iter<'_, T> {}

impl<'a, T: Element> Iter<'a, T> {
    /// # Safety
    /// 1. For `'a`, there is a readable and aligned `T` at each displacement of the layout,
    ///    counted in elements from `start`, and nobody writes it.
    pub(super) unsafe fn new(layout: &'a Layout, start: *const u8) -> Self {
        // SAFETY: promise 1.
        unsafe { Self::in_range(layout, start, 0..layout.size()) }
    }

    /// The elements with numbers in a range, counted in row-major order; as many as there are.
    ///
    /// # Safety
    /// As [`new`](Self::new).
    pub(super) unsafe fn in_range(layout: &'a Layout, start: *const u8, numbers: Range<usize>) -> Self {
        let pointers = Pointers::in_range(layout, start.cast::<T>().cast_mut(), numbers);
        Self { pointers, _memory: PhantomData } // I1 is promise 1
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let place = self.pointers.next()?;
        // SAFETY: by I1; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { place.read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.pointers.size_hint()
    }

    #[inline]
    fn count(self) -> usize {
        self.len()
    }

    #[inline]
    fn last(mut self) -> Option<T> {
        self.next_back()
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<T> {
        let place = self.pointers.nth(n)?;
        // SAFETY: by I1; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { place.read() })
    }

    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut function: F) -> B {
        self.pointers.fold(init, |folded, place| {
            // SAFETY: by I1; every pattern of bytes is a `T` (`Element`, 2).
            function(folded, unsafe { place.read() })
        })
    }
}

/// From the last element: each costs a division for each axis, unless all elements are at one distance.
impl<T: Element> DoubleEndedIterator for Iter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let place = self.pointers.next_back()?;
        // SAFETY: by I1; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { place.read() })
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}
impl<T: Element> FusedIterator for Iter<'_, T> {}

/// Iterator over references to the elements of a view in row-major order, by which they can be changed, made by
/// [`ArrayViewMut::iter_mut`](super::ArrayViewMut::iter_mut).
#[derive(Debug)]
pub struct IterMut<'a, T> {
    // Invariant I2: for `'a`, each of these leads to a readable, writable and aligned `T`, which nothing else reads or writes. No two lead to
    //     the same place.
    pointers: Pointers<'a, T>,
    _memory: PhantomData<&'a mut T>,
}

// SAFETY: by I2 it is worth a `&'a mut [T]`, whose elements are `Send` as every `Element` is.
unsafe impl<T: Element> Send for IterMut<'_, T> {}

// SAFETY: a shared iterator gives nothing but its length, whatever I2 allows.
unsafe impl<T: Element> Sync for IterMut<'_, T> {}

impl<'a, T: Element> IterMut<'a, T> {
    /// # Safety
    /// 1. For `'a`, there is a readable, writable and aligned `T` at each displacement of the layout, counted in elements from
    ///    `start`, and nothing else reads or writes it.
    /// 2. No element of the layout is at two indices.
    pub(super) unsafe fn new(layout: &'a Layout, start: *mut u8) -> Self {
        // I2 is both conditions: each element comes once.
        Self { pointers: Pointers::new(layout, start.cast()), _memory: PhantomData }
    }
}

impl<'a, T: Element> Iterator for IterMut<'a, T> {
    type Item = &'a mut T;

    #[inline]
    fn next(&mut self) -> Option<&'a mut T> {
        let place = self.pointers.next()?;
        // SAFETY: by I2 the only reference; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { &mut *place })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.pointers.size_hint()
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<&'a mut T> {
        let place = self.pointers.nth(n)?;
        // SAFETY: by I2 the only reference; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { &mut *place })
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'a mut T) -> B>(self, init: B, mut function: F) -> B {
        self.pointers.fold(init, |folded, place| {
            // SAFETY: by I2 the only reference; every pattern of bytes is a `T` (`Element`, 2).
            function(folded, unsafe { &mut *place })
        })
    }
}

/// From the last element: each costs a division for each axis, unless all elements are at one distance.
impl<'a, T: Element> DoubleEndedIterator for IterMut<'a, T> {
    #[inline]
    fn next_back(&mut self) -> Option<&'a mut T> {
        let place = self.pointers.next_back()?;
        // SAFETY: by I2 the only reference; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { &mut *place })
    }
}

impl<T: Element> ExactSizeIterator for IterMut<'_, T> {}
impl<T: Element> FusedIterator for IterMut<'_, T> {}

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
#[derive(Clone, Debug)]
pub struct IndexedIter<'a, T> {
    pub(super) elements: Iter<'a, T>,
    /// As far as the elements
    pub(super) offsets: Offsets<'a>,
}

impl<T: Element> Iterator for IndexedIter<'_, T> {
    type Item = (ElementIndex, T);

    fn next(&mut self) -> Option<(ElementIndex, T)> {
        let index = ElementIndex(Axes::from(self.offsets.index()));
        self.offsets.next();
        Some((index, self.elements.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for IndexedIter<'_, T> {}
impl<T: Element> FusedIterator for IndexedIter<'_, T> {}
