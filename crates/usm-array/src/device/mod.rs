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
//! | `tile.rs` | launches of the kernels that transpose |

mod cache;
mod launch;
mod modules;
#[expect(dead_code, reason = "the executor does not choose these kernels yet")]
mod tile;

pub(crate) use cache::{DeviceKernels, Kernels, Reason};
pub(crate) use launch::Launch;
pub(crate) use modules::{STRIDED_COPY, STRIDED_FILL, of_size};
#[cfg(test)]
pub(crate) use {cache::MAX_DEVICES, modules::SIZES};
#[expect(unused_imports, reason = "the executor does not choose these kernels yet")]
pub(crate) use {
    modules::tiled,
    tile::{TILE_LOCAL_BYTES, TileLaunch},
};
