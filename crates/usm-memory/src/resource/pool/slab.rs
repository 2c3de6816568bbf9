//! One piece of memory from upstream, cut into slots of one size.

use std::mem;
use std::sync::Arc;

use usm_core::Queue;

use super::size_class::SizeClass;
use crate::UsmBuffer;
use crate::buffer::{BlockTable, FreeSlot, Owner, SlotKey};
use crate::snapshot::PooledAddress;

/// A slab. Each of its slots is free here, or elsewhere: with a buffer, in the cache of a thread, or among the deferred frees.
pub(super) struct Slab {
    pub(super) memory: UsmBuffer,
    pub(super) class: SizeClass,
    /// Invariant M1: a bit for each slot that is here. All others have at most one `FreeSlot` or buffer elsewhere.
    free: u128,
    all: u128,
    /// Slots with a buffer or in the cache of a thread.
    pub(super) num_allocated: usize,
    /// Where the class has the slab in its list of those with free slots.
    pub(super) position: usize,
    /// Invariant M2: the table and `memory` are dropped only when all slots are here.
    pub(super) table: Arc<BlockTable>,
}

impl Slab {
    pub(super) fn new(
        memory: UsmBuffer,
        class: SizeClass,
        owner: Arc<dyn Owner>,
        key: SlotKey,
        number: u32,
        queue: &Queue,
    ) -> Self {
        // SAFETY: M2: the slab keeps the memory as long as a slot is elsewhere.
        let table = unsafe { BlockTable::new(owner, key, number, &memory, queue, class.slot_bytes()) };
        let all = u128::MAX.checked_shr(u128::BITS - table.num_slots() as u32).unwrap_or(0);
        Self { memory, class, free: all, all, num_allocated: 0, position: 0, table }
    }

    pub(super) fn has_free(&self) -> bool {
        self.free != 0
    }

    /// No buffer or thread has a slot.
    pub(super) fn is_idle(&self) -> bool {
        self.num_allocated == 0
    }

    /// All slots are here, so the slab may be freed.
    pub(super) fn is_free(&self) -> bool {
        self.free == self.all
    }

    /// Takes the free slot with the lowest address, for a buffer or the cache of a thread.
    pub(super) fn allocate(&mut self) -> Option<FreeSlot> {
        if !self.has_free() {
            return None;
        }
        let index = self.free.trailing_zeros();
        self.free &= self.free - 1;
        self.num_allocated += 1;
        // SAFETY: M1: the slot was here, and is not any more. M2: the table stays until the slot is back.
        unsafe { self.table.free_slot(index) }
    }

    /// A slot is here again. `Err` where it is none of this slab.
    pub(super) fn free(&mut self, slot: FreeSlot) -> Result<(), FreeSlot> {
        if !self.table.has(&slot) {
            return Err(slot);
        }
        self.free |= 1 << slot.key().index;
        Ok(())
    }

    /// What is known of an address, where it is in the slab.
    pub(super) fn address(&self, address: usize) -> Option<PooledAddress> {
        let offset_bytes = address.checked_sub(self.memory.address())?;
        if offset_bytes >= self.memory.len_bytes() {
            return None;
        }
        let allocation = self.table.allocation_in(offset_bytes / self.class.slot_bytes());
        Some(
            allocation.map_or(PooledAddress::Free, |(start, len_bytes, ..)| {
                PooledAddress::Allocated(start, len_bytes)
            }),
        )
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // M2: a slab with a slot elsewhere is never freed.
        if !self.is_free() {
            mem::forget((self.memory.clone(), Arc::clone(&self.table)));
        }
    }
}

#[cfg(test)]
mod tests {
    use usm_core::{Runtime, UsmKind};

    use super::*;
    use crate::resource::DirectResource;

    struct Nobody;

    impl Owner for Nobody {
        fn free(&self, _: FreeSlot, _: Option<Queue>) {}
    }

    #[test]
    fn each_slot_is_given_once_until_it_is_back() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let owner: Arc<dyn Owner> = Arc::new(Nobody);
        for len in [64, 100_000, 1 << 20, 3 << 20] {
            let class = SizeClass::of(len, 1).unwrap();
            let memory =
                |bytes| UsmBuffer::allocate_in(&DirectResource, &queue, UsmKind::Host, bytes).unwrap();
            let new = || {
                let key = SlotKey { pool: 0, arena: 0, class: class.number(), index: 0 };
                Slab::new(memory(class.slab_bytes()), class, Arc::clone(&owner), key, 0, &queue)
            };
            let (mut slab, mut other) = (new(), new());
            let slots: Vec<_> = (0..class.slots()).map_while(|_| slab.allocate()).collect();
            assert_eq!((slots.len(), slab.has_free(), slab.is_free()), (class.slots(), false, false));
            assert!((1..slots.len()).all(|index| slots[index] != slots[index - 1]));
            let stray = other.allocate().unwrap();
            let stray = slab.free(stray).expect_err("of another slab");
            other.free(stray).unwrap();
            assert!(slots.into_iter().all(|slot| slab.free(slot).is_ok()) && slab.is_free());
        }
    }
}
