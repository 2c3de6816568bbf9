//! Buffers of SYCL unified shared memory: owned or borrowed, bound to their context, cut into parts without a copy.
//!
//! A [`UsmBuffer`] is a byte range of an allocation. Clones and sub-buffers share the memory, which is freed (or the external
//! owner let go) with the last of them, in the context it came from. Views of the user are run-time borrow guards, and
//! a conflict between two views is an `Err`. All else waits for its turn.
//!
//! ```
//! use usm_memory::UsmBuffer;
//! use usm_memory::usm_core::{Runtime, UsmKind};
//!
//! # fn main() -> usm_memory::Result<()> {
//! let runtime = Runtime::global();
//! let queue = runtime.default_queue(runtime.host_device())?;
//! let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 8)?;
//! buffer.copy_from_host(&[1, 2, 3, 4, 5, 6, 7, 8], 0)?;
//!
//! let tail = buffer.sub_buffer(4, 4)?;
//! let mut bytes = [0; 4];
//! tail.copy_to_host(&mut bytes, 0)?;
//! assert_eq!(bytes, [5, 6, 7, 8]);
//! # Ok(())
//! # }
//! ```
//!
//! A [`TypedBuffer`] knows the type of its elements. Memory comes from the [pool of the process](resource::process_pool), or from a
//! [`MemoryResource`]: another pool, limits, statistics, stacked as in [`resource`].
//!
//! ```
//! use std::sync::Arc;
//! use usm_memory::TypedBuffer;
//! use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
//! use usm_memory::usm_core::{Runtime, UsmKind};
//!
//! # fn main() -> usm_memory::Result<()> {
//! # let runtime = Runtime::global();
//! # let queue = runtime.default_queue(runtime.host_device())?;
//! let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
//! let points = TypedBuffer::<[f64; 3]>::allocate_in(&pool, &queue, UsmKind::Shared, 2)?;
//! points.write()?[1] = [1.0, 2.0, 3.0];
//! assert_eq!(points.slice(1..2)?.to_vec()?, [[1.0, 2.0, 3.0]]);
//! # Ok(())
//! # }
//! ```
//!
//! | SYCL 2020, RMM, PyTorch | here |
//! |---|---|
//! | `malloc_device`, `malloc_host`, `malloc_shared`, `aligned_alloc` | [`UsmBuffer::allocate`], [`UsmBuffer::allocate_aligned`] |
//! | `free` | dropping the last clone, part and guard |
//! | `queue::memcpy`, `queue::fill` | [`UsmBuffer::copy_from`], [`UsmBuffer::copy_from_host`], [`UsmBuffer::fill`] |
//! | the same without `wait`, `handler::depends_on` | [`UsmBuffer::copy_from_async`] and others: a [`Completion`]; their events |
//! | the same where nobody keeps the completion | [`flight`] |
//! | kernels on USM | [`submit`] with an [`Operand`] for each range; [`UsmBuffer::events`], [`UsmBuffer::wait`] |
//! | `handler::parallel_for` on USM | [`submit_kernel`] with [`Argument`]s |
//! | `queue::ext_oneapi_memcpy2d` | [`UsmBuffer::copy_2d_from`] and others with a [`Copy2d`] |
//! | `usm_allocator<T>` with a vector, `device_uvector<T>` | [`TypedBuffer`] |
//! | `device_buffer` | [`UsmBuffer`] |
//! | memory resources and their adaptors | [`MemoryResource`], [`resource`] |
//! | `deallocate_async` | [`UsmBuffer::release_on`] |
//! | `memory_snapshot` of PyTorch | [`snapshot()`], [`snapshot::Timeline`] |

#[cfg(test)]
use test_stacks as _;

mod access;
mod buffer;
#[cfg(feature = "cudarc")]
mod cudarc;
mod error;
pub mod flight;
#[cfg(feature = "svg")]
#[doc(hidden)]
pub mod html;
#[cfg(feature = "interpreter")]
pub mod interpreter;
mod live;
mod plain;
pub mod processes;
pub mod resource;
pub mod snapshot;
mod tracker;
mod transfer;
mod typed;
mod usage;

pub use usm_core;

pub use access::{
    Completion, NoWriters, Operand, OperandAccess, ReadAccess, ReadGuard, Refused, WriteAccess, WriteGuard,
    submit, submit_async,
};
pub use buffer::{Lease, Ownership, ReturnedMemory, UsmBuffer, live_borrows, pointer_info};
#[cfg(feature = "cudarc")]
pub use cudarc::{CudarcRead, CudarcWrite};
pub use error::{Error, Result};
#[cfg(feature = "svg")]
pub use html::device_html;
pub use live::live_allocations;
pub use plain::Plain;
pub use resource::MemoryResource;
pub use snapshot::snapshot;
#[cfg(feature = "across-copies")]
pub use tracker::across_copies::BorrowFunctions;
pub use tracker::stripes::Stripes;
pub use tracker::waits::run_job;
pub use transfer::{Argument, Copy2d, HostMemory, HostMemoryMut, submit_kernel};
pub use typed::{TypedBuffer, TypedReadGuard, TypedWriteGuard};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
