//! Memory resources: where buffers get their memory from, as small adaptors to be stacked.
//!
//! | file | job |
//! |---|---|
//! | `allocate.rs`, `request.rs` | the methods of buffers that allocate; what is asked for, and whether it was given |
//! | `default.rs` | the resource of a device when nobody names one |
//! | `process_pool.rs`, `pool/` | the pool of the process; pools |
//! | `direct.rs`, `shareable.rs` | the runtime; its memory for several processes |
//! | `limiting.rs`, `statistics.rs`, `logging.rs`, `failure.rs` | adaptors |
//! | `out_of_memory.rs` | what follows a refusal |
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
mod out_of_memory;
mod pool;
mod process_pool;
mod request;
mod shareable;
mod statistics;

use std::fmt::Debug;

pub use self::default::{DefaultScope, default_resource, reset_default_resource, set_default_resource};
pub use self::direct::DirectResource;
pub use self::failure::{AllocationFailure, FailureCallbackResource, OnFailure};
pub use self::limiting::LimitingResource;
pub use self::logging::{LoggingResource, MemoryAction, MemoryEvent};
pub use self::pool::{PoolOptions, PoolResource, PoolStatistics};
pub(crate) use self::process_pool::live;
pub use self::process_pool::{process_pool, use_process_pool};
pub use self::request::AllocationRequest;
pub use self::shareable::ShareableResource;
pub use self::statistics::{Statistics, StatisticsResource};
pub use crate::usage::Usage;
use crate::{Result, UsmBuffer};

/// Where buffers get their memory from. Adaptors hold another resource, the *upstream* one, and pass on what they do not do.
///
/// There is no function to free: memory goes back to the resource that made it when the last clone of its buffer is dropped
/// ([`UsmBuffer::lease`], [`UsmBuffer::before_release`], [`UsmBuffer::after_release`]), even when the resource is gone by then.
pub trait MemoryResource: Debug + Send + Sync {
    /// A writable buffer as the request says, in the context of its queue. The content is undefined.
    ///
    /// A resource may keep a clone of what it gives: guards of the clone come after operations on the buffer. A [`PoolResource`] refuses
    /// such memory for its slabs with [`Error::UnsuitableMemory`](crate::Error::UnsuitableMemory), and parts of memory that the resource
    /// keeps ([`UsmBuffer::lease`]) as well: a clone knows nothing of operations on the buffers that the pool makes of a slab.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when there is no memory left; [`Error::Core`](crate::Error::Core) with the
    /// errors of [`Queue::allocate_aligned`](usm_core::Queue::allocate_aligned).
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer>;

    /// The same from memory that is at hand, or `None`: does not wait, nor call anything that might.
    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        let _ = request;
        None
    }

    /// The resource that an adaptor takes its memory from.
    fn upstream(&self) -> Option<&dyn MemoryResource> {
        None
    }

    /// The pool that this is, which [`UsmBuffer::allocate_in`] asks itself: what comes from there needs no check.
    #[doc(hidden)]
    fn as_pool(&self) -> Option<&PoolResource> {
        None
    }

    /// Gives memory that is kept for later use, but not in use, back to the runtime. Returns the number of its bytes. An adaptor that
    /// keeps none asks its upstream resource. [`Runtime::trim`](usm_core::Runtime::trim) gives to the system what the runtime keeps.
    fn trim(&self) -> usize {
        self.upstream().map_or(0, |upstream| upstream.trim())
    }
}
