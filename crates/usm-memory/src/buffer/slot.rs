//! Slots of a block table: each goes from its pool to a buffer and back, again and again.

use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use usm_core::{Queue, drops};

use super::block::{Block, Memory, Parts};
use super::held::{self, Held};
use super::hooks::ReleaseHooks;
use super::slab_facts::{FREE_TO_CACHE, SlabFacts, SlotKey};
use super::{BlockRef, UsmBuffer};
use crate::snapshot::{self, TagId, Timestamp};
use crate::tracker::{INHERITED, PUBLISHED, SUBMITTED};

/// The right to a slot that no buffer has. A slot that is lost is never used again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FreeSlot {
    /// Invariant E1: a slot without holders, of which this is the only `FreeSlot`. Its table outlives this value.
    block: NonNull<Block>,
}

// SAFETY: E1: the slot is this value's alone, whichever thread has it.
unsafe impl Send for FreeSlot {}

impl FreeSlot {
    /// # Safety
    /// 1. E1 holds for the slot, but for a last holder that nobody uses again.
    #[inline(always)]
    pub(super) unsafe fn new(block: NonNull<Block>) -> Self {
        Self { block }
    }

    #[inline(always)]
    fn block(&self) -> &Block {
        // SAFETY: E1.
        unsafe { self.block.as_ref() }
    }

    #[inline(always)]
    pub(super) fn facts(&self) -> Option<&SlabFacts> {
        match self.block().parts() {
            Parts::Slot(slab, _) => Some(slab),
            Parts::Own(_) => None,
        }
    }

    /// Where the slot is.
    #[inline(always)]
    pub(crate) fn key(&self) -> SlotKey {
        match self.block().memory {
            Memory::Slot { key, .. } => key,
            Memory::Own(_) => SlotKey::default(),
        }
    }

    /// The number of the slab in its arena.
    #[inline]
    pub(crate) fn slab(&self) -> u32 {
        self.facts().map_or(u32::MAX, |facts| facts.number)
    }

    /// Bytes of the allocation that was in the slot last.
    #[inline]
    pub(crate) fn len_bytes(&self) -> usize {
        self.block().len_bytes()
    }

    /// Changes the queue that the slot has beside that of its slab. Returns the one before.
    fn replace_queue(&mut self, queue: Option<Queue>) -> Option<Queue> {
        // SAFETY: B2: there is no holder, and this is the only `FreeSlot` (E1), which is borrowed as a whole.
        mem::replace(unsafe { &mut *self.block().queue.get() }, queue)
    }

    /// A buffer of `len_bytes` bytes in the slot, for a queue of the slab's context. The slot has at least as many bytes. Guards wait for
    /// earlier work on that queue where `inherits_work`.
    #[inline(always)]
    pub(crate) fn allocate(mut self, queue: &Queue, len_bytes: usize, inherits_work: bool) -> UsmBuffer {
        if !ptr::eq(self.block().queue().context(), queue.context()) {
            self.replace_queue(Some(queue.clone()));
        }
        let slot_bytes = self.facts().map_or(0, |slab| slab.slot_bytes);
        let block = self.block();
        debug_assert!(len_bytes <= slot_bytes);
        // K2.
        block.len_bytes.store(len_bytes.min(slot_bytes), Ordering::Relaxed);
        block.state.reset(if inherits_work { INHERITED } else { 0 });
        let tag = TagId::current();
        block.tag.store(tag.number(), Ordering::Relaxed);
        block.allocated_at.store(Timestamp::now().number(), Ordering::Relaxed);
        if snapshot::is_recording() {
            snapshot::record(false, block.start().addr().get(), len_bytes, block.kind(), tag);
        }
        // B1: the holder below.
        block.holders.store(1, Ordering::Release);
        // SAFETY: B1: the block counts this holder. E1: the table stays as long.
        UsmBuffer::over_all(unsafe { BlockRef::of_slot(self.block) })
    }

    /// Ends the buffer whose last holder was dropped: runs its hooks, and gives the slot to the cache of this thread or to the pool.
    #[inline(always)]
    pub(super) fn free(mut self) {
        let block = self.block();
        if !block.state.is_done() || snapshot::is_recording() {
            return self.free_after_work();
        }
        block.holders.store(0, Ordering::Release);
        // Dropped last, since a queue that drops may call anything.
        let _queue = self.replace_queue(None);
        if let Err(slot) = self.free_to_cache() {
            slot.free_to_owner(None);
        }
    }

    #[cold]
    #[inline(never)]
    fn free_after_work(mut self) {
        let block = self.block();
        // Dropped last: the hooks that come after the release.
        let mut hooks = match block.parts() {
            Parts::Slot(slab, index) if block.state.is_hooked() => slab.take_hooks(index),
            _ => None,
        };
        hooks.iter_mut().for_each(ReleaseHooks::run_before);
        let undone = block.state.pending();
        if undone & PUBLISHED != 0 {
            block.forget_shared(true);
        }
        let external = (undone & !SUBMITTED != 0).then(|| block.queue().clone());
        let pending = match block.parts() {
            Parts::Slot(slab, index) if undone & SUBMITTED != 0 => {
                // The lock ends with the statement: what follows may wait.
                let submitted = slab.operations.lock().take(index);
                submitted.into_order_of(external.as_ref())
            }
            _ => Ok(external),
        };
        // A slot that may be in use and cannot be waited for is lost.
        let Ok(pending) = pending else { return };
        // Before somebody else gets the same address.
        if snapshot::is_recording() {
            let (address, tag) = (block.start().addr().get(), block.slot_tag().0);
            snapshot::record(true, address, block.len_bytes(), block.kind(), tag);
        }
        let is_shared = block.state.is_shared();
        block.state.reset(0);
        block.holders.store(0, Ordering::Release);
        let _queue = self.replace_queue(None);
        if is_shared {
            // Its content goes now.
            if pending.is_none_or(|queue| drops::wait_twice(&queue).is_ok()) {
                held::release(self);
            }
            return;
        }
        let slot = if pending.is_none() { self.free_to_cache() } else { Err(self) };
        if let Err(slot) = slot {
            slot.free_to_owner(pending);
        }
    }

    #[inline(always)]
    fn free_to_cache(self) -> Result<(), Self> {
        match FREE_TO_CACHE.get() {
            Some(free) => free(self),
            None => Err(self),
        }
    }

    #[cold]
    fn free_to_owner(self, pending: Option<Queue>) {
        // The slab, which keeps the owner, may go with its last slot.
        if let Some(owner) = self.facts().map(|slab| Arc::clone(&slab.owner)) {
            owner.free(self, pending);
        }
    }
}

impl Held for FreeSlot {
    fn may_go(&self) -> bool {
        self.block().end_share()
    }

    fn go(self: Box<Self>) {
        self.free_to_owner(None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use usm_core::{Runtime, UsmKind};

    use crate::UsmBuffer;
    use crate::resource::{DirectResource, PoolOptions, PoolResource};

    #[test]
    fn hooks_are_no_work_and_run_once() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let allocate = || UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 64).unwrap();
        let is_done = |buffer: &UsmBuffer| buffer.block().state().is_done();
        let count = Arc::new(AtomicU32::new(0));
        let first = allocate();
        let (address, counted) = (first.address(), Arc::clone(&count));
        first.after_release(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert!(first.block().is_slot() && first.block().has_no_submitted());
        assert_eq!(first.block().state().pending(), 0);
        assert!(!is_done(&first));
        drop(first);
        let second = allocate();
        assert_eq!(second.address(), address);
        assert!(is_done(&second));
        drop(second);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
