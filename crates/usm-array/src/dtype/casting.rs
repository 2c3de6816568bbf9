//! Which casts a rule allows

use std::fmt;

use super::Dtype;

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

/// NumPy's word for it: `no`, `equiv`, `safe`, `same_kind` or `unsafe`.
impl fmt::Display for Casting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Equiv => "equiv",
            Self::Safe => "safe",
            Self::SameKind => "same_kind",
            Self::Unsafe => "unsafe",
        })
    }
}

/// Whether a rule allows a cast.
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
    match dtype.kind() {
        'b' => 0,
        'u' => 1,
        'i' => 2,
        'f' => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.can_cast` with rows and columns as in `Dtype::ALL`: `s` is safe, `k` is same kind, `-` is not allowed. Written
    /// down from NumPy 2.4.
    const TABLE: [&str; 14] = [
        "ssssssssssssss",
        "-ssss----sssss",
        "-ksss----kssss",
        "-kkss----kksks",
        "-kkks----kksks",
        "-kssssssssssss",
        "-kksskssskssss",
        "-kkkskksskksks",
        "-kkkkkkkskksks",
        "---------sssss",
        "---------kssss",
        "---------kksks",
        "------------ss",
        "------------ks",
    ];

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
