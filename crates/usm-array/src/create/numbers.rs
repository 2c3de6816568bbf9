//! New arrays of numbers whose types are known at run time only

use super::CreateOptions;
use crate::array::UsmArray;
use crate::dtype::{Dtype, WeakScalar};
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::view::{bytes_of, with_capacity};

/// Numbers of any types, or all of one type, which needs less memory and time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Numbers<'a> {
    /// Numbers of any types.
    Any(&'a [Scalar]),
    /// Booleans.
    Bools(&'a [bool]),
    /// Integers.
    Ints(&'a [i64]),
    /// Real numbers.
    Floats(&'a [f64]),
}

macro_rules! from {
    ($($variant:ident, $ty:ty);*) => {$(
        impl<'a> From<&'a [$ty]> for Numbers<'a> {
            fn from(numbers: &'a [$ty]) -> Self {
                Self::$variant(numbers)
            }
        }

        impl<'a> From<&'a Vec<$ty>> for Numbers<'a> {
            fn from(numbers: &'a Vec<$ty>) -> Self {
                Self::$variant(numbers)
            }
        }

        impl<'a, const LEN: usize> From<&'a [$ty; LEN]> for Numbers<'a> {
            fn from(numbers: &'a [$ty; LEN]) -> Self {
                Self::$variant(numbers)
            }
        }
    )*};
}

from!(Any, Scalar; Bools, bool; Ints, i64; Floats, f64);

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
    /// let array = new.dtype(Dtype::I8).numbers(&[2], &[1.0, 2.5])?;
    /// assert_eq!(array.to_vec::<i8>()?, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Number`] with the place of a number that the dtype does not hold, and the reason
    /// - [`Error::LengthMismatch`]: not as many numbers as the shape has elements
    /// - [`Error::OutOfHostMemory`]: no memory to collect the elements in
    /// - the errors of [`CreateOptions::empty`]
    pub fn numbers<'n>(&self, shape: &[usize], numbers: impl Into<Numbers<'n>>) -> Result<UsmArray> {
        let numbers = numbers.into();
        let dtype = self.dtype.unwrap_or_else(|| self.dtype_of(numbers));
        let new = self.dtype(dtype);
        match (numbers, dtype) {
            // Elements already.
            (Numbers::Ints(numbers), Dtype::I64) => new.elements(shape, bytes_of(numbers)),
            (Numbers::Floats(numbers), Dtype::F64) => new.elements(shape, bytes_of(numbers)),
            // All of them fit.
            (Numbers::Floats(numbers), Dtype::F32) => {
                let mut elements = with_capacity(numbers.len())?;
                elements.extend(numbers.iter().map(|&number| number as f32));
                new.elements(shape, bytes_of::<f32>(&elements))
            }
            (Numbers::Any(numbers), _) => new.elements(shape, &packed(numbers, dtype, |number| number)?),
            (Numbers::Bools(numbers), _) => new.elements(shape, &packed(numbers, dtype, Scalar::Bool)?),
            (Numbers::Floats(numbers), _) => new.elements(shape, &packed(numbers, dtype, Scalar::Float)?),
            (Numbers::Ints(numbers), _) => {
                new.elements(shape, &packed(numbers, dtype, |number| Scalar::Int(number.into()))?)
            }
        }
    }

    fn elements(&self, shape: &[usize], bytes: &[u8]) -> Result<UsmArray> {
        let array = self.empty(shape)?;
        array.copy_from_host_contiguous(bytes)?;
        Ok(array)
    }

    /// The default dtype of the highest kind among numbers: booleans, integers, real and complex ones. Integers beyond `int64` are
    /// `uint64`. Without numbers it is the default of real ones.
    #[must_use]
    pub fn dtype_of<'n>(&self, numbers: impl Into<Numbers<'n>>) -> Dtype {
        let some = |is_empty: bool, kind| (!is_empty).then_some(kind);
        let highest = match numbers.into() {
            Numbers::Any(numbers) => {
                let highest = numbers.iter().map(|number| number.kind()).max();
                if highest == Some(WeakScalar::Int) && numbers.iter().any(is_beyond_int64) {
                    return Dtype::U64;
                }
                highest
            }
            Numbers::Bools(numbers) => some(numbers.is_empty(), WeakScalar::Bool),
            Numbers::Ints(numbers) => some(numbers.is_empty(), WeakScalar::Int),
            Numbers::Floats(numbers) => some(numbers.is_empty(), WeakScalar::Float),
        };
        self.defaults().of(highest.unwrap_or(WeakScalar::Float))
    }
}

/// The bytes of the elements that numbers become.
fn packed<N: Copy>(numbers: &[N], dtype: Dtype, scalar: impl Fn(N) -> Scalar) -> Result<Vec<u8>> {
    let itemsize_bytes = dtype.itemsize_bytes();
    let mut bytes = with_capacity(numbers.len().saturating_mul(itemsize_bytes))?;
    for (index, &number) in numbers.iter().enumerate() {
        let element = scalar(number).for_dtype(dtype).and_then(|number| number.to_bytes(dtype));
        let element = element.map_err(|error| Error::Number { index, source: Box::new(error) })?;
        bytes.extend_from_slice(&element[..itemsize_bytes]);
    }
    Ok(bytes)
}

fn is_beyond_int64(number: &Scalar) -> bool {
    matches!(number, Scalar::Int(value) if *value > i64::MAX.into())
}
