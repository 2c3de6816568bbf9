//! Shortcuts for new arrays without gaps

use usm_memory::usm_core::{Queue, UsmKind};

use super::{BufferSource, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::view::bytes_of;

impl UsmArray {
    /// A C-contiguous array whose elements have no particular value.
    ///
    /// # Errors
    /// Those of [`UsmArrayBuilder::build`](super::UsmArrayBuilder::build).
    pub fn empty(queue: &Queue, kind: UsmKind, shape: &[usize], dtype: Dtype) -> Result<Self> {
        Self::builder(shape, dtype).build(BufferSource::Allocate { kind, queue })
    }

    /// A C-contiguous array of zeros.
    ///
    /// # Errors
    /// Those of [`UsmArrayBuilder::build`](super::UsmArrayBuilder::build), and [`Error::Memory`]
    /// if the fill fails.
    pub fn zeros(queue: &Queue, kind: UsmKind, shape: &[usize], dtype: Dtype) -> Result<Self> {
        let array = Self::empty(queue, kind, shape, dtype)?;
        array.fill_zero()?;
        Ok(array)
    }

    /// A C-contiguous array of one value.
    ///
    /// # Errors
    /// Those of [`UsmArrayBuilder::build`](super::UsmArrayBuilder::build), and [`Error::Memory`]
    /// if the fill fails.
    pub fn full<T: Element>(queue: &Queue, kind: UsmKind, shape: &[usize], value: T) -> Result<Self> {
        let array = Self::empty(queue, kind, shape, T::DTYPE)?;
        array.fill(value)?;
        Ok(array)
    }

    /// A C-contiguous array with the given elements in row-major order.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many elements as the shape has
    /// - those of [`UsmArrayBuilder::build`](super::UsmArrayBuilder::build), and
    ///   [`Error::Memory`] if the copy fails
    pub fn from_slice<T: Element>(
        queue: &Queue,
        kind: UsmKind,
        shape: &[usize],
        elements: &[T],
    ) -> Result<Self> {
        let size = shape.iter().try_fold(1_usize, |size, &n| size.checked_mul(n));
        if let Some(expected) = size.filter(|&size| size != elements.len()) {
            return Err(Error::LengthMismatch {
                found: elements.len(),
                expected,
                unit: "elements",
                shape: shape.to_vec(),
            });
        }
        let array = Self::empty(queue, kind, shape, T::DTYPE)?;
        array.copy_from_host_contiguous(bytes_of(elements))?;
        Ok(array)
    }
}
