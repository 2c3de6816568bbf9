//! A value whose type is known at run time only, as an element: its conversion and its bytes

use num_complex::Complex32;

use super::bytes_of;
use crate::dtype::{Dtype, Format, MAX_ITEMSIZE_BYTES, bfloat_from_f32, half_from_f64, iinfo};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl Scalar {
    /// The number as Python converts it for elements of a dtype: a real number loses its fraction to be an integer. All other numbers
    /// stay as they are.
    ///
    /// ```
    /// use usm_array::{Dtype, Scalar};
    ///
    /// assert_eq!(Scalar::Float(-2.7).for_dtype(Dtype::I8)?, Scalar::Int(-2));
    /// assert_eq!(Scalar::Float(-2.7).for_dtype(Dtype::F32)?, Scalar::Float(-2.7));
    /// let error = Scalar::Float(300.0).for_dtype(Dtype::U8).unwrap_err();
    /// assert_eq!(error.to_string(), "300.0 is out of range for elements of uint8");
    /// # Ok::<(), usm_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ScalarRange`]: a real number that is no integer of the dtype, such as NaN
    #[inline]
    pub fn for_dtype(self, dtype: Dtype) -> Result<Self> {
        let (Self::Float(value), Ok(limits)) = (self, iinfo(dtype)) else { return Ok(self) };
        let whole = value as i128; // the nearest one for huge numbers, 0 for NaN
        match !value.is_nan() && (limits.min..=limits.max).contains(&whole) {
            true => Ok(Self::Int(whole)),
            false => Err(Error::ScalarRange { found: self, dtype }),
        }
    }

    /// The bytes of this value as an element, in native byte order; the first `dtype.itemsize_bytes()` count.
    ///
    /// Anything becomes a boolean by being other than zero. Otherwise a value never loses its kind: no integer from a real
    /// number, no real number from a complex one. Real numbers are rounded to the element type.
    ///
    /// # Errors
    /// - [`Error::ScalarKind`]: the element type holds no values of this kind
    /// - [`Error::ScalarRange`]: an integer outside the range of the element type
    #[inline]
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
            // By way of binary32, as casts of arrays.
            Dtype::BF16 => write(&bfloat_from_f32(self.to_real(dtype)? as f32).to_ne_bytes()),
            Dtype::F8E4M3Fn => write(&[Format::E4M3FN.encode(self.to_real(dtype)? as f32)]),
            Dtype::F8E4M3Fnuz => write(&[Format::E4M3FNUZ.encode(self.to_real(dtype)? as f32)]),
            Dtype::F8E5M2 => write(&[Format::E5M2.encode(self.to_real(dtype)? as f32)]),
            Dtype::F8E5M2Fnuz => write(&[Format::E5M2FNUZ.encode(self.to_real(dtype)? as f32)]),
        }
        Ok(bytes)
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

    fn out_of_range(self, dtype: Dtype) -> Error {
        Error::ScalarRange { found: self, dtype }
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;

    fn round_trip(value: Scalar, dtype: Dtype) -> Result<Scalar> {
        let bytes = value.to_bytes(dtype)?;
        Ok(Scalar::from_bytes(dtype, &bytes[..dtype.itemsize_bytes()]).unwrap())
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
