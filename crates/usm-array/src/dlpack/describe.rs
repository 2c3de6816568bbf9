//! Every check on the fields of an external tensor, before any of them is trusted

use std::slice;

use crate::abi::DLTensor;
use crate::dtype::{Dtype, MAX_ITEMSIZE_BYTES};
use crate::error::{DlpackError, Result};
use crate::interface::{UsmArrayInterface, VERSION, ValidInterface};
use crate::layout::MAX_NDIM;

/// The elements of a tensor, after the checks.
#[derive(Clone, Debug)]
pub(super) enum Described {
    /// No elements: an address need not be there.
    Empty {
        /// The shape, one size being 0
        shape: Vec<usize>,
        /// Element type
        dtype: Dtype,
    },
    /// Elements in memory. The look-up of the memory is still to come.
    Full(ValidInterface),
}

/// Checks every field but the device.
///
/// The numbers are those of the array interface, so they get the checks of that, and the same errors; its keys have the names of
/// these fields.
///
/// # Safety
/// 1. Where `shape` and `strides` are aligned and not null, they lead to `ndim` numbers each.
pub(super) unsafe fn describe(tensor: &DLTensor, read_only: bool) -> Result<Described> {
    let ndim = usize::try_from(tensor.ndim).ok().filter(|&ndim| ndim <= MAX_NDIM);
    let ndim = ndim.ok_or(DlpackError::Ndim { found: tensor.ndim })?;
    let dtype = Dtype::try_from(tensor.dtype)?;
    // SAFETY: promise 1.
    let shape = unsafe { numbers(tensor.shape, ndim) }.ok_or(DlpackError::NoShape { ndim })?;
    let strides = match tensor.strides.is_null() {
        true => None,
        // SAFETY: promise 1.
        false => Some(unsafe { numbers(tensor.strides, ndim) }.ok_or(DlpackError::NoStrides { ndim })?),
    };
    let is_empty = shape.contains(&0);
    if tensor.data.is_null() && !is_empty {
        return Err(DlpackError::NoData { shape }.into());
    }
    let address = match is_empty {
        // There is no element at the address, so any address will do for the other checks.
        true => dtype.align_bytes(),
        false => usize::try_from(tensor.byte_offset)
            .ok()
            .and_then(|offset| tensor.data.addr().checked_add(offset))
            .ok_or(DlpackError::ByteOffset { found: tensor.byte_offset, address: tensor.data.addr() })?,
    };
    let interface = UsmArrayInterface {
        shape,
        typestr: String::new(), // not every dtype of DLPack has one
        address: address as u64,
        read_only,
        // The strides of an empty array have no meaning.
        strides: strides.filter(|_| !is_empty),
        offset: 0,
        version: VERSION,
    };
    let valid = interface.validate_as(dtype)?;
    Ok(match is_empty {
        true => Described::Empty { shape: valid.layout().shape().to_vec(), dtype },
        false => Described::Full(valid),
    })
}

/// The sizes and the dtype of a tensor whose memory does not matter.
///
/// # Safety
/// 1. Where `shape` is aligned and not null, it leads to `ndim` numbers.
pub(super) unsafe fn describe_elements(tensor: &DLTensor) -> Result<(Vec<usize>, Dtype)> {
    // An address that suits every element, and is only counted with.
    let data = std::ptr::without_provenance_mut(MAX_ITEMSIZE_BYTES);
    let bare = DLTensor { data, strides: std::ptr::null_mut(), byte_offset: 0, ..*tensor };
    // SAFETY: promise 1; there are no strides.
    Ok(match unsafe { describe(&bare, false) }? {
        Described::Empty { shape, dtype } => (shape, dtype),
        Described::Full(valid) => (valid.layout().shape().to_vec(), valid.dtype()),
    })
}

/// # Safety
/// 1. If `start` is aligned and not null, it leads to `ndim` numbers.
unsafe fn numbers(start: *const i64, ndim: usize) -> Option<Vec<i64>> {
    if ndim == 0 {
        return Some(Vec::new());
    }
    if start.is_null() || !start.is_aligned() {
        return None;
    }
    // SAFETY: promise 1.
    Some(unsafe { slice::from_raw_parts(start, ndim) }.to_vec())
}
