//! The pool of the process, which serves contexts that live as long as that, and its switch.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::fork::ForkOnce;
use usm_core::{LiveAllocations, Queue};

use super::{AllocationRequest, MemoryResource, PoolOptions, PoolResource, Usage};
use crate::{Result, UsmBuffer};

/// `0` switches the pool of the process off.
const SWITCH: &str = "USM_POOL";

/// The pool of the process, and its switch. One value, so that of two threads that make it at the same time only one sets the switch.
struct ProcessPool {
    pool: PoolResource,
    is_on: AtomicBool,
}

static POOL: ForkOnce<ProcessPool> = ForkOnce::new();

#[inline]
fn made() -> &'static ProcessPool {
    match POOL.get() {
        Some(made) => made,
        None => make(),
    }
}

#[cold]
fn make() -> &'static ProcessPool {
    POOL.get_or_init(|| ProcessPool {
        pool: PoolResource::new(Arc::new(RuntimeResource), PoolOptions::new()),
        is_on: AtomicBool::new(env::var_os(SWITCH).is_none_or(|value| value != "0")),
    })
}

/// The pool of the process: memory comes from here, in [permanent](usm_core::Context::is_permanent) contexts, unless another resource
/// was set or the pool is switched off. Its upstream is the runtime, its options are the default ones.
///
/// A runtime takes some microseconds for an allocation, and new pages take many times as long as a copy of them; what comes from
/// here has neither to wait for. In other contexts it would keep alive what should go, so memory there comes from the runtime.
#[must_use]
pub fn process_pool() -> &'static PoolResource {
    &made().pool
}

/// Switches the pool of the process on or off for memory that is allocated from now on, and tells how it was before. It is on unless
/// the environment variable `USM_POOL` is `0`.
///
/// ```
/// use usm_memory::resource::{process_pool, use_process_pool};
/// use usm_memory::usm_core::{Runtime, UsmKind};
/// use usm_memory::{MemoryResource, Ownership, UsmBuffer};
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let was_on = use_process_pool(false);
/// let direct = UsmBuffer::allocate(&queue, UsmKind::Shared, 100)?;
/// assert!(matches!(direct.ownership(), Ownership::Owned(_)));
/// use_process_pool(was_on);
/// process_pool().trim();
/// # Ok(())
/// # }
/// ```
pub fn use_process_pool(on: bool) -> bool {
    made().is_on.swap(on, Ordering::AcqRel)
}

/// The pool, where memory for that queue comes from it.
#[inline]
pub(super) fn pool_for(queue: &Queue) -> Option<&'static PoolResource> {
    let made = made();
    // A pool keeps the queues of its memory for ever.
    let is_kept = queue.context().is_permanent() && !queue.is_external_stream();
    (made.is_on.load(Ordering::Acquire) && is_kept).then_some(&made.pool)
}

/// The slabs of the pool, and the buffers in them.
pub(crate) fn live() -> [LiveAllocations; 2] {
    POOL.get().map_or_else(Default::default, |made| made.pool.live())
}

/// Gives idle memory of the pool back to the runtime, where there is a pool. Returns its bytes.
pub(super) fn trim() -> usize {
    POOL.get().map_or(0, |made| made.pool.trim())
}

/// Every buffer is an allocation of the runtime.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuntimeResource;

impl MemoryResource for RuntimeResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let AllocationRequest { queue, kind, len_bytes, align_bytes } = request;
        let allocated = match align_bytes {
            1 => UsmBuffer::allocate_direct(queue, kind, len_bytes, None),
            // No less than any element type needs.
            2 | 4 | 8 => UsmBuffer::allocate_direct(queue, kind, len_bytes, Some(16)),
            _ => UsmBuffer::allocate_direct(queue, kind, len_bytes, Some(align_bytes)),
        };
        allocated.map_err(|error| error.explained(Usage::default()))
    }
}
