//! What all slots of a slab share: where the slab is, and the pool that the slots go back to.

use std::ptr::NonNull;
use std::sync::Weak;

use usm_core::Queue;
use usm_core::fork::{ForkMutex, ForkOnce};

use super::FreeSlot;
use super::hooks::ReleaseHooks;

/// Which slab of a pool it is. Only the pool understands the numbers.
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

/// What all slots of a slab share.
pub(super) struct SlabFacts {
    pub(super) owner: OwnerRef,
    pub(super) number: SlabNumber,
    /// The queue of all slots that name no other.
    pub(super) queue: Queue,
    pub(super) slot_bytes: usize,
    /// Invariant K2: the bytes of all slots, from `start` on, are live USM of the slots' kind, in the context of `queue`, as long as a
    /// slot has a `FreeSlot` or a holder. No allocation is longer than `slot_bytes`.
    pub(super) start: NonNull<u8>,
    /// Hooks of slots. Most programs have none.
    pub(super) hooks: ForkMutex<Vec<(u8, ReleaseHooks)>>,
}

// SAFETY: K2: the address is only handed out; the rest may cross threads.
unsafe impl Send for SlabFacts {}
// SAFETY: K2: as for Send.
unsafe impl Sync for SlabFacts {}

impl SlabFacts {
    /// Where threads cache the slots.
    pub(super) fn key(&self) -> CacheKey {
        CacheKey::new(self.owner.id, self.number)
    }

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
