//! A stand-in for NVIDIA's driver, `libcuda.so.1`, in plain Rust, for tests without a GPU.
//!
//! The shared library exports the functions of `cuda.h` that the CUDA backend of `usm-core` loads, over simulated devices. Streams are
//! asynchronous: a thread runs their operations after random delays, so that a missing wait gives wrong results. Device memory faults
//! when host code touches it. The library is strict where the real driver is lenient: misuse counts as a *fault*, with a text.
//!
//! The Rust part is for tests: [`Loopback`] gives a private copy of the library, with its own devices and counters, and talks to it.
//! The functions are compiled into this Rust library too, but a test needs the functions of the shared library it loads.
//!
//! | module | job |
//! |---|---|
//! | `codes`, `devices`, `settings` | return codes; the facts of the hardware; what a user chooses |
//! | `host`, `os` | memory of the program, where a bad pointer is an answer; memory of the system |
//! | `arena`, `memory` | addresses of device memory; blocks, pools, and who may access what when |
//! | `clock`, `streams` | the order of operations; streams, delays, and what is due |
//! | `ptx` | the language of kernels, and its interpreter |
//! | `kernels`, `captures` | launches; captures of streams, and their graphs |
//! | `capture_rules` | what calls do to captures |
//! | `state`, `handles` | the one locked state; handles from C, checked |
//! | `operations` | the thread that runs operations, and what each does |
//! | `exports` | the C functions, a file per topic |
//! | `graphs` | captures and graphs as a test's other library makes them ([`Graphs`]) |
//! | `control`, `library` | the shared library as a test sees it; where it is, and copies of it ([`Loopback`]) |

#[cfg(test)]
use test_stacks as _;

mod arena;
mod capture_rules;
mod captures;
mod clock;
mod codes;
mod control;
mod devices;
mod exported;
mod exports;
mod graphs;
mod handles;
mod host;
mod kernels;
mod library;
mod memory;
mod operations;
mod os;
mod ptx;
mod settings;
mod state;
mod streams;

pub use control::Control;
pub use graphs::{Graph, Graphs};
pub use library::{Loopback, library_path};
pub use state::Kind;
