//! The block table of a slab: the records of all its slots in one piece, made once for all buffers that the slots will have.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use usm_core::Queue;
use usm_core::fork::ForkMutex;

use super::block::Block;
use super::slab_facts::{Owner, SlabFacts, SlotKey};
use super::{FreeSlot, UsmBuffer};
use crate::snapshot::{TagId, Timestamp};

/// The slots of a slab.
pub(crate) struct BlockTable {
    /// Invariant K1: each slot leads to `facts`, and to its own index here.
    slots: Box<[Block]>,
    facts: Arc<SlabFacts>,
}

impl BlockTable {
    /// Slots of `slot_bytes` bytes each for all of `slab`, at most 128: `key` is that of the first one, `number` that of the slab. The
    /// queue is one of the slab's context.
    ///
    /// # Safety
    /// 1. The slab outlives each `FreeSlot` and each buffer of the table (K2).
    pub(crate) unsafe fn new(
        owner: Arc<dyn Owner>,
        key: SlotKey,
        number: u32,
        slab: &UsmBuffer,
        queue: &Queue,
        slot_bytes: usize,
    ) -> Arc<Self> {
        let (queue, start) = (queue.clone(), slab.as_ptr());
        let (hooks, operations) = (ForkMutex::default(), ForkMutex::default());
        let shared_bytes = slab.block().state().is_shared().then(|| slab.len_bytes());
        let facts =
            Arc::new(SlabFacts { owner, number, queue, slot_bytes, shared_bytes, start, hooks, operations });
        let count = (slab.len_bytes() / slot_bytes).min(128);
        // K1.
        let slot = |index| Block::slot(NonNull::from(&*facts), SlotKey { index, ..key }, slab.kind());
        let slots = (0..count as u8).map(slot).collect();
        Arc::new(Self { slots, facts })
    }

    /// The right to a slot. `None` where the table has no such slot.
    ///
    /// # Safety
    /// 1. The slot has neither a holder nor another `FreeSlot`.
    /// 2. The table outlives the result and its buffers.
    pub(crate) unsafe fn free_slot(&self, index: u32) -> Option<FreeSlot> {
        let slot = self.slots.get(index as usize)?;
        // SAFETY: E1: as said (1, 2).
        Some(unsafe { FreeSlot::new(NonNull::from(slot)) })
    }

    pub(crate) fn num_slots(&self) -> usize {
        self.slots.len()
    }

    /// Whether a slot is one of this table.
    pub(crate) fn has(&self, slot: &FreeSlot) -> bool {
        slot.facts().is_some_and(|facts| ptr::eq(&*self.facts, facts))
    }

    /// What a slot has at the moment: address, length, label and time of an allocation.
    pub(crate) fn allocation_in(&self, index: usize) -> Option<(usize, usize, TagId, Timestamp)> {
        let slot = self.slots.get(index)?;
        let (len_bytes, tag, time) = slot.allocation()?;
        Some((slot.start().addr().get(), len_bytes, tag, time))
    }

    /// All allocations in slots.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = (usize, usize, TagId, Timestamp)> {
        (0..self.slots.len()).filter_map(|index| self.allocation_in(index))
    }
}
