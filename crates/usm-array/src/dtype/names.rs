//! Array API names of the dtypes, and the parser that takes every text form

use std::fmt;
use std::str::FromStr;

use super::{Dtype, DtypeError};

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Takes array API names and those of ml_dtypes (`"float64"`, `"bfloat16"`) and typestrs, with or without a byte order (`"|f8"`,
/// `"f8"`, `"?"`).
impl FromStr for Dtype {
    type Err = DtypeError;

    fn from_str(text: &str) -> Result<Self, DtypeError> {
        let named = || Self::ALL.into_iter().find(|dtype| dtype.name() == text);
        if let Some(dtype) = Self::known_typestr(text).or_else(named) {
            return Ok(dtype);
        }
        if looks_like_a_typestr(text) {
            return Self::from_typestr(text);
        }
        Err(DtypeError::UnknownName { found: text.to_owned() })
    }
}

/// Chooses which error a bad text deserves: one about typestrs or one about names.
fn looks_like_a_typestr(text: &str) -> bool {
    let body = text.strip_prefix(['|', '=', '<', '>', '!']);
    let mut chars = body.unwrap_or(text).chars();
    body.is_some() || (chars.next().is_some() && chars.all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.to_string().parse(), Ok(dtype));
        }
    }

    #[test]
    fn typestrs_of_the_constructor_examples_are_taken() {
        for (text, dtype) in [
            ("u2", Dtype::U16),
            ("i8", Dtype::I64),
            ("u1", Dtype::U8),
            ("f8", Dtype::F64),
            ("|f8", Dtype::F64),
            ("=i2", Dtype::I16),
            ("?", Dtype::Bool),
            ("b1", Dtype::Bool),
            ("c8", Dtype::C64),
        ] {
            assert_eq!(text.parse(), Ok(dtype));
        }
    }

    #[test]
    fn a_bad_text_gets_the_error_of_its_form() {
        assert!(matches!("float128".parse::<Dtype>(), Err(DtypeError::UnknownName { .. })));
        assert!(matches!("".parse::<Dtype>(), Err(DtypeError::UnknownName { .. })));
        assert!(matches!("M8".parse::<Dtype>(), Err(DtypeError::UnsupportedKind { kind: 'M', .. })));
        assert!(matches!(">f8".parse::<Dtype>(), Err(DtypeError::NonNativeByteOrder { order: '>', .. })));
    }
}
