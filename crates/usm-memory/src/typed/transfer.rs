//! Copies between host slices and typed buffers of any kind.

use super::{Plain, TypedBuffer, plain};
use crate::Result;

impl<T: Plain> TypedBuffer<T> {
    /// Copies as many elements as the buffer has from a slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::ReadOnly`](crate::Error::ReadOnly),
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_from_slice(&self, elements: &[T]) -> Result<()> {
        let buffer = self.as_buffer();
        buffer.write_range(0..buffer.len_bytes())?.copy_from_host(plain::bytes_of(elements))
    }

    /// Copies all elements to a slice of the same length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::BorrowConflict`](crate::Error::BorrowConflict),
    /// [`Error::Core`](crate::Error::Core).
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<()> {
        let buffer = self.as_buffer();
        buffer.read_range(0..buffer.len_bytes())?.copy_to_host(plain::bytes_of_mut(elements))
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

    /// Sets all elements to `value`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::BorrowConflict`](crate::Error::BorrowConflict),
    /// [`Error::Core`](crate::Error::Core); [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory) for elements of other
    /// sizes than a queue can fill with.
    pub fn fill(&self, value: T) -> Result<()> {
        if matches!(Self::ELEMENT_BYTES, 1 | 2 | 4 | 8 | 16) {
            return self.as_buffer().fill(plain::bytes_of(&[value]));
        }
        if self.kind().is_host_accessible() {
            self.write()?.fill(value);
            return Ok(());
        }
        let mut elements = Vec::new();
        plain::reserve(&mut elements, self.len())?;
        elements.resize(self.len(), value);
        self.copy_from_slice(&elements)
    }
}
