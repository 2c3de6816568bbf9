//! What the lock of a pool covers: the arenas, the caches that threads have, and the counts.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use usm_core::{LiveAllocations, Queue, UsmKind};

use super::arena::{Arena, Batch, Drops};
use super::cache::{self, ThreadCache};
use super::counts::Counts;
use super::options::PoolStatistics;
use super::size_class::SizeClass;
use super::slab::Slab;
use crate::UsmBuffer;
use crate::buffer::{FreeSlot, Owner, SlotKey};
use crate::resource::AllocationRequest;

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
    max_retained_bytes: usize,
    /// The pool is gone: what comes back goes upstream.
    pub(super) is_closed: bool,
    pub(super) caches: Vec<Arc<ThreadCache>>,
    /// But for what caches have not told yet.
    counts: Counts,
    reused_count: u64,
    pub(super) failed_count: u64,
    /// Whoever unlocks the state takes them.
    pub(super) drops: Drops,
}

impl PoolState {
    pub(super) fn new(max_retained_bytes: usize) -> Self {
        Self { max_retained_bytes, ..Self::default() }
    }

    /// The number of the arena for a queue and a kind.
    fn arena(&self, queue: &Queue, kind: UsmKind) -> Option<usize> {
        let suits = |arena: &Option<Arena>| arena.as_ref().is_some_and(|arena| arena.suits(queue, kind));
        self.arenas.iter().position(suits)
    }

    fn arena_mut(&mut self, request: &Request<'_>) -> Option<(&mut Arena, &mut Drops)> {
        let arena = self.arena(request.asked.queue, request.asked.kind)?;
        Some((self.arenas.get_mut(arena)?.as_mut()?, &mut self.drops))
    }

    fn arena_of(&mut self, slot: SlotKey) -> Option<(&mut Arena, &mut Drops)> {
        Some((self.arenas.get_mut(usize::from(slot.arena))?.as_mut()?, &mut self.drops))
    }

    /// The arenas.
    pub(super) fn arenas(&self) -> impl Iterator<Item = &Arena> {
        self.arenas.iter().flatten()
    }

    /// A slot that nothing uses, from the cache of the thread unless it is to be a new one. The cache gets some more.
    pub(super) fn allocate(
        &mut self,
        request: &Request<'_>,
        cache: Option<&ThreadCache>,
        is_new: bool,
    ) -> Option<FreeSlot> {
        let Request { asked: AllocationRequest { queue, kind, len_bytes, .. }, class } = *request;
        let number = self.arena(queue, kind)?;
        let mut content =
            cache.filter(|_| cache::is_cached(class, self.max_retained_bytes)).map(ThreadCache::lock);
        if let Some(content) = &mut content {
            self.drops.queues.extend(content.prepare(queue, kind, number, class, self.max_retained_bytes));
            let cached = if is_new { None } else { content.allocate(queue, kind, class, len_bytes) };
            if cached.is_some() {
                return cached;
            }
        }
        let arena = self.arenas.get_mut(number)?.as_mut()?;
        let slot = arena.allocate(class, false)?;
        if let Some(mut content) = content {
            content.refill(number, class, || arena.allocate(class, true));
        }
        self.count_allocated(len_bytes, !is_new);
        Some(slot)
    }

    /// A slot that only earlier work on the same in-order queue uses.
    pub(super) fn allocate_in_order(&mut self, request: &Request<'_>) -> Option<FreeSlot> {
        let (arena, drops) = self.arena_mut(request)?;
        let slot = arena.allocate_in_order(request.class, request.asked.queue, drops)?;
        self.count_allocated(request.asked.len_bytes, true);
        Some(slot)
    }

    /// Adds a slab of the pool `id`, and takes a slot of it. `None` where there is no number for an arena.
    pub(super) fn allocate_in_new(
        &mut self,
        request: &Request<'_>,
        slab: UsmBuffer,
        (id, owner): (u32, Arc<dyn Owner>),
        cache: Option<&ThreadCache>,
    ) -> Option<FreeSlot> {
        let AllocationRequest { queue, kind, .. } = request.asked;
        let arena = self.arena(queue, kind).or_else(|| self.arenas.iter().position(Option::is_none));
        let arena = arena.unwrap_or(self.arenas.len());
        let number = u16::try_from(arena).ok()?;
        if arena == self.arenas.len() {
            self.arenas.push(None);
        }
        let found = self.arenas.get_mut(arena)?.get_or_insert_with(|| Arena::new(queue, kind));
        found.add(request.class, slab, owner, (id, number));
        self.allocate(request, cache, true)
    }

    /// Takes a slot back. The cache of the thread gives some up where it has no capacity.
    pub(super) fn free(&mut self, slot: FreeSlot, pending: Option<Queue>, cache: Option<&ThreadCache>) {
        let mut slot = Some(slot);
        if let (Some(cache), None) = (cache, &pending) {
            let mut content = cache.lock();
            let overflow = slot.as_ref().map_or_else(Vec::new, |slot| content.overflow(slot.key()));
            content.free(&mut slot);
            drop(content);
            overflow.into_iter().for_each(|slot| self.free_to_arena(slot, None));
        }
        if let Some(slot) = slot {
            self.count_freed(slot.len_bytes());
            self.free_to_arena(slot, pending);
        }
    }

    fn free_to_arena(&mut self, slot: FreeSlot, pending: Option<Queue>) {
        let max_retained_bytes = self.max_retained_bytes;
        if let Some((arena, drops)) = self.arena_of(slot.key()) {
            arena.free(slot, pending, max_retained_bytes, drops);
        }
    }

    /// Takes the slots that threads cache for a request. `true` when there were any.
    pub(super) fn reclaim(&mut self, request: &Request<'_>) -> bool {
        let Some(arena) = self.arena(request.asked.queue, request.asked.kind) else { return false };
        let slots: Vec<_> =
            self.caches.iter().flat_map(|cache| cache.lock().reclaim(arena, request.class)).collect();
        let found = !slots.is_empty();
        slots.into_iter().for_each(|slot| self.free_to_arena(slot, None));
        found
    }

    /// Takes all that a thread caches.
    pub(super) fn reclaim_all_of(&mut self, cache: &ThreadCache) {
        let (slots, queues) = cache.lock().reclaim_all();
        self.add_counts_of(cache);
        self.drops.queues.extend(queues);
        slots.into_iter().for_each(|slot| self.free_to_arena(slot, None));
    }

    /// Takes all that threads cache.
    pub(super) fn reclaim_all(&mut self) {
        let caches = self.caches.clone();
        caches.iter().for_each(|cache| self.reclaim_all_of(cache));
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

    /// Takes the deferred frees that a request may use. They come back with [`put_back`](Self::put_back).
    pub(super) fn take_deferred(&mut self, request: &Request<'_>) -> Vec<Batch> {
        self.arena_mut(request).map_or_else(Vec::new, |(arena, _)| arena.take_deferred(request.class))
    }

    /// Takes all deferred frees; or those that keep idle slabs from being free.
    pub(super) fn take_all_deferred(&mut self, only_idle: bool) -> Vec<Batch> {
        self.arenas.iter_mut().flatten().flat_map(|arena| arena.take_all_deferred(only_idle)).collect()
    }

    /// Deferred frees come back, of which some are complete: their slots are free. Returns these.
    pub(super) fn put_back(&mut self, complete: Vec<Batch>, pending: Vec<Batch>) -> Vec<(SlotKey, u32)> {
        for batch in pending {
            if let Some((arena, _)) = batch.key().and_then(|key| self.arena_of(key)) {
                arena.put_back(batch);
            }
        }
        let mut freed = Vec::new();
        for mut batch in complete {
            for slot in batch.slots.drain(..) {
                freed.push((slot.key(), slot.slab()));
                if let Some((arena, _)) = self.arena_of(slot.key()) {
                    arena.free_completed(slot);
                }
            }
            self.drops.batches.push(batch);
        }
        freed
    }

    /// Takes out what is idle of the slabs of some slots beyond what the pool may retain.
    pub(super) fn evict(&mut self, slots: &[(SlotKey, u32)], taken_bytes: usize) {
        let max_retained_bytes = self.max_retained_bytes.saturating_sub(taken_bytes);
        for (key, slab) in slots {
            if let Some((arena, drops)) = self.arena_of(*key) {
                arena.evict(*slab, max_retained_bytes, drops);
            }
        }
    }

    /// The pool goes.
    pub(super) fn close(&mut self) {
        (self.is_closed, self.max_retained_bytes) = (true, 0);
        self.reclaim_all();
        self.drops.caches = mem::take(&mut self.caches);
    }

    /// The slab of a slot.
    pub(super) fn slab_of(&self, slot: &FreeSlot) -> Option<&Slab> {
        self.arenas.get(usize::from(slot.key().arena))?.as_ref()?.slab(slot.slab())
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
        let counts = mem::take(&mut cache.lock().counts);
        self.append(counts);
        self.reused_count += counts.buffers.allocated;
    }

    fn append(&mut self, counts: Counts) {
        let untold =
            || self.caches.iter().fold(Counts::default(), |sum, cache| sum.join(cache.lock().counts));
        self.counts.append(counts, untold);
    }

    /// Lets the peaks start again from the current numbers.
    pub(super) fn reset_peak(&mut self) {
        let mut all = self.counts;
        for cache in &self.caches {
            let counts = &mut cache.lock().counts;
            *counts = counts.restart();
            all = all.join(*counts);
        }
        (self.counts.bytes.peak, self.counts.buffers.peak) = (all.bytes.now(), all.buffers.now());
    }

    /// What the pool has, and did so far.
    pub(super) fn statistics(&mut self) -> PoolStatistics {
        let (mut all, mut reused_count) = (self.counts.restart(), self.reused_count);
        // By arena and slab, the slots that threads cache.
        let mut cached = HashMap::<(u16, u32), usize>::new();
        for cache in &self.caches {
            let content = cache.lock();
            all = all.join(content.counts);
            reused_count += content.counts.buffers.allocated;
            for slot in content.slots() {
                *cached.entry((slot.key().arena, slot.slab())).or_default() += 1;
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
        let only_cached = |(&(arena, slab), count): (&(u16, u32), &usize)| {
            let slab = self.arenas.get(usize::from(arena))?.as_ref()?.slab(slab)?;
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
            idle_bytes: idle_bytes + cached.iter().filter_map(only_cached).sum::<usize>(),
            reused_count,
        }
    }

    /// The slabs, and the buffers in them.
    pub(super) fn live(&self) -> [LiveAllocations; 2] {
        let mut sums = [LiveAllocations::default(); 2];
        for slab in self.arenas().flat_map(Arena::slabs) {
            sums[0].count += 1;
            sums[0].bytes += slab.memory.len_bytes();
            for (_, len_bytes, ..) in slab.table.allocations() {
                sums[1].count += 1;
                sums[1].bytes += len_bytes;
            }
        }
        sums
    }
}
