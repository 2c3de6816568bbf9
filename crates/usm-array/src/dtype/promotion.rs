//! Which dtype holds the values of several others

use super::{Class, DefaultDtypes, Dtype, DtypeError};

/// The kind of a Python number: it takes part in promotion by kind only, never by its value or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeakScalar {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `complex`
    Complex,
}

/// An operand of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromotionOperand {
    /// An array, or its element type
    Dtype(Dtype),
    /// A Python number
    Weak(WeakScalar),
}

impl From<Dtype> for PromotionOperand {
    fn from(dtype: Dtype) -> Self {
        Self::Dtype(dtype)
    }
}

impl From<WeakScalar> for PromotionOperand {
    fn from(scalar: WeakScalar) -> Self {
        Self::Weak(scalar)
    }
}

/// The dtype of an operation on several operands, on a device that has 64-bit floats; elsewhere see
/// [`DefaultDtypes::result_type`].
///
/// The table comes from the Python array API standard. Cases that it leaves open follow NumPy: an integer and a real number give the
/// real number that holds both, 64-bit unsigned and signed integers give `float64`. The order of the operands does not matter.
///
/// A Python number has the dtype of the others if they are of its kind or a higher one (boolean, integer, real, complex). Of a
/// higher kind it gives the default dtype of its kind, and a complex one beside real arrays the complex dtype of their precision.
///
/// Narrow dtypes (`bfloat16`, those of 8 bits) are outside of the standard. One of them alone, or beside booleans, integers of 8 bits and
/// real Python numbers, stays. Beside another dtype, narrow or not, it counts as `float32`. This is as in ml_dtypes, which refuses
/// two narrow dtypes, `float16` and longer integers, and as in JAX for Python numbers.
///
/// ```
/// use usm_array::{Dtype, WeakScalar, result_type};
///
/// assert_eq!(result_type(&[Dtype::I8.into(), Dtype::U8.into()]), Ok(Dtype::I16));
/// assert_eq!(result_type(&[Dtype::F32.into(), WeakScalar::Int.into()]), Ok(Dtype::F32));
/// assert_eq!(result_type(&[Dtype::F32.into(), WeakScalar::Complex.into()]), Ok(Dtype::C64));
/// assert_eq!(result_type(&[Dtype::U8.into(), WeakScalar::Float.into()]), Ok(Dtype::F64));
/// assert!(result_type(&[WeakScalar::Int.into()]).is_err());
/// ```
///
/// # Errors
/// - [`DtypeError::NoDtype`]: no operand is an array or a dtype
pub fn result_type(operands: &[PromotionOperand]) -> Result<Dtype, DtypeError> {
    DefaultDtypes::WITH_FP64.result_type(operands)
}

impl Dtype {
    /// The smallest dtype both are promoted to.
    ///
    /// ```
    /// use usm_array::Dtype;
    ///
    /// assert_eq!(Dtype::I32.promote(Dtype::U32), Dtype::I64);
    /// assert_eq!(Dtype::I64.promote(Dtype::U64), Dtype::F64);
    /// ```
    #[must_use]
    pub fn promote(self, other: Self) -> Self {
        let mut widths = Widths::default();
        widths.add(self);
        widths.add(other);
        widths.dtype()
    }
}

impl DefaultDtypes {
    /// The dtype of an operation on several operands on a device with these defaults.
    ///
    /// As the function [`result_type`](fn@result_type), but 64-bit floats that no operand has become the default: `int32` and
    /// `float32` give `float32` on a device without 64-bit floats.
    ///
    /// # Errors
    /// - [`DtypeError::NoDtype`]: no operand is an array or a dtype
    pub fn result_type(&self, operands: &[PromotionOperand]) -> Result<Dtype, DtypeError> {
        let mut widths = Widths::default();
        let mut highest = None;
        let mut has_double = false;
        for &operand in operands {
            match operand {
                PromotionOperand::Dtype(dtype) => {
                    widths.add(dtype);
                    has_double |= matches!(dtype, Dtype::F64 | Dtype::C128);
                }
                PromotionOperand::Weak(scalar) => highest = highest.max(Some(scalar)),
            }
        }
        if !operands.iter().any(|operand| matches!(operand, PromotionOperand::Dtype(_))) {
            return Err(DtypeError::NoDtype { found: operands.len() });
        }
        let strong = widths.dtype();
        let result = match (highest, strong.class()) {
            (None | Some(WeakScalar::Bool), _) => strong,
            (Some(WeakScalar::Int), Class::Bool) => self.integral,
            (Some(WeakScalar::Int), _) => strong,
            (Some(WeakScalar::Float), Class::Bool | Class::Signed | Class::Unsigned) => self.real_floating,
            (Some(WeakScalar::Float), Class::Real | Class::Complex | Class::Narrow) => strong,
            (Some(WeakScalar::Complex), Class::Bool | Class::Signed | Class::Unsigned) => {
                self.complex_floating
            }
            (Some(WeakScalar::Complex), Class::Real | Class::Complex | Class::Narrow) => {
                strong.promote(Dtype::C64)
            }
        };
        Ok(match result {
            Dtype::F64 if !has_double => self.real_floating,
            Dtype::C128 if !has_double => self.complex_floating,
            other => other,
        })
    }

    /// As [`result_type`](Self::result_type), but numbers alone give the default dtype of the highest kind.
    ///
    /// ```
    /// use usm_array::{DefaultDtypes, Dtype, WeakScalar};
    ///
    /// let numbers = [WeakScalar::Bool.into(), WeakScalar::Float.into()];
    /// assert_eq!(DefaultDtypes::WITHOUT_FP64.result_type_or_default(&numbers), Ok(Dtype::F32));
    /// ```
    ///
    /// # Errors
    /// - [`DtypeError::NoDtype`]: no operands
    pub fn result_type_or_default(&self, operands: &[PromotionOperand]) -> Result<Dtype, DtypeError> {
        let highest = operands.iter().map(|operand| match operand {
            PromotionOperand::Weak(scalar) => Some(*scalar),
            PromotionOperand::Dtype(_) => None,
        });
        // `None` where one of them has a dtype.
        match highest.collect::<Option<Vec<_>>>().and_then(|numbers| numbers.into_iter().max()) {
            Some(highest) => Ok(self.of(highest)),
            None => self.result_type(operands),
        }
    }
}

/// The widest dtypes of each kind so far, in bytes of one number; 0 is none.
#[derive(Default)]
struct Widths {
    signed: usize,
    unsigned: usize,
    /// The dtypes of real and complex numbers, and of the real numbers for integers
    floating: usize,
    has_floating: bool,
    has_complex: bool,
    narrow: Option<Dtype>,
    /// Two narrow dtypes, which only a longer one holds
    has_two_narrow: bool,
}

impl Widths {
    fn add(&mut self, dtype: Dtype) {
        let bytes = dtype.itemsize_bytes();
        let floating = match dtype.class() {
            Class::Signed | Class::Unsigned => (2 * bytes).min(8), // the real number that holds the integer, or the widest
            Class::Real => bytes,
            Class::Complex => bytes / 2,
            Class::Bool | Class::Narrow => 0,
        };
        self.floating = self.floating.max(floating);
        match dtype.class() {
            Class::Bool => {}
            Class::Signed => self.signed = self.signed.max(bytes),
            Class::Unsigned => self.unsigned = self.unsigned.max(bytes),
            Class::Real => self.has_floating = true,
            Class::Complex => self.has_complex = true,
            Class::Narrow => {
                self.has_two_narrow |= self.narrow.is_some_and(|narrow| narrow != dtype);
                self.narrow = Some(dtype);
            }
        }
    }

    fn dtype(&self) -> Dtype {
        if self.has_complex {
            return if self.floating > 4 { Dtype::C128 } else { Dtype::C64 };
        }
        if let Some(narrow) = self.narrow {
            let is_alone = !self.has_floating && !self.has_two_narrow && self.signed.max(self.unsigned) <= 1;
            return if is_alone {
                narrow
            } else if self.floating > 4 {
                Dtype::F64
            } else {
                Dtype::F32
            };
        }
        if self.has_floating {
            return match self.floating {
                2 => Dtype::F16,
                4 => Dtype::F32,
                _ => Dtype::F64,
            };
        }
        // A signed type that holds both has twice the bytes of the unsigned one.
        let signed = if self.signed == 0 { 0 } else { self.signed.max(2 * self.unsigned) };
        match (signed, self.unsigned) {
            (0, 0) => Dtype::Bool,
            (0, 1) => Dtype::U8,
            (0, 2) => Dtype::U16,
            (0, 4) => Dtype::U32,
            (0, _) => Dtype::U64,
            (1, _) => Dtype::I8,
            (2, _) => Dtype::I16,
            (4, _) => Dtype::I32,
            (8, _) => Dtype::I64,
            _ => Dtype::F64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.result_type` of each pair, rows and columns as in `Dtype::ALL`; written down from NumPy 2.4. The last five, `bfloat16` and
    /// those of 8 bits, are as in ml_dtypes 0.6 where it has a result that holds both.
    const TABLE: [&str; 19] = [
        "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 b2 fn fu e5 eu",
        "i1 i1 i2 i4 i8 i2 i4 i8 f8 f2 f4 f8 c8 c16 b2 fn fu e5 eu",
        "i2 i2 i2 i4 i8 i2 i4 i8 f8 f4 f4 f8 c8 c16 f4 f4 f4 f4 f4",
        "i4 i4 i4 i4 i8 i4 i4 i8 f8 f8 f8 f8 c16 c16 f8 f8 f8 f8 f8",
        "i8 i8 i8 i8 i8 i8 i8 i8 f8 f8 f8 f8 c16 c16 f8 f8 f8 f8 f8",
        "u1 i2 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 b2 fn fu e5 eu",
        "u2 i4 i4 i4 i8 u2 u2 u4 u8 f4 f4 f8 c8 c16 f4 f4 f4 f4 f4",
        "u4 i8 i8 i8 i8 u4 u4 u4 u8 f8 f8 f8 c16 c16 f8 f8 f8 f8 f8",
        "u8 f8 f8 f8 f8 u8 u8 u8 u8 f8 f8 f8 c16 c16 f8 f8 f8 f8 f8",
        "f2 f2 f4 f8 f8 f2 f4 f8 f8 f2 f4 f8 c8 c16 f4 f4 f4 f4 f4",
        "f4 f4 f4 f8 f8 f4 f4 f8 f8 f4 f4 f8 c8 c16 f4 f4 f4 f4 f4",
        "f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 c16 c16 f8 f8 f8 f8 f8",
        "c8 c8 c8 c16 c16 c8 c8 c16 c16 c8 c8 c16 c8 c16 c8 c8 c8 c8 c8",
        "c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16",
        "b2 b2 f4 f8 f8 b2 f4 f8 f8 f4 f4 f8 c8 c16 b2 f4 f4 f4 f4",
        "fn fn f4 f8 f8 fn f4 f8 f8 f4 f4 f8 c8 c16 f4 fn f4 f4 f4",
        "fu fu f4 f8 f8 fu f4 f8 f8 f4 f4 f8 c8 c16 f4 f4 fu f4 f4",
        "e5 e5 f4 f8 f8 e5 f4 f8 f8 f4 f4 f8 c8 c16 f4 f4 f4 e5 f4",
        "eu eu f4 f8 f8 eu f4 f8 f8 f4 f4 f8 c8 c16 f4 f4 f4 f4 eu",
    ];
    /// `numpy.result_type(dtype, number)` for `1`, `1.0` and `1j`.
    const WEAK: [(WeakScalar, &str); 4] = [
        (WeakScalar::Bool, "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 b2 fn fu e5 eu"),
        (WeakScalar::Int, "i8 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 b2 fn fu e5 eu"),
        (WeakScalar::Float, "f8 f8 f8 f8 f8 f8 f8 f8 f8 f2 f4 f8 c8 c16 b2 fn fu e5 eu"),
        (WeakScalar::Complex, "c16 c16 c16 c16 c16 c16 c16 c16 c16 c8 c8 c16 c8 c16 c8 c8 c8 c8 c8"),
    ];

    fn row(text: &str) -> Vec<Dtype> {
        let narrow = |word| match word {
            "b2" => Some(Dtype::BF16),
            "fn" => Some(Dtype::F8E4M3Fn),
            "fu" => Some(Dtype::F8E4M3Fnuz),
            "e5" => Some(Dtype::F8E5M2),
            "eu" => Some(Dtype::F8E5M2Fnuz),
            _ => None,
        };
        text.split(' ').map(|word| narrow(word).unwrap_or_else(|| word.parse().expect("a typestr"))).collect()
    }

    fn of(operands: &[Dtype]) -> Dtype {
        result_type(&operands.iter().map(|&dtype| dtype.into()).collect::<Vec<_>>()).expect("has a dtype")
    }

    #[test]
    fn pairs_are_promoted_as_in_numpy() {
        for (a, expected) in Dtype::ALL.into_iter().zip(TABLE) {
            for (b, expected) in Dtype::ALL.into_iter().zip(row(expected)) {
                assert_eq!(a.promote(b), expected, "{a} and {b}");
                assert_eq!(of(&[a, b]), expected, "{a} and {b}");
            }
        }
    }

    #[test]
    fn python_numbers_count_by_kind() {
        for (scalar, expected) in WEAK {
            for (dtype, expected) in Dtype::ALL.into_iter().zip(row(expected)) {
                let found = result_type(&[scalar.into(), dtype.into()]);
                assert_eq!(found, Ok(expected), "{dtype} and {scalar:?}");
            }
        }
        let mixed =
            [Dtype::F32.into(), WeakScalar::Complex.into(), Dtype::I64.into(), WeakScalar::Int.into()];
        assert_eq!(result_type(&mixed), Ok(Dtype::C128));
    }

    #[test]
    fn the_order_of_operands_does_not_matter() {
        for a in Dtype::ALL {
            for b in Dtype::ALL {
                for c in Dtype::ALL {
                    assert_eq!(of(&[a, b, c]), of(&[c, a, b]));
                    assert_eq!(of(&[a, b, c]), of(&[b, a, c]));
                }
            }
        }
        // Pair by pair it would be float32, as NumPy knows.
        assert_eq!(of(&[Dtype::I8, Dtype::U8, Dtype::F16]), Dtype::F16);
        assert_eq!(of(&[Dtype::I16, Dtype::U16, Dtype::C64]), Dtype::C64);
    }

    #[test]
    fn numbers_alone_have_no_dtype() {
        assert_eq!(result_type(&[]), Err(DtypeError::NoDtype { found: 0 }));
        let two = [WeakScalar::Int.into(), WeakScalar::Float.into()];
        assert_eq!(result_type(&two), Err(DtypeError::NoDtype { found: 2 }));
    }

    #[test]
    fn without_double_precision_nothing_becomes_it() {
        let single = DefaultDtypes::WITHOUT_FP64;
        for (a, expected) in Dtype::ALL.into_iter().zip(TABLE) {
            for (b, expected) in Dtype::ALL.into_iter().zip(row(expected)) {
                let has_double = [a, b].iter().any(|dtype| matches!(dtype, Dtype::F64 | Dtype::C128));
                let expected = match expected {
                    Dtype::F64 if !has_double => Dtype::F32,
                    Dtype::C128 if !has_double => Dtype::C64,
                    other => other,
                };
                assert_eq!(single.result_type(&[a.into(), b.into()]), Ok(expected), "{a} and {b}");
            }
        }
        assert_eq!(single.result_type(&[Dtype::I8.into(), WeakScalar::Float.into()]), Ok(Dtype::F32));
        assert_eq!(single.result_type(&[Dtype::I8.into(), WeakScalar::Complex.into()]), Ok(Dtype::C64));
    }
}
