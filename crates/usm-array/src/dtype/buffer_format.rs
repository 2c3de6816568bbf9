//! Format characters of C types, like `"d"`: the format of one number in a buffer
//!
//! The characters, their sizes and the prefixes for the byte order are those of Python's module `struct`, and `Z` for complex numbers is
//! that of PEP 3118. Only the text is known here, and no buffer.

use std::ffi::{c_int, c_long, c_longlong, c_short};

use super::error::native_order;
use super::{Dtype, DtypeError};

impl Dtype {
    /// Reads the format of a buffer of single numbers.
    ///
    /// Without a prefix or with `@` the sizes are the C compiler's (`l` is a C `long`), after `=`
    /// or the native byte order they are the standard ones (`l` is 4 bytes).
    ///
    /// # Errors
    /// - [`DtypeError::NonNativeByteOrder`]: the prefix is the other byte order
    /// - [`DtypeError::UnsupportedFormat`]: anything that is not one supported number
    pub fn from_buffer_format(format: &str) -> Result<Self, DtypeError> {
        let (body, native_sizes) = match format.chars().next() {
            Some('@') => (format.get(1..).unwrap_or_default(), true),
            Some('=') => (format.get(1..).unwrap_or_default(), false),
            Some(order @ ('<' | '>' | '!')) => {
                // '!' is network order: the same bytes as '>'.
                let order_of_bytes = if order == '!' { '>' } else { order };
                if order_of_bytes != native_order() {
                    return Err(DtypeError::NonNativeByteOrder { found: format.to_owned(), order });
                }
                (format.get(1..).unwrap_or_default(), false)
            }
            _ => (format, true),
        };
        let size = |native: usize, standard: usize| if native_sizes { native } else { standard };
        let dtype = match body {
            "?" => Some(Self::Bool),
            "b" => Some(Self::I8),
            "B" => Some(Self::U8),
            "h" => signed(size(size_of::<c_short>(), 2)),
            "H" => unsigned(size(size_of::<c_short>(), 2)),
            "i" => signed(size(size_of::<c_int>(), 4)),
            "I" => unsigned(size(size_of::<c_int>(), 4)),
            "l" => signed(size(size_of::<c_long>(), 4)),
            "L" => unsigned(size(size_of::<c_long>(), 4)),
            "q" => signed(size(size_of::<c_longlong>(), 8)),
            "Q" => unsigned(size(size_of::<c_longlong>(), 8)),
            // The standard sizes have no pointer-sized integer.
            "n" if native_sizes => signed(size_of::<isize>()),
            "N" if native_sizes => unsigned(size_of::<usize>()),
            "e" => Some(Self::F16),
            "f" => Some(Self::F32),
            "d" => Some(Self::F64),
            "Zf" => Some(Self::C64),
            "Zd" => Some(Self::C128),
            _ => None,
        };
        dtype.ok_or_else(|| DtypeError::UnsupportedFormat { found: format.to_owned() })
    }
}

const fn signed(size_bytes: usize) -> Option<Dtype> {
    match size_bytes {
        1 => Some(Dtype::I8),
        2 => Some(Dtype::I16),
        4 => Some(Dtype::I32),
        8 => Some(Dtype::I64),
        _ => None,
    }
}

const fn unsigned(size_bytes: usize) -> Option<Dtype> {
    match size_bytes {
        1 => Some(Dtype::U8),
        2 => Some(Dtype::U16),
        4 => Some(Dtype::U32),
        8 => Some(Dtype::U64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_round_trip() {
        for dtype in Dtype::ALL {
            let Some(format) = dtype.buffer_format() else {
                assert!(dtype.is_narrow(), "{dtype}");
                continue;
            };
            assert_eq!(Dtype::from_buffer_format(format), Ok(dtype));
            for prefix in ["@", "=", &native_order().to_string()] {
                let text = format!("{prefix}{format}");
                assert_eq!(Dtype::from_buffer_format(&text), Ok(dtype), "{text}");
            }
        }
    }

    #[test]
    fn long_has_the_size_its_prefix_says() {
        assert_eq!(Dtype::from_buffer_format("=l"), Ok(Dtype::I32));
        assert_eq!(Dtype::from_buffer_format("=L"), Ok(Dtype::U32));
        let native = Dtype::from_buffer_format("l").expect("native long");
        assert_eq!(native.itemsize_bytes(), size_of::<c_long>());
        assert_eq!(native.kind(), 'i');
    }

    #[test]
    fn what_is_not_one_native_number_is_refused() {
        for text in ["", "@", "2f", "ff", "g", "Zg", "c", "s", "=n", "T{f:x:}", "Z", "é"] {
            let error = Dtype::from_buffer_format(text).expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        let swapped = if native_order() == '<' { ">f" } else { "<f" };
        assert!(matches!(Dtype::from_buffer_format(swapped), Err(DtypeError::NonNativeByteOrder { .. })));
    }
}
