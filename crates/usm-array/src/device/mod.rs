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
//! | `linear/` | launches of the kernels whose work-items lie along the target |
//! | `tile.rs` | launches of the kernels that transpose |

mod cache;
mod launch;
mod linear;
mod modules;
mod tile;

pub(crate) use cache::{Kernels, Reason};
pub(crate) use launch::Launch;
pub(crate) use linear::{Elements, LinearLaunch, Work};
pub(crate) use modules::tiled;
pub(crate) use tile::{TILE_LOCAL_BYTES, TileLaunch};
#[cfg(test)]
pub(crate) use {
    cache::MAX_DEVICES,
    modules::{SIZES, all as all_modules},
};
