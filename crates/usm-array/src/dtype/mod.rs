//! Run-time element types and their text forms
//!
//! | file | job |
//! |---|---|
//! | `names.rs` | array API names, `Display` and `FromStr` |
//! | `typestr.rs` | typestrs of the array interface (`"|f8"`) |
//! | `buffer_format.rs` | format characters of the Python buffer protocol (`"d"`) |
//! | `element.rs` | which Rust type stands for which dtype |
//! | `bool8.rs` | a boolean for memory that may hold any byte |
//! | `narrow.rs` | floating-point numbers of 8 bits, and bfloat16 |
//! | `class.rs` | what operations have to know of a dtype |
//! | `dispatch.rs` | from a dtype known at run time to a Rust type |
//! | `rounding.rs` | numbers of 64 bits as numbers of 16 bits |
//! | `promotion.rs` | which dtype holds the values of several others |
//! | `defaults.rs` | the default dtypes of a device |
//! | `casting.rs` | which casts a rule allows |
//! | `kinds.rs` | the kinds of the array API standard |
//! | `limits.rs` | `finfo` and `iinfo` |
//! | `error.rs` | why there is no such element type |
//!
//! The table of the dtypes is here. Elements are converted in `copy/cast/convert.rs`, `scalar.rs` and `view/scalar.rs`. DLPack's code of a dtype is
//! in `dlpack/dtype.rs`. Operations match on `Class`, never on [`Dtype::kind`]: so the compiler names those that a new class concerns.

mod bool8;
mod buffer_format;
mod casting;
mod class;
mod defaults;
mod dispatch;
mod element;
mod error;
mod kinds;
mod limits;
mod names;
mod narrow;
mod promotion;
mod rounding;
mod typestr;

pub use bool8::Bool8;
pub use casting::{Casting, can_cast};
pub(crate) use class::Class;
pub use defaults::{DefaultDtypes, default_dtypes};
pub(crate) use dispatch::dispatch_computed;
pub use element::Element;
pub use error::DtypeError;
pub use kinds::{DtypeKind, isdtype};
pub use limits::{Finfo, Iinfo, finfo, iinfo};
pub use narrow::{F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
pub(crate) use narrow::{Format, Special, bfloat_from_f32};
pub use promotion::{PromotionOperand, WeakScalar, result_type};
pub(crate) use rounding::half_from_f64;

/// Bytes of the largest element. Item sizes are the powers of two up to this one.
pub(crate) const MAX_ITEMSIZE_BYTES: usize = 16;

/// The table of the dtypes: variant and its description, kind, bytes of an element and of its alignment, name, typestr, buffer
/// format.
macro_rules! dtypes {
    ($($dtype:ident, $doc:literal, $kind:literal, $itemsize:literal, $align:literal, $name:literal, $typestr:expr,
        $format:expr;)*) => {
        /// The type of the elements of an array, known at run time.
        ///
        /// ```
        /// use usm_array::Dtype;
        ///
        /// assert_eq!(Dtype::F64.to_string(), "float64");
        /// assert_eq!(Dtype::F64.typestr(), Some("|f8"));
        /// assert_eq!("<f8".parse(), Ok(Dtype::F64));
        /// assert_eq!(Dtype::F64.itemsize_bytes(), 8);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Dtype {
            $(#[doc = $doc] $dtype,)*
        }

        impl Dtype {
            /// Every dtype, in the order booleans, signed, unsigned, floating, complex, narrow, like the variants: `dtype as usize`
            /// is the place of `dtype`.
            pub const ALL: [Self; 19] = [$(Self::$dtype),*];

            /// Bytes from one element to the next.
            #[must_use]
            pub const fn itemsize_bytes(self) -> usize {
                match self { $(Self::$dtype => $itemsize),* }
            }

            /// What the address of every element is a multiple of, in bytes. A complex number is aligned
            /// like its parts.
            #[must_use]
            pub const fn align_bytes(self) -> usize {
                match self { $(Self::$dtype => $align),* }
            }

            /// The kind letter of the array interface: `b`, `i`, `u`, `f` or `c`. For narrow floating-point numbers, which that does not
            /// have, the letter of ml_dtypes: `V`, and `f` for `float8_e5m2`.
            #[must_use]
            pub const fn kind(self) -> char {
                match self { $(Self::$dtype => $kind),* }
            }

            /// The name in the Python array API standard, like `"float32"`, or in ml_dtypes, like `"bfloat16"`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$dtype => $name),* }
            }

            /// The typestr, always with `|`: `"|b1"`, `"|f4"`, `"|c16"`. `None` for narrow floating-point numbers, which have none.
            ///
            /// Other libraries on this protocol write `|` for every size, so an array that goes through
            /// one of them and back keeps an equal dictionary.
            ///
            /// ```
            /// use usm_array::Dtype;
            ///
            /// assert_eq!(Dtype::C64.typestr(), Some("|c8"));
            /// assert_eq!(Dtype::from_typestr("=f8"), Ok(Dtype::F64));
            /// ```
            #[must_use]
            pub const fn typestr(self) -> Option<&'static str> {
                match self { $(Self::$dtype => $typestr),* }
            }

            /// The format of one element in native sizes, as `memoryview` and NumPy read it. `None` for narrow floating-point numbers,
            /// which have none.
            #[must_use]
            pub const fn buffer_format(self) -> Option<&'static str> {
                match self { $(Self::$dtype => $format),* }
            }
        }
    };
}

dtypes! {
    Bool, "Boolean in one byte", 'b', 1, 1, "bool", Some("|b1"), Some("?");
    I8, "Signed integer, 8 bits", 'i', 1, 1, "int8", Some("|i1"), Some("b");
    I16, "Signed integer, 16 bits", 'i', 2, 2, "int16", Some("|i2"), Some("h");
    I32, "Signed integer, 32 bits", 'i', 4, 4, "int32", Some("|i4"), Some("i");
    I64, "Signed integer, 64 bits", 'i', 8, 8, "int64", Some("|i8"), Some("q");
    U8, "Unsigned integer, 8 bits", 'u', 1, 1, "uint8", Some("|u1"), Some("B");
    U16, "Unsigned integer, 16 bits", 'u', 2, 2, "uint16", Some("|u2"), Some("H");
    U32, "Unsigned integer, 32 bits", 'u', 4, 4, "uint32", Some("|u4"), Some("I");
    U64, "Unsigned integer, 64 bits", 'u', 8, 8, "uint64", Some("|u8"), Some("Q");
    F16, "IEEE 754 binary16", 'f', 2, 2, "float16", Some("|f2"), Some("e");
    F32, "IEEE 754 binary32", 'f', 4, 4, "float32", Some("|f4"), Some("f");
    F64, "IEEE 754 binary64", 'f', 8, 8, "float64", Some("|f8"), Some("d");
    C64, "Two binary32: real, imaginary", 'c', 8, 4, "complex64", Some("|c8"), Some("Zf");
    C128, "Two binary64: real, imaginary", 'c', 16, 8, "complex128", Some("|c16"), Some("Zd");
    BF16, "The upper half of an IEEE 754 binary32", 'V', 2, 2, "bfloat16", None, None;
    F8E4M3Fn, "OCP E4M3: 4 bits of exponent, no infinities", 'V', 1, 1, "float8_e4m3fn", None, None;
    F8E4M3Fnuz, "4 bits of exponent, no infinities, no negative zero", 'V', 1, 1, "float8_e4m3fnuz", None, None;
    F8E5M2, "OCP E5M2: 5 bits of exponent", 'f', 1, 1, "float8_e5m2", None, None;
    F8E5M2Fnuz, "5 bits of exponent, no infinities, no negative zero", 'V', 1, 1, "float8_e5m2fnuz", None, None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_is_at_its_place() {
        assert!(Dtype::ALL.into_iter().enumerate().all(|(place, dtype)| dtype as usize == place));
    }

    #[test]
    fn itemsize_is_a_multiple_of_the_alignment() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.itemsize_bytes() % dtype.align_bytes(), 0, "{dtype}");
            assert!(dtype.align_bytes().is_power_of_two());
            assert!(dtype.itemsize_bytes().is_power_of_two());
            assert!(dtype.itemsize_bytes() <= MAX_ITEMSIZE_BYTES);
        }
    }

    #[test]
    fn all_lists_each_dtype_once() {
        let mut names: Vec<_> = Dtype::ALL.iter().map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 19);
    }
}
