//! What the lock of a pool covers: the arenas, the caches that threads have, and the counts.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use usm_core::{Event, LiveAllocations, Queue, UsmKind};

use super::arena::{Arena, Drops};
use super::cache::{self, ThreadCache};
use super::class::ClassSlabs;
use super::counts::Counts;
use super::deferred::{Stream, Time};
use super::options::PoolStatistics;
use super::size_class::SizeClass;
use super::slab::Slab;
use crate::UsmBuffer;
use crate::buffer::{FreeSlot, Owner, OwnerRef, SlabNumber};
use crate::resource::AllocationRequest;
use crate::snapshot::PooledAddress;

/// An allocation that the pool may serve from a slab.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) asked: AllocationRequest<'a>,
    pub(super) class: SizeClass,
}

/// The state of a pool.
#[derive(Default)]
pub(super) struct PoolState {
    /// Invariant A1: an arena whose slots are elsewhere stays where it is.
    arenas: Vec<Option<Arena>>,
    pub(super) max_idle_bytes: usize,
    /// The pool is gone: what comes back goes upstream.
    pub(super) is_closed: bool,
    now: Time,
    pub(super) caches: Vec<Arc<ThreadCache>>,
    /// But for what caches have not told yet.
    counts: Counts,
    reused_count: u64,
    pub(super) failed_count: u64,
    /// Invariant A2: a closed pool keeps itself as long as buffers have slots: so many.
    itself: Option<Arc<dyn Owner>>,
    num_slots: usize,
    /// Whoever unlocks the state takes them.
    pub(super) drops: Drops,
}

/// Deferred frees of one class and queue, to be waited for.
#[derive(Debug)]
pub(super) struct Pending {
    arena: usize,
    class: SizeClass,
    pub(super) queue: Queue,
    /// The last of them that counts.
    pub(super) until: Time,
    /// An event after which they are free, where one is known.
    pub(super) mark: Option<(Event, Time)>,
}

impl PoolState {
    pub(super) fn new(max_idle_bytes: usize) -> Self {
        Self { max_idle_bytes, ..Self::default() }
    }

    /// The arena for a queue and a kind.
    fn arena(&self, queue: &Queue, kind: UsmKind) -> Option<usize> {
        let suits = |arena: &Option<Arena>| arena.as_ref().is_some_and(|arena| arena.suits(queue, kind));
        self.arenas.iter().position(suits)
    }

    fn class_mut(&mut self, arena: usize, class: SizeClass) -> Option<&mut ClassSlabs> {
        self.arenas.get_mut(arena)?.as_mut()?.class_mut(class)
    }

    fn slabs(&self) -> impl Iterator<Item = &Slab> {
        let classes = self.arenas.iter().flatten().flat_map(Arena::classes);
        classes.flat_map(ClassSlabs::slabs).map(|(_, slab)| slab)
    }

    /// A slot that nothing uses, from the cache of the thread unless it is to be a new one. The cache gets some more.
    pub(super) fn allocate(
        &mut self,
        request: &Request<'_>,
        cache: Option<&ThreadCache>,
        is_new: bool,
    ) -> Option<FreeSlot> {
        let Request { asked: AllocationRequest { queue, kind, len_bytes, .. }, class } = *request;
        let arena = self.arena(queue, kind)?;
        let caching = cache.filter(|_| cache::is_cached(class, self.max_idle_bytes));
        if let Some(mut content) = caching.map(ThreadCache::lock) {
            self.drops.queues.extend(content.prepare(queue, kind, arena, class, self.max_idle_bytes));
            let cached = if is_new { None } else { content.allocate(queue, kind, class, len_bytes) };
            if cached.is_some() {
                return cached;
            }
        }
        let slot = self.arenas.get_mut(arena)?.as_mut()?.allocate(class)?;
        self.count_allocated(len_bytes, !is_new);
        if let Some(cache) = caching {
            self.refill(arena, class, cache);
        }
        Some(slot)
    }

    fn refill(&mut self, arena: usize, class: SizeClass, cache: &ThreadCache) {
        if let Some(slabs) = self.class_mut(arena, class) {
            cache.lock().refill(arena, class, || {
                // An idle slab stays idle.
                if slabs.next_is_busy() { slabs.allocate().map(|taken| taken.slot) } else { None }
            });
        }
    }

    /// A slot that only earlier work on the same in-order queue uses.
    pub(super) fn allocate_in_order(&mut self, request: &Request<'_>) -> Option<FreeSlot> {
        let arena = self.arena(request.asked.queue, request.asked.kind)?;
        let arena = self.arenas.get_mut(arena)?.as_mut()?;
        let slot = arena.allocate_in_order(request.class, request.asked.queue, &mut self.drops)?;
        self.count_allocated(request.asked.len_bytes, true);
        Some(slot)
    }

    /// Adds a slab, and takes a slot of it.
    pub(super) fn allocate_in_new(
        &mut self,
        request: &Request<'_>,
        slab: UsmBuffer,
        owner: OwnerRef,
        cache: Option<&ThreadCache>,
    ) -> Option<FreeSlot> {
        let arena = self.arena(request.asked.queue, request.asked.kind).unwrap_or_else(|| {
            let vacant = self.arenas.iter().position(Option::is_none);
            vacant.unwrap_or_else(|| {
                self.arenas.push(None);
                self.arenas.len() - 1
            })
        });
        let found = self
            .arenas
            .get_mut(arena)?
            .get_or_insert_with(|| Arena::new(request.asked.queue, request.asked.kind));
        found.add(request.class, slab, owner, arena as u32);
        self.allocate(request, cache, true)
    }

    /// Takes a slot back. The cache of the thread gives some up where it has no capacity.
    pub(super) fn free(&mut self, slot: FreeSlot, pending: Option<Queue>, cache: Option<&ThreadCache>) {
        let mut slot = Some(slot);
        if let (Some(cache), None) = (cache, &pending) {
            let mut content = cache.lock();
            let number = slot.as_ref().and_then(FreeSlot::number);
            let overflow = number.map_or_else(Vec::new, |SlabNumber { arena, class, .. }| {
                content.overflow(arena as usize, SizeClass::numbered(class))
            });
            self.drops.queues.extend(content.free(&mut slot));
            drop(content);
            overflow.into_iter().for_each(|slot| self.put(slot, None));
        }
        if let Some(slot) = slot {
            self.counts.remove(slot.len_bytes());
            self.put(slot, pending);
        }
        if self.is_closed {
            self.num_slots = self.num_slots.saturating_sub(1);
            self.drops.owner = self.itself.take_if(|_| self.num_slots == 0);
        }
    }

    /// A slot is free, or waits for a queue.
    fn put(&mut self, mut slot: FreeSlot, pending: Option<Queue>) {
        self.now += 1;
        self.drops.queues.extend(slot.replace_queue(None));
        let (now, max_idle_bytes) = (self.now, self.max_idle_bytes);
        let arena = slot.number().map(|number| number.arena as usize);
        if let Some(arena) = arena.and_then(|arena| self.arenas.get_mut(arena)?.as_mut()) {
            arena.free(slot, pending, now, max_idle_bytes, &mut self.drops);
        }
    }

    /// Takes the slots that threads cache for a request. `true` when there were any.
    pub(super) fn reclaim(&mut self, request: &Request<'_>) -> bool {
        let Some(arena) = self.arena(request.asked.queue, request.asked.kind) else { return false };
        let slots: Vec<_> =
            self.caches.iter().flat_map(|cache| cache.lock().reclaim(arena, request.class)).collect();
        let found = !slots.is_empty();
        slots.into_iter().for_each(|slot| self.put(slot, None));
        found
    }

    /// Takes all that a thread caches.
    pub(super) fn reclaim_all_of(&mut self, cache: &ThreadCache) {
        let reclaimed = cache.lock().reclaim_all();
        self.add_counts_of(cache);
        self.drops.queues.extend(reclaimed.queues);
        reclaimed.slots.into_iter().for_each(|slot| self.put(slot, None));
    }

    /// Takes all that threads cache.
    pub(super) fn reclaim_all(&mut self) {
        for index in 0..self.caches.len() {
            if let Some(cache) = self.caches.get(index).map(Arc::clone) {
                self.reclaim_all_of(&cache);
            }
        }
    }

    /// Takes all slabs out that nothing uses, and the arenas that are empty then.
    pub(super) fn evict_all(&mut self) {
        // A1: no cache knows an arena from here on.
        self.reclaim_all();
        for arena in &mut self.arenas {
            arena.iter_mut().for_each(|arena| arena.evict_all(&mut self.drops));
            let empty = arena.take_if(|arena| arena.slab_bytes == 0);
            self.drops.queues.extend(empty.map(|arena| arena.queue));
        }
    }

    /// The deferred frees that are `wanted`.
    fn pending(&self, wanted: impl Fn(usize, &ClassSlabs, &Stream) -> bool) -> Vec<Pending> {
        let mut found = Vec::new();
        for (arena, slabs) in self.arenas.iter().enumerate().flat_map(|(number, arena)| {
            arena.iter().flat_map(Arena::classes).map(move |slabs| (number, slabs))
        }) {
            let streams = slabs.deferred.streams().iter().filter(|stream| wanted(arena, slabs, stream));
            found.extend(streams.map(|stream| Pending {
                arena,
                class: slabs.class,
                queue: stream.queue.clone(),
                until: self.now,
                mark: stream.mark.clone(),
            }));
        }
        found
    }

    /// The deferred frees that keep idle slabs from being free.
    pub(super) fn pending_in_idle(&self) -> Vec<Pending> {
        self.pending(|_, slabs, stream| slabs.deferred_slabs(stream).any(Slab::is_idle))
    }

    /// The deferred frees that a request may use.
    pub(super) fn pending_for(&self, request: &Request<'_>) -> Vec<Pending> {
        let Some(wanted) = self.arena(request.asked.queue, request.asked.kind) else { return Vec::new() };
        self.pending(|arena, slabs, _| arena == wanted && slabs.class == request.class)
    }

    /// Remembers the event of a barrier that was submitted for deferred frees.
    pub(super) fn set_mark(&mut self, pending: &Pending, event: Event) {
        let mark = (event, pending.until);
        let unused = match self.class_mut(pending.arena, pending.class) {
            Some(slabs) => slabs.deferred.set_mark(&pending.queue, mark),
            None => Some(mark),
        };
        self.drops.marks.extend(unused);
    }

    /// Deferred frees until a time are complete: their slots are free. Returns the slabs.
    pub(super) fn absorb(&mut self, pending: &Pending, until: Time) -> Vec<u32> {
        let arena = self.arenas.get_mut(pending.arena).and_then(Option::as_mut);
        let slabs = arena.and_then(|arena| arena.class_mut(pending.class));
        slabs.map_or_else(Vec::new, |slabs| slabs.absorb(&pending.queue, until, &mut self.drops.streams))
    }

    /// Takes out what is idle of some slabs beyond what the pool may retain.
    pub(super) fn evict(&mut self, pending: &Pending, slabs: &[u32], taken_bytes: usize) {
        let max_idle_bytes = self.max_idle_bytes.saturating_sub(taken_bytes);
        if let Some(Some(arena)) = self.arenas.get_mut(pending.arena) {
            slabs.iter().for_each(|slab| arena.evict(pending.class, *slab, max_idle_bytes, &mut self.drops));
        }
    }

    /// The slabs with deferred frees, each with the queue that is to be waited for.
    pub(super) fn deferred_slabs(&self) -> Vec<(UsmBuffer, Queue)> {
        let mut found: Vec<(UsmBuffer, Queue)> = Vec::new();
        for slabs in self.arenas.iter().flatten().flat_map(Arena::classes) {
            for stream in slabs.deferred.streams() {
                let mut memory: Vec<_> = slabs.deferred_slabs(stream).map(|slab| &slab.memory).collect();
                memory.sort_unstable_by_key(|memory| memory.address());
                memory.dedup_by_key(|memory| memory.address());
                found.extend(memory.into_iter().map(|memory| (memory.clone(), stream.queue.clone())));
            }
        }
        found
    }

    /// All deferred frees are complete, or their slabs wait for them.
    pub(super) fn absorb_all(&mut self) {
        for pending in self.pending(|_, _, _| true) {
            self.absorb(&pending, pending.until);
            self.drops.queues.push(pending.queue);
            self.drops.marks.extend(pending.mark);
        }
    }

    /// The pool goes. It keeps `itself` until the last buffer is gone.
    pub(super) fn close(&mut self, itself: Arc<dyn Owner>) {
        (self.is_closed, self.max_idle_bytes) = (true, 0);
        self.reclaim_all();
        self.drops.caches = mem::take(&mut self.caches);
        self.num_slots = self.slabs().map(|slab| slab.num_allocated).sum();
        self.itself = (self.num_slots > 0).then_some(itself);
    }

    /// The memory of the slab of a slot.
    pub(super) fn slab_of(&self, slot: &FreeSlot) -> Option<UsmBuffer> {
        let SlabNumber { arena, class, slab } = slot.number()?;
        let arena = self.arenas.get(arena as usize)?.as_ref()?;
        Some(arena.classes().get(class as usize)?.slab(slab)?.memory.clone())
    }

    /// A buffer is there.
    pub(super) fn count_allocated(&mut self, len_bytes: usize, is_reuse: bool) {
        self.append(Counts::of(len_bytes));
        self.reused_count += u64::from(is_reuse);
    }

    /// A buffer is gone.
    pub(super) fn count_freed(&mut self, len_bytes: usize) {
        self.counts.remove(len_bytes);
    }

    /// Adds what a thread did before it locked the pool. What a cache allocates has been used before.
    pub(super) fn add_counts_of(&mut self, cache: &ThreadCache) {
        let counts = cache.lock().take_counts();
        self.append(counts);
        self.reused_count += counts.buffers.allocated;
    }

    fn append(&mut self, counts: Counts) {
        let untold =
            || self.caches.iter().fold(Counts::default(), |sum, cache| sum.join(cache.lock().counts()));
        self.counts.append(counts, untold);
    }

    /// Lets the peaks start again from the current numbers.
    pub(super) fn reset_peak(&mut self) {
        let mut all = self.counts;
        for cache in &self.caches {
            let mut content = cache.lock();
            content.restart_peaks();
            all = all.join(content.counts());
        }
        (self.counts.bytes.peak, self.counts.buffers.peak) = (all.bytes.now(), all.buffers.now());
    }

    /// What the pool has, and did so far.
    pub(super) fn statistics(&mut self) -> PoolStatistics {
        let (mut all, mut reused_count) = (self.counts.restart(), self.reused_count);
        // By slab, the slots that threads cache.
        let mut cached = HashMap::<SlabNumber, usize>::new();
        for cache in &self.caches {
            let content = cache.lock();
            let counts = content.counts();
            all = all.join(counts);
            reused_count += counts.buffers.allocated;
            for number in content.slots().filter_map(FreeSlot::number) {
                *cached.entry(number).or_default() += 1;
            }
        }
        // The peaks only grow, whoever asks.
        let Counts { bytes, buffers } = &mut self.counts;
        bytes.peak = bytes.peak.max(all.bytes.peak);
        buffers.peak = buffers.peak.max(all.buffers.peak);
        let number = |count: i64| count.max(0).unsigned_abs() as usize;
        let arenas = self.arenas.iter().flatten();
        let (slab_bytes, idle_bytes) =
            arenas.fold((0, 0), |(all, idle), arena| (all + arena.slab_bytes, idle + arena.idle_bytes));
        let is_cached = |(number, count): (&SlabNumber, &usize)| {
            let arena = self.arenas.get(number.arena as usize)?.as_ref()?;
            let slab = arena.classes().get(number.class as usize)?.slab(number.slab)?;
            (slab.num_allocated <= *count).then(|| slab.memory.len_bytes())
        };
        PoolStatistics {
            used_bytes: number(all.bytes.now()),
            peak_bytes: number(bytes.peak),
            total_bytes: all.bytes.allocated,
            used_count: number(all.buffers.now()),
            peak_count: number(buffers.peak),
            total_count: all.buffers.allocated,
            failed_count: self.failed_count,
            slab_bytes,
            idle_bytes: idle_bytes + cached.iter().filter_map(is_cached).sum::<usize>(),
            reused_count,
        }
    }

    /// The slabs, and the buffers in them.
    pub(super) fn live(&self) -> [LiveAllocations; 2] {
        let mut sums = [LiveAllocations::default(); 2];
        for arena in self.arenas.iter().flatten() {
            sums[0].count += arena.num_slabs();
            sums[0].bytes += arena.slab_bytes;
        }
        for (_, len_bytes, ..) in self.slabs().flat_map(|slab| slab.table().allocations()) {
            sums[1].count += 1;
            sums[1].bytes += len_bytes;
        }
        sums
    }

    /// What is known of an address, where it is in a slab.
    pub(super) fn address(&self, address: usize) -> Option<PooledAddress> {
        self.arenas.iter().flatten().find_map(|arena| arena.address(address))
    }

    /// The arenas.
    pub(super) fn arenas(&self) -> impl Iterator<Item = &Arena> {
        self.arenas.iter().flatten()
    }
}
