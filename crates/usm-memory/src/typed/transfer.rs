//! Copies between host slices, vectors and typed buffers of any kind, and fills.

use super::TypedBuffer;
use crate::plain::{self, Plain};
use usm_core::Event;

use crate::{Completion, Refused, Result};

impl<T: Plain> TypedBuffer<T> {
    /// Copies as many elements as the buffer has from a slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::ReadOnly`](crate::Error::ReadOnly),
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_from_slice(&self, elements: &[T]) -> Result<()> {
        let buffer = self.as_buffer();
        buffer.write_access(0..buffer.len_bytes())?.copy_from_host(plain::bytes_of(elements))
    }

    /// Copies all elements to a slice of the same length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::BorrowConflict`](crate::Error::BorrowConflict),
    /// [`Error::Core`](crate::Error::Core).
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<()> {
        let buffer = self.as_buffer();
        buffer.read_access(0..buffer.len_bytes())?.copy_to_host(plain::bytes_of_mut(elements))
    }

    /// All elements, copied.
    ///
    /// # Errors
    /// As [`copy_to_slice`](Self::copy_to_slice); [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = plain::zeroed(self.len())?;
        self.copy_to_slice(&mut elements)?;
        Ok(elements)
    }

    /// Copies all elements of `src`, which has as many, into this buffer, as [`UsmBuffer::copy_from`](crate::UsmBuffer::copy_from) does.
    ///
    /// # Errors
    /// As [`UsmBuffer::copy_from`](crate::UsmBuffer::copy_from).
    pub fn copy_from(&self, src: &Self) -> Result<()> {
        self.as_buffer().copy_from(src.as_buffer())
    }

    /// As [`copy_from`](Self::copy_from), but returns when the copy is submitted, as [`UsmBuffer::copy_from_async`](crate::UsmBuffer::copy_from_async) does.
    ///
    /// # Errors
    /// As [`UsmBuffer::copy_from`](crate::UsmBuffer::copy_from).
    pub fn copy_from_async(&self, src: &Self, after: &[Event]) -> Result<Completion> {
        self.as_buffer().copy_from_async(src.as_buffer(), after)
    }

    /// Submits a copy of a vector with as many elements as the buffer has, to be done after the events. The completion
    /// keeps the vector and gives it back.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of the errors of [`copy_from_slice`](Self::copy_from_slice).
    pub fn copy_from_vec_async(
        &self,
        elements: Vec<T>,
        after: &[Event],
    ) -> Result<Completion<Vec<T>>, Refused<Vec<T>>> {
        self.as_buffer().upload_all(elements, after)
    }

    /// Submits a copy of all elements to a vector of the same length, to be done after the events. The completion keeps
    /// the vector and gives it back with the new content.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of the errors of [`copy_to_slice`](Self::copy_to_slice).
    pub fn copy_to_vec_async(
        &self,
        elements: Vec<T>,
        after: &[Event],
    ) -> Result<Completion<Vec<T>>, Refused<Vec<T>>> {
        self.as_buffer().download_all(elements, after)
    }

    /// Submits a copy of all elements to a new vector, to be done after the events.
    ///
    /// # Errors
    /// As [`to_vec`](Self::to_vec).
    pub fn to_vec_async(&self, after: &[Event]) -> Result<Completion<Vec<T>>> {
        Ok(self.copy_to_vec_async(plain::zeroed(self.len())?, after)?)
    }

    /// Sets all elements to `value`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::BorrowConflict`](crate::Error::BorrowConflict),
    /// [`Error::Core`](crate::Error::Core).
    pub fn fill(&self, value: T) -> Result<()> {
        self.as_buffer().fill_any(plain::bytes_of(&[value]))
    }

    /// As [`fill`](Self::fill), but returns when the fill is submitted, to be done after the events.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn fill_async(&self, value: T, after: &[Event]) -> Result<Completion> {
        self.as_buffer().fill_any_async(plain::bytes_of(&[value]), after)
    }
}
