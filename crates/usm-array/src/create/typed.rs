//! Shortcuts for new arrays whose dtype is a Rust type: one value, slices, iterators, functions

use usm_memory::usm_core::{Queue, UsmKind};

use super::generate::generate;
use super::nested::push;
use crate::array::{BufferSource, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::view::bytes_of;

impl UsmArray {
    /// A C-contiguous array whose elements have no particular value.
    ///
    /// # Errors
    /// The errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build).
    pub fn empty(queue: &Queue, kind: UsmKind, shape: &[usize], dtype: Dtype) -> Result<Self> {
        Self::builder(shape, dtype).build(BufferSource::Allocate { kind, queue })
    }

    /// A C-contiguous array of zeros.
    ///
    /// # Errors
    /// The errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build), and [`Error::Memory`]
    /// if the fill fails.
    pub fn zeros(queue: &Queue, kind: UsmKind, shape: &[usize], dtype: Dtype) -> Result<Self> {
        let array = Self::empty(queue, kind, shape, dtype)?;
        array.fill_zero()?;
        Ok(array)
    }

    /// A C-contiguous array of one value.
    ///
    /// # Errors
    /// The errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build), and [`Error::Memory`]
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
    /// - the errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build), and
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

    /// A C-contiguous array of one axis with the elements that an iterator gives.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let squares = UsmArray::from_iter_in(&queue, UsmKind::Device, (0..4).map(|i| i * i))?;
    /// assert_eq!(squares.to_vec::<i32>()?, [0, 1, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::OutOfHostMemory`]: no memory to collect the elements in
    /// - the errors of [`UsmArray::from_slice`]
    pub fn from_iter_in<T: Element>(
        queue: &Queue,
        kind: UsmKind,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<Self> {
        let mut collected = Vec::new();
        elements.into_iter().try_for_each(|element| push(&mut collected, element))?;
        Self::from_slice(queue, kind, &[collected.len()], &collected)
    }

    /// A C-contiguous array whose elements are the results of a function for their indices. It is called in row-major order.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let table = UsmArray::from_fn(&queue, UsmKind::Shared, &[2, 3], |index| (10 * index[0] + index[1]) as u8)?;
    /// assert_eq!(table.to_vec::<u8>()?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::OutOfHostMemory`]: no memory to collect elements in
    /// - the errors of [`UsmArray::from_slice`]
    pub fn from_fn<T: Element>(
        queue: &Queue,
        kind: UsmKind,
        shape: &[usize],
        mut element: impl FnMut(&[usize]) -> T,
    ) -> Result<Self> {
        let array = Self::empty(queue, kind, shape, T::DTYPE)?;
        let mut index = vec![0; shape.len()];
        generate(&array, |_| {
            let value = element(&index);
            for (i, &size) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < size {
                    break;
                }
                *i = 0;
            }
            value
        })?;
        Ok(array)
    }
}
