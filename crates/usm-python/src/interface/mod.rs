//! `__sycl_usm_array_interface__`: dictionaries in and out.

pub(crate) mod export;
pub(crate) mod import;
mod keys;
mod number;
pub(crate) mod slice;

pub(crate) use number::{index, index_sequence, item, plain, sequence};
