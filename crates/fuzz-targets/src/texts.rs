//! Texts of others.

use std::fmt::{Debug, Display};
use std::str::{self, FromStr};

use arbitrary::{Result, Unstructured};
use usm_array::{Casting, Dtype, DtypeKind, queue_of_cuda_syclobj};
use usm_core::{
    AffinityDomain, Aspects, BackendId, CacheType, DeviceType, EventStatus, FilterSelector, PeerAccess,
    UsmKind,
};

use crate::imports::RUNTIME;

/// All that is left, as far as it is text.
pub(crate) fn text<'a>(bytes: &mut Unstructured<'a>) -> Result<&'a str> {
    let bytes = bytes.bytes(bytes.len())?;
    Ok(match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    })
}

/// What is read is written as something that is read as the same, and a refusal has words.
fn reread<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(read) => assert_eq!(read.to_string().parse::<T>().ok(), Some(read)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Names of dtypes, typestrs and formats of buffers.
pub fn dtypes(bytes: &mut Unstructured<'_>) -> Result<()> {
    let text = text(bytes)?;
    reread::<Dtype>(text);
    match Dtype::from_typestr(text) {
        Ok(dtype) => assert_eq!(dtype.typestr().map(Dtype::from_typestr), Some(Ok(dtype))),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = Dtype::from_buffer_format(text);
    Ok(())
}

/// Filters of devices.
pub fn filters(bytes: &mut Unstructured<'_>) -> Result<()> {
    reread::<FilterSelector>(text(bytes)?);
    Ok(())
}

/// The names of everything else.
pub fn names(bytes: &mut Unstructured<'_>) -> Result<()> {
    let text = text(bytes)?;
    reread::<UsmKind>(text);
    reread::<BackendId>(text);
    reread::<DeviceType>(text);
    reread::<Aspects>(text);
    reread::<AffinityDomain>(text);
    reread::<PeerAccess>(text);
    reread::<EventStatus>(text);
    reread::<CacheType>(text);
    reread::<Casting>(text);
    reread::<DtypeKind>(text);
    assert!(queue_of_cuda_syclobj(&RUNTIME, text).unwrap().is_none(), "there is no CUDA device");
    Ok(())
}
