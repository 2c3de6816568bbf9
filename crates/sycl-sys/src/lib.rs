//! Raw bindings to the SYCL C interface shipped by dpctl, loaded at run time.
//!
//! SYCL is a C++ library. dpctl ships a C interface to it, `libDPCTLSyclInterface.so` (`DPCTLSyclInterface.dll`), in its Python package. This
//! crate finds that library, loads it when asked, and offers its functions as a table of function pointers. Building
//! needs no SYCL, no C++ compiler, no headers; a machine without SYCL gets a [`LoadError`] that lists what was tried.
//!
//! There is no policy and no ownership here: handles are raw pointers, calls are unsafe, failures are NULL, as in C.
//! Safe types are in the crate `usm-core`.
//!
//! | module | job |
//! |---|---|
//! | [`types`] | handles, enumerations, the callback, as the C headers name them |
//! | [`table`] | [`Api`], a function pointer per C symbol; [`Form`], what differs between versions of dpctl |
//! | [`mod@locate`] | where the library may be, as data |
//! | [`mod@load`] | [`load()`], the steps that change the process |
//! | [`packages`] | what pip installs |
//!
//! # Example
//!
//! ```standalone_crate
//! use sycl_sys::locate::SearchOptions;
//!
//! // SAFETY: 1. this is the only thread; 2. the environment of this machine leads to genuine libraries.
//! match unsafe { sycl_sys::load(&SearchOptions::new()) } {
//!     Ok(loaded) => {
//!         // SAFETY: takes no pointer; 0x1f_003f means devices of every backend and every type.
//!         let count = unsafe { (loaded.api.DPCTLDeviceMgr_GetNumDevices)(0x1f_003f) };
//!         println!("{}: {count} devices", loaded.library.display());
//!     }
//!     Err(error) => println!("{error}"),
//! }
//! ```

#[cfg(test)]
use test_stacks as _;

// The README's example is a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod dl;
mod error;
pub mod load;
pub mod locate;
pub mod packages;
pub mod table;
pub mod types;

pub use error::LoadError;
pub use load::{Loaded, is_loaded, load};
pub use table::{AffinityDomain, Api, CreateFromSpirv, Form};
pub use types::*;
