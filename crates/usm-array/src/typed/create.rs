//! New typed arrays: what `UsmArray` makes from typed values

use usm_memory::usm_core::{Queue, UsmKind};

use super::TypedArray;
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;

impl<T: Element> TypedArray<T> {
    /// A C-contiguous array whose elements have no particular value.
    ///
    /// # Errors
    /// The errors of [`UsmArray::empty`].
    pub fn empty(queue: &Queue, kind: UsmKind, shape: &[usize]) -> Result<Self> {
        UsmArray::empty(queue, kind, shape, T::DTYPE).map(Self::new)
    }

    /// A C-contiguous array of zeros.
    ///
    /// ```
    /// # use usm_array::{TypedArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let zeros = TypedArray::<f64>::zeros(&queue, UsmKind::Device, &[2, 2])?;
    /// assert_eq!(zeros.to_vec()?, [0.0; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArray::zeros`].
    pub fn zeros(queue: &Queue, kind: UsmKind, shape: &[usize]) -> Result<Self> {
        UsmArray::zeros(queue, kind, shape, T::DTYPE).map(Self::new)
    }

    /// A C-contiguous array of one value.
    ///
    /// # Errors
    /// The errors of [`UsmArray::full`].
    pub fn full(queue: &Queue, kind: UsmKind, shape: &[usize], value: T) -> Result<Self> {
        UsmArray::full(queue, kind, shape, value).map(Self::new)
    }

    /// A C-contiguous array with the given elements in row-major order.
    ///
    /// # Errors
    /// The errors of [`UsmArray::from_slice`].
    pub fn from_slice(queue: &Queue, kind: UsmKind, shape: &[usize], elements: &[T]) -> Result<Self> {
        UsmArray::from_slice(queue, kind, shape, elements).map(Self::new)
    }

    /// A C-contiguous array of one axis with the elements that an iterator gives.
    ///
    /// # Errors
    /// The errors of [`UsmArray::from_iter_in`].
    pub fn from_iter_in(queue: &Queue, kind: UsmKind, elements: impl IntoIterator<Item = T>) -> Result<Self> {
        UsmArray::from_iter_in(queue, kind, elements).map(Self::new)
    }

    /// A C-contiguous array whose elements are the results of a function for their indices. It is called in row-major order.
    ///
    /// # Errors
    /// The errors of [`UsmArray::from_fn`].
    pub fn from_fn(
        queue: &Queue,
        kind: UsmKind,
        shape: &[usize],
        element: impl FnMut(&[usize]) -> T,
    ) -> Result<Self> {
        UsmArray::from_fn(queue, kind, shape, element).map(Self::new)
    }
}
