//! A resource that keeps memory and hands it out again.

mod bits;
mod class;
mod classes;
mod keepers;
mod latch;
mod magazine;
mod options;
mod report;
mod shelf;
mod slab;
mod stock;
mod thread;
mod trays;

use std::sync::{Arc, Weak};

use usm_core::{Error as CoreError, LiveAllocations, Queue, UsmKind};

use self::classes::SizeClass;
pub use self::options::{PoolOptions, PoolStatistics};
use self::stock::Stock;
pub(crate) use self::thread::{in_forked_child, keep, keep_first};
use super::usage::Usage;
use super::{MemoryResource, check};
use crate::snapshot::{self, Lender, Tag, TagId};
use crate::{Error, Result, UsmBuffer};

/// Takes slabs from another resource, cuts them into blocks of one size each, and hands a block out again when its last buffer
/// is gone.
///
/// Blocks are kept for each context, device and kind. The pool is *stream-ordered*: work may still be pending on a block that
/// comes back, since foreign code got to know it ([`UsmBuffer::publish`]) or its user let it go in the order of a queue
/// ([`UsmBuffer::release_on`]). Such a block is handed out again
/// - at once with the same in-order queue: what is submitted to that comes after the pending work, and borrow guards wait for it
///   once; who uses the address with anything else than guards and that queue has to wait for the queue first;
/// - with other queues when it has ended, without a wait; the pool rather grows than waits;
/// - when upstream has no memory left, after waiting for it.
///
/// Each thread *keeps* some blocks that come back on it without pending work, at most 32 of a size and 256 KiB, or two of up to
/// 4 MiB, and hands them out again without the pool's lock. Such blocks are free for everybody who asks: they count as idle, and what
/// threads keep is taken back when the pool would grow otherwise, when upstream has no memory left, with `trim`, when the thread ends,
/// and when the pool is dropped. For each thread this is at most a sixteenth of [`PoolOptions::max_retained_bytes`], beside that, and at most
/// 16 MiB. With the blocks go queues: up to four of a context and kind, those the thread allocated with last, and
/// that of the last buffer of each block.
///
/// Memory goes back upstream, after the work that is pending on it,
/// - with [`trim`](MemoryResource::trim), which waits for that work,
/// - beyond [`PoolOptions::max_retained_bytes`], at once where nothing is pending, else when the end of the work is noticed,
/// - when upstream has none left: then the allocation is tried once more, and where there is no room for a slab, just the bytes
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
    options: PoolOptions,
    stock: Arc<Stock>,
}

impl PoolResource {
    /// A pool without memory, which takes it from `upstream`.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>, options: PoolOptions) -> Self {
        let stock = Stock::new(options.max_retained_bytes);
        let lender: Weak<Stock> = Arc::downgrade(&stock);
        snapshot::add_lender(lender as Weak<dyn Lender>);
        Self { upstream, options, stock }
    }

    /// Its slabs, and what is lent of them.
    pub(crate) fn census(&self) -> [LiveAllocations; 2] {
        self.stock.census()
    }

    /// What the pool has at the moment, and did so far.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.stock.statistics()
    }

    /// The class of a request that the pool may keep.
    fn size(&self, len_bytes: usize, align_bytes: usize) -> Option<SizeClass> {
        SizeClass::of(len_bytes, align_bytes)
            .filter(|size| size.block_bytes <= self.options.max_retained_bytes)
    }

    /// A buffer in a block of a slab.
    fn pooled(&self, queue: &Queue, kind: UsmKind, len_bytes: usize, size: SizeClass) -> Result<UsmBuffer> {
        // Another thread may take all blocks of the slab that this one has added, so it may take a few attempts.
        loop {
            if let Some(buffer) = self.reuse(queue, kind, len_bytes, size) {
                return Ok(buffer);
            }
            if let Some(buffer) = self.grow(queue, kind, len_bytes, size)? {
                return Ok(buffer);
            }
        }
    }

    /// A buffer in a block that is there, without waiting.
    fn reuse(&self, queue: &Queue, kind: UsmKind, len_bytes: usize, size: SizeClass) -> Option<UsmBuffer> {
        let free = || self.stock.lend(queue, kind, len_bytes, size, true);
        let found = free().or_else(|| self.stock.lend_parked(queue, kind, len_bytes, size));
        // What threads keep is taken away from them before the pool grows.
        found.or_else(|| self.stock.recall().then(free).flatten())
    }

    /// A block of a new slab. Upstream is asked without the lock, since it may call back.
    fn grow(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        size: SizeClass,
    ) -> Result<Option<UsmBuffer>> {
        let (slab_bytes, align_bytes) = (size.slab_bytes(), size.align_bytes());
        let reserve = Tag::enter_id(TagId::RESERVE);
        let slab = self.upstream.allocate(queue, kind, slab_bytes, align_bytes)?;
        drop(reserve);
        check(&slab, queue, kind, slab_bytes, align_bytes)?;
        // Its buffers do not look below.
        slab.block().wait_for_others()?;
        Ok(self.stock.add(slab, queue, kind, len_bytes, size))
    }

    /// A buffer of its own from upstream.
    fn exact(&self, queue: &Queue, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Result<UsmBuffer> {
        let buffer = self.upstream.allocate(queue, kind, len_bytes, align_bytes)?;
        if self.stock.is_forked() {
            return Ok(buffer);
        }
        self.stock.count_used(len_bytes, true);
        let stock = Arc::clone(&self.stock);
        buffer.before_release(move || stock.count_used(len_bytes, false));
        Ok(buffer)
    }

    fn explain(&self, error: Error) -> Error {
        if self.stock.is_forked() {
            return Usage::default().explain(error);
        }
        let statistics = self.statistics();
        let (used_bytes, peak_bytes) = (Some(statistics.used_bytes), Some(statistics.peak_bytes));
        Usage { used_bytes, peak_bytes, limit_bytes: None }.explain(error)
    }
}

impl MemoryResource for PoolResource {
    fn allocate(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer> {
        // What happens nearly always, before errors take their room.
        match self.allocate_kept(queue, kind, len_bytes, align_bytes) {
            Some(buffer) => Ok(buffer),
            None => self.allocate_slowly(queue, kind, len_bytes, align_bytes),
        }
    }

    #[inline]
    fn allocate_at_once(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<UsmBuffer> {
        let kept = self.allocate_kept(queue, kind, len_bytes, align_bytes);
        kept.or_else(|| self.allocate_there(queue, kind, len_bytes, align_bytes))
    }

    #[inline]
    fn as_pool(&self) -> Option<&PoolResource> {
        Some(self)
    }

    fn trim(&self) -> usize {
        if self.stock.is_forked() {
            return 0;
        }
        for wait in self.stock.waits_to_trim() {
            // What cannot be waited for stays.
            self.stock.settle(&wait).ok();
        }
        let (garbage, _) = self.stock.take_free();
        let idle_bytes = garbage.slab_bytes();
        drop(garbage);
        idle_bytes + self.upstream.trim()
    }
}

impl PoolResource {
    /// A buffer in a block that this thread keeps, for the queue and kind of its last allocation.
    #[inline(always)]
    pub(crate) fn allocate_kept(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<UsmBuffer> {
        self.stock.lend_first(queue, kind, len_bytes, SizeClass::index_of(len_bytes, align_bytes)?)
    }

    /// A buffer in a block that is there, where [`allocate_kept`](Self::allocate_kept) found none.
    pub(crate) fn allocate_there(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<UsmBuffer> {
        let size = self.size(len_bytes, align_bytes)?;
        let kept = self.stock.lend_kept(queue, kind, len_bytes, size.index());
        kept.or_else(|| self.stock.lend(queue, kind, len_bytes, size, true))
    }

    /// An allocation for which this thread may keep no block.
    #[cold]
    pub(crate) fn allocate_slowly(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer> {
        // In a forked child the pool's memory is the parent's.
        let size = self.size(len_bytes, align_bytes).filter(|_| !self.stock.is_forked());
        if let Some(size) = size
            && let Some(buffer) = self.stock.lend_kept(queue, kind, len_bytes, size.index())
        {
            return Ok(buffer);
        }
        let allocate = || match size {
            Some(size) => self.pooled(queue, kind, len_bytes, size),
            None => self.exact(queue, kind, len_bytes, align_bytes),
        };
        let is_out_of_memory = |result: &Result<_>| result.as_ref().is_err_and(Error::is_out_of_memory);
        let mut allocated = allocate();
        if let Some(size) = size.filter(|_| is_out_of_memory(&allocated)) {
            for wait in self.stock.waits_for(queue, kind, size) {
                self.stock.settle(&wait)?;
                if let Some(buffer) = self.reuse(queue, kind, len_bytes, size) {
                    return Ok(buffer);
                }
            }
        }
        if is_out_of_memory(&allocated) && self.trim() > 0 {
            allocated = allocate();
        }
        // A slab may be refused where what was asked for is not.
        if size.is_some() && allocated.as_ref().is_err_and(is_about_length) {
            allocated = self.exact(queue, kind, len_bytes, align_bytes);
        }
        allocated.map_err(|error| self.explain(error))
    }
}

impl Drop for PoolResource {
    fn drop(&mut self) {
        if !self.stock.is_forked() {
            self.stock.close();
        }
    }
}

fn is_about_length(error: &Error) -> bool {
    let refused =
        matches!(error, Error::Core(CoreError::TooLarge { .. } | CoreError::AlignmentNotHonoured { .. }));
    refused || error.is_out_of_memory()
}
