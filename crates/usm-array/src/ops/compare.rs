//! equal, not_equal, less, less_equal, greater, greater_equal

use num_complex::{Complex32, Complex64};

use super::by_kernels::{Asked, ask_pairs};
use super::elementwise::{constant, map_pairs};
use super::relation::{ExactOrder, Relation, by_order, no_order};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Class, Dtype, Element, iinfo, result_type};
use crate::error::Result;
use crate::scalar::Scalar;

/// # Comparisons
/// Operands are broadcast. Numbers of different types are compared by value, without rounding any of them: -1 is less than every
/// unsigned number, and 2⁵³ + 1 is not equal to the `float64` 2⁵³ (NumPy rounds there). Only 64-bit integers beside complex
/// numbers are rounded to `float64` first. A value beside an array becomes one of the array's dtype if that is of the same kind
/// or a higher one, as a Python number does, so that `0.1` is equal to the `float32` nearest to it; integers outside of an integer
/// dtype are compared as they are. NaN is not equal to anything and neither less nor greater; zeros of both signs are equal.
///
/// The result is a new array of booleans with the queue of the first operand, in memory of the kind that
/// [follows](crate::coerced_kind) from both.
///
/// ```
/// use usm_array::{Bool8, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let column = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 1], &[-1_i64, 1])?;
/// let row = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1_u64, u64::MAX])?;
/// assert_eq!(column.equal(&row)?.to_vec::<Bool8>()?, [false, false, true, false].map(Bool8::from));
///
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[4], &[-0.0, 1.0, 3.0, f64::NAN])?;
/// assert_eq!(array.not_equal(&array)?.count_nonzero_total()?, 1);
/// assert_eq!(array.less(2.5)?.to_vec::<Bool8>()?, [true, true, false, false].map(Bool8::from));
/// assert_eq!(array.less_equal(0)?.count_nonzero_total()?, 1);
/// assert_eq!(array.greater(2)?.count_nonzero_total()?, 1);
/// assert_eq!(array.greater_equal(1)?.count_nonzero_total()?, 2);
/// // Integers are compared as they are.
/// let bounds = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[i64::MAX, i64::MIN])?;
/// assert_eq!(bounds.greater(9.2e18)?.count_nonzero_total()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl UsmArray {
    /// Whether elements are equal.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): the shapes do not broadcast
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for a block
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn equal<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::Equal)
    }

    /// Whether an element is equal to one at the same place of the operand, after broadcasting.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1, 2])?;
    /// assert!(array.contains(2)? && !array.contains(3)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::equal`].
    pub fn contains<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<bool> {
        self.equal(other)?.is_any()
    }

    /// Whether elements are not equal; NaN is equal to nothing.
    ///
    /// # Errors
    /// As [`UsmArray::equal`].
    pub fn not_equal<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::NotEqual)
    }

    /// Whether elements of this array are less.
    ///
    /// # Errors
    /// - [`Error::DtypeNotAllowed`](crate::Error::DtypeNotAllowed): complex numbers have no order
    /// - those of [`UsmArray::equal`]
    pub fn less<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::Less)
    }

    /// Whether elements of this array are less or equal.
    ///
    /// # Errors
    /// As [`UsmArray::less`].
    pub fn less_equal<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::LessEqual)
    }

    /// Whether elements of this array are greater.
    ///
    /// # Errors
    /// As [`UsmArray::less`].
    pub fn greater<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::Greater)
    }

    /// Whether elements of this array are greater or equal.
    ///
    /// # Errors
    /// As [`UsmArray::less`].
    pub fn greater_equal<'a>(&self, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        compare(self, other.into(), Relation::GreaterEqual)
    }
}

pub(super) fn compare(array: &UsmArray, other: ArrayOrScalar<'_>, relation: Relation) -> Result<UsmArray> {
    let (dtype, other) = match other {
        ArrayOrScalar::Array(other) => (other.dtype(), ArrayOrScalar::Array(other)),
        ArrayOrScalar::Scalar(value) => match strong(array.dtype(), value)? {
            ScalarBeside::Of(dtype, value) => (dtype, ArrayOrScalar::Scalar(value)),
            ScalarBeside::Beyond(value) => return constant(array, relation.holds(0.partial_cmp(&value))),
        },
    };
    let is_ordered = ![array.dtype(), dtype].iter().any(|dtype| dtype.class() == Class::Complex);
    if (is_ordered || matches!(relation, Relation::Equal | Relation::NotEqual))
        && let Some(result) = ask_pairs(array, other, dtype, Asked::Relation(relation))?
    {
        return Ok(result);
    }
    use Dtype::{I64, U64};
    match (array.dtype(), dtype) {
        (a, U64) if a.class() == Class::Signed => exact::<i64, u64>(array, other, relation),
        (U64, b) if b.class() == Class::Signed => exact::<u64, i64>(array, other, relation),
        (I64, b) if b.class().is_real() => exact::<i64, f64>(array, other, relation),
        (U64, b) if b.class().is_real() => exact::<u64, f64>(array, other, relation),
        (a, I64) if a.class().is_real() => exact::<f64, i64>(array, other, relation),
        (a, U64) if a.class().is_real() => exact::<f64, u64>(array, other, relation),
        (a, b) => same(array, other, relation, a.promote(b)), // which holds the values of both
    }
}

/// A value beside elements of a dtype.
enum ScalarBeside {
    /// In the dtype that it has there.
    Of(Dtype, Scalar),
    /// Larger than every element if positive, less than every element if negative.
    Beyond(i128),
}

/// The dtype that a value takes beside another, and the value in it.
fn strong(dtype: Dtype, value: Scalar) -> Result<ScalarBeside> {
    let Ok(common) = result_type(&[dtype.into(), value.kind().into()]) else {
        return Ok(ScalarBeside::Of(dtype, value)); // never: there is a dtype
    };
    if let (Scalar::Int(value), Ok(limits)) = (value, iinfo(common))
        && !(limits.min..=limits.max).contains(&value)
    {
        return Ok(ScalarBeside::Beyond(value));
    }
    let bytes = value.to_bytes(common)?;
    let rounded = Scalar::from_bytes(common, &bytes[..common.itemsize_bytes()]);
    match (value, rounded) {
        // Beyond a format without infinities, which has NaN there.
        (Scalar::Float(value), Some(Scalar::Float(rounded))) if rounded.is_nan() && !value.is_nan() => {
            Ok(ScalarBeside::Of(common.computed(), Scalar::Float(value)))
        }
        (Scalar::Int(value), Some(Scalar::Float(rounded))) if rounded.is_nan() => {
            Ok(ScalarBeside::Of(common.computed(), Scalar::Float(value as f64)))
        }
        _ => Ok(ScalarBeside::Of(common, rounded.unwrap_or(value))), // as many bytes as an element has
    }
}

/// Both as elements of one dtype, or of a larger one that processors compare.
fn same(array: &UsmArray, other: ArrayOrScalar<'_>, relation: Relation, dtype: Dtype) -> Result<UsmArray> {
    by_order!(dtype, T => ordered::<T>(array, other, relation), _ => match dtype {
        Dtype::C64 => unordered::<Complex32>(array, other, relation),
        _ => unordered::<Complex64>(array, other, relation),
    })
}

fn unordered<T: Element>(array: &UsmArray, other: ArrayOrScalar<'_>, relation: Relation) -> Result<UsmArray> {
    match relation {
        Relation::Equal => map_pairs::<T, T>(array, other, |a, b| a == b),
        Relation::NotEqual => map_pairs::<T, T>(array, other, |a, b| a != b),
        _ => Err(no_order(relation.name(), T::DTYPE)),
    }
}

fn ordered<T: Element + PartialOrd>(
    array: &UsmArray,
    other: ArrayOrScalar<'_>,
    relation: Relation,
) -> Result<UsmArray> {
    // A closure each, so that each is a loop that vectorises.
    match relation {
        Relation::Less => map_pairs::<T, T>(array, other, |a, b| a < b),
        Relation::LessEqual => map_pairs::<T, T>(array, other, |a, b| a <= b),
        Relation::Greater => map_pairs::<T, T>(array, other, |a, b| a > b),
        Relation::GreaterEqual => map_pairs::<T, T>(array, other, |a, b| a >= b),
        Relation::Equal | Relation::NotEqual => unordered::<T>(array, other, relation),
    }
}

/// Each as elements of a dtype of its own.
fn exact<A: Element + ExactOrder<B>, B: Element>(
    array: &UsmArray,
    other: ArrayOrScalar<'_>,
    relation: Relation,
) -> Result<UsmArray> {
    map_pairs::<A, B>(array, other, |a, b| relation.holds(a.order(b)))
}
