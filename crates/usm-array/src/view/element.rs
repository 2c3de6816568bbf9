//! One element by its index, whatever the dtype and the kind of memory. No unsafe code

use std::ops::Range;

use crate::array::UsmArray;
use crate::dtype::MAX_ITEMSIZE_BYTES;
use crate::error::{Error, Result};
use crate::layout::LayoutError;
use crate::scalar::Scalar;

impl UsmArray {
    /// The value of an array with exactly one element, whatever its number of axes.
    ///
    /// # Errors
    /// - [`Error::NotOneElement`]: another number of elements
    /// - the errors of [`UsmArray::copy_to_host_contiguous`]
    pub fn item(&self) -> Result<Scalar> {
        let not_one = || Error::NotOneElement { shape: self.shape().to_vec() };
        if self.size() != 1 {
            return Err(not_one());
        }
        let mut bytes = [0; MAX_ITEMSIZE_BYTES];
        let bytes = &mut bytes[..self.itemsize_bytes()];
        self.buffer().copy_to_host(bytes, self.first_byte())?;
        Scalar::from_bytes(self.dtype(), bytes).ok_or_else(not_one)
    }

    /// The element with the given index; negative numbers count from the end. Up to six axes need no heap allocation.
    ///
    /// ```
    /// use usm_array::{Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1.5_f32, 2.5, 3.5, 4.5])?;
    /// assert_eq!(array.get_scalar(&[1, -2])?, Scalar::Float(3.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`]: not one index for each axis, or one outside of its axis
    /// - [`Error::Memory`]: the memory is borrowed for writing, or the runtime failed
    pub fn get_scalar(&self, index: &[isize]) -> Result<Scalar> {
        let range = self.element_range(index)?;
        let mut bytes = [0; MAX_ITEMSIZE_BYTES];
        let bytes = &mut bytes[..range.len()];
        self.buffer().copy_to_host(bytes, range.start)?;
        Scalar::from_bytes(self.dtype(), bytes)
            .ok_or_else(|| Error::NotOneElement { shape: self.shape().to_vec() }) // never: as many bytes as it has
    }

    /// Changes the element with the given index; negative numbers count from the end. Up to six axes need no heap allocation.
    ///
    /// ```
    /// # use usm_array::{Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1.5_f32, 2.5])?;
    /// array.set_scalar(&[-1], Scalar::Int(7))?;
    /// assert_eq!(array.to_vec::<f32>()?, [1.5, 7.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`]: the array is read-only
    /// - [`Error::ScalarKind`], [`Error::ScalarRange`]: the element type does not hold the value
    /// - [`Error::Layout`]: not one index for each axis, or one outside of its axis
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    pub fn set_scalar(&self, index: &[isize], value: Scalar) -> Result<()> {
        self.check_writable()?;
        let range = self.element_range(index)?;
        let bytes = value.to_bytes(self.dtype())?;
        Ok(self.buffer().submit_copy_from_host(&bytes[..range.len()], range.start)?)
    }

    /// The bytes of the buffer that an element is.
    fn element_range(&self, index: &[isize]) -> Result<Range<usize>> {
        let (shape, strides) = (self.shape(), self.strides());
        if index.len() != shape.len() {
            return Err(LayoutError::IndexLength { ndim: shape.len(), found: index.len() }.into());
        }
        let mut place = self.offset();
        for (axis, (&index, (&size, &stride))) in index.iter().zip(shape.iter().zip(strides)).enumerate() {
            let from_start = if index < 0 { index.checked_add_unsigned(size) } else { Some(index) };
            let from_start = from_start.filter(|&i| (0..size.cast_signed()).contains(&i));
            let from_start = from_start.ok_or(LayoutError::IndexOutOfBounds { axis, index, size })?;
            place += stride * from_start; // towards an element, by L3
        }
        let start = place.cast_unsigned() * self.itemsize_bytes(); // inside the buffer, by A1
        Ok(start..start + self.itemsize_bytes())
    }
}
