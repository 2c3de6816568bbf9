//! What equal, less and the like mean for two numbers: exact, whatever their types

use std::cmp::Ordering;

use crate::dtype::Dtype;
use crate::error::Error;

/// Evaluates an expression with a type name bound to the type of the elements of a dtype, or to a larger one that has all their
/// values where processors do not order them. The other expression is for complex numbers.
macro_rules! by_order {
    ($dtype:expr, $T:ident => $value:expr, _ => $unordered:expr) => {
        $crate::ops::relation::by_order!(@match $dtype, $T => $value, $unordered;
            I8 = i8, I16 = i16, I32 = i32, I64 = i64, Bool | U8 = u8, U16 = u16, U32 = u32, U64 = u64,
            F16 | F32 | BF16 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz = f32, F64 = f64)
    };
    (@match $dtype:expr, $T:ident => $value:expr, $unordered:expr; $($($name:ident)|+ = $type:ty),*) => {
        match $dtype {
            $($(crate::dtype::Dtype::$name)|+ => {
                type $T = $type;
                $value
            })*
            crate::dtype::Dtype::C64 | crate::dtype::Dtype::C128 => $unordered,
        }
    };
}
pub(super) use by_order;

/// The error for complex numbers.
pub(super) fn no_order(operation: &'static str, found: Dtype) -> Error {
    Error::DtypeNotAllowed { operation, found, allowed: "real numbers and booleans" }
}

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Relation {
    /// The array API's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::NotEqual => "not_equal",
            Self::Less => "less",
            Self::LessEqual => "less_equal",
            Self::Greater => "greater",
            Self::GreaterEqual => "greater_equal",
        }
    }

    /// The orders for which it holds, as kernels take them: 1 for less, 2 for equal, 4 for greater, 8 for neither.
    pub(super) const fn orders(self) -> u32 {
        match self {
            Self::Equal => 2,
            Self::NotEqual => 13,
            Self::Less => 1,
            Self::LessEqual => 3,
            Self::Greater => 4,
            Self::GreaterEqual => 6,
        }
    }

    /// Whether it holds for two values of which the first is so to the second; `None` is neither: a NaN.
    pub(super) fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

/// The order of two numbers of types that no common type holds.
pub(super) trait ExactOrder<B> {
    fn order(self, other: B) -> Option<Ordering>;
}

impl ExactOrder<u64> for i64 {
    fn order(self, other: u64) -> Option<Ordering> {
        Some(match u64::try_from(self) {
            Ok(unsigned) => unsigned.cmp(&other),
            Err(_) => Ordering::Less,
        })
    }
}

macro_rules! beside_reals {
    ($int:ty, $below:expr, $above:expr) => {
        impl ExactOrder<f64> for $int {
            fn order(self, other: f64) -> Option<Ordering> {
                if other.is_nan() {
                    return None;
                }
                if other >= $above {
                    return Some(Ordering::Less);
                }
                if other < $below {
                    return Some(Ordering::Greater);
                }
                // Inside the integers, so this drops the fraction and nothing else.
                let whole = other.trunc();
                self.cmp(&(whole as $int)).then(0.0_f64.partial_cmp(&(other - whole))?).into()
            }
        }
    };
}

beside_reals!(i64, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0); // ∓2⁶³
beside_reals!(u64, 0.0, 18_446_744_073_709_551_616.0); // 2⁶⁴

macro_rules! reversed {
    ($($a:ty, $b:ty);*) => {$(
        impl ExactOrder<$b> for $a {
            fn order(self, other: $b) -> Option<Ordering> {
                other.order(self).map(Ordering::reverse)
            }
        }
    )*};
}

reversed!(u64, i64; f64, i64; f64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_reals_compare_by_value() {
        let two_53 = 1_i64 << 53;
        for (int, real, order) in [
            (two_53 + 1, two_53 as f64, Ordering::Greater),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, -9_223_372_036_854_777_856.0, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
            (0, 1e-300, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (-2, -1.5, Ordering::Less),
            (1, f64::INFINITY, Ordering::Less),
        ] {
            assert_eq!(int.order(real), Some(order), "{int} {real}");
            assert_eq!(real.order(int), Some(order.reverse()), "{int} {real}");
        }
        assert_eq!(1_i64.order(f64::NAN), None);
        assert_eq!(u64::MAX.order(18_446_744_073_709_551_616.0), Some(Ordering::Less));
        assert_eq!(0_u64.order(-1e-300), Some(Ordering::Greater));
        assert_eq!((u64::MAX - 1).order(18_446_744_073_709_549_568.0), Some(Ordering::Greater));
    }

    #[test]
    fn signed_and_unsigned_compare_by_value() {
        assert_eq!((-1_i64).order(u64::MAX), Some(Ordering::Less));
        assert_eq!(u64::MAX.order(i64::MAX), Some(Ordering::Greater));
        assert_eq!(i64::MAX.order(1 << 63), Some(Ordering::Less));
        assert_eq!(5_i64.order(5_u64), Some(Ordering::Equal));
    }
}
