//! Copies and fills: host and USM, USM and USM, whole ranges and rows with pitches. Kernels on buffers.
//!
//! A blocking copy of memory that host code reaches is done by the calling thread, any other by queues. A function whose name ends in
//! `_async` submits operations of queues and returns their [`Completion`](crate::Completion).

mod between;
mod chain;
mod fill;
mod hint;
mod host;
mod host_memory;
mod kernel;
mod pinned;
mod rows;
mod shape;
mod staged;
mod submit;
mod vector;

pub use self::host_memory::{HostMemory, HostMemoryMut};
pub use self::kernel::{Argument, submit_kernel};
pub use self::shape::Copy2d;
