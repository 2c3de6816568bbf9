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
//! Elements are converted in `copy/cast/convert.rs`, `scalar.rs` and `view/scalar.rs`. DLPack's code of a dtype follows from
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
    /// Boolean in one byte
    Bool,
    /// Signed integer, 8 bits
    I8,
    /// Signed integer, 16 bits
    I16,
    /// Signed integer, 32 bits
    I32,
    /// Signed integer, 64 bits
    I64,
    /// Unsigned integer, 8 bits
    U8,
    /// Unsigned integer, 16 bits
    U16,
    /// Unsigned integer, 32 bits
    U32,
    /// Unsigned integer, 64 bits
    U64,
    /// IEEE 754 binary16
    F16,
    /// IEEE 754 binary32
    F32,
    /// IEEE 754 binary64
    F64,
    /// Two binary32: real, imaginary
    C64,
    /// Two binary64: real, imaginary
    C128,
}

impl Dtype {
    /// Every dtype, in the order booleans, signed, unsigned, floating, complex, like the variants: `dtype as usize` is the
    /// place of `dtype`.
    pub const ALL: [Self; 14] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// Bytes from one element to the next.
    #[must_use]
    pub const fn itemsize_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// What the address of every element is a multiple of, in bytes. A complex number is aligned
    /// like its parts.
    #[must_use]
    pub const fn align_bytes(self) -> usize {
        match self {
            Self::C64 => 4,
            Self::C128 => 8,
            other => other.itemsize_bytes(),
        }
    }

    /// The kind letter of the array interface: `b`, `i`, `u`, `f` or `c`.
    #[must_use]
    pub const fn kind(self) -> char {
        match self {
            Self::Bool => 'b',
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => 'i',
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => 'u',
            Self::F16 | Self::F32 | Self::F64 => 'f',
            Self::C64 | Self::C128 => 'c',
        }
    }
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
