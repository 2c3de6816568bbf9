//! Memory resources: where buffers get their memory from, as small adaptors to be stacked.
//!
//! | RMM | SYCL 2020 | here |
//! |---|---|---|
//! | `device_memory_resource` | | [`MemoryResource`] |
//! | `cuda_memory_resource` | `sycl::aligned_alloc`, `sycl::free` | [`DirectResource`] |
//! | `pool_memory_resource`, `binning_memory_resource` | | [`PoolResource`], [`process_pool`] |
//! | `limiting_resource_adaptor` | | [`LimitingResource`] |
//! | `statistics_resource_adaptor` | | [`StatisticsResource`] |
//! | `logging_resource_adaptor` | | [`LoggingResource`] |
//! | `failure_callback_resource_adaptor` | | [`FailureCallbackResource`] |
//! | `set_per_device_resource` | | [`set_default_resource`], [`DefaultScope`] |
//! | `device_buffer` | `sycl::usm_allocator` with a container | [`UsmBuffer`], [`TypedBuffer`](crate::TypedBuffer) |
//!
//! ```
//! use std::sync::Arc;
//! use usm_memory::UsmBuffer;
//! use usm_memory::resource::{DirectResource, LimitingResource, PoolOptions, PoolResource, StatisticsResource};
//! use usm_memory::usm_core::{Runtime, UsmKind};
//!
//! # fn main() -> usm_memory::Result<()> {
//! # let runtime = Runtime::global();
//! # let queue = runtime.default_queue(runtime.host_device())?;
//! let pool = Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
//! let statistics = Arc::new(StatisticsResource::new(pool));
//! let limited = LimitingResource::new(statistics.clone(), 1000);
//!
//! let buffer = UsmBuffer::allocate_in(&limited, &queue, UsmKind::Device, 600)?;
//! let refused = UsmBuffer::allocate_in(&limited, &queue, UsmKind::Device, 401);
//! assert!(refused.is_err_and(|error| error.is_out_of_memory()));
//! drop(buffer);
//! let seen = statistics.statistics();
//! assert_eq!((seen.current_bytes, seen.peak_bytes, seen.total_count), (0, 600, 1));
//! # Ok(())
//! # }
//! ```

mod allocate;
mod default;
mod direct;
mod failure;
mod limiting;
mod logging;
mod meter;
mod pool;
mod process;
mod statistics;
mod usage;

use std::fmt::Debug;
use std::ptr;

use usm_core::{Queue, UsmKind};

pub use self::default::{DefaultScope, default_resource, reset_default_resource, set_default_resource};
pub use self::direct::DirectResource;
pub use self::failure::{AllocationFailure, FailureCallbackResource, OnFailure};
pub use self::limiting::LimitingResource;
pub use self::logging::{LoggingResource, MemoryAction, MemoryEvent};
pub use self::pool::{PoolOptions, PoolResource, PoolStatistics};
pub(crate) use self::process::live;
pub use self::process::{process_pool, use_process_pool};
pub use self::statistics::{Statistics, StatisticsResource};
pub use self::usage::Usage;
use crate::{Error, Result, UsmBuffer};

/// Where buffers get their memory from. Adaptors hold another resource, the *upstream* one, and pass on what they do not do.
///
/// There is no function to free: memory goes back to the resource that made it when the last clone of its buffer is dropped
/// ([`UsmBuffer::lease`], [`UsmBuffer::before_release`], [`UsmBuffer::after_release`]), even when the resource is gone by then.
pub trait MemoryResource: Debug + Send + Sync {
    /// A writable buffer of `len_bytes` bytes of `kind` in the context of `queue`, at a multiple of `align_bytes`, a power of two,
    /// and aligned for every element type in any case. The content is undefined.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when there is no memory left; [`Error::Core`] with the errors of [`Queue::allocate_aligned`].
    fn allocate(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer>;

    /// The same from memory that is at hand, or `None`: does not wait, nor call anything that might.
    fn allocate_at_once(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<UsmBuffer> {
        let _ = (queue, kind, len_bytes, align_bytes);
        None
    }

    /// The pool that this is, which [`UsmBuffer::allocate_in`] asks itself: what comes from there needs no check.
    #[doc(hidden)]
    fn as_pool(&self) -> Option<&PoolResource> {
        None
    }

    /// Gives memory that is kept for later use, but not in use, back to the runtime. Returns the number of its bytes.
    fn trim(&self) -> usize {
        0
    }
}

/// Whether a resource gave what it was asked for.
#[inline]
fn check(
    buffer: &UsmBuffer,
    queue: &Queue,
    kind: UsmKind,
    len_bytes: usize,
    align_bytes: usize,
) -> Result<()> {
    let is_near = ptr::eq(buffer.context(), queue.context()) || buffer.context() == queue.context();
    let is_fit = buffer.kind() == kind && buffer.len_bytes() == len_bytes && buffer.is_writable();
    if is_near && is_fit && buffer.address().is_multiple_of(align_bytes) {
        return Ok(());
    }
    Err(unsuitable(buffer, queue, kind, len_bytes, align_bytes))
}

/// The first thing that is wrong with a buffer.
#[cold]
fn unsuitable(
    buffer: &UsmBuffer,
    queue: &Queue,
    kind: UsmKind,
    len_bytes: usize,
    align_bytes: usize,
) -> Error {
    let unsuitable = |what, found, wanted| Error::UnsuitableMemory { what, found, wanted };
    if buffer.context() != queue.context() {
        let (found, wanted) = (buffer.context().to_string(), queue.context().to_string());
        return unsuitable("context", found, wanted);
    }
    if buffer.kind() != kind {
        return unsuitable("kind", buffer.kind().to_string(), kind.to_string());
    }
    if buffer.len_bytes() != len_bytes {
        return unsuitable("length in bytes", buffer.len_bytes().to_string(), len_bytes.to_string());
    }
    if !buffer.is_writable() {
        return unsuitable("access", "read-only".to_owned(), "writable".to_owned());
    }
    unsuitable("address", format!("{:#x}", buffer.address()), format!("multiple of {align_bytes}"))
}
