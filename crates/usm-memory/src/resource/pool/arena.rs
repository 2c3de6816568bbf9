//! The part of a pool for one context, device and kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use usm_core::{Event, Queue, UsmKind};

use super::cache::ThreadCache;
use super::class::{ClassSlabs, Taken};
use super::deferred::{Stream, Time};
use super::size_class::SizeClass;
use super::slab::Slab;
use crate::UsmBuffer;
use crate::buffer::{FreeSlot, Owner, OwnerRef, same_queue};
use crate::snapshot::PooledAddress;

/// The slabs that any queue of one context and device may use.
pub(super) struct Arena {
    /// A queue of the context and device.
    pub(super) queue: Queue,
    pub(super) kind: UsmKind,
    /// By number, up to the largest that was asked for.
    classes: Vec<ClassSlabs>,
    /// Where each slab starts: its class and its number there.
    starts: BTreeMap<usize, (usize, u32)>,
    pub(super) slab_bytes: usize,
    /// Bytes of the slabs of which no slot is allocated.
    pub(super) idle_bytes: usize,
}

/// Deferred drops: what the pool drops after it has unlocked, since upstream resources, events and queues may call back.
#[derive(Default)]
pub(super) struct Drops {
    slabs: Vec<Slab>,
    pub(super) streams: Vec<Stream>,
    pub(super) queues: Vec<Queue>,
    pub(super) marks: Vec<(Event, Time)>,
    pub(super) caches: Vec<Arc<ThreadCache>>,
    /// The last field: a pool that is dropped with its last slot.
    pub(super) owner: Option<Arc<dyn Owner>>,
}

impl Drops {
    /// Bytes of the slabs.
    pub(super) fn slab_bytes(&self) -> usize {
        self.slabs.iter().map(|slab| slab.memory.len_bytes()).sum()
    }
}

impl Arena {
    pub(super) fn new(queue: &Queue, kind: UsmKind) -> Self {
        let (classes, starts) = (Vec::new(), BTreeMap::new());
        Self { queue: queue.clone(), kind, classes, starts, slab_bytes: 0, idle_bytes: 0 }
    }

    /// Whether buffers of that queue and kind come from here.
    pub(super) fn suits(&self, queue: &Queue, kind: UsmKind) -> bool {
        let is_near = || self.queue.device() == queue.device() && self.queue.context() == queue.context();
        self.kind == kind && (same_queue(&self.queue, queue) || is_near())
    }

    /// A slot that nothing uses.
    pub(super) fn allocate(&mut self, class: SizeClass) -> Option<FreeSlot> {
        let taken = self.class_mut(class)?.allocate()?;
        Some(self.count_taken(taken, class))
    }

    /// A slot that only earlier work on the same in-order queue uses.
    pub(super) fn allocate_in_order(
        &mut self,
        class: SizeClass,
        queue: &Queue,
        drops: &mut Drops,
    ) -> Option<FreeSlot> {
        let taken = self.class_mut(class)?.allocate_in_order(queue, &mut drops.streams)?;
        Some(self.count_taken(taken, class))
    }

    fn count_taken(&mut self, taken: Taken, class: SizeClass) -> FreeSlot {
        if taken.was_idle {
            self.idle_bytes = self.idle_bytes.saturating_sub(class.slab_bytes());
        }
        taken.slot
    }

    /// Takes an allocated slot back. More than `max_idle_bytes` of idle slabs go to `drops`.
    pub(super) fn free(
        &mut self,
        slot: FreeSlot,
        pending: Option<Queue>,
        now: Time,
        max_idle_bytes: usize,
        drops: &mut Drops,
    ) {
        let Some(number) = slot.number() else { return };
        let class = SizeClass::numbered(number.class);
        let slabs = self.class_mut(class);
        if slabs.is_some_and(|slabs| slabs.free(slot, pending, now, &mut drops.queues)) {
            self.idle_bytes += class.slab_bytes();
            self.evict(class, number.slab, max_idle_bytes, drops);
        }
    }

    /// A slab goes when all its slots are free and more than `max_idle_bytes` are idle.
    pub(super) fn evict(&mut self, class: SizeClass, slab: u32, max_idle_bytes: usize, drops: &mut Drops) {
        if self.idle_bytes <= max_idle_bytes {
            return;
        }
        if let Some(gone) = self.class_mut(class).and_then(|slabs| slabs.remove_free(slab)) {
            self.starts.remove(&gone.memory.address());
            self.idle_bytes = self.idle_bytes.saturating_sub(gone.memory.len_bytes());
            self.slab_bytes = self.slab_bytes.saturating_sub(gone.memory.len_bytes());
            drops.slabs.push(gone);
        }
    }

    /// Takes all slabs out that nothing uses.
    pub(super) fn evict_all(&mut self, drops: &mut Drops) {
        let is_free = |(_, slab): &(u32, &Slab)| slab.is_free();
        let slabs =
            |slabs: &ClassSlabs| slabs.slabs().filter(is_free).map(|(slab, _)| slab).collect::<Vec<_>>();
        let free: Vec<_> = self.classes.iter().map(|class| (class.class, slabs(class))).collect();
        for (class, slabs) in free {
            slabs.into_iter().for_each(|slab| self.evict(class, slab, 0, drops));
        }
    }

    /// Adds a slab.
    pub(super) fn add(&mut self, class: SizeClass, memory: UsmBuffer, owner: OwnerRef, arena: u32) {
        for number in self.classes.len() as u32..=class.number() {
            self.classes.push(ClassSlabs::new(SizeClass::numbered(number)));
        }
        let (start, slab_bytes) = (memory.address(), memory.len_bytes());
        let Some(slabs) = self.classes.get_mut(class.index()) else { return };
        let slab = slabs.add(memory, owner, arena, &self.queue);
        self.slab_bytes += slab_bytes;
        self.idle_bytes += slab_bytes;
        self.starts.insert(start, (class.index(), slab));
    }

    pub(super) fn num_slabs(&self) -> usize {
        self.starts.len()
    }

    /// What is known of an address, where it is in a slab of this arena.
    pub(super) fn address(&self, address: usize) -> Option<PooledAddress> {
        let (_, &(class, slab)) = self.starts.range(..=address).next_back()?;
        self.classes.get(class)?.slab(slab)?.address(address)
    }

    pub(super) fn class_mut(&mut self, class: SizeClass) -> Option<&mut ClassSlabs> {
        self.classes.get_mut(class.index())
    }

    pub(super) fn classes(&self) -> &[ClassSlabs] {
        &self.classes
    }
}
