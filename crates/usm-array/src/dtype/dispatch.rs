//! From a dtype known at run time to a Rust type known at compile time

/// Evaluates an expression with a type name bound to the [`Element`](crate::Element) type of a dtype known at run time.
///
/// The expression is compiled once for each dtype, so all of them need the same type of value: keep it a call of a generic
/// function.
///
/// ```
/// use usm_array::{Dtype, Element, dispatch};
///
/// fn ones<T: Element>(bytes: &[u8]) -> usize {
///     assert_eq!(bytes.len() % size_of::<T>(), 0, "whole elements of {}", T::DTYPE);
///     bytes.len() / size_of::<T>()
/// }
///
/// let dtype: Dtype = "complex64".parse()?;
/// assert_eq!(dispatch!(dtype, T => ones::<T>(&[0; 32])), 4);
/// # Ok::<(), usm_array::DtypeError>(())
/// ```
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, $T:ident => $value:expr) => {
        $crate::dispatch!(@match $dtype, $T => $value;
            Bool = $crate::Bool8,
            I8 = i8,
            I16 = i16,
            I32 = i32,
            I64 = i64,
            U8 = u8,
            U16 = u16,
            U32 = u32,
            U64 = u64,
            F16 = $crate::half::f16,
            F32 = f32,
            F64 = f64,
            C64 = $crate::num_complex::Complex<f32>,
            C128 = $crate::num_complex::Complex<f64>,
            BF16 = $crate::half::bf16,
            F8E4M3Fn = $crate::F8E4M3Fn,
            F8E4M3Fnuz = $crate::F8E4M3Fnuz,
            F8E5M2 = $crate::F8E5M2,
            F8E5M2Fnuz = $crate::F8E5M2Fnuz,
        )
    };
    (@match $dtype:expr, $T:ident => $value:expr; $($name:ident = $type:ty,)*) => {
        match $dtype {
            $($crate::Dtype::$name => {
                type $T = $type;
                $value
            })*
        }
    };
}

/// As [`dispatch!`], with `f32` for the narrow dtypes: for operations that read elements as another type, so that nothing is compiled
/// for these dtypes alone.
macro_rules! dispatch_computed {
    ($dtype:expr, $T:ident => $value:expr) => {
        $crate::dtype::dispatch_computed!(@match $dtype, $T => $value;
            Bool = $crate::Bool8, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32, U64 = u64,
            F16 = $crate::half::f16,
            F32 | BF16 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz = f32,
            F64 = f64,
            C64 = $crate::num_complex::Complex<f32>,
            C128 = $crate::num_complex::Complex<f64>,
        )
    };
    (@match $dtype:expr, $T:ident => $value:expr; $($($name:ident)|+ = $type:ty,)*) => {
        match $dtype {
            $($($crate::Dtype::$name)|+ => {
                type $T = $type;
                $value
            })*
        }
    };
}
pub(crate) use dispatch_computed;

#[cfg(test)]
mod tests {
    use crate::dtype::{Dtype, Element};

    #[test]
    fn the_type_is_that_of_the_dtype() {
        for dtype in Dtype::ALL {
            assert_eq!(dispatch!(dtype, T => <T as Element>::DTYPE), dtype);
            assert_eq!(dispatch!(dtype, T => size_of::<T>()), dtype.itemsize_bytes());
        }
    }

    #[test]
    fn operations_compute_in_a_type_that_holds_the_numbers() {
        for dtype in Dtype::ALL {
            let computed = super::dispatch_computed!(dtype, T => <T as Element>::DTYPE);
            assert_eq!(computed, dtype.computed(), "{dtype}");
        }
    }

    #[test]
    fn two_dtypes_give_two_types() {
        fn pair<A: Element, B: Element>() -> (Dtype, Dtype) {
            (A::DTYPE, B::DTYPE)
        }
        for from in Dtype::ALL {
            for to in Dtype::ALL {
                let found = dispatch!(from, A => dispatch!(to, B => pair::<A, B>()));
                assert_eq!(found, (from, to));
            }
        }
    }
}
