//! Texts of others.

use std::str;

use arbitrary::{Result, Unstructured};
use usm_array::Dtype;
use usm_array::usm_core::FilterSelector;

/// All that is left, as far as it is text.
fn text<'a>(bytes: &mut Unstructured<'a>) -> Result<&'a str> {
    let bytes = bytes.bytes(bytes.len())?;
    Ok(match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    })
}

/// Names of dtypes, typestrs and formats of buffers: what is read is written as something that is read as the same.
pub(crate) fn dtypes(bytes: &mut Unstructured<'_>) -> Result<()> {
    let text = text(bytes)?;
    if let Ok(dtype) = text.parse::<Dtype>() {
        assert_eq!(dtype.to_string().parse(), Ok(dtype));
    }
    if let Ok(dtype) = Dtype::from_typestr(text) {
        assert_eq!(dtype.typestr().map(Dtype::from_typestr), Some(Ok(dtype)));
    }
    let _ = Dtype::from_buffer_format(text);
    Ok(())
}

/// Filters of devices, in the same way.
pub(crate) fn filters(bytes: &mut Unstructured<'_>) -> Result<()> {
    if let Ok(filter) = text(bytes)?.parse::<FilterSelector>() {
        assert_eq!(filter.to_string().parse::<FilterSelector>().ok(), Some(filter));
    }
    Ok(())
}
