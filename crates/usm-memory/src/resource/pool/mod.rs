//! A resource that keeps memory and hands it out again.

mod classes;
mod options;
mod shelf;
mod state;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_core::{Error as CoreError, Queue, UsmKind};

use self::classes::SizeClass;
pub use self::options::{PoolOptions, PoolStatistics};
use self::shelf::Shelf;
use super::MemoryResource;
use super::meter::{Meter, Reservation};
use crate::{Error, Result, UsmBuffer};

/// Takes slabs from another resource, cuts them into blocks of one size each, and hands a block out again when its last buffer
/// is gone.
///
/// Blocks are kept for each context, device and kind. A block that foreign code got to know ([`UsmBuffer::publish`]) is waited
/// for before it is handed out again. Memory goes back upstream
/// - with [`trim`](MemoryResource::trim),
/// - beyond [`PoolOptions::max_retained_bytes`],
/// - when upstream has none left: then the allocation is tried once more, and where there is no room for a slab, just the bytes
///   asked for are taken,
/// - when the pool is dropped; slabs with live buffers go with their last buffer then.
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
    meter: Arc<Meter>,
    shelves: Mutex<Vec<Arc<Shelf>>>,
    reused_count: AtomicU64,
}

impl PoolResource {
    /// A pool without memory, which takes it from `upstream`.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>, options: PoolOptions) -> Self {
        let (shelves, reused_count) = (Mutex::default(), AtomicU64::new(0));
        Self { upstream, options, meter: Meter::new(usize::MAX), shelves, reused_count }
    }

    /// What the pool has at the moment, and did so far.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        let usage = self.meter.usage();
        let mut statistics = PoolStatistics {
            used_bytes: usage.used_bytes.unwrap_or_default(),
            peak_bytes: usage.peak_bytes.unwrap_or_default(),
            reused_count: self.reused_count.load(Ordering::Relaxed),
            ..PoolStatistics::default()
        };
        for shelf in &*self.shelves() {
            let state = shelf.state();
            statistics.slab_bytes += state.slab_bytes;
            statistics.idle_bytes += state.idle_bytes;
        }
        statistics
    }

    fn shelves(&self) -> MutexGuard<'_, Vec<Arc<Shelf>>> {
        // No code unwinds while it holds the lock half done.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self, queue: &Queue, kind: UsmKind) -> Arc<Shelf> {
        let mut shelves = self.shelves();
        if let Some(shelf) = shelves.iter().find(|shelf| shelf.suits(queue, kind)) {
            return Arc::clone(shelf);
        }
        let shelf = Arc::new(Shelf::new(queue, kind, self.options.max_retained_bytes));
        shelves.push(Arc::clone(&shelf));
        shelf
    }

    /// A buffer in a block of a slab.
    fn pooled(&self, queue: &Queue, kind: UsmKind, len_bytes: usize, class: SizeClass) -> Result<UsmBuffer> {
        let reservation = self.reserve(queue, kind, len_bytes)?;
        let shelf = self.shelf(queue, kind);
        let block = match shelf.reuse(class)? {
            Some(block) => {
                self.reused_count.fetch_add(1, Ordering::Relaxed);
                block
            }
            None => shelf.grow(&*self.upstream, queue, class)?,
        };
        shelf.lend(block, queue, len_bytes, reservation)
    }

    /// A buffer of its own from upstream.
    fn exact(&self, queue: &Queue, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Result<UsmBuffer> {
        let reservation = self.reserve(queue, kind, len_bytes)?;
        let buffer = self.upstream.allocate(queue, kind, len_bytes, align_bytes)?;
        let reservation = reservation.keep();
        buffer.before_release(move || drop(reservation));
        Ok(buffer)
    }

    fn reserve(&self, queue: &Queue, kind: UsmKind, len_bytes: usize) -> Result<Reservation> {
        // Fails for more bytes than an address space has.
        self.meter.reserve(len_bytes).ok_or_else(|| Error::OutOfMemory {
            requested_bytes: len_bytes,
            kind,
            device: queue.device().filter_string(),
            usage: self.meter.usage(),
        })
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
        let class = SizeClass::of(len_bytes, align_bytes)
            .filter(|class| class.block_bytes <= self.options.max_retained_bytes);
        let allocate = || match class {
            Some(class) => self.pooled(queue, kind, len_bytes, class),
            None => self.exact(queue, kind, len_bytes, align_bytes),
        };
        let mut allocated = allocate();
        if allocated.as_ref().is_err_and(Error::is_out_of_memory) && self.trim() > 0 {
            allocated = allocate();
        }
        // A slab may be refused where what was asked for is not.
        if class.is_some() && allocated.as_ref().is_err_and(is_about_length) {
            allocated = self.exact(queue, kind, len_bytes, align_bytes);
        }
        allocated.map_err(|error| self.meter.usage().explain(error))
    }

    fn trim(&self) -> usize {
        let shelves = self.shelves().clone();
        let idle_bytes: usize = shelves.iter().map(|shelf| shelf.trim()).sum();
        drop(shelves);
        // A shelf keeps its context alive, so an unused one goes. One more count than the list's: somebody is about to use it.
        self.shelves().retain(|shelf| Arc::strong_count(shelf) > 1 || !shelf.is_empty());
        idle_bytes + self.upstream.trim()
    }
}

fn is_about_length(error: &Error) -> bool {
    let refused =
        matches!(error, Error::Core(CoreError::TooLarge { .. } | CoreError::AlignmentNotHonoured { .. }));
    refused || error.is_out_of_memory()
}
