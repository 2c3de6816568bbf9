//! SYCL unified shared memory for Python: the native module `usm._usm`, and a library for PyO3 extensions.
//!
//! This layer is thin: it parses Python objects, calls the Rust crates and converts the results. What a Rust user would want,
//! too, is in [`usm_array`] and the crates below.
//!
//! An extension that depends on this crate as a library takes any object with `__sycl_usm_array_interface__` by calling
//! [`import_array`] and gives arrays back with [`UsmNdarray::from_array`].

mod buffer_export;
mod buffer_import;
mod doctor;
mod errors;
mod functions;
mod interface;
mod interrupt;
mod memory;
mod module;
mod runtime;
mod selection;
mod sycl;
mod tensor;

pub use interface::import::import_array;
pub use memory::Memory;
pub use module::_usm;
pub use sycl::{SyclContext, SyclDevice, SyclEvent, SyclPlatform, SyclQueue};
pub use tensor::UsmNdarray;
pub use usm_array;
