//! `__sycl_usm_array_interface__`: dictionaries in and out.

pub(crate) mod export;
pub(crate) mod import;
mod keys;
