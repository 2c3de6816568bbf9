//! What all slots of a slab share: where the slab is, and the pool that the slots go back to.

use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::Queue;
use usm_core::fork::{ForkMutex, ForkOnce};

use super::FreeSlot;
use super::hooks::ReleaseHooks;
use crate::tracker::OperationsOfSlots;

/// A pool, to which slots go back.
pub(crate) trait Owner: Send + Sync {
    /// Takes a slot back. Work may still be pending on it on the queue `pending`. Does not wait. The caller keeps the owner meanwhile.
    fn free(&self, slot: FreeSlot, pending: Option<Queue>);
}

/// Where a slot is. Only the pool understands the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotKey {
    /// No other pool of the process has this number, or it is 0: no thread caches slots of the pool.
    pub(crate) pool: u32,
    pub(crate) arena: u16,
    pub(crate) class: u8,
    /// In the slab.
    pub(crate) index: u8,
}

/// Gives a slot without pending work to the cache of this thread. `Err` where the cache has no capacity for it. One function for all
/// pools: they set it before they have slots.
pub(crate) static FREE_TO_CACHE: ForkOnce<fn(FreeSlot) -> Result<(), FreeSlot>> = ForkOnce::new();

/// What all slots of a slab share.
pub(super) struct SlabFacts {
    /// Each slab keeps its pool, so that a closed pool stays until its last buffer is gone.
    pub(super) owner: Arc<dyn Owner>,
    /// The number of the slab in its arena.
    pub(super) number: u32,
    /// The queue of all slots that name no other.
    pub(super) queue: Queue,
    pub(super) slot_bytes: usize,
    /// The length of the slab, where other processes may have all of it open from the start.
    pub(super) shared_bytes: Option<usize>,
    /// Invariant K2: the bytes of all slots, from `start` on, are live USM of the slots' kind, in the context of `queue`, as long as a
    /// slot has a `FreeSlot` or a holder. No allocation is longer than `slot_bytes`.
    pub(super) start: NonNull<u8>,
    /// Hooks of slots. Most programs have none.
    pub(super) hooks: ForkMutex<Vec<(u8, ReleaseHooks)>>,
    /// Operations under way on slots.
    pub(super) operations: ForkMutex<OperationsOfSlots>,
}

// SAFETY: K2: the address is only handed out; the rest may cross threads.
unsafe impl Send for SlabFacts {}
// SAFETY: K2: as for Send.
unsafe impl Sync for SlabFacts {}

impl SlabFacts {
    #[inline]
    pub(super) fn start_of(&self, index: u8) -> NonNull<u8> {
        // SAFETY: K2: a slot lies within the slab.
        unsafe { self.start.add(usize::from(index) * self.slot_bytes) }
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
