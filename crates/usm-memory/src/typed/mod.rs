//! Buffers of plain-data elements: byte buffers that know their element type.

mod create;
mod guard;
mod transfer;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use usm_core::{Queue, UsmKind};

pub use self::guard::{TypedReadGuard, TypedWriteGuard};
use crate::{Error, Plain, Result, UsmBuffer};

/// Elements of one plain type in USM. Lengths and ranges count elements.
///
/// Clones and parts share the memory, as those of [`UsmBuffer`] do; [`try_clone`](Self::try_clone) copies.
///
/// ```
/// use usm_memory::TypedBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let squares = TypedBuffer::from_iter_in(&queue, UsmKind::Shared, (0..6_u32).map(|i| i * i))?;
/// let (low, high) = squares.split_at(3)?;
/// let mut writing = low.write()?;
/// let reading = high.read()?; // the halves do not overlap
/// writing.copy_from_slice(&reading);
/// assert!(squares.to_vec().is_err(), "a part is being written");
/// drop(writing);
/// assert_eq!(squares.to_vec()?, [9, 16, 25, 9, 16, 25]);
/// # Ok(())
/// # }
/// ```
pub struct TypedBuffer<T: Plain> {
    /// Invariant P1: the address is a multiple of `T`'s alignment, the length one of `T`'s size, which is not 0.
    buffer: UsmBuffer,
    elements: PhantomData<T>,
}

impl<T: Plain> TypedBuffer<T> {
    /// Length of an element.
    pub const ELEMENT_BYTES: usize = {
        assert!(size_of::<T>() > 0, "elements of a buffer have at least one byte");
        size_of::<T>()
    };

    /// The elements whose bytes a buffer holds, with the memory shared.
    ///
    /// # Errors
    /// [`Error::Misaligned`], [`Error::PartialElement`].
    pub fn from_buffer(buffer: UsmBuffer) -> Result<Self> {
        let (address, align_bytes) = (buffer.address(), align_of::<T>());
        if !address.is_multiple_of(align_bytes) {
            return Err(Error::Misaligned { address, align_bytes });
        }
        let (len_bytes, element_bytes) = (buffer.len_bytes(), Self::ELEMENT_BYTES);
        if !len_bytes.is_multiple_of(element_bytes) {
            return Err(Error::PartialElement { len_bytes, element_bytes });
        }
        Ok(Self { buffer, elements: PhantomData })
    }

    /// The bytes of the elements.
    #[must_use]
    pub fn as_buffer(&self) -> &UsmBuffer {
        &self.buffer
    }

    /// The bytes of the elements.
    #[must_use]
    pub fn into_buffer(self) -> UsmBuffer {
        self.buffer
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len_bytes() / Self::ELEMENT_BYTES
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kind of the memory.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        self.buffer.kind()
    }

    /// The queue used for copies.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        self.buffer.queue()
    }

    /// The same memory, not to be written. There is no way back.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { buffer: self.buffer.read_only(), elements: PhantomData }
    }

    /// The elements of a range, with the memory shared; no memory is touched.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let bytes = Self::in_bytes(range);
        Ok(Self::part(self.as_buffer().sub_buffer(bytes.start, bytes.end.saturating_sub(bytes.start))?))
    }

    /// The elements before and from `mid` on, which do not overlap: both can be written at the same time.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] when `mid` is beyond the end.
    pub fn split_at(&self, mid: usize) -> Result<(Self, Self)> {
        let (first, second) = self.as_buffer().split_at(mid.saturating_mul(Self::ELEMENT_BYTES))?;
        Ok((Self::part(first), Self::part(second)))
    }

    /// A deep copy in new memory of the same kind and queue, as [`UsmBuffer::try_clone`] makes it.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate) and [`UsmBuffer::copy_from`].
    pub fn try_clone(&self) -> Result<Self> {
        let copy = Self::allocate(self.queue(), self.kind(), self.len())?;
        copy.as_buffer().copy_from(self.as_buffer())?;
        Ok(copy)
    }

    /// A part of a typed buffer that starts and ends with an element, which keeps P1.
    fn part(buffer: UsmBuffer) -> Self {
        Self { buffer, elements: PhantomData }
    }

    /// A range of elements as one of bytes. What no buffer can have stays out of bounds.
    fn in_bytes(range: Range<usize>) -> Range<usize> {
        range.start.saturating_mul(Self::ELEMENT_BYTES)..range.end.saturating_mul(Self::ELEMENT_BYTES)
    }
}

impl<T: Plain> Clone for TypedBuffer<T> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), elements: PhantomData }
    }
}

impl<T: Plain> TryFrom<UsmBuffer> for TypedBuffer<T> {
    type Error = Error;

    fn try_from(buffer: UsmBuffer) -> Result<Self> {
        Self::from_buffer(buffer)
    }
}

impl<T: Plain> From<TypedBuffer<T>> for UsmBuffer {
    fn from(typed: TypedBuffer<T>) -> Self {
        typed.buffer
    }
}

impl<T: Plain> fmt::Debug for TypedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypedBuffer<{}>({} elements, {:?})", std::any::type_name::<T>(), self.len(), self.buffer)
    }
}
