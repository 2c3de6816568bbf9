//! Which casts a rule allows

use std::fmt;
use std::str::FromStr;

use super::{Class, Dtype, DtypeError};

/// Rules for the loss of casts, as in NumPy. Each rule includes the rules before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Casting {
    /// No change of dtype.
    No,
    /// The byte order may change. Here there is only one, so that this is the same as `No`.
    Equiv,
    /// Promotion: `from` and `to` together give `to`. The default of the array API.
    #[default]
    Safe,
    /// Also to a smaller dtype of the same or a higher kind, in the order boolean, unsigned, signed, real, complex.
    SameKind,
    /// Everything.
    Unsafe,
}

impl Casting {
    /// All rules with their names, the strictest first.
    const NAMED: [(&str, Self); 5] = [
        ("no", Self::No),
        ("equiv", Self::Equiv),
        ("safe", Self::Safe),
        ("same_kind", Self::SameKind),
        ("unsafe", Self::Unsafe),
    ];
}

/// NumPy's word for it: `no`, `equiv`, `safe`, `same_kind` or `unsafe`.
impl fmt::Display for Casting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMED.iter().find(|(_, casting)| casting == self).map_or("", |(name, _)| name))
    }
}

/// Takes NumPy's words.
impl FromStr for Casting {
    type Err = DtypeError;

    fn from_str(text: &str) -> Result<Self, DtypeError> {
        let named = Self::NAMED.into_iter().find(|&(name, _)| name == text);
        named.map(|(_, casting)| casting).ok_or_else(|| DtypeError::UnknownCasting { found: text.to_owned() })
    }
}

/// Whether a rule allows a cast.
///
/// Narrow dtypes (`bfloat16`, those of 8 bits) are real: safe are the casts from them to `float32` and beyond, and to them from booleans and
/// integers of 8 bits.
///
/// ```
/// use usm_array::{Casting, Dtype, can_cast};
///
/// assert!(can_cast(Dtype::U8, Dtype::I16, Casting::Safe));
/// assert!(!can_cast(Dtype::F64, Dtype::F32, Casting::Safe));
/// assert!(can_cast(Dtype::F64, Dtype::F32, Casting::SameKind));
/// assert!(!can_cast(Dtype::F64, Dtype::I64, Casting::SameKind));
/// ```
#[must_use]
pub fn can_cast(from: Dtype, to: Dtype, casting: Casting) -> bool {
    match casting {
        Casting::No | Casting::Equiv => from == to,
        Casting::Safe => from.promote(to) == to,
        Casting::SameKind => from.promote(to) == to || rank(from) <= rank(to),
        Casting::Unsafe => true,
    }
}

/// Place of the kind in the order of [`Casting::SameKind`].
const fn rank(dtype: Dtype) -> u8 {
    match dtype.class() {
        Class::Bool => 0,
        Class::Unsigned => 1,
        Class::Signed => 2,
        Class::Real | Class::Narrow => 3,
        Class::Complex => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.can_cast` with rows and columns as in `Dtype::ALL`: `s` is safe, `k` is same kind, `-` is not allowed. Written
    /// down from NumPy 2.4; the last five rows and columns are our own, and differ from ml_dtypes 0.6 where it takes its formats for
    /// each other's.
    const TABLE: [&str; 19] = [
        "sssssssssssssssssss",
        "-ssss----ssssssssss",
        "-ksss----ksssskkkkk",
        "-kkss----kkskskkkkk",
        "-kkks----kkskskkkkk",
        "-ksssssssssssssssss",
        "-kkssksssksssskkkkk",
        "-kkkskksskkskskkkkk",
        "-kkkkkkkskkskskkkkk",
        "---------ssssskkkkk",
        "---------ksssskkkkk",
        "---------kkskskkkkk",
        "------------ss-----",
        "------------ks-----",
        "---------kssssskkkk",
        "---------ksssskskkk",
        "---------ksssskkskk",
        "---------ksssskkksk",
        "---------ksssskkkks",
    ];

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for (name, casting) in Casting::NAMED {
            assert_eq!((name.parse(), casting.to_string().as_str()), (Ok(casting), name));
        }
        let error = "Safe".parse::<Casting>().expect_err("no casting").to_string();
        assert!(error.contains("\"Safe\"") && error.contains("same_kind"), "{error}");
    }

    #[test]
    fn casts_are_those_of_numpy() {
        for (from, row) in Dtype::ALL.into_iter().zip(TABLE) {
            assert_eq!(row.len(), Dtype::ALL.len());
            for (to, letter) in Dtype::ALL.into_iter().zip(row.chars()) {
                assert_eq!(can_cast(from, to, Casting::Safe), letter == 's', "{from} to {to}");
                assert_eq!(can_cast(from, to, Casting::SameKind), letter != '-', "{from} to {to}");
                assert_eq!(can_cast(from, to, Casting::No), from == to);
                assert_eq!(can_cast(from, to, Casting::Equiv), from == to);
                assert!(can_cast(from, to, Casting::Unsafe));
            }
        }
        assert_eq!(Casting::default(), Casting::Safe);
    }
}
