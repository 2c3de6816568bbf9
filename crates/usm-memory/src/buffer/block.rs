//! The record of a memory range: who owns the memory, what may still use it, and when it was allocated.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

use usm_core::fork::ForkMutex;
use usm_core::{Allocation, Queue, UsmKind};

use super::hooks::ReleaseHooks;
use super::lease::Lease;
use super::live_borrows::BorrowCount;
use super::slab_facts::{SlabFacts, SlotKey};
use crate::snapshot::{self, Facts, Holder, Moment, Registration, TagId, Timestamp};
use crate::{Result, drops, waits};

/// Who frees the memory of a buffer.
#[non_exhaustive]
pub enum Ownership {
    /// We do, with the last buffer.
    Owned(Allocation),
    /// An external owner, which is kept alive until the last buffer is gone.
    Borrowed(Arc<dyn Any + Send + Sync>),
    /// A memory resource does, which gets the memory back with the last buffer.
    Leased(Lease),
}

impl Ownership {
    fn holder(&self) -> Holder {
        match self {
            Self::Owned(_) => Holder::Owned,
            Self::Borrowed(_) => Holder::Borrowed,
            Self::Leased(_) => Holder::Leased,
        }
    }
}

impl fmt::Debug for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owned(_) => "Owned",
            Self::Borrowed(_) => "Borrowed",
            Self::Leased(_) => "Leased",
        })
    }
}

/// External code may have work pending on the queue that uses the memory. It keeps the buffer as long as it has.
const PUBLISHED: u8 = 1;
/// Work submitted before the slot was allocated may still use the memory. The first wait clears it: no more of it comes.
pub(super) const INHERITED: u8 = 2;
/// Work of the buffer's users may use the memory even after the buffer is gone.
const RELEASED: u8 = 4;
/// The slab has hooks for this slot.
pub(super) const HOOKED: u8 = 8;

/// The record of one memory range, alone in a box or a slot of a [`BlockTable`](super::BlockTable). A program may have millions of records, so a record
/// has 48 bytes.
pub(crate) struct Block {
    /// Invariant B1: the number of [`BlockRef`](super::BlockRef)s.
    pub(super) holders: AtomicU32,
    /// What is not done with the memory: of `PUBLISHED`, `INHERITED`, `RELEASED` and `HOOKED`.
    pub(super) undone: AtomicU8,
    kind: UsmKind,
    pub(super) len_bytes: AtomicUsize,
    /// The queue of a buffer in a slot, where it is not the queue of the slab. Invariant B2: only the [`FreeSlot`](super::FreeSlot) of a slot
    /// changes it, and no `FreeSlot` exists while the block has holders.
    pub(super) queue: UnsafeCell<Option<Queue>>,
    pub(super) memory: Memory,
    /// Label and time of the allocation in a slot.
    pub(super) tag: AtomicU32,
    pub(super) allocated_at: AtomicU32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Block>() == 48);

/// Where the memory is.
pub(super) enum Memory {
    Own(Box<Own>),
    /// Invariant B3: the block is the slot of this slab with this index, and the facts are there as long as the block. The key is here,
    /// too: the end of a buffer does not wait for the facts, which are in no cache when a program has a million buffers.
    Slot {
        slab: NonNull<SlabFacts>,
        key: SlotKey,
    },
}

/// A block that is no slot.
pub(super) struct Own {
    /// Invariant B4: `start .. start + len_bytes` is live USM of the block's kind, in the context of its queue, as long as this value
    /// lives.
    start: NonNull<u8>,
    queue: Queue,
    ownership: Ownership,
    registration: Registration,
    _count: Option<BorrowCount>,
    /// The last field: hooks that come after the release run when this is dropped.
    hooks: ForkMutex<ReleaseHooks>,
}

/// [`Memory`], by reference.
pub(super) enum Parts<'a> {
    Own(&'a Own),
    Slot(&'a SlabFacts, u8),
}

/// The ownership of all slots.
static POOLED: Ownership = Ownership::Leased(Lease::OF_POOL);

// SAFETY: B4: memory may be reached from any thread, in the order that the borrow table keeps. B2: the queue does not change while
// others read it.
unsafe impl Send for Block {}
// SAFETY: B4 and B2, as for Send.
unsafe impl Sync for Block {}

impl Block {
    /// A block that is no slot.
    ///
    /// # Safety
    /// 1. B4 holds for the arguments as long as `ownership` lives.
    pub(super) unsafe fn new(
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        queue: &Queue,
        ownership: Ownership,
    ) -> Self {
        let (holder, tag, address) = (ownership.holder(), TagId::current(), start.addr().get());
        if snapshot::is_recording() {
            snapshot::record(false, address, len_bytes, kind, tag);
        }
        let is_borrowed = holder == Holder::Borrowed;
        let (born, queue) = (Moment::now_coarse(), queue.clone());
        let facts = Facts { address, len_bytes, kind, holder, queue: queue.clone(), born, tag };
        let own = Own {
            start,
            queue,
            ownership,
            registration: Registration::new(facts),
            _count: is_borrowed.then(BorrowCount::new),
            hooks: ForkMutex::default(),
        };
        let block = Self::over(Memory::Own(Box::new(own)), kind, 1);
        block.len_bytes.store(len_bytes, Ordering::Relaxed);
        block.undone.store(if is_borrowed { PUBLISHED } else { 0 }, Ordering::Relaxed);
        block
    }

    /// A slot without an allocation.
    pub(super) fn slot(slab: NonNull<SlabFacts>, key: SlotKey, kind: UsmKind) -> Self {
        Self::over(Memory::Slot { slab, key }, kind, 0)
    }

    fn over(memory: Memory, kind: UsmKind, holders: u32) -> Self {
        Self {
            holders: AtomicU32::new(holders),
            undone: AtomicU8::new(0),
            kind,
            len_bytes: AtomicUsize::new(0),
            queue: UnsafeCell::new(None),
            memory,
            tag: AtomicU32::new(0),
            allocated_at: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn parts(&self) -> Parts<'_> {
        match &self.memory {
            Memory::Own(own) => Parts::Own(own),
            // SAFETY: B3: the facts are there as long as the block.
            Memory::Slot { slab, key } => Parts::Slot(unsafe { slab.as_ref() }, key.index),
        }
    }

    #[inline]
    pub(super) fn is_slot(&self) -> bool {
        matches!(self.memory, Memory::Slot { .. })
    }

    #[inline]
    pub(super) fn start(&self) -> NonNull<u8> {
        match self.parts() {
            Parts::Own(own) => own.start,
            Parts::Slot(slab, index) => slab.start_of(index),
        }
    }

    pub(super) fn set_tag(&self, tag: TagId) {
        match &self.memory {
            Memory::Own(own) => own.registration.set_tag(tag),
            Memory::Slot { .. } => self.tag.store(tag.number(), Ordering::Relaxed),
        }
    }

    /// Label and time of the allocation in a slot.
    pub(super) fn slot_tag(&self) -> (TagId, Timestamp) {
        let tag = TagId::of_number(self.tag.load(Ordering::Relaxed));
        (tag, Timestamp::of_number(self.allocated_at.load(Ordering::Relaxed)))
    }

    /// Length, label and time of the allocation in a slot, where it has one.
    pub(super) fn allocation(&self) -> Option<(usize, TagId, Timestamp)> {
        let is_held = self.holders.load(Ordering::Acquire) != 0;
        let (tag, time) = self.slot_tag();
        is_held.then(|| (self.len_bytes(), tag, time))
    }

    /// Adds to the hooks of the block.
    pub(super) fn with_hooks(&self, add: impl FnOnce(&mut ReleaseHooks)) {
        match self.parts() {
            Parts::Own(own) => add(&mut own.hooks.lock()),
            Parts::Slot(slab, index) => {
                self.undone.fetch_or(HOOKED, Ordering::Relaxed);
                slab.with_hooks(index, add);
            }
        }
    }

    #[inline]
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Whether host code of this library may follow pointers into the block, however it is called to users. Devices of one
    /// context are of one platform, which allocates device USM in this process for all of them or for none.
    pub(crate) fn is_host_reachable(&self) -> bool {
        self.queue().device().host_reachable(self.kind)
    }

    #[inline]
    pub(crate) fn queue(&self) -> &Queue {
        match self.parts() {
            Parts::Own(own) => &own.queue,
            Parts::Slot(slab, _) => {
                // SAFETY: B2: the caller has a holder or the `FreeSlot`, so nobody else changes the queue.
                let queue = unsafe { &*self.queue.get() };
                queue.as_ref().unwrap_or(&slab.queue)
            }
        }
    }

    pub(crate) fn ownership(&self) -> &Ownership {
        match &self.memory {
            Memory::Own(own) => &own.ownership,
            Memory::Slot { .. } => &POOLED,
        }
    }

    /// Waits for work of earlier owners of the memory, of which external code cannot know. An error where a forked child does not have
    /// the memory.
    pub(crate) fn publish(&self) -> Result<()> {
        self.queue().check_mapped(self.kind)?;
        if self.pending() & INHERITED != 0 {
            self.wait_for_others()?;
        } else if let Ownership::Leased(lease) = self.ownership() {
            lease.wait_for_others()?;
        }
        self.undone.fetch_or(PUBLISHED, Ordering::Release);
        Ok(())
    }

    /// What was submitted to `queue`, of the same context, so far may use the memory until it is complete, even when all buffers
    /// are gone by then. May wait for that queue.
    pub(crate) fn release_on(&self, queue: &Queue) -> Result<()> {
        if !same_queue(queue, self.queue()) {
            // One queue is enough to remember when ours goes on after the other one.
            let ordered = queue.barrier(&[]).and_then(|event| self.queue().barrier(&[event]));
            if ordered.is_err() {
                return Ok(queue.wait()?);
            }
        }
        self.undone.fetch_or(RELEASED, Ordering::Release);
        Ok(())
    }

    /// What may be pending on the queue: of `PUBLISHED`, `INHERITED` and `RELEASED`.
    #[inline]
    pub(super) fn pending(&self) -> u8 {
        self.undone.load(Ordering::Acquire) & !HOOKED
    }

    /// Whether there is nothing that [`wait_for_others`](Self::wait_for_others) would wait for.
    #[inline]
    pub(crate) fn has_no_others(&self) -> bool {
        (self.pending() == 0 || self.queue().is_surely_idle())
            && !usm_core::fork::is_forked_child()
            && match self.ownership() {
                Ownership::Leased(lease) => lease.has_no_others(),
                _ => true,
            }
    }

    /// Waits for what others may have submitted to the queue. Our own operations are synchronous. An error where a forked
    /// child does not have the memory.
    pub(crate) fn wait_for_others(&self) -> Result<()> {
        self.queue().check_mapped(self.kind)?;
        if self.pending() != 0 {
            waits::for_others(self.queue())?;
            self.undone.fetch_and(!INHERITED, Ordering::Release);
        }
        match self.ownership() {
            Ownership::Leased(lease) => lease.wait_for_others(),
            _ => Ok(()),
        }
    }

    /// Waits until an operation on a queue can start at once, as a guard of the memory has already done for external work.
    pub(crate) fn wait_before_submit(&self, queue: &Queue) -> Result<()> {
        let has_waited = self.pending() != 0 && same_queue(queue, self.queue());
        if has_waited { Ok(()) } else { waits::before_submit(queue) }
    }

    /// The pointer to a byte of the block, or one past its end.
    pub(crate) fn pointer_at(&self, offset_bytes: usize) -> NonNull<u8> {
        debug_assert!(offset_bytes <= self.len_bytes());
        // SAFETY: B4 or K2: callers pass offsets within the block, or its length (U1 of buffers, G1 of guards).
        unsafe { self.start().add(offset_bytes) }
    }
}

impl Own {
    /// Waits until nothing uses memory that is about to be freed. Memory that cannot be waited for is never freed.
    fn settle_or_leak(&mut self) {
        if drops::wait_twice(&self.queue).is_err() {
            let nobody = Ownership::Borrowed(Arc::new(()));
            mem::forget(mem::replace(&mut self.ownership, nobody));
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let (pending, len_bytes, kind) = (self.pending(), self.len_bytes(), self.kind);
        // A slot ends with its table, and has no allocation then.
        let Memory::Own(own) = &mut self.memory else { return };
        let tag = own.registration.end();
        own.hooks.get_mut().run_before();
        // Before somebody else gets the same address.
        if snapshot::is_recording() {
            snapshot::record(true, own.start.addr().get(), len_bytes, kind, tag);
        }
        match &mut own.ownership {
            Ownership::Leased(lease) => lease.end((pending != 0).then_some(&own.queue)),
            _ if pending & RELEASED != 0 => own.settle_or_leak(),
            _ => {}
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("start", &self.start())
            .field("len_bytes", &self.len_bytes())
            .field("kind", &self.kind)
            .field("queue", self.queue())
            .field("pending", &self.pending())
            .field("ownership", self.ownership())
            .finish_non_exhaustive()
    }
}

/// Whether both name one queue. Asks the backend only when they are no clones of each other, as they mostly are.
pub(crate) fn same_queue(a: &Queue, b: &Queue) -> bool {
    // Clones share one context field; both being alive, the addresses of two do not coincide.
    ptr::eq(a.context(), b.context()) || a == b
}
