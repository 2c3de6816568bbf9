//! The record of a memory range: who owns the memory, what may still use it, and when it was allocated.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use usm_core::fork::ForkMutex;
use usm_core::{Allocation, Queue, SharedMemory, UsmKind, drops};

use super::held::{self, Held};
use super::hooks::ReleaseHooks;
use super::lease::Lease;
use super::live_borrows::BorrowCount;
use super::slab_facts::{SlabFacts, SlotKey};
use crate::Result;
use crate::snapshot::{self, Facts, Holder, Moment, Registration, TagId, Timestamp};
use crate::tracker::{HOOKED, OperationList, PUBLISHED, RELEASED, SUBMITTED, State};

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
    fn nobody() -> Self {
        Self::Borrowed(Arc::new(()))
    }

    /// Whether the memory is of another process.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Borrowed(owner) if owner.is::<Opened>())
    }

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

/// Memory of another process that is open in this one: the owner of borrowed blocks.
pub(crate) struct Opened {
    pub(crate) memory: Allocation,
    /// Whether this process may write to it. That may come later.
    is_writable: AtomicBool,
}

impl Opened {
    pub(crate) const fn new(memory: Allocation, is_writable: bool) -> Self {
        Self { memory, is_writable: AtomicBool::new(is_writable) }
    }

    /// Lets this process write to the memory, which another one has sent so, at the address that it has.
    pub(crate) fn make_writable(&self, sent: &SharedMemory) -> Result<()> {
        if !self.is_writable.load(Ordering::Acquire) {
            // SAFETY: B4: the allocation is live, and its identity is that of the memory.
            unsafe { self.memory.queue().make_writable(self.memory.as_ptr(), sent) }?;
            self.is_writable.store(true, Ordering::Release);
        }
        Ok(())
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("memory", &self.memory)
            .field("is_writable", &self.is_writable)
            .finish()
    }
}

/// The record of one memory range, alone in a box or a slot of a [`BlockTable`](super::BlockTable). A program may have millions of records, so a record
/// has 48 bytes.
pub(crate) struct Block {
    /// Invariant B1: the number of [`BlockRef`](super::BlockRef)s.
    pub(super) holders: AtomicU32,
    /// What is not done with the memory.
    pub(super) state: State,
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
    /// Invariant O2: the memory of a block, of a slot, too, is not released before the operations in its list are complete, and nobody uses
    /// it in a conflicting way meanwhile (`access/order.rs`).
    operations: ForkMutex<OperationList>,
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
            operations: ForkMutex::default(),
            _count: is_borrowed.then(BorrowCount::new),
            hooks: ForkMutex::default(),
        };
        let block = Self::over(Memory::Own(Box::new(own)), kind, 1);
        block.len_bytes.store(len_bytes, Ordering::Relaxed);
        block.state.reset(if is_borrowed { PUBLISHED } else { 0 });
        block
    }

    /// A slot without an allocation.
    pub(super) fn slot(slab: NonNull<SlabFacts>, key: SlotKey, kind: UsmKind) -> Self {
        Self::over(Memory::Slot { slab, key }, kind, 0)
    }

    fn over(memory: Memory, kind: UsmKind, holders: u32) -> Self {
        Self {
            holders: AtomicU32::new(holders),
            state: State::default(),
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
    pub(crate) fn start(&self) -> NonNull<u8> {
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
                self.state.add(HOOKED);
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

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Does something with the operations under way, under a lock.
    pub(crate) fn with_operations<T>(&self, job: impl FnOnce(&mut OperationList) -> T) -> T {
        // Before an operation gets its number, so that whoever knows the number sees it.
        let mark = || self.state.add(SUBMITTED);
        let unmark = || self.state.remove(SUBMITTED);
        match self.parts() {
            Parts::Own(own) => {
                let mut operations = own.operations.lock();
                mark();
                let result = job(&mut operations);
                if operations.is_empty() {
                    unmark();
                }
                result
            }
            Parts::Slot(slab, index) => {
                let mut operations = slab.operations.lock();
                mark();
                let (result, has_some) = operations.with(index, job);
                if !has_some {
                    unmark();
                }
                result
            }
        }
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
    fn settle_or_leak(&mut self, pending: u8) {
        let is_settled = self.operations.get_mut().wait_for_all()
            && (pending & RELEASED == 0 || drops::wait_twice(&self.queue).is_ok());
        if !is_settled {
            self.leak();
        }
    }

    /// Gives leased memory back, with the queue on which work may be pending.
    fn end_lease(&mut self, pending: u8) {
        let submitted = mem::take(self.operations.get_mut());
        let has_more = !submitted.is_empty() || pending != 0;
        match submitted.into_order_of(has_more.then_some(&self.queue)) {
            Ok(queue) => {
                if let Ownership::Leased(lease) = &mut self.ownership {
                    lease.end(queue.as_ref());
                }
            }
            Err(()) => self.leak(),
        }
    }

    fn leak(&mut self) {
        mem::forget(mem::replace(&mut self.ownership, Ownership::nobody()));
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let (pending, len_bytes, kind) = (self.state.pending(), self.len_bytes(), self.kind);
        let is_shared = self.state.is_shared();
        let is_leased = !self.is_slot() && matches!(self.ownership(), Ownership::Leased(_));
        if is_leased && pending & PUBLISHED != 0 {
            // Before the memory has another owner.
            self.forget_shared(false);
        }
        // A slot ends with its table, and has no allocation then.
        let Memory::Own(own) = &mut self.memory else { return };
        let tag = own.registration.end();
        own.hooks.get_mut().run_before();
        // Before somebody else gets the same address.
        if snapshot::is_recording() {
            snapshot::record(true, own.start.addr().get(), len_bytes, kind, tag);
        }
        match &own.ownership {
            Ownership::Leased(_) => own.end_lease(pending),
            _ if pending & (RELEASED | SUBMITTED) != 0 => own.settle_or_leak(pending),
            _ => {}
        }
        // What this process has opened goes with the last block over it.
        if is_shared && !is_leased && !own.ownership.is_open() {
            let ownership = mem::replace(&mut own.ownership, Ownership::nobody());
            held::release(Freed { queue: own.queue.clone(), start: own.start, ownership });
        }
        if !is_leased && pending & PUBLISHED != 0 {
            self.forget_shared(false);
        }
    }
}

/// A block without buffers that other processes may have open.
struct Freed {
    queue: Queue,
    /// Invariant B5: the start of the memory that `ownership` has, of the context of the queue, which nobody of this process uses.
    start: NonNull<u8>,
    ownership: Ownership,
}

// SAFETY: B5: the address of memory that any thread may reach.
unsafe impl Send for Freed {}

impl Held for Freed {
    fn may_go(&self) -> bool {
        // SAFETY: B5.
        unsafe { self.queue.unshare(self.start) }
    }

    fn go(self: Box<Self>) {
        drop(self.ownership);
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("start", &self.start())
            .field("len_bytes", &self.len_bytes())
            .field("kind", &self.kind)
            .field("queue", self.queue())
            .field("pending", &self.state.pending())
            .field("ownership", self.ownership())
            .finish_non_exhaustive()
    }
}
