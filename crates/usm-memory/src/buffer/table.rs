//! The block table of a slab: the records of all its slots in one piece, made once for all buffers that the slots will have.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use usm_core::Queue;
use usm_core::fork::{ForkMutex, ForkOnce};

use super::block::Block;
use super::hooks::ReleaseHooks;
use super::{FreeSlot, UsmBuffer};
use crate::snapshot::{TagId, Timestamp};

/// Which slab of a pool a table is for. Only the pool understands the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlabNumber {
    pub(crate) arena: u32,
    pub(crate) class: u32,
    pub(crate) slab: u32,
}

/// A pool, to which slots go back.
pub(crate) trait Owner: Send + Sync {
    /// Takes a slot back. Work may still be pending on it on the queue `pending`. Does not wait. The caller keeps the owner meanwhile.
    fn free(&self, slot: FreeSlot, pending: Option<Queue>);
}

/// A pool, and the number that caches of threads know it by.
#[derive(Clone)]
pub(crate) struct OwnerRef {
    /// No other pool of the process has this number, or it is 0: no thread caches slots of the pool.
    pub(crate) id: u32,
    pub(crate) owner: Weak<dyn Owner>,
}

/// Where threads cache a slot: the number of the pool, or 0 for nowhere, the arena, and the size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheKey {
    pub(crate) pool: u32,
    pub(crate) arena: u16,
    pub(crate) class: u8,
}

impl CacheKey {
    fn new(pool: u32, number: SlabNumber) -> Self {
        match (u16::try_from(number.arena), u8::try_from(number.class)) {
            (Ok(arena), Ok(class)) => Self { pool, arena, class },
            _ => Self::default(),
        }
    }
}

/// Gives a slot without pending work to the cache of this thread. `Err` where the cache has no capacity for it. One function for all
/// pools: they set it before they have slots.
pub(crate) static FREE_TO_CACHE: ForkOnce<fn(FreeSlot) -> Result<(), FreeSlot>> = ForkOnce::new();

/// The slots of a slab.
pub(crate) struct BlockTable {
    pub(super) owner: OwnerRef,
    pub(super) number: SlabNumber,
    /// The queue of all slots that name no other.
    queue: Queue,
    pub(super) slot_bytes: usize,
    /// Invariant K1: each slot leads to this table, and lies in it.
    slots: Box<[Block]>,
    /// Invariant K2: `slots.len() * slot_bytes` bytes from `start` on are live USM of the slots' kind, in the context of `queue`, as long as a slot
    /// has a `FreeSlot` or a holder. No allocation is longer than `slot_bytes`.
    start: NonNull<u8>,
    /// Hooks of slots. Most programs have none.
    hooks: ForkMutex<Vec<(u8, ReleaseHooks)>>,
}

// SAFETY: K2: the address is only handed out; the rest may cross threads.
unsafe impl Send for BlockTable {}
// SAFETY: as for Send.
unsafe impl Sync for BlockTable {}

impl BlockTable {
    /// Slots of `slot_bytes` bytes each for all of `slab`, at most 128. The queue is one of the slab's context.
    ///
    /// # Safety
    /// 1. The slab outlives each `FreeSlot` and each buffer of the table (K2).
    pub(crate) unsafe fn new(
        owner: OwnerRef,
        number: SlabNumber,
        slab: &UsmBuffer,
        queue: &Queue,
        slot_bytes: usize,
    ) -> Arc<Self> {
        let count = (slab.len_bytes() / slot_bytes).min(128);
        let key = CacheKey::new(owner.id, number);
        Arc::new_cyclic(|table: &Weak<Self>| {
            // K1: the table will be at this address.
            let table = NonNull::new(table.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
            Self {
                owner,
                number,
                queue: queue.clone(),
                slots: (0..count).map(|index| Block::slot(table, key, index as u8, slab.kind())).collect(),
                start: slab.as_ptr(),
                slot_bytes,
                hooks: ForkMutex::default(),
            }
        })
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

    #[inline]
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    #[inline]
    pub(super) fn start_of(&self, index: u8) -> NonNull<u8> {
        // SAFETY: K2: a slot lies within the slab.
        unsafe { self.start.add(usize::from(index) * self.slot_bytes) }
    }

    /// What a slot has at the moment: address, length, label and time of an allocation.
    pub(crate) fn allocation_in(&self, index: usize) -> Option<(usize, usize, TagId, Timestamp)> {
        let (len_bytes, tag, time) = self.slots.get(index)?.allocation()?;
        Some((self.start.addr().get() + index * self.slot_bytes, len_bytes, tag, time))
    }

    /// All allocations in slots.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = (usize, usize, TagId, Timestamp)> {
        (0..self.slots.len()).filter_map(|index| self.allocation_in(index))
    }

    /// Adds to the hooks of a slot.
    pub(super) fn with_hooks(&self, index: u8, add: impl FnOnce(&mut ReleaseHooks)) {
        let mut hooks = self.hooks.lock();
        match hooks.iter_mut().find(|(of, _)| *of == index) {
            Some((_, hooks)) => add(hooks),
            None => {
                let mut first = ReleaseHooks::default();
                add(&mut first);
                hooks.push((index, first));
            }
        }
    }

    #[cold]
    pub(super) fn take_hooks(&self, index: u8) -> Option<ReleaseHooks> {
        let mut hooks = self.hooks.lock();
        let at = hooks.iter().position(|(of, _)| *of == index)?;
        Some(hooks.swap_remove(at).1)
    }
}

// Without the slots: only holders may read all of a record.
impl fmt::Debug for BlockTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.slots.len();
        f.debug_struct("BlockTable")
            .field("number", &self.number)
            .field("slots", &slots)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheKey, SlabNumber};

    #[test]
    fn numbers_that_do_not_fit_are_cached_nowhere() {
        let key = |arena, class| CacheKey::new(7, SlabNumber { arena, class, slab: 3 });
        assert_eq!(key(2, 5), CacheKey { pool: 7, arena: 2, class: 5 });
        assert_eq!(key(0xffff, 0xff), CacheKey { pool: 7, arena: 0xffff, class: 0xff });
        assert_eq!((key(0x1_0000, 0), key(0, 0x100)), (CacheKey::default(), CacheKey::default()));
    }
}
