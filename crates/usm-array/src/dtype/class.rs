//! The classes of dtypes: what operations have to know of a dtype

use super::Dtype;

/// What the elements of a dtype are. Code that tells dtypes apart matches on this, so that it cannot take one for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Booleans
    Bool,
    /// Signed integers
    Signed,
    /// Unsigned integers
    Unsigned,
    /// Floating-point numbers of IEEE 754 and of the array API
    Real,
    /// Pairs of those
    Complex,
    /// Other floating-point numbers, of at most 16 bits: operations compute with them as `float32`
    Narrow,
}

impl Class {
    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::Signed | Self::Unsigned)
    }

    /// Real numbers, narrow or not.
    pub(crate) const fn is_real(self) -> bool {
        matches!(self, Self::Real | Self::Narrow)
    }
}

impl Dtype {
    pub(crate) const fn class(self) -> Class {
        match self {
            Self::Bool => Class::Bool,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Class::Signed,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Class::Unsigned,
            Self::F16 | Self::F32 | Self::F64 => Class::Real,
            Self::C64 | Self::C128 => Class::Complex,
            Self::BF16 | Self::F8E4M3Fn | Self::F8E4M3Fnuz | Self::F8E5M2 | Self::F8E5M2Fnuz => Class::Narrow,
        }
    }

    /// Whether this is a narrow floating-point dtype: `bfloat16` or one of 8 bits. They are no dtypes of the array API standard, of the
    /// array interfaces and of the buffer protocol; DLPack has them.
    ///
    /// ```
    /// use usm_array::Dtype;
    ///
    /// assert!(Dtype::BF16.is_narrow() && !Dtype::F16.is_narrow());
    /// ```
    #[must_use]
    pub const fn is_narrow(self) -> bool {
        matches!(self.class(), Class::Narrow)
    }

    /// The dtype of the bits of a narrow floating-point dtype: unsigned integers of as many bytes. `None` for other dtypes.
    ///
    /// ```
    /// use usm_array::Dtype;
    ///
    /// assert_eq!((Dtype::BF16.narrow_bits(), Dtype::F8E5M2.narrow_bits()), (Some(Dtype::U16), Some(Dtype::U8)));
    /// assert_eq!(Dtype::F16.narrow_bits(), None);
    /// ```
    #[must_use]
    pub const fn narrow_bits(self) -> Option<Self> {
        match (self.class(), self.itemsize_bytes()) {
            (Class::Narrow, 1) => Some(Self::U8),
            (Class::Narrow, _) => Some(Self::U16),
            _ => None,
        }
    }

    /// Whether this is a dtype of integers, signed or not.
    ///
    /// ```
    /// use usm_array::Dtype;
    ///
    /// assert!(Dtype::U8.is_integer() && !Dtype::Bool.is_integer());
    /// ```
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.class().is_whole()
    }

    /// The dtype that operations compute in: `float32` for narrow dtypes, whose numbers it holds.
    pub(crate) const fn computed(self) -> Self {
        if self.is_narrow() { Self::F32 } else { self }
    }
}
