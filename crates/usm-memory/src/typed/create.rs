//! New typed buffers: empty memory, or elements of the host.

use usm_core::{Queue, UsmKind};

use super::TypedBuffer;
use crate::plain::{self, Plain};
use crate::{Error, MemoryResource, Result, UsmBuffer};

impl<T: Plain> TypedBuffer<T> {
    /// Allocates `len` elements. Their values are undefined. A buffer of no elements still owns memory, so that it has an address.
    ///
    /// # Errors
    /// [`Error::TooManyElements`]; [`Error::Core`] with the errors of [`Queue::allocate_aligned`].
    pub fn allocate(queue: &Queue, kind: UsmKind, len: usize) -> Result<Self> {
        Self::allocate_with(len, |len_bytes| {
            if is_natural::<T>() {
                return UsmBuffer::allocate(queue, kind, len_bytes);
            }
            UsmBuffer::allocate_aligned(queue, kind, len_bytes, align_of::<T>())
        })
    }

    /// As [`allocate`](Self::allocate), but with memory of a resource.
    ///
    /// # Errors
    /// [`Error::TooManyElements`]; the errors of [`UsmBuffer::allocate_aligned_in`].
    pub fn allocate_in(
        resource: &dyn MemoryResource,
        queue: &Queue,
        kind: UsmKind,
        len: usize,
    ) -> Result<Self> {
        Self::allocate_with(len, |len_bytes| {
            UsmBuffer::allocate_aligned_in(resource, queue, kind, len_bytes, align_of::<T>())
        })
    }

    fn allocate_with(len: usize, allocate: impl FnOnce(usize) -> Result<UsmBuffer>) -> Result<Self> {
        let element_bytes = Self::ELEMENT_BYTES;
        let len_bytes = len
            .checked_mul(element_bytes)
            .filter(|&len_bytes| isize::try_from(len_bytes).is_ok())
            .ok_or(Error::TooManyElements { len, element_bytes })?;
        let buffer = allocate(len_bytes.max(element_bytes))?;
        Self::from_buffer(buffer.sub_buffer(0, len_bytes)?)
    }

    /// New memory with the elements of a slice.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), and [`Error::Core`] when the copy fails.
    pub fn from_slice(queue: &Queue, kind: UsmKind, elements: &[T]) -> Result<Self> {
        let typed = Self::allocate(queue, kind, elements.len())?;
        typed.copy_from_slice(elements)?;
        Ok(typed)
    }

    /// New memory with the elements of a vector, which is freed.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice).
    pub fn from_vec(queue: &Queue, kind: UsmKind, elements: Vec<T>) -> Result<Self> {
        let typed = Self::from_slice(queue, kind, &elements);
        drop(elements);
        typed
    }

    /// New memory with all that an iterator gives.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice); [`Error::OutOfHostMemory`] when the elements do not fit on the host.
    pub fn from_iter_in(queue: &Queue, kind: UsmKind, elements: impl IntoIterator<Item = T>) -> Result<Self> {
        // Collected by hand, since `collect` aborts where there is no memory.
        let elements = elements.into_iter();
        let mut collected = Vec::new();
        // Only the lower bound is a promise, and even that one may be wrong.
        plain::reserve(&mut collected, elements.size_hint().0)?;
        for element in elements {
            if collected.len() == collected.capacity() {
                plain::reserve(&mut collected, 1)?;
            }
            collected.push(element);
        }
        Self::from_vec(queue, kind, collected)
    }
}

/// Whether memory "aligned for every element type" is enough.
fn is_natural<T>() -> bool {
    align_of::<T>() <= align_of::<u64>()
}
