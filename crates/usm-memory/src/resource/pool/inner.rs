//! A pool without its upstream resource: what its buffers share with it.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use usm_core::{Queue, Runtime};

use super::arena::Drops;
use super::cache::{self, CacheOwner, ThreadCache};
use super::class::ClassSlabs;
use super::state::{Pending, PoolState, Request};
use crate::buffer::{FREE_TO_CACHE, FreeSlot, Owner, OwnerRef, hand_down};
use crate::resource::AllocationRequest;
use crate::snapshot::{Facts, Holder, Moment, PooledAddress, PooledMemory};
use crate::{UsmBuffer, drops};

/// The memory of a pool.
pub(super) struct PoolInner {
    /// No code unwinds while it holds the lock. Nothing that might call back is called or dropped under it.
    state: Mutex<PoolState>,
    /// Of the process that made the pool. In a forked child another thread may have held the lock, so the child never locks it: it
    /// allocates nothing from the pool, and what comes back is the parent's.
    generation: u64,
    /// Of no other pool; 0 where no number was left, so that threads cache nothing.
    id: u32,
    this: Weak<Self>,
}

/// The number of the next pool.
static NEXT: AtomicU32 = AtomicU32::new(1);

impl PoolInner {
    pub(super) fn new(max_idle_bytes: usize) -> Arc<Self> {
        FREE_TO_CACHE.get_or_init(|| cache::free);
        let id = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1));
        Self::numbered(max_idle_bytes, id.unwrap_or(0))
    }

    pub(super) fn numbered(max_idle_bytes: usize, id: u32) -> Arc<Self> {
        let state = Mutex::new(PoolState::new(max_idle_bytes));
        let generation = Runtime::fork_generation();
        Arc::new_cyclic(|this| Self { state, generation, id, this: Weak::clone(this) })
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
    fn cache(&self) -> Option<Arc<ThreadCache>> {
        if self.id == 0 || self.is_forked() {
            return None;
        }
        cache::find(self.id).or_else(|| {
            let new = cache::add(self.id, Weak::clone(&self.this) as Weak<dyn CacheOwner>)?;
            self.lock()?.caches.push(Arc::clone(&new));
            Some(new)
        })
    }

    /// A buffer in a slot that nothing uses, from the cache of this thread or the arena.
    #[inline(always)]
    pub(super) fn allocate(&self, request: &Request<'_>) -> Option<UsmBuffer> {
        let Request { asked: AllocationRequest { queue, kind, len_bytes, .. }, class } = *request;
        let slot = cache::allocate(self.id, queue, kind, class, len_bytes);
        let slot = slot.or_else(|| self.allocate_in_arena(request))?;
        Some(slot.allocate(queue, len_bytes, false))
    }

    #[cold]
    fn allocate_in_arena(&self, request: &Request<'_>) -> Option<FreeSlot> {
        self.locked_with(self.cache(), |state, cache| state.allocate(request, cache, false))?.0
    }

    /// A buffer in a slot that came back with work pending, without a wait: in the order of its queue, or after the completion of the work.
    pub(super) fn allocate_deferred(&self, request: &Request<'_>) -> Option<UsmBuffer> {
        let in_order = self.locked(|state, _| state.allocate_in_order(request));
        if let Some(slot) = in_order.flatten() {
            return Some(slot.allocate(request.asked.queue, request.asked.len_bytes, true));
        }
        let pending = self.lock()?.pending_for(request);
        pending.into_iter().find_map(|pending| self.allocate_after(pending, request))
    }

    /// Lets deferred frees have an event, and allocates a slot of them when that is complete.
    fn allocate_after(&self, mut pending: Pending, request: &Request<'_>) -> Option<UsmBuffer> {
        let Some((event, until)) = pending.mark.take() else {
            // Submitted without the lock: the frees up to `until` came before. Without an event the queue is waited for, if need be.
            let event = pending.queue.barrier(&[]).ok()?;
            let is_complete = event.is_complete();
            self.locked(|state, _| state.set_mark(&pending, event));
            return if is_complete { self.allocate_absorbed(&pending, pending.until, request) } else { None };
        };
        if event.is_complete() { self.allocate_absorbed(&pending, until, request) } else { None }
    }

    /// Deferred frees until a time are complete. The slabs that are too many go after the request is served.
    fn allocate_absorbed(&self, pending: &Pending, until: u64, request: &Request<'_>) -> Option<UsmBuffer> {
        let slot = self.locked(|state, cache| {
            let slabs = state.absorb(pending, until);
            let slot = state.allocate(request, cache, false);
            let taken_bytes = if slot.is_some() { request.class.slab_bytes() } else { 0 };
            state.evict(pending, &slabs, taken_bytes);
            slot
        });
        Some(slot.flatten()?.allocate(request.asked.queue, request.asked.len_bytes, false))
    }

    /// As [`allocate`](Self::allocate), after all threads have given up what they cache for the request.
    pub(super) fn allocate_reclaimed(&self, request: &Request<'_>) -> Option<UsmBuffer> {
        let found = self.locked(|state, _| state.reclaim(request));
        if found == Some(true) { self.allocate(request) } else { None }
    }

    /// As [`allocate`](Self::allocate), after a wait for deferred frees.
    pub(super) fn allocate_waiting(&self, request: &Request<'_>) -> Option<UsmBuffer> {
        let pending = self.lock()?.pending_for(request);
        pending.into_iter().find_map(|pending| {
            let until = pending.wait()?;
            self.allocate_absorbed(&pending, until, request)
        })
    }

    /// A buffer in a new slab. `None` in a forked child.
    pub(super) fn allocate_in_new(&self, request: &Request<'_>, slab: UsmBuffer) -> Option<UsmBuffer> {
        let owner = OwnerRef { id: self.id, owner: Weak::clone(&self.this) as _ };
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
            state.pending_in_idle()
        });
        let Some((pending, first)) = reclaimed else { return 0 };
        for pending in pending {
            // What cannot be waited for stays.
            if let Some(until) = pending.wait() {
                self.locked(|state, _| state.absorb(&pending, until));
            }
        }
        let last = self.locked_with(None, |state, _| state.evict_all());
        first.slab_bytes() + last.map_or(0, |(_, last)| last.slab_bytes())
    }

    /// The pool goes: all that comes back goes upstream from now on.
    pub(super) fn close(&self) {
        let Some(itself) = self.this.upgrade() else { return };
        if self.is_forked() {
            // Another thread may have been changing the state: nobody drops it.
            return mem::forget(itself);
        }
        let deferred = self.locked(|state, _| {
            state.close(itself);
            state.deferred_slabs()
        });
        let Some(deferred) = deferred else { return };
        for (slab, queue) in &deferred {
            hand_down(slab.block(), queue);
        }
        // What waits for a queue does so when its slab is freed.
        self.locked(|state, _| {
            state.absorb_all();
            state.evict_all();
        });
        drop(deferred);
    }

    /// A buffer that has no slot is there. It tells of its end.
    pub(super) fn count(&self, buffer: &UsmBuffer, len_bytes: usize) {
        self.locked(|state, _| state.count_allocated(len_bytes, false));
        if let Some(this) = self.this.upgrade() {
            buffer.before_release(move || {
                this.locked(|state, _| state.count_freed(len_bytes));
            });
        }
    }
}

impl Pending {
    /// Waits until the frees are complete. An error of somebody's operation is no reason against them. `None` where the queue cannot
    /// be waited for.
    fn wait(&self) -> Option<u64> {
        drops::wait_twice(&self.queue).ok().map(|()| self.until)
    }
}

impl Owner for PoolInner {
    fn free(&self, slot: FreeSlot, mut pending: Option<Queue>) {
        let refused = self.locked(|state, cache| {
            if state.is_closed && pending.is_some() {
                return Some((state.slab_of(&slot), slot));
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
                for (_, slab) in arena.classes().iter().flat_map(ClassSlabs::slabs) {
                    let with_arena = |allocation| (arena.kind, arena.queue.clone(), allocation);
                    found.extend(slab.table().allocations().map(with_arena));
                }
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
        self.lock()?.address(address)
    }
}

impl fmt::Debug for PoolInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolInner").field("id", &self.id).finish_non_exhaustive()
    }
}
