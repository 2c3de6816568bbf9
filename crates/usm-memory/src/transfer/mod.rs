//! Copies and fills: host and USM, USM and USM, whole ranges and rows with pitches; blocking, and as transfers under way. Kernels on
//! buffers, as transfers under way.
//!
//! A blocking copy of memory that host code reaches is done by the calling thread, any other by queues. A transfer under way
//! ([`Transfer`]) is always done by queues. What is submitted (`submit.rs`) holds no borrow until it is complete: the blocks of its operands
//! remember its event, for which everybody else waits.

mod between;
mod dependency;
mod fill;
mod flight;
mod handle;
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

pub use self::dependency::Dependency;
pub use self::handle::{Refused, Transfer};
pub use self::host_memory::{HostMemory, HostMemoryMut};
pub use self::kernel::{Argument, submit_kernel};
pub use self::shape::Copy2d;
pub use self::submit::{Operand, submit, submit_unseen};
