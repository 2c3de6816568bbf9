//! The kinds of dtypes of the array API standard

use std::fmt;
use std::str::FromStr;

use super::{Class, Dtype, DtypeError};

/// A set of dtypes that the array API's `isdtype` has a name for, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DtypeKind {
    /// `"bool"`
    Bool,
    /// `"signed integer"`
    SignedInteger,
    /// `"unsigned integer"`
    UnsignedInteger,
    /// `"integral"`: signed and unsigned integers
    Integral,
    /// `"real floating"`
    RealFloating,
    /// `"complex floating"`
    ComplexFloating,
    /// `"numeric"`: everything but booleans
    Numeric,
    /// One dtype and no other
    Exactly(Dtype),
}

impl DtypeKind {
    /// The kinds with a name.
    const NAMED: [(&str, Self); 7] = [
        ("bool", Self::Bool),
        ("signed integer", Self::SignedInteger),
        ("unsigned integer", Self::UnsignedInteger),
        ("integral", Self::Integral),
        ("real floating", Self::RealFloating),
        ("complex floating", Self::ComplexFloating),
        ("numeric", Self::Numeric),
    ];

    /// Whether a dtype is of this kind. Narrow floating-point dtypes are no dtypes of the standard, and of no kind with a name.
    #[must_use]
    pub fn contains(self, dtype: Dtype) -> bool {
        match (self, dtype.class()) {
            (Self::Exactly(only), _) => only == dtype,
            (_, Class::Narrow) => false, // no dtypes of the standard
            (Self::Bool, class) => class == Class::Bool,
            (Self::SignedInteger, class) => class == Class::Signed,
            (Self::UnsignedInteger, class) => class == Class::Unsigned,
            (Self::Integral, class) => class.is_whole(),
            (Self::RealFloating, class) => class == Class::Real,
            (Self::ComplexFloating, class) => class == Class::Complex,
            (Self::Numeric, class) => class != Class::Bool,
        }
    }
}

/// Whether a dtype is of one of several kinds.
///
/// ```
/// use usm_array::{Dtype, DtypeKind, isdtype};
///
/// assert!(isdtype(Dtype::U8, &[DtypeKind::Integral]));
/// assert!(isdtype(Dtype::F32, &["bool".parse()?, "real floating".parse()?]));
/// assert!(!isdtype(Dtype::Bool, &[DtypeKind::Numeric]));
/// # Ok::<(), usm_array::DtypeError>(())
/// ```
#[must_use]
pub fn isdtype(dtype: Dtype, kinds: &[DtypeKind]) -> bool {
    kinds.iter().any(|kind| kind.contains(dtype))
}

/// Takes the standard's names.
impl FromStr for DtypeKind {
    type Err = DtypeError;

    fn from_str(text: &str) -> Result<Self, DtypeError> {
        let named = Self::NAMED.into_iter().find(|&(name, _)| name == text);
        named.map(|(_, kind)| kind).ok_or_else(|| DtypeError::UnknownKind { found: text.to_owned() })
    }
}

impl From<Dtype> for DtypeKind {
    fn from(dtype: Dtype) -> Self {
        Self::Exactly(dtype)
    }
}

impl fmt::Display for DtypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(dtype) => dtype.fmt(f),
            named => f.pad(Self::NAMED.iter().find(|(_, kind)| kind == named).map_or("", |(name, _)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for (name, kind) in DtypeKind::NAMED {
            assert_eq!(name.parse(), Ok(kind));
            assert_eq!(kind.to_string(), name);
        }
        assert_eq!(DtypeKind::from(Dtype::F16).to_string(), "float16");
        let error = "integer".parse::<DtypeKind>().expect_err("no kind").to_string();
        assert!(error.contains("\"integer\"") && error.contains("\"signed integer\""), "{error}");
    }

    #[test]
    fn kinds_contain_what_the_standard_says() {
        use DtypeKind as K;
        for dtype in Dtype::ALL {
            let name = dtype.name();
            let starts = |prefix| name.starts_with(prefix);
            let is_narrow = starts("bfloat") || starts("float8");
            for (kind, expected) in [
                (K::Bool, name == "bool"),
                (K::SignedInteger, starts("int")),
                (K::UnsignedInteger, starts("uint")),
                (K::Integral, starts("int") || starts("uint")),
                (K::RealFloating, starts("float") && !is_narrow),
                (K::ComplexFloating, starts("complex")),
                (K::Numeric, name != "bool" && !is_narrow),
                (K::Exactly(Dtype::F32), name == "float32"),
                (K::Exactly(Dtype::BF16), name == "bfloat16"),
            ] {
                assert_eq!(kind.contains(dtype), expected, "{dtype} {kind}");
                assert_eq!(isdtype(dtype, &[K::Exactly(Dtype::Bool), kind]), expected || name == "bool");
            }
            assert!(!isdtype(dtype, &[]));
        }
    }
}
