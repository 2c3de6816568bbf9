//! Reading elements

use std::marker::PhantomData;
use std::ops::Range;

use super::guarded::{MemoryRef, Readable, Start, check_accessible};
use super::{HostRead, IndexedIter, Iter, check_dtype};
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::Layout;

/// Read access to the elements of an array in host or shared memory.
///
/// Any number of them can exist at a time, but none beside an [`ArrayViewMut`](super::ArrayViewMut)
/// of overlapping memory. [`get`](Self::get) and [`iter`](Self::iter) copy elements out. `view[[i, j]]` and
/// [`as_slice`](Self::as_slice) have references into the memory.
///
/// ```
/// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
/// let view = array.view::<u8>()?;
/// assert_eq!(view[[1, 0]], 3);
/// assert!(view.get(&[2, 0]).is_err(), "there are two rows");
/// assert_eq!(view.iter().map(u32::from).sum::<u32>(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayView<'a, T> {
    // Invariant R1: holds the memory of all elements of an array of dtype `T::DTYPE`, directly or through the view that this is a part of; or
    //     borrows aligned `T`s of ordinary memory, which stand for that array.
    memory: Readable<'a>,
    // Invariant R3: the start of `memory`.
    start: Start,
    // Invariant R2: Every displacement of the layout, counted in elements from the start of `memory`, is that of an element of that array.
    layout: Layout,
    _array: PhantomData<(&'a UsmArray, T)>,
}

impl UsmArray {
    /// `array.view::<f64>()?` is read access of host code to elements of the Rust type `f64`; [`Dtype::rust_type`](crate::Dtype::rust_type)
    /// is the type for a dtype.
    ///
    /// The compiler has to know the type, here or from the use of the view. Otherwise its error is "type annotations needed", and shows
    /// the line to write:
    ///
    /// ```compile_fail,E0283
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[3], Dtype::F64)?;
    /// let view = array.view()?; // error: `array.view::<f64>()?` has the type
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A [`TypedArray`](crate::TypedArray) knows its type, so that its `view()` needs none.
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`](crate::Error::DtypeMismatch): the elements are no `T`
    /// - [`Error::NotHostAccessible`](crate::Error::NotHostAccessible): device memory
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed for writing
    pub fn view<T>(&self) -> Result<ArrayView<'_, T>>
    where
        // The compiler shows the next line to users who write no type.
        T: Element, // write the type of the elements, such as `array.view::<f64>()?`
    {
        check_dtype::<T>(self)?;
        check_accessible(self)?;
        let memory = Readable::Own(HostRead::lock(self)?);
        Ok(ArrayView {
            start: memory.start(),
            memory,
            layout: self.layout_from_lowest()?,
            _array: PhantomData,
        })
    }
}

impl<'a, T: Element> ArrayView<'a, T> {
    /// A part of a view, with a layout that comes from that view's by the operations of [`Layout`] that reach no other elements.
    pub(super) fn part(memory: MemoryRef<'a>, layout: Layout) -> Self {
        let memory = Readable::Part(memory);
        Self { start: memory.start(), memory, layout, _array: PhantomData } // R1 and R2 of the view
    }

    pub(super) fn memory(&self) -> MemoryRef<'_> {
        self.memory.by_ref()
    }

    /// The lowest element of the array.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const T {
        self.start.as_mut_ptr().cast()
    }

    /// Shape, strides and offset, counted from the lowest element of the array.
    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
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
        let place = self.as_ptr().wrapping_offset(self.layout.offset_of(index)?);
        // SAFETY: by R1 to R3 the place is that of an element, readable as the guard is held,
        // and aligned by A2 of the array; every pattern of bytes is a `T` (promise 2 of `Element`).
        Ok(unsafe { place.read() })
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        // SAFETY: by R1 to R3; the guard is borrowed as long as the iterator lives.
        unsafe { Iter::new(&self.layout, self.as_ptr().cast()) }
    }

    /// The elements with numbers in a range, counted in row-major order; as many as there are.
    pub(super) fn iter_in(&self, numbers: Range<usize>) -> Iter<'_, T> {
        // SAFETY: by R1 to R3; the guard is borrowed as long as the iterator lives.
        unsafe { Iter::in_range(&self.layout, self.as_ptr().cast(), numbers) }
    }

    /// The elements in row-major order, each with its index.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 9, 3, 4])?;
    /// let view = array.view::<u8>()?;
    /// let largest = view.indexed_iter().max_by_key(|(_, element)| *element);
    /// assert_eq!(largest.map(|(index, _)| index.to_vec()), Some(vec![0, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn indexed_iter(&self) -> IndexedIter<'_, T> {
        IndexedIter { elements: self.iter(), offsets: self.layout.offsets() }
    }
}

impl<'a, T: Element> IntoIterator for &'a ArrayView<'_, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
