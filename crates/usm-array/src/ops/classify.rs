//! isnan, isfinite, isinf, signbit

use half::f16;
use num_complex::Complex;

use super::by_kernels::{Asked, ask};
use super::elementwise::{constant, map};
use super::relation::no_order;
use crate::array::UsmArray;
use crate::dtype::{Class, Dtype};
use crate::error::Result;

/// A test of real numbers, of both parts of complex ones, and what it gives for other elements.
macro_rules! of_parts {
    ($array:expr, $test:ident, $asked:ident, $both:tt, $others:expr) => {{
        if matches!($array.dtype().class(), Class::Real | Class::Complex | Class::Narrow)
            && let Some(result) = ask($array, Asked::$asked)?
        {
            return Ok(result);
        }
        match $array.dtype() {
            Dtype::F16 => map($array, f16::$test),
            Dtype::F32 | Dtype::BF16 | Dtype::F8E4M3Fn | Dtype::F8E4M3Fnuz | Dtype::F8E5M2 | Dtype::F8E5M2Fnuz => {
                map($array, f32::$test)
            }
            Dtype::F64 => map($array, f64::$test),
            Dtype::C64 => map($array, |z: Complex<f32>| z.re.$test() $both z.im.$test()),
            Dtype::C128 => map($array, |z: Complex<f64>| z.re.$test() $both z.im.$test()),
            Dtype::Bool | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => constant($array, $others),
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => constant($array, $others),
        }
    }};
}

/// # Classes of numbers
/// The result is a new array of booleans of the same shape, kind of memory and queue. Booleans and integers are finite numbers.
/// A complex number is NaN or infinite if one of its parts is, and finite if both are; it may be NaN and infinite.
///
/// ```
/// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let numbers = [f64::NAN, f64::INFINITY, -f64::INFINITY, -0.0];
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[4], &numbers)?;
/// assert_eq!(array.isnan()?.count_nonzero_total()?, 1);
/// assert_eq!(array.isfinite()?.count_nonzero_total()?, 1);
/// assert_eq!(array.isinf()?.count_nonzero_total()?, 2);
/// assert_eq!(array.signbit()?.count_nonzero_total()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl UsmArray {
    /// Whether elements are NaN.
    ///
    /// # Errors
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for a block
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn isnan(&self) -> Result<Self> {
        of_parts!(self, is_nan, IsNan, |, false)
    }

    /// Whether elements are neither NaN nor infinite.
    ///
    /// # Errors
    /// As [`UsmArray::isnan`].
    pub fn isfinite(&self) -> Result<Self> {
        of_parts!(self, is_finite, IsFinite, &, true)
    }

    /// Whether elements are infinite, of either sign.
    ///
    /// # Errors
    /// As [`UsmArray::isnan`].
    pub fn isinf(&self) -> Result<Self> {
        of_parts!(self, is_infinite, IsInfinite, |, false)
    }

    /// Whether the sign bit of elements is set: less than 0, or -0.0, or a NaN with that sign.
    ///
    /// # Errors
    /// - [`Error::DtypeNotAllowed`](crate::Error::DtypeNotAllowed): complex numbers have no sign
    /// - those of [`UsmArray::isnan`]
    pub fn signbit(&self) -> Result<Self> {
        if matches!(self.dtype().class(), Class::Signed | Class::Real | Class::Narrow)
            && let Some(result) = ask(self, Asked::HasSign)?
        {
            return Ok(result);
        }
        match self.dtype() {
            Dtype::I8 => map(self, i8::is_negative),
            Dtype::I16 => map(self, i16::is_negative),
            Dtype::I32 => map(self, i32::is_negative),
            Dtype::I64 => map(self, i64::is_negative),
            Dtype::F16 => map(self, f16::is_sign_negative),
            Dtype::F32
            | Dtype::BF16
            | Dtype::F8E4M3Fn
            | Dtype::F8E4M3Fnuz
            | Dtype::F8E5M2
            | Dtype::F8E5M2Fnuz => map(self, f32::is_sign_negative),
            Dtype::F64 => map(self, f64::is_sign_negative),
            Dtype::C64 | Dtype::C128 => Err(no_order("signbit", self.dtype())),
            Dtype::Bool | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => constant(self, false),
        }
    }
}
