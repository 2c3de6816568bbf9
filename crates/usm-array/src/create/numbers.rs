//! New arrays of numbers whose types are known at run time only

use super::CreateOptions;
use crate::array::UsmArray;
use crate::dtype::{Dtype, WeakScalar};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl CreateOptions<'_> {
    /// An array of numbers in row-major order, by default of [`dtype_of`](Self::dtype_of) them.
    ///
    /// Each number must fit. Real numbers in an array of integers lose their fraction, see [`Scalar::for_dtype`].
    ///
    /// ```
    /// use usm_array::{CreateOptions, Dtype, Scalar, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let new = CreateOptions::new(&queue, UsmKind::Device);
    /// let array = new.numbers(&[2], &[Scalar::Int(1), Scalar::Float(2.5)])?;
    /// assert_eq!(array.to_vec::<f64>()?, [1.0, 2.5]);
    /// let array = new.dtype(Some(Dtype::I8)).numbers(&[2], &[Scalar::Int(1), Scalar::Float(2.5)])?;
    /// assert_eq!(array.to_vec::<i8>()?, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Number`] with the place of a number that the dtype does not hold, and the reason
    /// - [`Error::LengthMismatch`]: not as many numbers as the shape has elements
    /// - [`Error::OutOfHostMemory`]: no memory to collect the elements in
    /// - the errors of [`CreateOptions::empty`]
    pub fn numbers(&self, shape: &[usize], numbers: &[Scalar]) -> Result<UsmArray> {
        let dtype = self.dtype.unwrap_or_else(|| self.dtype_of(numbers));
        let itemsize_bytes = dtype.itemsize_bytes();
        let len_bytes = numbers.len().saturating_mul(itemsize_bytes);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len_bytes).map_err(|_| Error::OutOfHostMemory { len_bytes })?;
        for (index, number) in numbers.iter().enumerate() {
            let element = number.for_dtype(dtype).and_then(|number| number.to_bytes(dtype));
            let element = element.map_err(|error| Error::Number { index, source: Box::new(error) })?;
            bytes.extend_from_slice(&element[..itemsize_bytes]);
        }
        let array = self.dtype(Some(dtype)).empty(shape)?;
        array.copy_from_host_contiguous(&bytes)?;
        Ok(array)
    }

    /// The default dtype of the highest kind among numbers: booleans, integers, real and complex ones. Integers beyond `int64` are
    /// `uint64`. Without numbers it is the default of real ones.
    #[must_use]
    pub fn dtype_of(&self, numbers: &[Scalar]) -> Dtype {
        let highest = numbers.iter().map(|number| number.kind()).max();
        let defaults = self.dtype(None);
        match highest {
            Some(WeakScalar::Int) if numbers.iter().any(is_beyond_int64) => Dtype::U64,
            kind => defaults.dtype_or(kind.unwrap_or(WeakScalar::Float)),
        }
    }
}

fn is_beyond_int64(number: &Scalar) -> bool {
    matches!(number, Scalar::Int(value) if *value > i64::MAX.into())
}
