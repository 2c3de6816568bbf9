//! Run-time element types and their text forms
//!
//! | file | job |
//! |---|---|
//! | `names.rs` | array API names, `Display` and `FromStr` |
//! | `typestr.rs` | typestrs of the array interface (`"|f8"`) |
//! | `buffer_format.rs` | format characters of the Python buffer protocol (`"d"`) |
//! | `element.rs` | which Rust type stands for which dtype |
//! | `bool8.rs` | a boolean for memory that may hold any byte |
//! | `dispatch.rs` | from a dtype known at run time to a Rust type |
//! | `rounding.rs` | numbers of 64 bits as numbers of 16 bits |
//! | `promotion.rs` | which dtype holds the values of several others |
//! | `defaults.rs` | the default dtypes of a device |
//! | `casting.rs` | which casts a rule allows |
//! | `kinds.rs` | the kinds of the array API standard |
//! | `limits.rs` | `finfo` and `iinfo` |
//!
//! The table of the dtypes is here. Elements are converted in `copy/cast/convert.rs`, `scalar.rs` and `view/scalar.rs`. DLPack's code of a dtype follows from
//! [`Dtype::kind`] in `dlpack/dtype.rs`.

mod bool8;
mod buffer_format;
mod casting;
mod defaults;
mod dispatch;
mod element;
mod error;
mod kinds;
mod limits;
mod names;
mod promotion;
mod rounding;
mod typestr;

pub use bool8::Bool8;
pub use casting::{Casting, can_cast};
pub use defaults::{DefaultDtypes, default_dtypes};
pub use element::Element;
pub use error::DtypeError;
pub use kinds::{DtypeKind, isdtype};
pub use limits::{Finfo, Iinfo, finfo, iinfo};
pub use promotion::{Operand, WeakScalar, result_type};
pub(crate) use rounding::half_from_f64;

/// Bytes of the largest element. Item sizes are the powers of two up to this one.
pub(crate) const MAX_ITEMSIZE_BYTES: usize = 16;

/// The table of the dtypes: variant and its description, kind, bytes of an element and of its alignment, name, typestr, buffer
/// format.
macro_rules! dtypes {
    ($($dtype:ident, $doc:literal, $kind:literal, $itemsize:literal, $align:literal, $name:literal, $typestr:literal,
        $format:literal;)*) => {
        /// The type of the elements of an array, known at run time.
        ///
        /// ```
        /// use usm_array::Dtype;
        ///
        /// assert_eq!(Dtype::F64.to_string(), "float64");
        /// assert_eq!(Dtype::F64.typestr(), "|f8");
        /// assert_eq!("<f8".parse(), Ok(Dtype::F64));
        /// assert_eq!(Dtype::F64.itemsize_bytes(), 8);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Dtype {
            $(#[doc = $doc] $dtype,)*
        }

        impl Dtype {
            /// Every dtype, in the order booleans, signed, unsigned, floating, complex, like the variants: `dtype as usize` is
            /// the place of `dtype`.
            pub const ALL: [Self; 14] = [$(Self::$dtype),*];

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

            /// The kind letter of the array interface: `b`, `i`, `u`, `f` or `c`.
            #[must_use]
            pub const fn kind(self) -> char {
                match self { $(Self::$dtype => $kind),* }
            }

            /// The name in the Python array API standard, like `"float32"`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$dtype => $name),* }
            }

            /// The typestr, always with `|`: `"|b1"`, `"|f4"`, `"|c16"`.
            ///
            /// Other libraries on this protocol write `|` for every size, so an array that goes through
            /// one of them and back keeps an equal dictionary.
            ///
            /// ```
            /// use usm_array::Dtype;
            ///
            /// assert_eq!(Dtype::C64.typestr(), "|c8");
            /// assert_eq!(Dtype::from_typestr("=f8"), Ok(Dtype::F64));
            /// ```
            #[must_use]
            pub const fn typestr(self) -> &'static str {
                match self { $(Self::$dtype => $typestr),* }
            }

            /// The format of one element in native sizes, as `memoryview` and NumPy read it.
            #[must_use]
            pub const fn buffer_format(self) -> &'static str {
                match self { $(Self::$dtype => $format),* }
            }
        }
    };
}

dtypes! {
    Bool, "Boolean in one byte", 'b', 1, 1, "bool", "|b1", "?";
    I8, "Signed integer, 8 bits", 'i', 1, 1, "int8", "|i1", "b";
    I16, "Signed integer, 16 bits", 'i', 2, 2, "int16", "|i2", "h";
    I32, "Signed integer, 32 bits", 'i', 4, 4, "int32", "|i4", "i";
    I64, "Signed integer, 64 bits", 'i', 8, 8, "int64", "|i8", "q";
    U8, "Unsigned integer, 8 bits", 'u', 1, 1, "uint8", "|u1", "B";
    U16, "Unsigned integer, 16 bits", 'u', 2, 2, "uint16", "|u2", "H";
    U32, "Unsigned integer, 32 bits", 'u', 4, 4, "uint32", "|u4", "I";
    U64, "Unsigned integer, 64 bits", 'u', 8, 8, "uint64", "|u8", "Q";
    F16, "IEEE 754 binary16", 'f', 2, 2, "float16", "|f2", "e";
    F32, "IEEE 754 binary32", 'f', 4, 4, "float32", "|f4", "f";
    F64, "IEEE 754 binary64", 'f', 8, 8, "float64", "|f8", "d";
    C64, "Two binary32: real, imaginary", 'c', 8, 4, "complex64", "|c8", "Zf";
    C128, "Two binary64: real, imaginary", 'c', 16, 8, "complex128", "|c16", "Zd";
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
        assert_eq!(names.len(), 14);
    }
}
