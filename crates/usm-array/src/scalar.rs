//! One element whose type is known at run time only

use half::{bf16, f16};
use num_complex::Complex64;

use crate::dtype::{Dtype, Format, WeakScalar};

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
    /// The kind by which it takes part in promotion.
    #[must_use]
    pub const fn kind(self) -> WeakScalar {
        match self {
            Self::Bool(_) => WeakScalar::Bool,
            Self::Int(_) => WeakScalar::Int,
            Self::Float(_) => WeakScalar::Float,
            Self::Complex(_) => WeakScalar::Complex,
        }
    }

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
        let narrow = |format: Format| {
            Some(Self::Float(format.decode(u8::from_ne_bytes(bytes.try_into().ok()?)).into()))
        };
        Some(match dtype {
            Dtype::BF16 => Self::Float(read!(bf16).into()),
            Dtype::F8E4M3Fn => narrow(Format::E4M3FN)?,
            Dtype::F8E4M3Fnuz => narrow(Format::E4M3FNUZ)?,
            Dtype::F8E5M2 => narrow(Format::E5M2)?,
            Dtype::F8E5M2Fnuz => narrow(Format::E5M2FNUZ)?,
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

    pub(crate) fn is_nonzero(self) -> bool {
        match self {
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Complex(value) => value != Complex64::ZERO,
        }
    }

    pub(crate) fn to_complex(self) -> Complex64 {
        match self {
            Self::Bool(value) => Complex64::new(f64::from(u8::from(value)), 0.0),
            Self::Int(value) => Complex64::new(nearest_f64(value), 0.0),
            Self::Float(value) => Complex64::new(value, 0.0),
            Self::Complex(value) => value,
        }
    }
}

/// The real number that is nearest to an integer. Nearly all have 64 bits, for which there is an instruction.
pub(crate) fn nearest_f64(value: i128) -> f64 {
    i64::try_from(value).map_or_else(|_| value as f64, |value| value as f64)
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
