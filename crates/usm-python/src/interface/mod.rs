//! `__sycl_usm_array_interface__` and `__cuda_array_interface__`: dictionaries in and out.

pub(crate) mod cuda;
pub(crate) mod export;
pub(crate) mod import;
mod keys;
