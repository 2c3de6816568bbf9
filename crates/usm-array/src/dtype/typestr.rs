//! Typestrs: the element types of the NumPy array interface protocol, like `"|f8"`
//!
//! Format: <https://numpy.org/doc/stable/reference/arrays.interface.html>, restricted to booleans
//! and numbers in native byte order.

use super::error::native_order;
use super::{Dtype, DtypeError};

impl Dtype {
    /// Reads a typestr. The byte order may be `|`, `=`, the machine's own, or left out; `"?"`
    /// is another spelling of `"b1"`.
    ///
    /// # Errors
    /// - [`DtypeError::NonNativeByteOrder`]: the other byte order
    /// - [`DtypeError::UnsupportedKind`]: not boolean, integer, floating or complex
    /// - [`DtypeError::UnsupportedSize`]: no such size of that kind here
    /// - [`DtypeError::MalformedTypestr`]: not a typestr at all
    pub fn from_typestr(typestr: &str) -> Result<Self, DtypeError> {
        Self::known_typestr(typestr).ok_or_else(|| refusal(typestr))
    }

    /// The dtype of a typestr, if [`from_typestr`](Self::from_typestr) accepts it.
    pub(super) fn known_typestr(typestr: &str) -> Option<Self> {
        let body = match typestr.as_bytes() {
            [b'|' | b'=', body @ ..] => body,
            [order, body @ ..] if char::from(*order) == native_order() => body,
            body => body,
        };
        Some(match body {
            b"b1" | b"?" => Self::Bool,
            b"i1" => Self::I8,
            b"i2" => Self::I16,
            b"i4" => Self::I32,
            b"i8" => Self::I64,
            b"u1" => Self::U8,
            b"u2" => Self::U16,
            b"u4" => Self::U32,
            b"u8" => Self::U64,
            b"f2" => Self::F16,
            b"f4" => Self::F32,
            b"f8" => Self::F64,
            b"c8" => Self::C64,
            b"c16" => Self::C128,
            _ => return None,
        })
    }
}

/// The error for an unknown typestr.
#[cold]
fn refusal(typestr: &str) -> DtypeError {
    let found = || typestr.to_owned();
    let body = match typestr.chars().next() {
        Some(order @ ('|' | '=' | '<' | '>' | '!')) => {
            if !matches!(order, '|' | '=') && order != native_order() {
                return DtypeError::NonNativeByteOrder { found: found(), order };
            }
            typestr.get(1..).unwrap_or_default()
        }
        _ => typestr,
    };
    let mut chars = body.chars();
    let kind = chars.next().unwrap_or_default();
    let size = chars.as_str();
    let allowed = match kind {
        'b' => "1",
        'i' | 'u' => "1, 2, 4, 8",
        'f' => "2, 4, 8",
        'c' => "8, 16",
        _ => "",
    };
    let is_number = size.chars().all(|c| c.is_ascii_digit());
    if is_number && allowed.is_empty() && kind.is_ascii_alphabetic() {
        return DtypeError::UnsupportedKind { found: found(), kind };
    }
    if size.is_empty() || !is_number || allowed.is_empty() {
        return DtypeError::MalformedTypestr { found: found() };
    }
    DtypeError::UnsupportedSize { found: found(), kind, size: size.to_owned(), allowed }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn typestrs_round_trip_with_every_native_order() {
        for dtype in Dtype::ALL {
            let Some(typestr) = dtype.typestr() else {
                assert!(dtype.is_narrow(), "{dtype}");
                continue;
            };
            assert_eq!(Dtype::from_typestr(typestr), Ok(dtype));
            for order in ["", "=", &native_order().to_string()] {
                let text = typestr.replace('|', order);
                assert_eq!(Dtype::from_typestr(&text), Ok(dtype), "{text}");
            }
        }
        assert_eq!(Dtype::F32.typestr(), Some("|f4"));
        assert_eq!(Dtype::Bool.typestr(), Some("|b1"));
        assert_eq!(Dtype::C128.typestr(), Some("|c16"));
    }

    #[test]
    fn refusals_name_what_was_found_and_what_is_allowed() {
        for (text, message) in [
            (">f8", "byte order '>' (big-endian)"),
            ("|M8", "kind 'M' (datetime)"),
            ("|O8", "kind 'O' (Python object)"),
            ("|V16", "kind 'V' (structure)"),
            ("|U", "kind 'U' (Unicode string)"),
            ("|f16", "allowed sizes of 'f' are 2, 4, 8 bytes"),
            ("|c32", "allowed sizes of 'c' are 8, 16 bytes"),
            ("|b8", "allowed sizes of 'b' are 1 bytes"),
            ("|i3", "kind 'i' of 3 bytes"),
            ("|f08", "kind 'f' of 08 bytes"),
            ("", "no typestr"),
            ("|", "no typestr"),
            ("|f", "no typestr"),
            ("|f-8", "no typestr"),
            ("||f8", "no typestr"),
            ("|é8", "no typestr"),
            ("|f8 ", "no typestr"),
            ("|f99999999999999999999", "kind 'f' of 99999999999999999999"),
        ] {
            let error = Dtype::from_typestr(text).expect_err(text).to_string();
            assert!(error.contains(message), "{text:?}: {error}");
            assert!(error.contains(&format!("found {text:?}")), "{error}");
            assert!(error.contains("allowed"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_dtype_with_an_equal_body_or_an_error(text in "[|=<>!]?[a-zA-Z?é][0-9]{0,3}") {
            if let Ok(dtype) = Dtype::from_typestr(&text) {
                let body = text.trim_start_matches(['|', '=', native_order()]);
                let typestr = dtype.typestr().map(|typestr| typestr.trim_start_matches('|'));
                prop_assert!(body == "?" || typestr == Some(body));
            }
        }
    }
}
