//! A stand-in for the SYCL C interface in plain Rust, for tests of the FFI layer without SYCL.
//!
//! The shared library exports the `DPCTL…` functions that `sycl-sys` binds, over two simulated devices, their
//! sub-devices, and ordinary memory. It is strict where the real runtime is lenient: a handle that is used after it was deleted, deleted
//! twice, or of the wrong type counts as a *fault*; so does a memory operation that leaves its allocation. Live handles
//! and allocations are counted by [`Kind`], so that a test can prove the absence of leaks.
//!
//! The Rust part is for tests: [`Loopback`] gives a private copy of the library, with its own counters, and talks to it.
//! The functions are compiled into this Rust library too, but a test needs the functions of the shared library it loads.
//! Every copy has the soname of the real library: load it by its path (`Api::load_from`), since `sycl_sys::load` would
//! take whichever copy the process loaded first.
//!
//! | module | job |
//! |---|---|
//! | `devices` | the simulated hardware: the facts of each device |
//! | `state` | the handles and allocations that are live, the faults, the failures to come |
//! | `arena` | device memory that other processes can open |
//! | `kernels` | the kernels that are known by name, and run |
//! | `os` | memory of the system |
//! | `exports` | the C functions, a file per topic |
//! | `control` | the shared library as a test sees it |
//! | `form` | the forms of dpctl 0.22 and 0.23 ([`Form`]); the crate `sycl-023-loopback` builds the latter from these sources |
//! | `library` | where it is, and copies of it ([`Loopback`]): the file of `cuda-loopback` |

#![cfg_attr(not(dpctl_023), allow(dead_code, reason = "memory of several processes is newer than 0.22"))]

#[cfg(test)]
use test_stacks as _;

mod arena;
mod control;
mod devices;
mod exports;
mod form;
mod kernels;
#[path = "../../cuda-loopback/src/library.rs"]
mod library;
mod os;
mod state;

pub use control::Control;
pub use form::Form;
pub use library::{Loopback, library_path};
pub use state::{Alignment, Kind};
