//! Elements as slices of Rust, and references to elements

use std::ops::{Index, IndexMut};

use super::iter::IterMut;
use super::{ArrayView, ArrayViewMut};
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Layout, Overlap};

impl<T: Element> ArrayView<'_, T> {
    /// The elements as a slice, if they follow each other in row-major order: the layout is C-contiguous.
    ///
    /// The guard of this view keeps out all writers that use buffers and arrays. It does not know other writers: other libraries and
    /// kernels that were given the address. Wait for them first, as for a [`ReadGuard::as_slice`](usm_memory::ReadGuard::as_slice).
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[3_u8, 1, 4, 1])?;
    /// let view = array.view::<u8>()?;
    /// assert_eq!(view.as_slice(), Some(&[3, 1, 4, 1][..]));
    /// assert_eq!(view.transpose().as_slice(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_slice(&self) -> Option<&[T]> {
        let layout = self.layout();
        if !layout.is_c_contiguous() {
            return None;
        }
        if layout.is_empty() {
            return Some(&[]);
        }
        let start = self.as_ptr().wrapping_offset(layout.offset());
        // SAFETY: by R1 to R3 all of these are aligned (A2) and readable elements of one allocation, at most `isize::MAX` bytes by
        // A3, and `T`s by 2 of `Element`. The guard, borrowed as long as the slice lives, admits no writer.
        Some(unsafe { std::slice::from_raw_parts(start, layout.size()) })
    }

    #[inline(always)]
    #[track_caller]
    fn element(&self, index: &[usize]) -> &T {
        let place = self.as_ptr().wrapping_offset(offset_of(self.layout(), index));
        // SAFETY: by R1 to R3 a readable and aligned (A2) element, and a `T` by 2 of `Element`. The guard, borrowed as long as the
        // reference lives, admits no writer.
        unsafe { &*place }
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// The elements as a slice, if they follow each other in row-major order, as [`ArrayView::as_slice`].
    #[must_use]
    pub fn as_slice(&self) -> Option<&[T]> {
        if !self.layout().is_c_contiguous() {
            return None;
        }
        if self.layout().is_empty() {
            return Some(&[]);
        }
        let start = self.place(self.layout().offset());
        // SAFETY: by W1 to W3 all of these are aligned (A2) and readable elements of one allocation, at most `isize::MAX` bytes by
        // A3, and `T`s by 2 of `Element`. Writers need this view, borrowed as long as the slice lives, for themselves.
        Some(unsafe { std::slice::from_raw_parts(start, self.layout().size()) })
    }

    /// The elements as a slice that can be written, if they follow each other in row-major order: the layout is C-contiguous. What
    /// [`ArrayView::as_slice`] says of other writers holds for readers, too.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[3_u8, 1, 4, 1])?;
    /// if let Some(elements) = array.view_mut::<u8>()?.as_slice_mut() {
    ///     elements.sort_unstable();
    /// }
    /// assert_eq!(array.to_vec::<u8>()?, [1, 1, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_slice_mut(&mut self) -> Option<&mut [T]> {
        if !self.layout().is_c_contiguous() {
            return None;
        }
        if self.layout().is_empty() {
            return Some(&mut []);
        }
        let start = self.place(self.layout().offset());
        // SAFETY: by W1 to W3 all of these are aligned (A2) and writable elements of one allocation, at most `isize::MAX` bytes by
        // A3, and `T`s by 2 of `Element`. The guard admits nobody else, and this view is borrowed as long as the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(start, self.layout().size()) })
    }

    /// References to the elements in row-major order, by which they can be changed.
    ///
    /// All of them may be kept, so no two may lead to one element: a view in which an element may be at two indices is refused.
    /// [`map_in_place`](Self::map_in_place) takes every view.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// for (i, element) in view.iter_mut()?.enumerate() {
    ///     *element += 10 * i as u8;
    /// }
    /// assert_eq!(view.as_slice(), Some(&[1, 12, 23, 34][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::SharedElements`]: an element is, or may be, at two indices
    pub fn iter_mut(&mut self) -> Result<IterMut<'_, T>> {
        check_unshared(self.layout())?;
        // SAFETY: 1. By W1 to W3, aligned by A2; the guard admits nobody else, and this view is borrowed as long as the iterator
        // lives. 2. As was just seen.
        Ok(unsafe { IterMut::new(self.layout(), self.place(0).cast()) })
    }

    #[inline(always)]
    #[track_caller]
    fn element(&self, index: &[usize]) -> &T {
        let place = self.place(offset_of(self.layout(), index));
        // SAFETY: by W1 to W3 a readable and aligned (A2) element, and a `T` by 2 of `Element`. Writers need this view, borrowed as
        // long as the reference lives, for themselves.
        unsafe { &*place }
    }

    #[inline(always)]
    #[track_caller]
    fn element_mut(&mut self, index: &[usize]) -> &mut T {
        let place = self.place(offset_of(self.layout(), index));
        // SAFETY: by W1 to W3 a writable and aligned (A2) element, and a `T` by 2 of `Element`. The guard admits nobody else, and
        // this view is borrowed as long as the reference lives: there is one at a time, even where an element has several indices.
        unsafe { &mut *place }
    }
}

/// Refuses a layout in which an element is, or may be, at two indices.
pub(crate) fn check_unshared(layout: &Layout) -> Result<()> {
    match layout.internal_overlap(Overlap::DEFAULT_WORK_LIMIT).is_possible() {
        true => Err(shared_elements(layout)),
        false => Ok(()),
    }
}

pub(super) fn shared_elements(layout: &Layout) -> Error {
    Error::SharedElements { shape: layout.shape().to_vec(), strides: layout.strides().to_vec() }
}

/// The displacement of an element for `view[index]`.
#[inline(always)]
#[track_caller]
fn offset_of(layout: &Layout, index: &[usize]) -> isize {
    match layout.known_offset_of(index) {
        Some(offset) => offset,
        None => outside(layout, index),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
#[expect(
    clippy::panic,
    reason = "`Index` has no other way to refuse, as for slices; `get` returns the error"
)]
fn outside(layout: &Layout, index: &[usize]) -> ! {
    panic!("{}", layout.refusal_of(index))
}

macro_rules! index {
    ($([$($generics:tt)*] $index:ty, |$i:ident| $numbers:expr;)*) => {$(
        /// A reference to the element with an index, as [`ArrayView::as_slice`] has references to all.
        ///
        /// # Panics
        /// Not one index below the size for each axis: [`get`](ArrayView::get) returns the error.
        impl<T: Element, $($generics)*> Index<$index> for ArrayView<'_, T> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, $i: $index) -> &T {
                self.element($numbers)
            }
        }

        /// A reference to the element with an index.
        ///
        /// # Panics
        /// Not one index below the size for each axis: [`get`](ArrayViewMut::get) returns the error.
        impl<T: Element, $($generics)*> Index<$index> for ArrayViewMut<'_, T> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, $i: $index) -> &T {
                self.element($numbers)
            }
        }

        /// A reference to the element with an index, by which it can be changed.
        ///
        /// # Panics
        /// Not one index below the size for each axis: [`set`](ArrayViewMut::set) returns the error.
        impl<T: Element, $($generics)*> IndexMut<$index> for ArrayViewMut<'_, T> {
            #[inline]
            #[track_caller]
            fn index_mut(&mut self, $i: $index) -> &mut T {
                self.element_mut($numbers)
            }
        }
    )*};
}
index! {
    [] usize, |index| &[index];
    [const N: usize] [usize; N], |index| &index;
    [] &[usize], |index| index;
}
