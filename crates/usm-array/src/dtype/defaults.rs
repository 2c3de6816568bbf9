//! Default dtypes of a device: 64-bit floats if it has them

use usm_memory::usm_core::{Aspects, Device};

use super::{Dtype, WeakScalar};

/// Default dtypes of a device, by the kinds of the array API's `default_dtypes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DefaultDtypes {
    /// Default for real numbers
    pub real_floating: Dtype,
    /// Default for complex numbers
    pub complex_floating: Dtype,
    /// Default for integers
    pub integral: Dtype,
    /// Default for indices
    pub indexing: Dtype,
}

impl DefaultDtypes {
    /// The defaults of a device that computes with 64-bit floats.
    pub const WITH_FP64: Self = Self {
        real_floating: Dtype::F64,
        complex_floating: Dtype::C128,
        integral: Dtype::I64,
        indexing: Dtype::I64,
    };
    /// The defaults of a device without 64-bit floats.
    pub const WITHOUT_FP64: Self =
        Self { real_floating: Dtype::F32, complex_floating: Dtype::C64, ..Self::WITH_FP64 };

    /// The dtype of an array made of numbers of one kind.
    #[must_use]
    pub const fn of(&self, scalar: WeakScalar) -> Dtype {
        match scalar {
            WeakScalar::Bool => Dtype::Bool,
            WeakScalar::Int => self.integral,
            WeakScalar::Float => self.real_floating,
            WeakScalar::Complex => self.complex_floating,
        }
    }
}

/// The default dtypes of a device: `float64` and `complex128` where it has 64-bit floats, otherwise `float32` and `complex64`;
/// `int64` for integers and indices.
///
/// ```
/// use usm_array::{Dtype, default_dtypes, usm_core::Runtime};
///
/// let defaults = default_dtypes(Runtime::global().host_device());
/// assert_eq!(defaults.real_floating, Dtype::F64);
/// assert_eq!(defaults.indexing, Dtype::I64);
/// ```
#[must_use]
pub fn default_dtypes(device: &Device) -> DefaultDtypes {
    if device.info().has(Aspects::FP64) { DefaultDtypes::WITH_FP64 } else { DefaultDtypes::WITHOUT_FP64 }
}

/// The dtypes of the array API standard that a device computes with: all but the floating-point numbers of 8 and 16 bits, which the
/// standard does not have, and those of 64 bits where the device has none.
///
/// ```
/// use usm_array::{Dtype, standard_dtypes, usm_core::Runtime};
///
/// let dtypes: Vec<Dtype> = standard_dtypes(Runtime::global().host_device()).collect();
/// assert!(dtypes.contains(&Dtype::F64) && !dtypes.contains(&Dtype::F16));
/// ```
pub fn standard_dtypes(device: &Device) -> impl Iterator<Item = Dtype> {
    let has_fp64 = default_dtypes(device) == DefaultDtypes::WITH_FP64;
    Dtype::ALL.into_iter().filter(move |dtype| match dtype {
        Dtype::F16 | Dtype::BF16 => false,
        Dtype::F8E4M3Fn | Dtype::F8E4M3Fnuz | Dtype::F8E5M2 | Dtype::F8E5M2Fnuz => false,
        Dtype::F64 | Dtype::C128 => has_fp64,
        Dtype::Bool | Dtype::F32 | Dtype::C64 => true,
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => true,
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_has_a_default() {
        for (defaults, expected) in [
            (DefaultDtypes::WITH_FP64, [Dtype::Bool, Dtype::I64, Dtype::F64, Dtype::C128]),
            (DefaultDtypes::WITHOUT_FP64, [Dtype::Bool, Dtype::I64, Dtype::F32, Dtype::C64]),
        ] {
            let kinds = [WeakScalar::Bool, WeakScalar::Int, WeakScalar::Float, WeakScalar::Complex];
            assert_eq!(kinds.map(|kind| defaults.of(kind)), expected);
            assert_eq!(defaults.indexing, Dtype::I64);
        }
    }
}
