//! Kernels of this library on the devices that run them
//!
//! The kernels are one dialect of OpenCL C in `kernels/` of this crate (`dialect.h`), compiled by `cargo xtask kernels` to SPIR-V for SYCL
//! devices and to PTX for GPUs of NVIDIA. The driver of a device makes machine code of a module on its first use.
//!
//! | file | job |
//! |---|---|
//! | `modules.rs` | the compiled modules |
//! | `cache.rs` | built kernels, kept for each device of each context |
//! | `launch.rs` | one launch of a kernel over work-groups |

mod cache;
mod launch;
mod modules;

pub(crate) use cache::{Kernels, Reason};
pub(crate) use launch::Launch;
pub(crate) use modules::{ELEMENTS, FILL_ELEMENTS, FILL_ROWS, Module, ROWS, SELECT, cast, of_size, tiled};
#[cfg(test)]
pub(crate) use {
    cache::MAX_DEVICES,
    modules::{SIZES, all as all_modules},
};
