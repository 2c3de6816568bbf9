//! Texts for C interfaces.

use std::ffi::CString;

use crate::{Error, Result};

/// A text that ends with a byte of 0, and has no other one.
pub(super) fn c_string(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| Error::NulByte { what, position: error.nul_position() })
}
