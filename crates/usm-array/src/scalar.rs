//! One element whose type is known at run time only

use half::f16;
use num_complex::{Complex32, Complex64};

use crate::array::UsmArray;
use crate::copy::half_from_f64;
use crate::dtype::{Dtype, MAX_ITEMSIZE_BYTES};
use crate::error::{Error, Result};
use crate::view::bytes_of;

/// A value of any element type, in the widest type of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// A signed or unsigned integer.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
}

impl Scalar {
    /// The element that `bytes`, as many as one element has, hold in native byte order. `None` for another number of bytes.
    ///
    /// ```
    /// use usm_array::{Dtype, Scalar};
    ///
    /// assert_eq!(Scalar::from_bytes(Dtype::I16, &(-2_i16).to_ne_bytes()), Some(Scalar::Int(-2)));
    /// assert_eq!(Scalar::from_bytes(Dtype::I16, &[0]), None);
    /// ```
    #[must_use]
    pub fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        macro_rules! read {
            ($ty:ty) => {
                <$ty>::from_ne_bytes(bytes.try_into().ok()?)
            };
        }
        Some(match dtype {
            Dtype::Bool => Self::Bool(read!(u8) != 0),
            Dtype::I8 => Self::Int(read!(i8).into()),
            Dtype::I16 => Self::Int(read!(i16).into()),
            Dtype::I32 => Self::Int(read!(i32).into()),
            Dtype::I64 => Self::Int(read!(i64).into()),
            Dtype::U8 => Self::Int(read!(u8).into()),
            Dtype::U16 => Self::Int(read!(u16).into()),
            Dtype::U32 => Self::Int(read!(u32).into()),
            Dtype::U64 => Self::Int(read!(u64).into()),
            Dtype::F16 => Self::Float(read!(f16).into()),
            Dtype::F32 => Self::Float(read!(f32).into()),
            Dtype::F64 => Self::Float(read!(f64)),
            Dtype::C64 => {
                let (re, im) = bytes.split_at_checked(size_of::<f32>())?;
                let part = |part: &[u8]| part.try_into().ok().map(f32::from_ne_bytes).map(f64::from);
                Self::Complex(Complex64::new(part(re)?, part(im)?))
            }
            Dtype::C128 => {
                let (re, im) = bytes.split_at_checked(size_of::<f64>())?;
                let part = |part: &[u8]| part.try_into().ok().map(f64::from_ne_bytes);
                Self::Complex(Complex64::new(part(re)?, part(im)?))
            }
        })
    }

    /// The bytes of this value as an element, in native byte order; the first `dtype.itemsize_bytes()` count.
    ///
    /// Anything becomes a boolean by being other than zero. Otherwise a value never loses its kind: no integer from a real
    /// number, no real number from a complex one. Real numbers are rounded to the element type.
    ///
    /// # Errors
    /// - [`Error::ScalarKind`]: the element type holds no values of this kind
    /// - [`Error::ScalarRange`]: an integer outside the range of the element type
    pub(crate) fn to_bytes(self, dtype: Dtype) -> Result<[u8; MAX_ITEMSIZE_BYTES]> {
        let mut bytes = [0; MAX_ITEMSIZE_BYTES];
        let mut write = |element: &[u8]| bytes[..element.len()].copy_from_slice(element);
        macro_rules! write_int {
            ($ty:ty) => {
                write(
                    &<$ty>::try_from(self.to_int(dtype)?)
                        .map_err(|_| self.out_of_range(dtype))?
                        .to_ne_bytes(),
                )
            };
        }
        match dtype {
            Dtype::Bool => write(&[u8::from(self.is_nonzero())]),
            Dtype::I8 => write_int!(i8),
            Dtype::I16 => write_int!(i16),
            Dtype::I32 => write_int!(i32),
            Dtype::I64 => write_int!(i64),
            Dtype::U8 => write_int!(u8),
            Dtype::U16 => write_int!(u16),
            Dtype::U32 => write_int!(u32),
            Dtype::U64 => write_int!(u64),
            Dtype::F16 => write(&half_from_f64(self.to_real(dtype)?).to_ne_bytes()),
            Dtype::F32 => write(&(self.to_real(dtype)? as f32).to_ne_bytes()),
            Dtype::F64 => write(&self.to_real(dtype)?.to_ne_bytes()),
            Dtype::C64 => {
                let value = self.to_complex();
                write(bytes_of(&[Complex32::new(value.re as f32, value.im as f32)]));
            }
            Dtype::C128 => write(bytes_of(&[self.to_complex()])),
        }
        Ok(bytes)
    }

    fn is_nonzero(self) -> bool {
        match self {
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Complex(value) => value != Complex64::ZERO,
        }
    }

    fn to_int(self, dtype: Dtype) -> Result<i128> {
        match self {
            Self::Bool(value) => Ok(value.into()),
            Self::Int(value) => Ok(value),
            _ => Err(Error::ScalarKind { found: self, dtype }),
        }
    }

    fn to_real(self, dtype: Dtype) -> Result<f64> {
        match self {
            Self::Float(value) => Ok(value),
            Self::Complex(_) => Err(Error::ScalarKind { found: self, dtype }),
            _ => self.to_int(dtype).map(|value| value as f64),
        }
    }

    pub(crate) fn to_complex(self) -> Complex64 {
        match self {
            Self::Bool(value) => Complex64::new(f64::from(u8::from(value)), 0.0),
            Self::Int(value) => Complex64::new(value as f64, 0.0),
            Self::Float(value) => Complex64::new(value, 0.0),
            Self::Complex(value) => value,
        }
    }

    fn out_of_range(self, dtype: Dtype) -> Error {
        Error::ScalarRange { found: self, dtype }
    }
}

/// Absolute value of a complex number, to two units in the last place, also where squares would overflow.
///
/// Not `hypot` of the C library: the version that is linked today would keep wheels from systems with a glibc before 2.35.
pub(crate) fn modulus(z: Complex64) -> f64 {
    let (re, im) = (z.re.abs(), z.im.abs());
    if re.is_infinite() || im.is_infinite() {
        return f64::INFINITY;
    }
    let (large, small) = if re < im { (im, re) } else { (re, im) };
    if large == 0.0 {
        return small; // zero, or NaN beside a zero
    }
    let ratio = small / large;
    large * (1.0 + ratio * ratio).sqrt()
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Complex(value) => write!(f, "{value}"),
        }
    }
}

impl UsmArray {
    /// The value of an array with exactly one element, whatever its number of axes.
    ///
    /// # Errors
    /// - [`Error::NotOneElement`]: another number of elements
    /// - those of [`UsmArray::copy_to_host_contiguous`]
    pub fn item(&self) -> Result<Scalar> {
        let not_one = || Error::NotOneElement { shape: self.shape().to_vec() };
        if self.size() != 1 {
            return Err(not_one());
        }
        let mut bytes = [0; MAX_ITEMSIZE_BYTES];
        let bytes = &mut bytes[..self.itemsize_bytes()];
        self.buffer().copy_to_host(bytes, self.first_byte())?;
        Scalar::from_bytes(self.dtype(), bytes).ok_or_else(not_one)
    }

    /// Sets every element to a value whose type is known at run time only.
    ///
    /// # Errors
    /// - [`Error::ScalarKind`], [`Error::ScalarRange`]: the element type does not hold the value
    /// - those of [`UsmArray::fill`]
    pub fn fill_scalar(&self, value: Scalar) -> Result<()> {
        let bytes = value.to_bytes(self.dtype())?;
        self.fill_bytes(&bytes[..self.itemsize_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: Scalar, dtype: Dtype) -> Result<Scalar> {
        let bytes = value.to_bytes(dtype)?;
        Ok(Scalar::from_bytes(dtype, &bytes[..dtype.itemsize_bytes()]).unwrap())
    }

    #[test]
    fn absolute_values_neither_overflow_nor_lose_a_nan() {
        let of = |re, im| modulus(Complex64::new(re, im));
        assert_eq!((of(3.0, -4.0), of(0.0, -0.0), of(-2.0, 0.0)), (5.0, 0.0, 2.0));
        assert_eq!((of(3e300, 4e300), of(3e-320, 4e-320)), (5e300, 5e-320));
        assert_eq!((of(f64::NAN, f64::NEG_INFINITY), of(f64::INFINITY, 1.0)), (f64::INFINITY, f64::INFINITY));
        assert!(
            [(f64::NAN, 0.0), (0.0, f64::NAN), (1.0, f64::NAN)].iter().all(|&(re, im)| of(re, im).is_nan())
        );
        for i in 1..100 {
            let (re, im) = (f64::from(i).sqrt(), f64::from(i * i % 71));
            assert!((of(re, im) - re.hypot(im)).abs() <= 2.0 * f64::EPSILON * of(re, im), "{re} {im}");
        }
    }

    #[test]
    fn values_survive_every_dtype_that_holds_them() {
        for dtype in Dtype::ALL {
            let one = round_trip(Scalar::Bool(true), dtype).unwrap();
            assert_eq!(one.to_complex(), Complex64::ONE, "{dtype}");
        }
        assert_eq!(round_trip(Scalar::Int(-128), Dtype::I8).unwrap(), Scalar::Int(-128));
        let largest = Scalar::Int(u64::MAX.into());
        assert_eq!(round_trip(largest, Dtype::U64).unwrap(), largest);
        assert_eq!(round_trip(Scalar::Float(0.1), Dtype::F32).unwrap(), Scalar::Float(f64::from(0.1_f32)));
        assert_eq!(round_trip(Scalar::Float(65504.0), Dtype::F16).unwrap(), Scalar::Float(65504.0));
        // Just above the middle between 1 and the next one: rounded once, and not to the middle first.
        let above = Scalar::Float(1.0 + 2_f64.powi(-11) + f64::EPSILON);
        assert_eq!(round_trip(above, Dtype::F16).unwrap(), Scalar::Float(1.0 + 2_f64.powi(-10)));
        let complex = Scalar::Complex(Complex64::new(1.5, -2.5));
        assert_eq!(round_trip(complex, Dtype::C64).unwrap(), complex);
        assert_eq!(round_trip(complex, Dtype::C128).unwrap(), complex);
        assert_eq!(round_trip(complex, Dtype::Bool).unwrap(), Scalar::Bool(true));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (value, dtype) in [
            (Scalar::Int(128), Dtype::I8),
            (Scalar::Int(-1), Dtype::U64),
            (Scalar::Int(1 << 64), Dtype::U64),
            (Scalar::Int(1 << 63), Dtype::I64),
        ] {
            assert!(matches!(round_trip(value, dtype), Err(Error::ScalarRange { .. })), "{value:?} {dtype}");
        }
        let complex = Scalar::Complex(Complex64::new(1.0, 0.0));
        for (value, dtype) in [
            (Scalar::Float(1.0), Dtype::I32),
            (complex, Dtype::I32),
            (complex, Dtype::F64),
            (complex, Dtype::F16),
        ] {
            assert!(matches!(round_trip(value, dtype), Err(Error::ScalarKind { .. })), "{value:?} {dtype}");
        }
    }
}
