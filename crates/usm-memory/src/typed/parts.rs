//! Parts of typed buffers, and deep copies.

use std::marker::PhantomData;
use std::ops::Range;

use super::TypedBuffer;
use crate::{Plain, Result, UsmBuffer};

impl<T: Plain> TypedBuffer<T> {
    /// The elements of a range, with the memory shared; no memory is touched.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds).
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let bytes = Self::in_bytes(range);
        Ok(Self::part(self.as_buffer().sub_buffer(bytes.start, bytes.end.saturating_sub(bytes.start))?))
    }

    /// The elements before and from `mid` on, which do not overlap: both can be written at the same time.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) when `mid` is beyond the end.
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
    pub(super) fn in_bytes(range: Range<usize>) -> Range<usize> {
        range.start.saturating_mul(Self::ELEMENT_BYTES)..range.end.saturating_mul(Self::ELEMENT_BYTES)
    }
}
