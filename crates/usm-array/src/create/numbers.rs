//! New arrays of numbers whose types are known at run time only

use super::CreateOptions;
use crate::array::UsmArray;
use crate::dtype::{Dtype, WeakScalar, iinfo};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl CreateOptions<'_> {
    /// An array of numbers in row-major order, by default of [`dtype_of`](Self::dtype_of) them.
    ///
    /// Real numbers in an array of integers are cut off as by [`astype`](UsmArray::astype); integers must fit.
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
    /// - [`Error::ScalarKind`], [`Error::ScalarRange`]: the dtype does not hold a number
    /// - [`Error::LengthMismatch`]: not as many numbers as the shape has elements
    /// - [`Error::OutOfHostMemory`]: no memory to collect the elements in
    /// - the errors of [`CreateOptions::empty`]
    pub fn numbers(&self, shape: &[usize], numbers: &[Scalar]) -> Result<UsmArray> {
        let dtype = self.dtype.unwrap_or_else(|| self.dtype_of(numbers));
        let itemsize_bytes = dtype.itemsize_bytes();
        let len_bytes = numbers.len().saturating_mul(itemsize_bytes);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len_bytes).map_err(|_| Error::OutOfHostMemory { len_bytes })?;
        for &number in numbers {
            bytes.extend_from_slice(&whole(number, dtype).to_bytes(dtype)?[..itemsize_bytes]);
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

/// A real number without its fraction where the dtype is one of integers: the nearest that there is, 0 for NaN.
fn whole(number: Scalar, dtype: Dtype) -> Scalar {
    match (number, iinfo(dtype)) {
        (Scalar::Float(value), Ok(limits)) => Scalar::Int((value as i128).clamp(limits.min, limits.max)),
        _ => number,
    }
}
