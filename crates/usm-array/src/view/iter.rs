//! Iteration over the elements of a view

use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::dtype::Element;
use crate::layout::{Layout, Offsets};

/// Iterator over the elements of a view in row-major order, made by
/// [`ArrayView::iter`](super::ArrayView::iter) and [`ArrayViewMut::iter`](super::ArrayViewMut::iter).
#[derive(Debug)]
pub struct Iter<'a, T> {
    offsets: Offsets<'a>,
    // I1. For `'a`, every displacement of `offsets` from here, in elements, is a readable and
    //     aligned `T`.
    start: *const T,
    _memory: PhantomData<&'a T>,
}

impl<'a, T: Element> Iter<'a, T> {
    /// # Safety
    /// 1. For `'a`, there is a readable and aligned `T` at each displacement of the layout,
    ///    counted in elements from `start`.
    pub(super) unsafe fn new(layout: &'a Layout, start: *const u8) -> Self {
        Self {
            offsets: layout.offsets(),
            start: start.cast(), // I1 is condition 1
            _memory: PhantomData,
        }
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let place = self.start.wrapping_offset(self.offsets.next()?);
        // SAFETY: by I1; every pattern of bytes is a `T` (`Element`, 2).
        Some(unsafe { place.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}
impl<T: Element> FusedIterator for Iter<'_, T> {}
