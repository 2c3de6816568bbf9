//! Thread caches: the free slots that each thread holds of each pool, so that it allocates and frees without the lock of the pool.

use std::cell::RefCell;
use std::mem;
use std::ptr;
use std::sync::{Arc, Weak};

use usm_core::{Queue, Runtime, UsmKind};

use super::counts::Counts;
use super::size_class::SizeClass;
use super::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use crate::buffer::{FreeSlot, SlotKey};

/// Largest slot. More than this takes so long to be used that the pool's lock does not count.
const MAX_SLOT_BYTES: usize = 4 * 1024 * 1024;
/// Most slots of one size class.
const MAX_SLOTS: usize = 32;
/// Most bytes in slots of one size class, but for two slots.
const MAX_CLASS_BYTES: usize = 256 * 1024;
/// Most queues that a cache keeps.
const MAX_QUEUES: usize = 4;
/// Part of what a pool may retain that a cache may pin beside it, and the most bytes.
const MAX_PINNED_PART: usize = 16;
const MAX_PINNED_BYTES: usize = 16 * 1024 * 1024;

/// The pool of a cache.
pub(super) trait CacheOwner: Send + Sync {
    /// The thread of the cache ends.
    fn retire(&self, cache: &ThreadCache);
}

/// The cache of one thread for one pool. The pool knows it, too. The pool's lock comes first, then the lock of a cache.
#[derive(Debug)]
pub(super) struct ThreadCache {
    pool: u32,
    /// Of the process in which the thread got the cache. In a forked child the content is the parent's.
    generation: u64,
    owner: Weak<dyn CacheOwner>,
    content: Mutex<Content>,
}

/// What the lock of a cache covers. Nothing is called or dropped under the lock.
#[derive(Debug)]
pub(super) struct Content {
    /// The queues and kinds that were asked for last, the newest first.
    recent: Vec<Recent>,
    /// By arena, then by size class.
    bins: Vec<Vec<Bin>>,
    /// Upper bound of the slab bytes that the slots keep alive. At most `max_pinned_bytes`.
    pinned_bytes: usize,
    max_pinned_bytes: usize,
    /// What the thread did since the pool took the counts last.
    pub(super) counts: Counts,
}

/// A queue, and the arena for it and a kind.
#[derive(Debug)]
struct Recent {
    queue: Queue,
    kind: UsmKind,
    arena: usize,
}

/// Slots of one size class of an arena.
#[derive(Debug, Default)]
struct Bin {
    slots: Vec<FreeSlot>,
    max_slots: usize,
    slab_bytes: usize,
}

/// The caches of this thread, the one that was used last first.
struct Caches(RefCell<Vec<Arc<ThreadCache>>>);

thread_local! {
    static CACHES: Caches = const { Caches(RefCell::new(Vec::new())) };
}

impl Drop for Caches {
    fn drop(&mut self) {
        for cache in self.0.take() {
            if !Runtime::is_fork_generation(cache.generation) {
                // The parent's memory and queues.
                mem::forget(cache);
            } else if let Some(owner) = cache.owner.upgrade() {
                owner.retire(&cache);
            }
        }
    }
}

/// Does something with the cache of this thread for a pool, where there is one. `job` calls nothing that may come here again.
#[inline(always)]
fn with<T>(pool: u32, job: impl FnOnce(&Arc<ThreadCache>) -> Option<T>) -> Option<T> {
    // After the end of the thread's values there is none.
    let find = |caches: &Caches| {
        let mut caches = caches.0.try_borrow_mut().ok()?;
        let is_it =
            |cache: &Arc<ThreadCache>| cache.pool == pool && Runtime::is_fork_generation(cache.generation);
        if !caches.first().is_some_and(is_it) {
            let index = caches.iter().position(is_it)?;
            caches.swap(0, index);
        }
        job(caches.first()?)
    };
    CACHES.try_with(find).ok().flatten()
}

/// The cache of this thread for a pool, where there is one.
pub(super) fn find(pool: u32) -> Option<Arc<ThreadCache>> {
    with(pool, |cache| Some(Arc::clone(cache)))
}

/// A cache of this thread for a pool for which it has none. `None` at the end of the thread.
pub(super) fn add(pool: u32, owner: Weak<impl CacheOwner + 'static>) -> Option<Arc<ThreadCache>> {
    let new = Arc::new(ThreadCache::new(pool, owner));
    let add = |caches: &Caches| {
        let mut caches = caches.0.try_borrow_mut().ok()?;
        let is_gone = |cache: &mut Arc<ThreadCache>| cache.owner.strong_count() == 0;
        let gone: Vec<_> = caches.extract_if(.., is_gone).collect();
        caches.insert(0, Arc::clone(&new));
        drop(caches);
        drop(gone);
        Some(())
    };
    CACHES.try_with(add).ok().flatten().map(|()| new)
}

/// A slot for a buffer from the cache of this thread.
#[inline(always)]
pub(super) fn allocate(
    pool: u32,
    queue: &Queue,
    kind: UsmKind,
    class: SizeClass,
    len_bytes: usize,
) -> Option<FreeSlot> {
    with(pool, |cache| cache.try_lock()?.allocate(queue, kind, class, len_bytes))
}

/// Gives a slot without pending work to the cache of this thread. `Err` where the cache has no capacity for it.
pub(super) fn free(slot: FreeSlot) -> Result<(), FreeSlot> {
    let pool = slot.key().pool;
    let mut slot = Some(slot);
    with(pool, |cache| cache.try_lock()?.free(&mut slot));
    slot.map_or(Ok(()), Err)
}

impl ThreadCache {
    fn new(pool: u32, owner: Weak<dyn CacheOwner>) -> Self {
        let content = Content {
            recent: Vec::with_capacity(MAX_QUEUES),
            bins: Vec::new(),
            pinned_bytes: 0,
            max_pinned_bytes: 0,
            counts: Counts::default(),
        };
        Self { pool, generation: Runtime::fork_generation(), owner, content: Mutex::new(content) }
    }

    /// `None` where another thread reclaims the content or counts at the moment.
    #[inline(always)]
    fn try_lock(&self) -> Option<MutexGuard<'_, Content>> {
        match self.content.try_lock() {
            Ok(content) => Some(content),
            Err(TryLockError::Poisoned(content)) => Some(content.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// For the pool, which is locked.
    pub(super) fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether threads cache slots of a class, where the pool may retain so many bytes.
pub(super) fn is_cached(class: SizeClass, max_retained_bytes: usize) -> bool {
    class.slot_bytes() <= MAX_SLOT_BYTES && class.slab_bytes() <= max_pinned_bytes(max_retained_bytes)
}

fn max_pinned_bytes(max_retained_bytes: usize) -> usize {
    (max_retained_bytes / MAX_PINNED_PART).min(MAX_PINNED_BYTES)
}

/// Clones of a queue have one context field.
fn is_clone(a: &Queue, b: &Queue) -> bool {
    ptr::eq(a.context(), b.context())
}

fn bin_mut(bins: &mut [Vec<Bin>], arena: usize, class: SizeClass) -> Option<&mut Bin> {
    bins.get_mut(arena)?.get_mut(class.index())
}

impl Bin {
    fn pinned_bytes(&self) -> usize {
        self.slots.len() * self.slab_bytes
    }
}

impl Content {
    /// A slot for a buffer.
    #[inline(always)]
    pub(super) fn allocate(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        class: SizeClass,
        len_bytes: usize,
    ) -> Option<FreeSlot> {
        let arena = self.arena(queue, kind)?;
        let bin = bin_mut(&mut self.bins, arena, class)?;
        let slot = bin.slots.pop()?;
        self.pinned_bytes -= bin.slab_bytes;
        self.counts.add(len_bytes);
        Some(slot)
    }

    /// The arena for a queue and a kind, which come first from now on.
    #[inline(always)]
    fn arena(&mut self, queue: &Queue, kind: UsmKind) -> Option<usize> {
        let is_it = |recent: &Recent| recent.kind == kind && is_clone(&recent.queue, queue);
        if !self.recent.first().is_some_and(is_it) {
            let index = self.recent.iter().position(is_it)?;
            self.recent.get_mut(..=index)?.rotate_right(1);
        }
        Some(self.recent.first()?.arena)
    }

    /// Takes a slot without pending work, where there is capacity for it.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: &mut Option<FreeSlot>) -> Option<()> {
        let SlotKey { arena, class, .. } = slot.as_ref()?.key();
        let bin = self.bins.get_mut(usize::from(arena))?.get_mut(usize::from(class))?;
        let pinned_bytes = self.pinned_bytes + bin.slab_bytes;
        if bin.slots.len() < bin.max_slots && pinned_bytes <= self.max_pinned_bytes {
            let slot = slot.take()?;
            self.counts.remove(slot.len_bytes());
            self.pinned_bytes = pinned_bytes;
            bin.slots.push(slot);
        }
        Some(())
    }

    /// Makes capacity for slots of a class of an arena, and remembers a queue of the arena. Returns a queue that is not needed any more.
    pub(super) fn prepare(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        arena: usize,
        class: SizeClass,
        max_retained_bytes: usize,
    ) -> Option<Queue> {
        self.max_pinned_bytes = max_pinned_bytes(max_retained_bytes);
        if self.bins.len() <= arena {
            self.bins.resize_with(arena + 1, Vec::new);
        }
        let bins = self.bins.get_mut(arena)?;
        if bins.len() <= class.index() {
            bins.resize_with(class.index() + 1, Bin::default);
        }
        let bin = bins.get_mut(class.index())?;
        if bin.max_slots == 0 {
            let max_slots = (MAX_CLASS_BYTES / class.slot_bytes()).clamp(2, MAX_SLOTS);
            *bin = Bin { slots: Vec::with_capacity(max_slots), max_slots, slab_bytes: class.slab_bytes() };
        }
        if self.arena(queue, kind).is_some() {
            return None;
        }
        let oldest = if self.recent.len() == MAX_QUEUES { self.recent.pop() } else { None };
        self.recent.insert(0, Recent { queue: queue.clone(), kind, arena });
        oldest.map(|recent| recent.queue)
    }

    /// Fills half of the capacity for a class with slots that `next` gives. Of large slots there are too few.
    pub(super) fn refill(
        &mut self,
        arena: usize,
        class: SizeClass,
        mut next: impl FnMut() -> Option<FreeSlot>,
    ) {
        let Some(bin) = bin_mut(&mut self.bins, arena, class) else { return };
        // Other classes need capacity, too.
        let pinned_bytes = (self.max_pinned_bytes - self.pinned_bytes) / 4;
        let count = (bin.max_slots / 2).min(pinned_bytes / bin.slab_bytes.max(1));
        if count < 4 || !bin.slots.is_empty() {
            return;
        }
        while bin.slots.len() < count
            && let Some(slot) = next()
        {
            bin.slots.push(slot);
            self.pinned_bytes += bin.slab_bytes;
        }
    }

    /// Makes capacity for one more slot of a class: half of its slots go, or half of the slots that pin most.
    pub(super) fn overflow(&mut self, slot: SlotKey) -> Vec<FreeSlot> {
        let (pinned_bytes, max_pinned_bytes) = (self.pinned_bytes, self.max_pinned_bytes);
        let class = SizeClass::numbered(slot.class);
        let Some(bin) = bin_mut(&mut self.bins, usize::from(slot.arena), class) else { return Vec::new() };
        let is_over = bin.slots.len() >= bin.max_slots || pinned_bytes + bin.slab_bytes > max_pinned_bytes;
        let bin = match is_over {
            false => None,
            true if bin.slots.is_empty() => {
                self.bins.iter_mut().flatten().max_by_key(|bin| bin.pinned_bytes())
            }
            true => Some(bin),
        };
        let Some(bin) = bin else { return Vec::new() };
        let count = bin.slots.len().div_ceil(2);
        self.pinned_bytes -= count * bin.slab_bytes;
        bin.slots.drain(..count).collect()
    }

    /// Takes the slots of a class of an arena.
    pub(super) fn reclaim(&mut self, arena: usize, class: SizeClass) -> Vec<FreeSlot> {
        let Some(bin) = bin_mut(&mut self.bins, arena, class) else { return Vec::new() };
        self.pinned_bytes -= bin.pinned_bytes();
        bin.slots.drain(..).collect()
    }

    /// Takes everything, to be dropped without the lock. The cache takes nothing until the pool prepares it again.
    pub(super) fn reclaim_all(&mut self) -> (Vec<FreeSlot>, Vec<Queue>) {
        (self.pinned_bytes, self.max_pinned_bytes) = (0, 0);
        let bins = mem::take(&mut self.bins).into_iter().flatten();
        let queues = mem::take(&mut self.recent).into_iter().map(|recent| recent.queue).collect();
        (bins.flat_map(|bin| bin.slots).collect(), queues)
    }

    /// The slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = &FreeSlot> {
        self.bins.iter().flatten().flat_map(|bin| &bin.slots)
    }
}
