//! The slabs of one context, device and kind, and their deferred frees.

use std::collections::BTreeMap;
use std::sync::Arc;

use usm_core::{Event, Queue, UsmKind};

use super::cache::ThreadCache;
use super::size_class::SizeClass;
use super::slab::Slab;
use crate::UsmBuffer;
use crate::buffer::{FreeSlot, Owner, SlotKey};
use crate::snapshot::PooledAddress;
use crate::tracker::same_queue;

/// The slabs that any queue of one context and device may use.
pub(super) struct Arena {
    /// A queue of the context and device.
    pub(super) queue: Queue,
    pub(super) kind: UsmKind,
    /// By number.
    slabs: Vec<Option<Slab>>,
    vacant: Vec<u32>,
    /// By number, up to the largest that was asked for.
    classes: Vec<ClassSlabs>,
    /// Where each slab starts, and its number.
    starts: BTreeMap<usize, u32>,
    pub(super) slab_bytes: usize,
    /// Bytes of the slabs of which no slot is allocated.
    pub(super) idle_bytes: usize,
}

/// The slabs of one size class that have something to give.
#[derive(Default)]
struct ClassSlabs {
    /// Invariant C1: the slabs with free slots, each at its `position`; the last one is used first.
    partial: Vec<u32>,
    deferred: Vec<Batch>,
}

/// Deferred frees of one size class: slots that came back while work on a queue may still use them.
pub(super) struct Batch {
    pub(super) queue: Queue,
    /// Invariant C2: the event was submitted after the last slot came back, so that a batch with an event takes no more slots.
    pub(super) event: Option<Event>,
    pub(super) slots: Vec<FreeSlot>,
}

/// Deferred drops: what the pool drops after it has unlocked, since upstream resources, events and queues may call back.
#[derive(Default)]
pub(super) struct Drops {
    slabs: Vec<Slab>,
    pub(super) batches: Vec<Batch>,
    pub(super) queues: Vec<Queue>,
    pub(super) caches: Vec<Arc<ThreadCache>>,
}

impl Batch {
    /// The arena and the class.
    pub(super) fn key(&self) -> Option<SlotKey> {
        self.slots.first().map(FreeSlot::key)
    }
}

impl Drops {
    /// Bytes of the slabs.
    pub(super) fn slab_bytes(&self) -> usize {
        self.slabs.iter().map(|slab| slab.memory.len_bytes()).sum()
    }
}

impl Arena {
    pub(super) fn new(queue: &Queue, kind: UsmKind) -> Self {
        let (slabs, vacant, classes, starts) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { queue: queue.clone(), kind, slabs, vacant, classes, starts, slab_bytes: 0, idle_bytes: 0 }
    }

    /// Whether buffers of that queue and kind come from here.
    pub(super) fn suits(&self, queue: &Queue, kind: UsmKind) -> bool {
        let is_near = || self.queue.device() == queue.device() && self.queue.context() == queue.context();
        self.kind == kind && (same_queue(&self.queue, queue) || is_near())
    }

    /// A slot that nothing uses; for a cache only one of a slab that has others allocated, so that idle slabs stay idle.
    pub(super) fn allocate(&mut self, class: SizeClass, for_cache: bool) -> Option<FreeSlot> {
        let partial = &mut self.classes.get_mut(class.index())?.partial;
        let slab = self.slabs.get_mut(*partial.last()? as usize)?.as_mut()?;
        if slab.is_idle() {
            if for_cache {
                return None;
            }
            self.idle_bytes = self.idle_bytes.saturating_sub(class.slab_bytes());
        }
        let slot = slab.allocate();
        if !slab.has_free() {
            partial.pop();
        }
        slot
    }

    /// A slot that only earlier work on the same in-order queue uses: what is submitted from now on comes after that.
    pub(super) fn allocate_in_order(
        &mut self,
        class: SizeClass,
        queue: &Queue,
        drops: &mut Drops,
    ) -> Option<FreeSlot> {
        let deferred = &mut self.classes.get_mut(class.index())?.deferred;
        if deferred.is_empty() || !queue.properties().in_order {
            return None;
        }
        let index = deferred.iter().rposition(|batch| same_queue(&batch.queue, queue))?;
        let batch = deferred.get_mut(index)?;
        let slot = batch.slots.pop()?;
        if batch.slots.is_empty() {
            drops.batches.push(deferred.swap_remove(index));
        }
        let slab = self.slabs.get_mut(slot.slab() as usize)?.as_mut()?;
        if slab.is_idle() {
            self.idle_bytes = self.idle_bytes.saturating_sub(class.slab_bytes());
        }
        slab.num_allocated += 1;
        Some(slot)
    }

    /// Takes an allocated slot back, which is free after the work that is pending on a queue. More than `max_retained_bytes` of idle slabs
    /// go to `drops`.
    pub(super) fn free(
        &mut self,
        slot: FreeSlot,
        pending: Option<Queue>,
        max_retained_bytes: usize,
        drops: &mut Drops,
    ) {
        let (class, number) = (SizeClass::numbered(slot.key().class), slot.slab());
        let Some(Some(slab)) = self.slabs.get_mut(number as usize) else { return };
        slab.num_allocated = slab.num_allocated.saturating_sub(1);
        let is_idle = slab.is_idle();
        match pending {
            None => self.free_completed(slot),
            Some(queue) => self.defer(slot, queue, drops),
        }
        if is_idle {
            self.idle_bytes += class.slab_bytes();
            self.evict(number, max_retained_bytes, drops);
        }
    }

    fn defer(&mut self, slot: FreeSlot, queue: Queue, drops: &mut Drops) {
        let Some(class) = self.classes.get_mut(usize::from(slot.key().class)) else { return };
        let is_open = |batch: &&mut Batch| batch.event.is_none() && same_queue(&batch.queue, &queue);
        if let Some(batch) = class.deferred.iter_mut().find(is_open) {
            batch.slots.push(slot);
            drops.queues.push(queue);
        } else {
            class.deferred.push(Batch { queue, event: None, slots: vec![slot] });
        }
    }

    /// A slot that is not allocated, and that nothing uses any more.
    pub(super) fn free_completed(&mut self, slot: FreeSlot) {
        let number = slot.slab();
        let Some(class) = self.classes.get_mut(usize::from(slot.key().class)) else { return };
        let Some(Some(slab)) = self.slabs.get_mut(number as usize) else { return };
        let had_free = slab.has_free();
        if slab.free(slot).is_ok() && !had_free {
            slab.position = class.partial.len();
            class.partial.push(number);
        }
    }

    /// Takes the deferred frees of a class, to find out without the lock which are complete.
    pub(super) fn take_deferred(&mut self, class: SizeClass) -> Vec<Batch> {
        self.classes.get_mut(class.index()).map_or_else(Vec::new, |class| std::mem::take(&mut class.deferred))
    }

    /// Takes all deferred frees; or those that keep idle slabs from being free.
    pub(super) fn take_all_deferred(&mut self, only_idle: bool) -> Vec<Batch> {
        let is_idle = |slot: &FreeSlot| self.slabs.get(slot.slab() as usize)?.as_ref().map(Slab::is_idle);
        let is_wanted =
            |batch: &mut Batch| !only_idle || batch.slots.iter().any(|slot| is_idle(slot) == Some(true));
        self.classes.iter_mut().flat_map(|class| class.deferred.extract_if(.., is_wanted)).collect()
    }

    /// Deferred frees that are not complete yet.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let class = batch.key().map(|key| usize::from(key.class));
        if let Some(class) = class.and_then(|class| self.classes.get_mut(class)) {
            class.deferred.push(batch);
        }
    }

    /// A slab goes when all its slots are free and more than `max_retained_bytes` are idle.
    pub(super) fn evict(&mut self, number: u32, max_retained_bytes: usize, drops: &mut Drops) {
        if self.idle_bytes <= max_retained_bytes {
            return;
        }
        let Some(found) = self.slabs.get_mut(number as usize) else { return };
        let Some(gone) = found.take_if(|slab| slab.is_free()) else { return };
        let (position, len_bytes) = (gone.position, gone.memory.len_bytes());
        if let Some(class) = self.classes.get_mut(gone.class.index()) {
            class.partial.swap_remove(position);
            if let Some(&moved) = class.partial.get(position)
                && let Some(Some(moved)) = self.slabs.get_mut(moved as usize)
            {
                moved.position = position;
            }
        }
        self.vacant.push(number);
        self.starts.remove(&gone.memory.address());
        self.idle_bytes = self.idle_bytes.saturating_sub(len_bytes);
        self.slab_bytes = self.slab_bytes.saturating_sub(len_bytes);
        drops.slabs.push(gone);
    }

    /// Takes all slabs out that nothing uses.
    pub(super) fn evict_all(&mut self, drops: &mut Drops) {
        (0..self.slabs.len() as u32).for_each(|number| self.evict(number, 0, drops));
    }

    /// Adds a slab with free slots only. `pool` and `arena` are the numbers of both.
    pub(super) fn add(
        &mut self,
        class: SizeClass,
        memory: UsmBuffer,
        owner: Arc<dyn Owner>,
        (pool, arena): (u32, u16),
    ) {
        let key = SlotKey { pool, arena, class: class.number(), index: 0 };
        let number = self.vacant.pop().unwrap_or(self.slabs.len() as u32);
        let (start, len_bytes) = (memory.address(), memory.len_bytes());
        let mut slab = Slab::new(memory, class, owner, key, number, &self.queue);
        if self.classes.len() <= class.index() {
            self.classes.resize_with(class.index() + 1, ClassSlabs::default);
        }
        let partial = &mut self.classes[class.index()].partial;
        slab.position = partial.len();
        partial.push(number);
        if self.slabs.len() <= number as usize {
            self.slabs.push(None);
        }
        self.slabs[number as usize] = Some(slab);
        self.starts.insert(start, number);
        self.slab_bytes += len_bytes;
        self.idle_bytes += len_bytes;
    }

    /// What is known of an address, where it is in a slab of this arena.
    pub(super) fn address(&self, address: usize) -> Option<PooledAddress> {
        let (_, &number) = self.starts.range(..=address).next_back()?;
        self.slab(number)?.address(address)
    }

    pub(super) fn slab(&self, number: u32) -> Option<&Slab> {
        self.slabs.get(number as usize)?.as_ref()
    }

    pub(super) fn slabs(&self) -> impl Iterator<Item = &Slab> {
        self.slabs.iter().flatten()
    }
}
