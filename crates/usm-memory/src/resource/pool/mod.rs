//! A resource that keeps memory and hands it out again.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the resource: the order of attempts, what follows a refusal, and when the pool grows by a slab |
//! | `size_class.rs` | the sizes of slots and slabs |
//! | `options.rs` | the bytes that a pool keeps; its statistics |
//! | `inner.rs`, `state.rs` | the pool without its upstream resource; the content of its lock |
//! | `arena.rs`, `slab.rs` | slabs by context, device and kind, and their deferred frees; one slab |
//! | `cache.rs`, `counts.rs` | thread caches and their limits; counts |
//! | `sync.rs` | locks |

mod arena;
mod cache;
mod counts;
mod inner;
mod options;
mod size_class;
mod slab;
mod state;
mod sync;

use std::sync::{Arc, Weak};

use usm_core::{Error as CoreError, LiveAllocations};

use self::inner::PoolInner;
pub use self::options::{PoolOptions, PoolStatistics};
use self::size_class::SizeClass;
use self::state::Request;
use super::out_of_memory::after_refusal;
use super::{AllocationRequest, LimitingResource, MemoryResource};
use crate::buffer;
use crate::snapshot::{self, PooledMemory, Tag, TagId};
use crate::tracker::capture;
use crate::usage::Usage;
use crate::{Error, Result, UsmBuffer};

/// Takes slabs from another resource, cuts them into blocks of one size each, and hands a block out again when its last buffer
/// is gone.
///
/// Blocks are kept for each context, device and kind. The pool is *stream-ordered*: work may still be pending on a block that
/// comes back, since external code got to know it ([`UsmBuffer::publish`]) or its user let it go in the order of a queue
/// ([`UsmBuffer::release_on`]). Such a block is handed out again
/// - at once with the same in-order queue: what is submitted to that comes after the pending work, and borrow guards wait for it
///   once; who uses the address with anything else than guards and that queue has to wait for the queue first;
/// - with other queues when it is complete, without a wait; the pool rather grows than waits;
/// - when upstream has no memory left, after waiting for it.
///
/// Each thread has a *cache* of blocks that came back on it without pending work: at most 32 of a size and 256 KiB, or two of up to
/// 4 MiB. The thread allocates them again without the pool's lock. Such blocks count as idle. The pool reclaims them from all threads
/// when it would grow otherwise, when upstream has no memory left, with `trim`, when the thread ends, and when the pool is dropped.
/// A cache keeps at most a sixteenth of [`PoolOptions::max_retained_bytes`] alive, beside that, and at most 16 MiB; and up to four
/// queues, those that the thread allocated with last.
///
/// Memory goes back upstream, after the work that is pending on it,
/// - with [`trim`](MemoryResource::trim), which waits for that work,
/// - beyond [`PoolOptions::max_retained_bytes`], at once where nothing is pending, else when the completion of the work is noticed,
/// - when upstream has none left: then the allocation is tried once more, and where upstream has no memory for a slab, just the bytes
///   asked for are taken,
/// - when the pool is dropped; slabs with live buffers go with their last buffer then. This waits for pending work.
///
/// ```
/// use std::sync::Arc;
/// use usm_memory::UsmBuffer;
/// use usm_memory::resource::{DirectResource, MemoryResource, PoolOptions, PoolResource};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
/// let first = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 100)?;
/// let address = first.address();
/// drop(first);
/// assert_eq!(UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 120)?.address(), address);
/// assert!(pool.trim() > 0);
/// assert_eq!(pool.statistics().slab_bytes, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PoolResource {
    upstream: Arc<dyn MemoryResource>,
    /// Larger ones are not pooled.
    max_slot_bytes: usize,
    inner: Arc<PoolInner>,
}

impl PoolResource {
    /// A pool without memory, which takes it from `upstream`, up to the limit of the options.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>, options: PoolOptions) -> Self {
        let upstream = match options.limit_bytes {
            Some(bytes) => Arc::new(LimitingResource::new(upstream, bytes)) as Arc<dyn MemoryResource>,
            None => upstream,
        };
        let inner = PoolInner::new(options.max_retained_bytes);
        let pooled: Weak<PoolInner> = Arc::downgrade(&inner);
        snapshot::add_pool(pooled as Weak<dyn PooledMemory>);
        Self { upstream, max_slot_bytes: options.max_retained_bytes, inner }
    }

    /// The slabs, and the buffers in them.
    pub(crate) fn live(&self) -> [LiveAllocations; 2] {
        self.inner.locked(|state, _| state.live()).unwrap_or_default()
    }

    /// What the pool has at the moment, and did so far. The pool and the caches of its threads stay as they are.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.inner.locked(|state, _| state.statistics()).unwrap_or_default()
    }

    /// Lets the peaks start again from the current numbers.
    pub fn reset_peak(&self) {
        self.inner.locked(|state, _| state.reset_peak());
    }

    /// A request that the pool may serve from a slab.
    #[inline(always)]
    fn request<'a>(&self, asked: AllocationRequest<'a>) -> Option<Request<'a>> {
        let class = SizeClass::of(asked.len_bytes, asked.align_bytes)?;
        (class.slot_bytes() <= self.max_slot_bytes).then_some(Request { asked, class })
    }

    #[inline(always)]
    fn at_once(&self, asked: AllocationRequest<'_>) -> Option<UsmBuffer> {
        self.inner.allocate(&self.request(asked)?)
    }

    #[cold]
    fn allocate_or_recover(&self, asked: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let request = self.request(asked);
        let allocate = || match &request {
            Some(request) => self.pooled(request),
            None => self.exact(asked),
        };
        let wait = |_: &Error| Some(Ok(self.inner.allocate_deferred(&request?, true)?));
        let trim = |_: &Error| {
            // Even if this finds nothing: others may have released memory meanwhile.
            self.trim();
            Some(allocate())
        };
        let mut allocated = after_refusal(allocate(), &[&wait, &trim]);
        // A slab may be refused where what was asked for is not.
        if request.is_some() && allocated.as_ref().is_err_and(is_about_length) {
            allocated = self.exact(asked);
        }
        allocated.map_err(|error| {
            self.inner.locked(|state, _| state.failed_count += 1);
            self.explain(error)
        })
    }

    /// A buffer in a slot: free, with completed work, cached by other threads, or of a new slab.
    fn pooled(&self, request: &Request<'_>) -> Result<UsmBuffer> {
        let found = self.inner.allocate(request);
        let found = found.or_else(|| self.inner.allocate_deferred(request, false));
        if let Some(buffer) = found.or_else(|| self.inner.allocate_reclaimed(request)) {
            return Ok(buffer);
        }
        // In a forked child the pool is the parent's.
        if self.inner.is_forked() {
            return self.exact(request.asked);
        }
        // Other processes may have closed memory since.
        if buffer::sweep()
            && let Some(buffer) = self.inner.allocate(request)
        {
            return Ok(buffer);
        }
        let slab = self.slab(request)?;
        // Code of users was called, which may have forked: `None` in the child.
        match self.inner.allocate_in_new(request, slab) {
            Some(buffer) => Ok(buffer),
            None => self.exact(request.asked),
        }
    }

    /// A new slab. Upstream is asked without the lock, since it may call back.
    fn slab(&self, request: &Request<'_>) -> Result<UsmBuffer> {
        let Request { asked: AllocationRequest { queue, kind, .. }, class } = *request;
        let wanted = AllocationRequest::new(queue, kind, class.slab_bytes()).aligned(class.align_bytes());
        let reserve = Tag::enter_id(TagId::RESERVE);
        let slab = self.upstream.allocate(wanted)?;
        drop(reserve);
        wanted.check(&slab)?;
        // Its buffers do not look below, so nobody may have the slab besides.
        if let Err(holders) = slab.block().check_alone() {
            return Err(Error::UnsuitableMemory {
                what: "number of owners",
                found: holders.to_string(),
                wanted: "1: whoever gives memory to a pool keeps no clone, part or guard of it".to_owned(),
            });
        }
        slab.wait()?;
        Ok(slab)
    }

    /// A buffer of its own from upstream.
    fn exact(&self, asked: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let buffer = self.upstream.allocate(asked)?;
        asked.check(&buffer)?;
        if !self.inner.is_forked() {
            self.inner.count(&buffer, asked.len_bytes);
        }
        Ok(buffer)
    }

    fn explain(&self, error: Error) -> Error {
        if self.inner.is_forked() {
            return error.explained(Usage::default());
        }
        let statistics = self.statistics();
        let (used_bytes, peak_bytes) = (Some(statistics.used_bytes), Some(statistics.peak_bytes));
        error.explained(Usage { used_bytes, peak_bytes, limit_bytes: None })
    }
}

impl MemoryResource for PoolResource {
    // In the caller: a buffer alone is in registers, and a `Result` in memory.
    #[inline(always)]
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        capture::check_none(request.queue)?;
        match self.at_once(request) {
            Some(buffer) => Ok(buffer),
            None => self.allocate_or_recover(request),
        }
    }

    #[inline(always)]
    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        capture::check_none(request.queue).ok()?;
        self.at_once(request)
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }

    #[inline]
    fn as_pool(&self) -> Option<&PoolResource> {
        Some(self)
    }

    fn trim(&self) -> usize {
        if self.inner.is_forked() {
            return 0;
        }
        buffer::sweep();
        self.inner.trim() + self.upstream.trim()
    }
}

impl Drop for PoolResource {
    fn drop(&mut self) {
        self.inner.close();
    }
}

fn is_about_length(error: &Error) -> bool {
    let refused =
        matches!(error, Error::Core(CoreError::TooLarge { .. } | CoreError::AlignmentNotHonoured { .. }));
    refused || error.is_out_of_memory()
}

#[cfg(test)]
mod tests {
    use usm_core::UsmKind;

    use super::*;
    use crate::resource::DirectResource;

    #[test]
    fn threads_cache_beside_large_slots_and_statistics_leave_that() {
        let runtime = usm_core::Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let pool =
            PoolResource::new(Arc::new(DirectResource), PoolOptions::new().max_retained_bytes(32 << 20));
        let allocate = |len| UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len).unwrap();
        drop(allocate(32 << 20));
        drop(allocate(64));
        let request = pool.request(AllocationRequest::new(&queue, UsmKind::Host, 64)).unwrap();
        let num_cached = || cache::find(pool.inner.id()).unwrap().lock().slots().count();
        let count = num_cached();
        assert!(count > 0);
        let seen = pool.statistics();
        assert_eq!((seen.used_bytes, seen.peak_bytes), (0, 32 << 20));
        assert_eq!((num_cached(), pool.statistics()), (count, seen), "asking changes nothing");
        let slot = cache::allocate(pool.inner.id(), &queue, UsmKind::Host, request.class, 64).unwrap();
        assert_eq!((num_cached(), pool.statistics().used_bytes), (count - 1, 64));
        cache::free(slot).unwrap();
        assert_eq!(pool.trim(), (32 << 20) + request.class.slab_bytes());
        assert_eq!(num_cached(), 0);
    }

    #[test]
    fn pools_for_which_no_number_was_left_share_nothing() {
        let runtime = usm_core::Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let new = |_| {
            let inner = PoolInner::numbered(1 << 20, 0);
            PoolResource { upstream: Arc::new(DirectResource), max_slot_bytes: 1 << 20, inner }
        };
        let pools = [0, 1].map(new);
        let mut addresses = pools.each_ref().map(|_| std::collections::HashSet::new());
        for step in 0..200 {
            let pool = &pools[step % 2];
            let buffer = UsmBuffer::allocate_in(pool, &queue, UsmKind::Host, 64).unwrap();
            addresses[step % 2].insert(buffer.address());
            assert_eq!(pool.statistics().used_bytes, 64);
            drop(buffer);
            assert_eq!(pool.statistics().used_bytes, 0);
            assert!(cache::find(0).is_none());
        }
        assert!(addresses[0].is_disjoint(&addresses[1]));
    }
}
