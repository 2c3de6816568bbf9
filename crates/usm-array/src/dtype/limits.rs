//! Limits of floating-point and integer dtypes: the array API's `finfo` and `iinfo`

use half::{bf16, f16};

use super::{Dtype, DtypeError, Format};

/// Limits of a floating-point dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finfo {
    /// Bits of one real number
    pub bits: u32,
    /// Distance from 1 to the next larger number
    pub eps: f64,
    /// Largest number
    pub max: f64,
    /// Lowest number, `-max`
    pub min: f64,
    /// Smallest positive number in full precision
    pub smallest_normal: f64,
    /// The real dtype that has these limits
    pub dtype: Dtype,
}

/// Limits of an integer dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Iinfo {
    /// Bits of one integer
    pub bits: u32,
    /// Largest integer
    pub max: i128,
    /// Lowest integer
    pub min: i128,
    /// The dtype
    pub dtype: Dtype,
}

impl Finfo {
    /// Distance from 1 to the next smaller number.
    #[must_use]
    pub fn epsneg(&self) -> f64 {
        self.eps / 2.0 // there is one bit more below 1
    }

    /// Decimal digits to which numbers are precise.
    ///
    /// ```
    /// use usm_array::{Dtype, finfo};
    ///
    /// let limits = finfo(Dtype::F32)?;
    /// assert_eq!((limits.precision(), limits.resolution()), (6.0, 1e-6));
    /// # Ok::<(), usm_array::DtypeError>(())
    /// ```
    #[must_use]
    pub fn precision(&self) -> f64 {
        (-self.eps.log10()).floor()
    }

    /// 10 to the power of minus [`precision`](Self::precision).
    #[must_use]
    pub fn resolution(&self) -> f64 {
        // By parsing, which is exact where a power is not.
        format!("1e-{}", self.precision()).parse().unwrap_or(f64::NAN)
    }
}

/// The limits of a floating-point dtype. A complex dtype has the limits of its parts.
///
/// ```
/// use usm_array::{Dtype, finfo};
///
/// assert_eq!(finfo(Dtype::C64)?.max, f64::from(f32::MAX));
/// assert!(finfo(Dtype::I32).is_err());
/// # Ok::<(), usm_array::DtypeError>(())
/// ```
///
/// # Errors
/// - [`DtypeError::NotFloating`]: a boolean or an integer dtype
pub fn finfo(dtype: Dtype) -> Result<Finfo, DtypeError> {
    macro_rules! limits {
        ($ty:ty, $dtype:ident) => {
            Finfo {
                bits: 8 * size_of::<$ty>() as u32,
                eps: <$ty>::EPSILON.into(),
                max: <$ty>::MAX.into(),
                min: <$ty>::MIN.into(),
                smallest_normal: <$ty>::MIN_POSITIVE.into(),
                dtype: Dtype::$dtype,
            }
        };
    }
    match dtype {
        Dtype::F16 => Ok(limits!(f16, F16)),
        Dtype::F32 | Dtype::C64 => Ok(limits!(f32, F32)),
        Dtype::F64 | Dtype::C128 => Ok(limits!(f64, F64)),
        Dtype::BF16 => Ok(limits!(bf16, BF16)),
        Dtype::F8E4M3Fn => Ok(Format::E4M3FN.limits(dtype)),
        Dtype::F8E4M3Fnuz => Ok(Format::E4M3FNUZ.limits(dtype)),
        Dtype::F8E5M2 => Ok(Format::E5M2.limits(dtype)),
        Dtype::F8E5M2Fnuz => Ok(Format::E5M2FNUZ.limits(dtype)),
        found => Err(DtypeError::NotFloating { found }),
    }
}

impl Format {
    fn limits(self, dtype: Dtype) -> Finfo {
        let number = |bits: u32| f64::from(self.decode(bits as u8));
        let max = number(self.largest());
        Finfo {
            bits: 8,
            eps: f64::from(1_u32 << self.fraction).recip(),
            max,
            min: -max,
            smallest_normal: number(1 << self.fraction),
            dtype,
        }
    }
}

/// The limits of an integer dtype.
///
/// # Errors
/// - [`DtypeError::NotInteger`]: any other dtype
pub fn iinfo(dtype: Dtype) -> Result<Iinfo, DtypeError> {
    macro_rules! limits {
        ($ty:ty) => {
            Ok(Iinfo { bits: <$ty>::BITS, max: <$ty>::MAX.into(), min: <$ty>::MIN.into(), dtype })
        };
    }
    match dtype {
        Dtype::I8 => limits!(i8),
        Dtype::I16 => limits!(i16),
        Dtype::I32 => limits!(i32),
        Dtype::I64 => limits!(i64),
        Dtype::U8 => limits!(u8),
        Dtype::U16 => limits!(u16),
        Dtype::U32 => limits!(u32),
        Dtype::U64 => limits!(u64),
        found => Err(DtypeError::NotInteger { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_ieee_754() {
        // Precision in bits and largest exponent.
        for (dtype, real, bits, precision, exponent) in [
            (Dtype::F16, Dtype::F16, 16, 11, 15),
            (Dtype::F32, Dtype::F32, 32, 24, 127),
            (Dtype::C64, Dtype::F32, 32, 24, 127),
            (Dtype::F64, Dtype::F64, 64, 53, 1023),
            (Dtype::C128, Dtype::F64, 64, 53, 1023),
            (Dtype::BF16, Dtype::BF16, 16, 8, 127),
            (Dtype::F8E5M2, Dtype::F8E5M2, 8, 3, 15),
        ] {
            let found = finfo(dtype).expect("floating");
            let eps = 2_f64.powi(1 - precision);
            let max = (2.0 - eps) * 2_f64.powi(exponent);
            let smallest_normal = 2_f64.powi(1 - exponent);
            assert_eq!(found, Finfo { bits, eps, max, min: -max, smallest_normal, dtype: real }, "{dtype}");
        }
    }

    #[test]
    fn formats_without_infinities_have_limits_of_their_own() {
        // As ml_dtypes has them.
        for (dtype, eps, max, smallest_normal) in [
            (Dtype::F8E4M3Fn, 0.125, 448.0, 0.015_625),
            (Dtype::F8E4M3Fnuz, 0.125, 240.0, 0.007_812_5),
            (Dtype::F8E5M2Fnuz, 0.25, 57344.0, 2_f64.powi(-15)),
        ] {
            let expected = Finfo { bits: 8, eps, max, min: -max, smallest_normal, dtype };
            assert_eq!(finfo(dtype), Ok(expected), "{dtype}");
        }
    }

    #[test]
    fn integers_reach_as_far_as_their_bits() {
        for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.class().is_whole()) {
            let bits = 8 * dtype.itemsize_bytes() as u32;
            let (min, max) = match dtype.kind() {
                'i' => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                _ => (0, (1_i128 << bits) - 1),
            };
            assert_eq!(iinfo(dtype), Ok(Iinfo { bits, max, min, dtype }));
        }
    }

    #[test]
    fn others_are_refused() {
        for dtype in Dtype::ALL {
            let is_integer = dtype.class().is_whole();
            assert_eq!(finfo(dtype).is_ok(), !is_integer && dtype != Dtype::Bool, "{dtype}");
            assert_eq!(iinfo(dtype).is_ok(), is_integer, "{dtype}");
        }
        assert_eq!(finfo(Dtype::Bool), Err(DtypeError::NotFloating { found: Dtype::Bool }));
        assert_eq!(iinfo(Dtype::F32), Err(DtypeError::NotInteger { found: Dtype::F32 }));
    }
}
