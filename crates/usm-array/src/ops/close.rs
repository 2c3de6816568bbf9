//! isclose, allclose, array_equal

use num_complex::Complex64;

use super::by_kernels::{Asked, ask_pairs};
use super::compare::compare;
use super::elementwise::map_pairs;
use super::relation::Relation;
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Class, Dtype};
use crate::error::Result;
use crate::scalar::modulus;

/// How far from the second operand elements may be: `|a - b| <= absolute + relative * |b|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In units of the second operand; NumPy's `rtol`
    pub relative: f64,
    /// NumPy's `atol`
    pub absolute: f64,
    /// Whether NaN is close to NaN
    pub equal_nan: bool,
}

/// NumPy's: 10⁻⁵ and 10⁻⁸, and NaN is close to nothing.
impl Default for Tolerance {
    fn default() -> Self {
        Self { relative: 1e-5, absolute: 1e-8, equal_nan: false }
    }
}

/// # Closeness
impl UsmArray {
    /// Whether elements are close to those of the second operand, after broadcasting. Both become `float64` or `complex128` first.
    /// Infinite numbers are close to equal ones and to nothing else.
    ///
    /// ```
    /// # use usm_array::{Tolerance, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1.0_f32, 1.1, f32::NAN])?;
    /// assert_eq!(array.isclose(1.0, Tolerance::default())?.count_nonzero_total()?, 1);
    /// let wide = Tolerance { absolute: 0.2, equal_nan: true, ..Tolerance::default() };
    /// assert_eq!(array.isclose(1.0, wide)?.count_nonzero_total()?, 2);
    /// assert!(array.allclose(&array, wide)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::equal`].
    pub fn isclose<'a>(&self, other: impl Into<ArrayOrScalar<'a>>, tolerance: Tolerance) -> Result<Self> {
        let other = other.into();
        let is_complex = |other: ArrayOrScalar<'_>| match other {
            ArrayOrScalar::Array(array) => array.dtype().class() == Class::Complex,
            ArrayOrScalar::Scalar(value) => matches!(value, crate::Scalar::Complex(_)),
        };
        let Tolerance { relative, absolute, equal_nan } = tolerance;
        if is_complex(ArrayOrScalar::Array(self)) || is_complex(other) {
            return map_pairs::<Complex64, Complex64>(self, other, |a, b| {
                let is_nan = |z: Complex64| z.re.is_nan() | z.im.is_nan();
                let is_finite = b.re.is_finite() & b.im.is_finite();
                (is_finite & (modulus(a - b) <= absolute + relative * modulus(b)))
                    | (a == b)
                    | (equal_nan & is_nan(a) & is_nan(b))
            });
        }
        if let Some(result) = ask_pairs(self, other, Dtype::F64, Asked::IsClose(tolerance))? {
            return Ok(result);
        }
        map_pairs::<f64, f64>(self, other, |a, b| {
            (b.is_finite() & ((a - b).abs() <= absolute + relative * b.abs()))
                | (a == b)
                | (equal_nan & a.is_nan() & b.is_nan())
        })
    }

    /// Whether all elements are close to those of the second operand, see [`isclose`](Self::isclose).
    ///
    /// # Errors
    /// As [`UsmArray::equal`].
    pub fn allclose<'a>(&self, other: impl Into<ArrayOrScalar<'a>>, tolerance: Tolerance) -> Result<bool> {
        self.isclose(other, tolerance)?.is_all()
    }

    /// Whether both have the same shape and equal elements, of whatever dtypes; NaN counts as equal to NaN if asked for.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1.0_f32, f32::NAN])?;
    /// let copy = array.copy_to(&queue, UsmKind::Device)?;
    /// assert!(array.array_equal(&copy, true)? && !array.array_equal(&copy, false)?);
    /// assert!(!array.array_equal(&copy.expand_dims(&[0])?, true)?, "another shape");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::equal`], but another shape is no error.
    pub fn array_equal(&self, other: &Self, equal_nan: bool) -> Result<bool> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        let equal = compare(self, ArrayOrScalar::Array(other), Relation::Equal)?;
        if !equal_nan || equal.is_all()? {
            return equal.is_all();
        }
        let both_nan = self.isnan()?.logical_and(&other.isnan()?)?;
        equal.logical_or(&both_nan)?.is_all()
    }
}
