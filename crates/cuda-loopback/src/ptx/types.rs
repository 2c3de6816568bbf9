//! The types of PTX, and values of them in registers of 64 bits.

use super::float::{F16, F32, Rounding, decode, encode};

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F32,
    F64,
}

impl Type {
    /// The type of a name without its dot.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    pub(super) fn len_bytes(self) -> usize {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// A value of this type, extended to 64 bits.
    pub(super) fn extend(self, bits: u64) -> u64 {
        match self {
            Self::Pred => u64::from(bits != 0),
            Self::S8 => bits as i8 as u64,
            Self::S16 => bits as i16 as u64,
            Self::S32 => bits as i32 as u64,
            _ => bits & (u64::MAX >> (64 - 8 * self.len_bytes())),
        }
    }
}

/// A value in a register. Higher bits of the register have no meaning.
pub(super) trait Value: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Value for $ty {
            fn of(bits: u64) -> Self {
                bits as Self
            }

            fn bits(self) -> u64 {
                self as u64
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Value for bool {
    fn of(bits: u64) -> Self {
        bits != 0
    }

    fn bits(self) -> u64 {
        u64::from(self)
    }
}

/// The result of an operation that is not a number.
const NAN_F32: u64 = 0x7fff_ffff;

impl Value for f32 {
    fn of(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }

    fn bits(self) -> u64 {
        if self.is_nan() { NAN_F32 } else { u64::from(self.to_bits()) }
    }
}

impl Value for f64 {
    fn of(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A number of 16 bits with the result of one operation on it, which is exact here until it becomes bits.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Half(pub(super) f64);

impl Value for Half {
    fn of(bits: u64) -> Self {
        Self(decode(bits, F16))
    }

    fn bits(self) -> u64 {
        encode(self.0, F16, Rounding::Nearest)
    }
}

/// Numbers that a wider type has, too.
pub(super) trait Float: Value + PartialOrd {
    fn wide(self) -> f64;
    fn narrow(wide: f64) -> Self;
}

impl Float for Half {
    fn wide(self) -> f64 {
        self.0
    }

    fn narrow(wide: f64) -> Self {
        Self(wide)
    }
}

impl Float for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn narrow(wide: f64) -> Self {
        Self::from_bits(encode(wide, F32, Rounding::Nearest) as u32)
    }
}

impl Float for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn narrow(wide: f64) -> Self {
        wide
    }
}
