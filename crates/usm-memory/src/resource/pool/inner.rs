//! A pool without its upstream resource: what its buffers share with it.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use usm_core::{Event, Queue, Runtime, drops};

use super::arena::{Batch, Drops};
use super::cache::{self, CacheOwner, ThreadCache};
use super::state::{PoolState, Request};
use super::sync::{Mutex, MutexGuard, PoisonError};
use crate::UsmBuffer;
use crate::buffer::{FREE_TO_CACHE, FreeSlot, Owner, hand_down};
use crate::resource::AllocationRequest;
use crate::snapshot::{Facts, Holder, Moment, PooledAddress, PooledMemory};
use crate::tracker::same_queue;

/// The memory of a pool. Its slabs keep it, so that it stays until the last buffer of a closed pool is gone.
pub(super) struct PoolInner {
    /// No code unwinds while it holds the lock. Nothing that might call back is called or dropped under it.
    state: Mutex<PoolState>,
    /// Of the process that made the pool. In a forked child another thread may have held the lock, so the child never locks it: it
    /// allocates nothing from the pool, and what comes back is the parent's.
    generation: u64,
    /// Of no other pool; 0 where no number was left, so that threads cache nothing.
    id: u32,
}

/// The number of the next pool.
static NEXT: AtomicU32 = AtomicU32::new(1);

impl PoolInner {
    pub(super) fn new(max_retained_bytes: usize) -> Arc<Self> {
        FREE_TO_CACHE.get_or_init(|| cache::free);
        let id = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1));
        Self::numbered(max_retained_bytes, id.unwrap_or(0))
    }

    pub(super) fn numbered(max_retained_bytes: usize, id: u32) -> Arc<Self> {
        let state = Mutex::new(PoolState::new(max_retained_bytes));
        Arc::new(Self { state, generation: Runtime::fork_generation(), id })
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Whether this is a forked child of the process that made the pool.
    pub(super) fn is_forked(&self) -> bool {
        !Runtime::is_fork_generation(self.generation)
    }

    /// `None` in a forked child.
    fn lock(&self) -> Option<MutexGuard<'_, PoolState>> {
        (!self.is_forked()).then(|| self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something under the lock with the state, which knows what this thread has done so far, and the cache of the thread. Drops
    /// afterwards what is left over. `None` in a forked child, whose pool this is not.
    pub(super) fn locked<T>(&self, job: impl FnOnce(&mut PoolState, Option<&ThreadCache>) -> T) -> Option<T> {
        self.locked_with(cache::find(self.id), job).map(|(result, _)| result)
    }

    /// As [`locked`](Self::locked), with the cache of this thread; the caller drops what is left over.
    fn locked_with<T>(
        &self,
        cache: Option<Arc<ThreadCache>>,
        job: impl FnOnce(&mut PoolState, Option<&ThreadCache>) -> T,
    ) -> Option<(T, Drops)> {
        let mut state = self.lock()?;
        cache.iter().for_each(|cache| state.add_counts_of(cache));
        let result = job(&mut state, cache.as_deref());
        Some((result, mem::take(&mut state.drops)))
    }

    /// The cache of this thread, a new one where it has none.
    fn cache(self: &Arc<Self>) -> Option<Arc<ThreadCache>> {
        if self.id == 0 || self.is_forked() {
            return None;
        }
        cache::find(self.id).or_else(|| {
            let owner: Weak<Self> = Arc::downgrade(self);
            let new = cache::add(self.id, owner)?;
            self.lock()?.caches.push(Arc::clone(&new));
            Some(new)
        })
    }

    /// A buffer in a slot that nothing uses, from the cache of this thread or the arena.
    #[inline(always)]
    pub(super) fn allocate(self: &Arc<Self>, request: &Request<'_>) -> Option<UsmBuffer> {
        let Request { asked: AllocationRequest { queue, kind, len_bytes, .. }, class } = *request;
        let slot = cache::allocate(self.id, queue, kind, class, len_bytes);
        let slot = slot.or_else(|| self.allocate_in_arena(request))?;
        Some(slot.allocate(queue, len_bytes, false))
    }

    #[cold]
    fn allocate_in_arena(self: &Arc<Self>, request: &Request<'_>) -> Option<FreeSlot> {
        self.locked_with(self.cache(), |state, cache| state.allocate(request, cache, false))?.0
    }

    /// A buffer in a slot that came back with work pending: in the order of its queue, or after the completion of the work, for which
    /// this only waits when it `may_wait`. The slabs that are too many go after the request is served.
    pub(super) fn allocate_deferred(&self, request: &Request<'_>, may_wait: bool) -> Option<UsmBuffer> {
        let AllocationRequest { queue, len_bytes, .. } = request.asked;
        let (in_order, mut batches) = self.locked(|state, _| match state.allocate_in_order(request) {
            None => (None, state.take_deferred(request)),
            found => (found, Vec::new()),
        })?;
        if let Some(slot) = in_order {
            return Some(slot.allocate(queue, len_bytes, true));
        }
        if batches.is_empty() {
            return None;
        }
        let complete = if may_wait { take_waited(&mut batches) } else { take_complete(&mut batches) };
        let slot = self.locked(|state, cache| {
            let freed = state.put_back(complete, batches);
            let slot = state.allocate(request, cache, false);
            state.evict(&freed, if slot.is_some() { request.class.slab_bytes() } else { 0 });
            slot
        });
        Some(slot.flatten()?.allocate(queue, len_bytes, false))
    }

    /// As [`allocate`](Self::allocate), after all threads have given up what they cache for the request.
    pub(super) fn allocate_reclaimed(self: &Arc<Self>, request: &Request<'_>) -> Option<UsmBuffer> {
        let found = self.locked(|state, _| state.reclaim(request));
        if found == Some(true) { self.allocate(request) } else { None }
    }

    /// A buffer in a new slab. `None` in a forked child.
    pub(super) fn allocate_in_new(
        self: &Arc<Self>,
        request: &Request<'_>,
        slab: UsmBuffer,
    ) -> Option<UsmBuffer> {
        let owner = (self.id, Arc::clone(self) as _);
        let slot = self
            .locked_with(self.cache(), |state, cache| state.allocate_in_new(request, slab, owner, cache))?
            .0;
        Some(slot?.allocate(request.asked.queue, request.asked.len_bytes, false))
    }

    /// Gives all slabs that no buffer uses back to upstream, after the work that is pending on them. Returns their bytes.
    pub(super) fn trim(&self) -> usize {
        let reclaimed = self.locked_with(cache::find(self.id), |state, _| {
            // Slabs whose slots threads cache are not idle.
            state.reclaim_all();
            state.take_all_deferred(true)
        });
        let Some((mut batches, first)) = reclaimed else { return 0 };
        // What cannot be waited for stays.
        let complete = take_waited(&mut batches);
        let last = self.locked_with(None, |state, _| {
            state.put_back(complete, batches);
            state.evict_all();
        });
        first.slab_bytes() + last.map_or(0, |(_, last)| last.slab_bytes())
    }

    /// The pool goes: all that comes back goes upstream from now on.
    pub(super) fn close(self: &Arc<Self>) {
        let deferred = self.locked(|state, _| {
            state.close();
            let batches = state.take_all_deferred(false);
            let mut slabs = Vec::<(UsmBuffer, Queue)>::new();
            for batch in &batches {
                let memory = |slot| state.slab_of(slot).map(|slab| &slab.memory);
                let mut memory: Vec<_> = batch.slots.iter().filter_map(memory).collect();
                memory.sort_unstable_by_key(|memory| memory.address());
                memory.dedup_by_key(|memory| memory.address());
                slabs.extend(memory.into_iter().map(|memory| (memory.clone(), batch.queue.clone())));
            }
            (batches, slabs)
        });
        // In a forked child another thread may have been changing the state: nobody drops it.
        let Some((batches, slabs)) = deferred else { return mem::forget(Arc::clone(self)) };
        slabs.iter().for_each(|(slab, queue)| hand_down(slab.block(), queue));
        // What waits for a queue does so when its slab is freed.
        self.locked(|state, _| {
            state.put_back(batches, Vec::new());
            state.evict_all();
        });
    }

    /// A buffer that has no slot is there. It tells of its end.
    pub(super) fn count(self: &Arc<Self>, buffer: &UsmBuffer, len_bytes: usize) {
        self.locked(|state, _| state.count_allocated(len_bytes, false));
        let this = Arc::clone(self);
        buffer.before_release(move || {
            this.locked(|state, _| state.count_freed(len_bytes));
        });
    }
}

/// Takes out the batches whose work is complete. Each queue has an event for the frees so far, submitted here where there is none:
/// without the lock, in which no batch is meanwhile.
fn take_complete(batches: &mut Vec<Batch>) -> Vec<Batch> {
    for index in 0..batches.len() {
        let queue = &batches[index].queue;
        let has_event = |batch: &Batch| batch.event.is_some() && same_queue(&batch.queue, queue);
        if !batches.iter().any(has_event) {
            // Without an event the queue is waited for, if need be.
            batches[index].event = queue.barrier(&[]).ok();
        }
    }
    batches.extract_if(.., |batch| batch.event.as_ref().is_some_and(Event::is_complete)).collect()
}

/// Takes out the batches whose work is complete, after waiting for it. An error of somebody's operation is no reason against them; a
/// queue that cannot be waited for is.
fn take_waited(batches: &mut Vec<Batch>) -> Vec<Batch> {
    batches.extract_if(.., |batch| drops::wait_twice(&batch.queue).is_ok()).collect()
}

impl Owner for PoolInner {
    fn free(&self, slot: FreeSlot, mut pending: Option<Queue>) {
        let refused = self.locked(|state, cache| {
            if state.is_closed && pending.is_some() {
                return Some((state.slab_of(&slot).map(|slab| slab.memory.clone()), slot));
            }
            state.free(slot, pending.take(), cache);
            None
        });
        // The slab of a closed pool waits for the queue before it goes.
        if let (Some((slab, slot)), Some(queue)) = (refused.flatten(), pending) {
            slab.iter().for_each(|slab| hand_down(slab.block(), &queue));
            self.locked(|state, cache| state.free(slot, None, cache));
        }
    }
}

impl CacheOwner for PoolInner {
    fn retire(&self, cache: &ThreadCache) {
        self.locked(|state, _| {
            state.reclaim_all_of(cache);
            let gone = state.caches.extract_if(.., |known| std::ptr::eq(&**known, cache));
            state.drops.caches.extend(gone);
        });
    }
}

impl PooledMemory for PoolInner {
    fn report(&self, facts: &mut Vec<Facts>) {
        let mut found = Vec::new();
        if let Some(state) = self.lock() {
            for arena in state.arenas() {
                let with_arena = |allocation| (arena.kind, arena.queue.clone(), allocation);
                found.extend(arena.slabs().flat_map(|slab| slab.table.allocations()).map(with_arena));
            }
        }
        // After the scan: no allocation that was found is later.
        let now = Moment::now_coarse();
        facts.extend(found.into_iter().map(|(kind, queue, (address, len_bytes, tag, time))| {
            let (holder, born) = (Holder::Leased, time.moment(now));
            Facts { address, len_bytes, kind, holder, queue, born, tag }
        }));
    }

    fn address(&self, address: usize) -> Option<PooledAddress> {
        self.lock()?.arenas().find_map(|arena| arena.address(address))
    }
}

impl fmt::Debug for PoolInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolInner").field("id", &self.id).finish_non_exhaustive()
    }
}
