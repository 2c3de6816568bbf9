//! Which casts a rule allows

use super::{Class, Dtype};

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

usm_memory::usm_core::texts!(Casting, "rule for casts": No = "no", Equiv = "equiv", Safe = "safe", SameKind = "same_kind", Unsafe = "unsafe");

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
