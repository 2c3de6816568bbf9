//! Why there is no such element type

use thiserror::Error;
use usm_derive::ErrorDebug;

use super::Dtype;

/// A text that names no supported [`Dtype`], or a dtype without the requested property.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum DtypeError {
    /// No dtype name, and not the form of a typestr.
    #[error(
        "found {found:?}, which is no dtype; allowed are bool, int8 to int64, uint8 to uint64, \
         float16, float32, float64, complex64, complex128, bfloat16, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, \
         float8_e5m2fnuz, or a typestr like \"|f8\"{}",
        time_hint(found)
    )]
    UnknownName {
        /// The text as given
        found: String,
    },
    /// Not of the form `[byte order]kind size`.
    #[error(
        "found {found:?}, which is no typestr; allowed is a byte order of '|', '=' or '{}', \
         then a kind of b, i, u, f or c, then a size in bytes, like \"|f8\"{}",
        native_order(),
        time_hint(found)
    )]
    MalformedTypestr {
        /// The text as given
        found: String,
    },
    /// Bytes in an order that is not the machine's.
    #[error(
        "found {found:?}, byte order '{order}' ({}), which is not native here; \
         allowed are '|', '=' and '{}'",
        order_name(*order),
        native_order()
    )]
    NonNativeByteOrder {
        /// The text as given
        found: String,
        /// Its byte order character
        order: char,
    },
    /// A kind of element other than boolean and numeric.
    #[error(
        "found {found:?}, kind '{kind}' ({}), which is not supported; \
         allowed kinds are b, i, u, f and c{}",
        kind_name(*kind),
        time_hint(found)
    )]
    UnsupportedKind {
        /// The text as given
        found: String,
        /// Its kind letter
        kind: char,
    },
    /// A supported kind in an unsupported size.
    #[error(
        "found {found:?}, kind '{kind}' of {size} bytes, which is not supported; \
         allowed sizes of '{kind}' are {allowed} bytes"
    )]
    UnsupportedSize {
        /// The text as given
        found: String,
        /// Its kind letter
        kind: char,
        /// Its size as written, in bytes
        size: String,
        /// The sizes of this kind that are supported
        allowed: &'static str,
    },
    /// A buffer protocol format that is not one supported element.
    #[error(
        "found buffer format {found:?}, which is not one native number; \
         allowed are ?, b, h, i, l, q, n, B, H, I, L, Q, N, e, f, d, Zf and Zd"
    )]
    UnsupportedFormat {
        /// The format as given
        found: String,
    },
    /// A text that names no kind of dtypes.
    #[error(
        "found kind {found:?}, allowed are \"bool\", \"signed integer\", \"unsigned integer\", \"integral\", \
         \"real floating\", \"complex floating\" and \"numeric\""
    )]
    UnknownKind {
        /// The text as given
        found: String,
    },
    /// A promotion without an array or a dtype.
    #[error(
        "found {found} operands, none of them with a dtype; allowed are operands with at least one array or dtype"
    )]
    NoDtype {
        /// Number of operands
        found: usize,
    },
    /// A dtype without the limits of real numbers.
    #[error(
        "found {found}, allowed are floating-point dtypes: float16 to float64, complex64, complex128, bfloat16 and float8"
    )]
    NotFloating {
        /// The dtype
        found: Dtype,
    },
    /// A dtype without the limits of integers.
    #[error("found {found}, allowed are integer dtypes: int8 to int64 and uint8 to uint64")]
    NotInteger {
        /// The dtype
        found: Dtype,
    },
}

/// For times of NumPy, which are integers with a unit.
fn time_hint(found: &str) -> &'static str {
    let letters = found.trim_start_matches(['<', '>', '|', '=']);
    let is_time = ["datetime64", "timedelta64", "M8", "m8"].iter().any(|name| letters.starts_with(name));
    if is_time { "; times are held as \"int64\": counts of their unit" } else { "" }
}

/// The byte order character of the machine.
pub(super) const fn native_order() -> char {
    if cfg!(target_endian = "little") { '<' } else { '>' }
}

fn order_name(order: char) -> &'static str {
    match order {
        '>' | '!' => "big-endian",
        '<' => "little-endian",
        _ => "unknown",
    }
}

fn kind_name(kind: char) -> &'static str {
    match kind {
        'M' => "datetime",
        'm' => "timedelta",
        'O' => "Python object",
        'S' | 'a' => "byte string",
        'U' => "Unicode string",
        'V' => "structure",
        't' => "bit field",
        _ => "unknown",
    }
}
