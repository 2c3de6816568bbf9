//! Which Rust type stands for which dtype

use std::fmt::Debug;

use half::{bf16, f16};
use num_complex::Complex;

use super::{Bool8, Dtype, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};

mod sealed {
    pub trait Sealed {}
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of arrays",
    label = "not the Rust type of a `Dtype`",
    note = "write a value or a type argument of an element type: `Bool8` for booleans, `i8` to `i64`, `u8` to `u64`, `f16` to `f64`, \
            `Complex<f32>`, `Complex<f64>`, `bf16`, `F8E4M3Fn` and related types",
    note = "`fill_scalar` and `Scalar` take values whose type is known at run time only"
)]
/// A Rust type whose values are the elements of arrays of one dtype.
///
/// Implemented for [`Bool8`], the integers of 8 to 64 bits, [`f16`](struct@f16), `f32`, `f64`,
/// `Complex<f32>`, `Complex<f64>`, [`bf16`](struct@bf16) and the floating-point numbers of 8 bits; sealed, so that it cannot be implemented for anything else.
///
/// # Safety
/// 1. `size_of::<Self>()` is `DTYPE.itemsize_bytes()` and `align_of::<Self>()` is at most
///    `DTYPE.align_bytes()`.
/// 2. Every pattern of bytes is a valid value.
/// 3. There is no padding: every byte of a value is initialised.
pub unsafe trait Element: sealed::Sealed + Copy + Debug + PartialEq + Send + Sync + 'static {
    /// The dtype of arrays of these elements.
    const DTYPE: Dtype;
}

macro_rules! element {
    ($($type:ty => $dtype:ident),* $(,)?) => {
        impl Dtype {
            /// The Rust type of elements, as it is written in Rust.
            ///
            /// ```
            /// use usm_array::Dtype;
            ///
            /// assert_eq!(Dtype::F32.rust_type(), "f32");
            /// assert_eq!(Dtype::Bool.rust_type(), "Bool8");
            /// ```
            #[must_use]
            pub const fn rust_type(self) -> &'static str {
                match self { $(Self::$dtype => stringify!($type)),* }
            }
        }
        $(
        impl sealed::Sealed for $type {}

        // Promise 1, checked by the compiler.
        const _: () = assert!(
            size_of::<$type>() == Dtype::$dtype.itemsize_bytes()
                && align_of::<$type>() <= Dtype::$dtype.align_bytes()
        );

        // SAFETY: promise 1 is asserted above. 2. and 3. `$type` is a primitive number, a transparent
        // wrapper of an unsigned integer, or a `repr(C)` pair of two equal floats, none of which
        // has invalid patterns or padding.
        unsafe impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

element! {
    Bool8 => Bool,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    f16 => F16,
    f32 => F32,
    f64 => F64,
    Complex<f32> => C64,
    Complex<f64> => C128,
    bf16 => BF16,
    F8E4M3Fn => F8E4M3Fn,
    F8E4M3Fnuz => F8E4M3Fnuz,
    F8E5M2 => F8E5M2,
    F8E5M2Fnuz => F8E5M2Fnuz,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_those_of_the_types() {
        // On 32-bit machines some alignments may be smaller; elsewhere they are exact.
        if cfg!(target_pointer_width = "64") {
            assert_eq!(align_of::<Complex<f64>>(), Dtype::C128.align_bytes());
            assert_eq!(align_of::<Complex<f32>>(), Dtype::C64.align_bytes());
            assert_eq!(align_of::<f16>(), Dtype::F16.align_bytes());
            assert_eq!(align_of::<bf16>(), Dtype::BF16.align_bytes());
        }
    }
}
