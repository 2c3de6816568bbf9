//! Kernels of this library on the devices that run them
//!
//! The kernels are one dialect of OpenCL C in `kernels/src/` of this crate (`dialect.h`), compiled by `cargo xtask kernels` to SPIR-V for SYCL
//! devices and to PTX for GPUs of NVIDIA. The driver of a device makes machine code of a module on its first use.
//!
//! | file | job |
//! |---|---|
//! | `modules.rs` | the compiled modules |
//! | `cache.rs` | built kernels, kept for each device of each context |
//! | `launch.rs` | one launch of a kernel over work-groups |
//! | `loops.rs` | loops over elements as kernels take them |
//! | `call.rs` | one kernel over arrays |

mod cache;
mod call;
mod launch;
mod loops;
mod modules;

pub(crate) use cache::{Kernels, NoKernel, kernel_if_any};
pub(crate) use call::{Answer, KernelCall, code, is_for_kernels, is_operand};
pub(crate) use launch::Launch;
pub(crate) use loops::{KernelLoop, Loops};
pub(crate) use modules::{CREATE, INDEX, MASK, Module, REDUCE, RELATE, cast, cast_tile, sized};
#[cfg(test)]
pub(crate) use {
    cache::MAX_DEVICES,
    modules::{SIZES, all as all_modules},
};
