//! An operand of an operation: an array or one value

use num_complex::Complex64;

use super::UsmArray;
use crate::scalar::Scalar;

/// An operand beside an array, or what is assigned to elements: an array, which is broadcast, or one value, which takes part as a
/// Python number does: by its kind only, see [`WeakScalar`](crate::WeakScalar).
///
/// ```
/// use usm_array::{Bool8, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1_u8, 2, 3])?;
/// let last = UsmArray::from_slice(&queue, UsmKind::Device, &[], &[3_i64])?;
/// assert_eq!(array.equal(&last)?.to_vec::<Bool8>()?, [false, false, true].map(Bool8::from));
/// assert_eq!(array.equal(2)?.to_vec::<Bool8>()?, [false, true, false].map(Bool8::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ArrayOrScalar<'a> {
    /// Elements in USM of any kind, each beside the one at the same index after broadcasting.
    Array(&'a UsmArray),
    /// One value beside every element.
    Scalar(Scalar),
}

impl<'a> From<&'a UsmArray> for ArrayOrScalar<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array(array)
    }
}

impl From<Scalar> for ArrayOrScalar<'_> {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}

macro_rules! scalars {
    ($($value:ty => $kind:ident,)*) => {$(
        impl From<$value> for ArrayOrScalar<'_> {
            fn from(value: $value) -> Self {
                Self::Scalar(Scalar::$kind(value.into()))
            }
        }
    )*};
}

// `i32` is the type of literals without a suffix.
scalars!(bool => Bool, i128 => Int, i32 => Int, f64 => Float, Complex64 => Complex,);
