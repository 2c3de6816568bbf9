//! Typestrs: the element types of the NumPy array interface protocol, like `"|f8"`
//!
//! Format: <https://numpy.org/doc/stable/reference/arrays.interface.html>, restricted to booleans
//! and numbers in native byte order.

use super::error::native_order;
use super::{Dtype, DtypeError};

impl Dtype {
    /// The typestr, always with `|`: `"|b1"`, `"|f4"`, `"|c16"`.
    ///
    /// The neighbours on this protocol write `|` for every size, so an array that goes through
    /// one of them and back keeps an equal dictionary.
    ///
    /// ```
    /// use usm_array::Dtype;
    ///
    /// assert_eq!(Dtype::C64.typestr(), "|c8");
    /// assert_eq!(Dtype::from_typestr("=f8"), Ok(Dtype::F64));
    /// ```
    #[must_use]
    pub const fn typestr(self) -> &'static str {
        match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::I16 => "|i2",
            Self::I32 => "|i4",
            Self::I64 => "|i8",
            Self::U8 => "|u1",
            Self::U16 => "|u2",
            Self::U32 => "|u4",
            Self::U64 => "|u8",
            Self::F16 => "|f2",
            Self::F32 => "|f4",
            Self::F64 => "|f8",
            Self::C64 => "|c8",
            Self::C128 => "|c16",
        }
    }

    /// Reads a typestr. The byte order may be `|`, `=`, the machine's own, or left out; `"?"`
    /// is another spelling of `"b1"`.
    ///
    /// # Errors
    /// - [`DtypeError::ForeignByteOrder`]: the other byte order
    /// - [`DtypeError::UnsupportedKind`]: not boolean, integer, floating or complex
    /// - [`DtypeError::UnsupportedSize`]: no such size of that kind here
    /// - [`DtypeError::MalformedTypestr`]: not a typestr at all
    pub fn from_typestr(typestr: &str) -> Result<Self, DtypeError> {
        let found = || typestr.to_owned();
        let malformed = || DtypeError::MalformedTypestr { found: found() };

        let body = match typestr.chars().next() {
            Some(order @ ('|' | '=' | '<' | '>' | '!')) => {
                if !matches!(order, '|' | '=') && order != native_order() {
                    return Err(DtypeError::ForeignByteOrder { found: found(), order });
                }
                typestr.get(1..).unwrap_or_default()
            }
            _ => typestr,
        };
        if body == "?" {
            return Ok(Self::Bool);
        }
        let mut chars = body.chars();
        let kind = chars.next().ok_or_else(malformed)?;
        let size = chars.as_str();
        if !size.chars().all(|c| c.is_ascii_digit()) {
            return Err(malformed());
        }
        let allowed = match kind {
            'b' => "1",
            'i' | 'u' => "1, 2, 4, 8",
            'f' => "2, 4, 8",
            'c' => "8, 16",
            _ if kind.is_ascii_alphabetic() => {
                return Err(DtypeError::UnsupportedKind { found: found(), kind });
            }
            _ => return Err(malformed()),
        };
        if size.is_empty() {
            return Err(malformed());
        }
        Ok(match (kind, size) {
            ('b', "1") => Self::Bool,
            ('i', "1") => Self::I8,
            ('i', "2") => Self::I16,
            ('i', "4") => Self::I32,
            ('i', "8") => Self::I64,
            ('u', "1") => Self::U8,
            ('u', "2") => Self::U16,
            ('u', "4") => Self::U32,
            ('u', "8") => Self::U64,
            ('f', "2") => Self::F16,
            ('f', "4") => Self::F32,
            ('f', "8") => Self::F64,
            ('c', "8") => Self::C64,
            ('c', "16") => Self::C128,
            _ => {
                return Err(DtypeError::UnsupportedSize {
                    found: found(),
                    kind,
                    size: size.to_owned(),
                    allowed,
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn typestrs_round_trip_with_every_native_order() {
        for dtype in Dtype::ALL {
            let typestr = dtype.typestr();
            assert_eq!(Dtype::from_typestr(typestr), Ok(dtype));
            for order in ["", "=", &native_order().to_string()] {
                let text = typestr.replace('|', order);
                assert_eq!(Dtype::from_typestr(&text), Ok(dtype), "{text}");
            }
        }
        assert_eq!(Dtype::F32.typestr(), "|f4");
        assert_eq!(Dtype::Bool.typestr(), "|b1");
        assert_eq!(Dtype::C128.typestr(), "|c16");
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
                prop_assert!(body == "?" || dtype.typestr().trim_start_matches('|') == body);
            }
        }
    }
}
