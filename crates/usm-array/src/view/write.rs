//! Reading and writing elements

use std::marker::PhantomData;

use super::guarded::{MemoryMut, MemoryRef, Start, Writable, check_accessible};
use super::pointers::Pointers;
use super::{ArrayView, HostWrite, Iter, check_dtype};
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::{Axes, Layout};

/// Write access to the elements of an array in host or shared memory.
///
/// Only one can exist at a time over the same memory, and no [`ArrayView`](super::ArrayView)
/// beside it. Layouts in which one element has several indices (stride 0) are no problem: the last write wins. Where many
/// references to elements would exist at a time, as in [`iter_mut`](Self::iter_mut), such layouts are refused.
///
/// ```
/// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Host, &[2, 2], &[1_u8, 2, 3, 4])?;
/// let mut view = array.view_mut::<u8>()?;
/// view[[0, 1]] = 20;
/// assert_eq!(view.to_vec()?, [1, 20, 3, 4]);
/// assert!(array.view::<u8>().is_err(), "borrowed for writing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayViewMut<'a, T> {
    // Invariant W1: Holds the memory of all elements of an array of dtype `T::DTYPE`, directly or through the view that this is a part of,
    //     which is borrowed as long as this lives; or borrows aligned `T`s of ordinary memory for itself, which stand for that array.
    memory: Writable<'a>,
    // Invariant W3: the start of `memory`.
    start: Start,
    // Invariant W2: Every displacement of the layout, counted in elements from the start of `memory`, is that of an element of that array.
    layout: Layout,
    _array: PhantomData<(&'a UsmArray, T)>,
}

impl UsmArray {
    /// `array.view_mut::<f64>()?` is write access of host code to elements of the Rust type `f64`, as [`UsmArray::view`]. Clones and views
    /// of an array share its memory, so the check concerns the memory, at run time, and not this reference.
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`](crate::Error::DtypeMismatch): the elements are no `T`
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - [`Error::NotHostAccessible`](crate::Error::NotHostAccessible): device memory
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed
    pub fn view_mut<T>(&self) -> Result<ArrayViewMut<'_, T>>
    where
        // The compiler shows the next line to users who write no type.
        T: Element, // write the type of the elements, such as `array.view_mut::<f64>()?`
    {
        check_dtype::<T>(self)?;
        // Guards say which of the two it is, and read-only comes first.
        let memory = Writable::Own(HostWrite::lock(self)?);
        check_accessible(self)?;
        Ok(ArrayViewMut {
            start: memory.by_ref().start(),
            memory,
            layout: self.layout_from_lowest()?,
            _array: PhantomData,
        })
    }
}

impl<'a, T: Element> ArrayViewMut<'a, T> {
    /// A view of elements that are in this memory for `'a`, where the layout says.
    pub(super) fn over(memory: MemoryMut<'a>, layout: Layout) -> Self {
        // W1 and W2 are what the caller has.
        Self { start: memory.start(), memory: Writable::Part(memory), layout, _array: PhantomData }
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// A view of a part of the elements, under the same guard. Its layout comes from the one of this view by operations of [`Layout`]
    /// that reach no other elements.
    pub(super) fn part(&mut self, layout: Layout) -> ArrayViewMut<'_, T> {
        ArrayViewMut::over(self.memory.by_ref(), layout) // W1 and W2 of this view, which is borrowed
    }

    /// Shape, strides and offset, counted from the lowest element of the array.
    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A read-only view of the same elements, which borrows this one.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Host, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// view.set(&[0, 0], 5)?;
    /// assert_eq!(view.as_view().transpose().to_vec()?, [5, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_view(&self) -> ArrayView<'_, T> {
        ArrayView::part(MemoryRef::Write(self.memory.by_ref()), self.layout.clone())
    }

    /// Number of indices along each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The element with the given index.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): not one index below the size for each axis
    #[inline]
    pub fn get(&self, index: &[usize]) -> Result<T> {
        let place = self.place(self.layout.offset_of(index)?);
        // SAFETY: the displacement is one of the layout, so by W1 to W3 the place is that of an
        // element, readable as the guard is held, and aligned by A2 of the array; every pattern
        // of bytes is a `T` (promise 2 of `Element`).
        Ok(unsafe { place.read() })
    }

    /// Changes the element with the given index.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): not one index below the size for each axis
    #[inline]
    pub fn set(&mut self, index: &[usize], value: T) -> Result<()> {
        let place = self.place(self.layout.offset_of(index)?);
        // SAFETY: the displacement is one of the layout, so by W1 to W3 the place is that of an
        // element, writable as the guard is held, and aligned by A2 of the array.
        unsafe { place.write(value) };
        Ok(())
    }

    /// Replaces each element, in row-major order, with the result of the function for it. An element with several indices is replaced
    /// once for each.
    pub fn map_in_place(&mut self, mut function: impl FnMut(T) -> T) {
        Pointers::new(&self.layout, self.place(0)).for_each(|place| {
            // SAFETY: by W1 to W3 an element of the layout, readable under the guard, aligned by A2, and a `T` by 2 of `Element`.
            let value = unsafe { place.read() };
            // SAFETY: by W1 to W3 an element of the layout, writable under the guard, and aligned by A2.
            unsafe { place.write(function(value)) };
        });
    }

    /// Replaces each element, in row-major order, with the result of the function for its index and the element.
    ///
    /// ```
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Host, &[2, 3], Dtype::U16)?;
    /// let mut view = array.view_mut::<u16>()?;
    /// view.indexed_map_in_place(|index, _| (10 * index[0] + index[1]) as u16);
    /// assert_eq!(view.to_vec()?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn indexed_map_in_place(&mut self, mut function: impl FnMut(&[usize], T) -> T) {
        let mut offsets = self.layout.offsets();
        while offsets.len() > 0 {
            let index = Axes::from(offsets.index());
            let Some(offset) = offsets.next() else {
                return;
            };
            let place = self.place(offset);
            // SAFETY: by W1 to W3 an element of the layout, readable under the guard, aligned by A2, and a `T` by 2 of `Element`.
            let value = unsafe { place.read() };
            // SAFETY: by W1 to W3 an element of the layout, writable under the guard, and aligned by A2.
            unsafe { place.write(function(&index, value)) };
        }
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        // SAFETY: by W1 to W3; the guard is borrowed as long as the iterator lives.
        unsafe { Iter::new(&self.layout, self.place(0).cast()) }
    }

    /// The lowest element of the array.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.place(0)
    }

    /// A place in the memory, by W3.
    #[inline]
    pub(super) fn place(&self, offset: isize) -> *mut T {
        self.start.as_mut_ptr().cast::<T>().wrapping_offset(offset)
    }
}

impl<'a, T: Element> IntoIterator for &'a ArrayViewMut<'_, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
