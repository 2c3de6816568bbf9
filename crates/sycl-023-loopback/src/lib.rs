//! The sources of `sycl-loopback`, which has their unit tests, in the form of dpctl 0.23.
//!
//! The modules and exports are those of its `lib.rs`. That file cannot be the root of this crate, too: maturin leaves out of a source
//! distribution what lies outside of its crate's folder.

#[path = "../../sycl-loopback/src/arena.rs"]
mod arena;
#[path = "../../sycl-loopback/src/control.rs"]
mod control;
#[path = "../../sycl-loopback/src/devices.rs"]
mod devices;
#[path = "../../sycl-loopback/src/exports/mod.rs"]
mod exports;
#[path = "../../sycl-loopback/src/form.rs"]
mod form;
#[path = "../../sycl-loopback/src/kernels.rs"]
mod kernels;
#[path = "../../cuda-loopback/src/library.rs"]
mod library;
#[path = "../../sycl-loopback/src/os/mod.rs"]
mod os;
#[path = "../../sycl-loopback/src/state.rs"]
mod state;

pub use control::Control;
pub use form::Form;
pub use library::{Loopback, library_path};
pub use state::{Alignment, Kind};
