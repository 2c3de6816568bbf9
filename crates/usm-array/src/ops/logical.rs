//! and, or, xor, not: of what is true of elements, and of the bits of booleans

use super::by_kernels::{AND, Asked, NOT, OR, XOR, ask, ask_pairs};
use super::elementwise::{map, map_pairs};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Bool8, Class, Dtype};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// # Logic
/// The logical operations take elements of every dtype, as NumPy does: everything but zero is true, NaN too. The bitwise ones
/// take booleans only. The result is a new array of booleans with the queue of the first operand, in memory of the kind that
/// [follows](crate::coerced_kind) from both.
///
/// ```
/// use usm_array::{Bool8, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[f32::NAN, 1.0, -0.0])?;
/// assert_eq!(array.logical_not()?.to_vec::<Bool8>()?, [false, false, true].map(Bool8::from));
/// assert_eq!(array.logical_and(true)?.count_nonzero_total()?, 2);
/// assert_eq!(array.logical_and(&array.logical_not()?)?.count_nonzero_total()?, 0);
/// assert_eq!(array.logical_or(0)?.count_nonzero_total()?, 2);
/// assert_eq!(array.logical_xor(&array)?.count_nonzero_total()?, 0);
///
/// let numbers = UsmArray::from_slice(&queue, UsmKind::Device, &[4], &[1_u8, 2, 3, 4])?;
/// let middle = numbers.greater(1)?.bitwise_and(&numbers.less(4)?)?;
/// assert_eq!(middle.to_vec::<Bool8>()?, [false, true, true, false].map(Bool8::from));
/// assert_eq!(middle.bitwise_or(true)?.count_nonzero_total()?, 4);
/// assert_eq!(middle.bitwise_xor(true)?.count_nonzero_total()?, 2);
/// assert_eq!(middle.bitwise_invert()?.count_nonzero_total()?, 2);
/// assert!(numbers.bitwise_and(&numbers).is_err(), "no booleans");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl UsmArray {
    /// Whether elements of both operands are true.
    ///
    /// # Errors
    /// - [`Error::Layout`]: the shapes do not broadcast
    /// - [`Error::OutOfHostMemory`]: no host memory for a block
    /// - [`Error::Memory`]: the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn logical_and<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        truths(self, other.into(), AND, |a, b| a & b)
    }

    /// Whether elements of at least one operand are true.
    ///
    /// # Errors
    /// As [`UsmArray::logical_and`].
    pub fn logical_or<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        truths(self, other.into(), OR, |a, b| a | b)
    }

    /// Whether elements of exactly one operand are true.
    ///
    /// # Errors
    /// As [`UsmArray::logical_and`].
    pub fn logical_xor<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        truths(self, other.into(), XOR, |a, b| a ^ b)
    }

    /// Whether elements are not true.
    ///
    /// # Errors
    /// As [`UsmArray::logical_and`].
    pub fn logical_not(&self) -> Result<Self> {
        if let Some(result) = ask(self, NOT)? {
            return Ok(result);
        }
        map(self, |element: Bool8| !element.to_bool())
    }

    /// [`logical_and`](Self::logical_and) of booleans.
    ///
    /// # Errors
    /// - [`Error::DtypeNotAllowed`], [`Error::ScalarKind`]: an operand is no boolean
    /// - those of [`UsmArray::logical_and`]
    pub fn bitwise_and<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        let other = booleans("bitwise_and", self, other.into())?;
        truths(self, other, AND, |a, b| a & b)
    }

    /// [`logical_or`](Self::logical_or) of booleans.
    ///
    /// # Errors
    /// As [`UsmArray::bitwise_and`].
    pub fn bitwise_or<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        let other = booleans("bitwise_or", self, other.into())?;
        truths(self, other, OR, |a, b| a | b)
    }

    /// [`logical_xor`](Self::logical_xor) of booleans.
    ///
    /// # Errors
    /// As [`UsmArray::bitwise_and`].
    pub fn bitwise_xor<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        let other = booleans("bitwise_xor", self, other.into())?;
        truths(self, other, XOR, |a, b| a ^ b)
    }

    /// [`logical_not`](Self::logical_not) of booleans.
    ///
    /// # Errors
    /// As [`UsmArray::bitwise_and`].
    pub fn bitwise_invert(&self) -> Result<Self> {
        booleans("bitwise_invert", self, ArrayOrScalar::Array(self))?;
        self.logical_not()
    }
}

/// Whether a bitwise operation of both is one of integers, which this crate does not have: of integers, or of integers and booleans.
/// It has those of booleans, and refuses all others.
///
/// ```
/// use usm_array::{Dtype, UsmArray, is_bitwise_of_integers, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::U8)?;
/// assert!(is_bitwise_of_integers(&array, 7) && is_bitwise_of_integers(&array, true));
/// assert!(!is_bitwise_of_integers(&array, 0.5) && !is_bitwise_of_integers(true, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn is_bitwise_of_integers<'a>(
    first: impl Into<ArrayOrScalar<'a>>,
    second: impl Into<ArrayOrScalar<'a>>,
) -> bool {
    let classes = [first.into(), second.into()].map(|operand| match operand {
        ArrayOrScalar::Array(array) => array.dtype().class(),
        ArrayOrScalar::Scalar(Scalar::Bool(_)) => Class::Bool,
        ArrayOrScalar::Scalar(Scalar::Int(_)) => Class::Signed,
        ArrayOrScalar::Scalar(_) => Class::Real,
    });
    let have_bits = |class| matches!(class, Class::Bool | Class::Signed | Class::Unsigned);
    classes.into_iter().all(have_bits) && classes != [Class::Bool; 2]
}

fn truths(
    array: &UsmArray,
    other: ArrayOrScalar<'_>,
    asked: Asked,
    function: impl Fn(bool, bool) -> bool,
) -> Result<UsmArray> {
    let other = match other {
        // By its truth, in whatever dtype it has a value.
        ArrayOrScalar::Scalar(value) => {
            ArrayOrScalar::Scalar(Scalar::Bool(value.to_bytes(Dtype::Bool)?[0] != 0))
        }
        array => array,
    };
    if let Some(result) = ask_pairs(array, other, Dtype::Bool, asked)? {
        return Ok(result);
    }
    map_pairs::<Bool8, Bool8>(array, other, |a, b| function(a.to_bool(), b.to_bool()))
}

/// The second operand again, if both are booleans.
fn booleans<'a>(
    operation: &'static str,
    array: &UsmArray,
    other: ArrayOrScalar<'a>,
) -> Result<ArrayOrScalar<'a>> {
    let dtypes = match other {
        ArrayOrScalar::Array(other) => [array.dtype(), other.dtype()],
        ArrayOrScalar::Scalar(Scalar::Bool(_)) => [array.dtype(), Dtype::Bool],
        ArrayOrScalar::Scalar(found) => return Err(Error::ScalarKind { found, dtype: Dtype::Bool }),
    };
    match dtypes.into_iter().find(|&dtype| dtype != Dtype::Bool) {
        None => Ok(other),
        Some(found) => Err(Error::DtypeNotAllowed { operation, found, allowed: "booleans" }),
    }
}
