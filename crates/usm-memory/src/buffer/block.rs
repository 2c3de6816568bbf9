//! The one owner of a memory range: ours to free, or kept alive by somebody else.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use usm_core::{Allocation, Queue, UsmKind};

use super::hooks::ReleaseHooks;
use super::lease::Lease;
use super::rack::{BinId, Rack};
use crate::live::BorrowCount;
use crate::snapshot::{self, Registration, TagId};
use crate::{Result, drops, waits};

/// Who frees the memory of a buffer.
#[non_exhaustive]
pub enum Ownership {
    /// We do, with the last buffer.
    Owned(Allocation),
    /// A foreign owner, which is kept alive until the last buffer is gone.
    Borrowed(Arc<dyn Any + Send + Sync>),
    /// A memory resource does, which gets the memory back with the last buffer.
    Leased(Lease),
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

/// Foreign code may have work pending on the queue that uses the memory. It keeps the buffer as long as it has.
const PUBLISHED: u8 = 1;
/// Work submitted before the block was lent may still use the memory. Cleared by the first wait, since no more of it comes.
pub(super) const INHERITED: u8 = 2;
/// Work of the buffer's users may use the memory even after the buffer is gone.
const RELEASED: u8 = 4;
/// The rack keeps hooks for this place.
pub(super) const HOOKED: u8 = 8;

/// A memory range, its context and its owner: one of its own, or a place of a [`Rack`] that a pool lends again and again. It is small,
/// since programs have millions: 48 bytes. What the end of a place reads comes first.
#[repr(C)]
pub(crate) struct Block {
    /// Invariant K2: how many [`BlockRef`](super::BlockRef)s there are. A place without any belongs to its pool.
    pub(super) holders: AtomicU32,
    /// What is not done with the memory: of `PUBLISHED`, `INHERITED`, `RELEASED` and `HOOKED`.
    pub(super) undone: AtomicU8,
    pub(super) kind: UsmKind,
    /// The number of a place in its rack, or `OWN`.
    pub(super) index: u8,
    /// Invariant K7: home, shelf and class of a place as its rack has them, or [`BinId::NONE`]; never changed. Here so that the end of a
    /// place does not read its rack: of a million, most are in no cache.
    pub(super) bin: BinId,
    pub(super) len_bytes: AtomicUsize,
    /// The queue of what is in a place, where it is another one than the rack's. Invariant K5: changed only by who lends a place or ends
    /// it, when nobody holds it; read only by its holders, and by those.
    pub(super) queue: UnsafeCell<Option<Queue>>,
    /// Invariant K6: an [`Own`] that came out of a box, and goes with the block, when the index says so; otherwise the [`Rack`] that
    /// the block lies in. A tag of its own would take eight bytes.
    pub(super) holding: NonNull<()>,
    /// Label and time of birth of what is in a place.
    pub(super) tag: AtomicU32,
    pub(super) born: AtomicU32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Block>() == 48);

/// The index of blocks that are in no rack.
const OWN: u8 = u8::MAX;

/// What holds the memory of a block.
pub(super) enum Holding<'a> {
    Own(&'a Own),
    Place(u8, &'a Rack),
}

/// A block that is no place of a rack.
pub(super) struct Own {
    /// Invariant K1: `start .. start + len_bytes` is live USM of `kind` in the context of `queue` as long as this value lives; for a
    /// place, as long as it has holders.
    start: NonNull<u8>,
    queue: Queue,
    ownership: Ownership,
    count: OnceLock<BorrowCount>,
    registration: OnceLock<Registration>,
    /// Last of the fields, since what it runs when dropped comes after the memory is gone.
    hooks: ReleaseHooks,
}

/// That of all places.
static LENT: Ownership = Ownership::Leased(Lease::OF_HOME);

// SAFETY: K1: the memory may be reached from any thread; access is ordered by the borrow table. K5: the queue is not changed while
// others read it.
unsafe impl Send for Block {}
// SAFETY: as for Send.
unsafe impl Sync for Block {}

impl Block {
    /// K1 holds for the arguments as long as `ownership` lives: the promise of each caller.
    fn new(
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        queue: Queue,
        undone: u8,
        ownership: Ownership,
    ) -> Self {
        let (registration, hooks) = (OnceLock::new(), ReleaseHooks::default());
        let own = Own { start, queue, ownership, count: OnceLock::new(), registration, hooks };
        let own = NonNull::from(Box::leak(Box::new(own)));
        Self::of(1, undone, kind, len_bytes, OWN, BinId::NONE, own.cast())
    }

    fn of(
        holders: u32,
        undone: u8,
        kind: UsmKind,
        len_bytes: usize,
        index: u8,
        bin: BinId,
        holding: NonNull<()>,
    ) -> Self {
        Self {
            index,
            bin,
            holders: AtomicU32::new(holders),
            undone: AtomicU8::new(undone),
            kind,
            tag: AtomicU32::new(0),
            born: AtomicU32::new(0),
            len_bytes: AtomicUsize::new(len_bytes),
            queue: UnsafeCell::new(None),
            holding,
        }
    }

    pub(super) fn owned(allocation: Allocation) -> Self {
        let (start, len_bytes, kind) = (allocation.as_ptr(), allocation.len_bytes(), allocation.kind());
        let queue = allocation.queue().clone();
        Self::new(start, len_bytes, kind, queue, 0, Ownership::Owned(allocation))
    }

    /// # Safety
    /// 1. K1 holds for the arguments as long as `owner` lives.
    pub(super) unsafe fn borrowed(
        queue: &Queue,
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let block = Self::new(start, len_bytes, kind, queue.clone(), PUBLISHED, Ownership::Borrowed(owner));
        if let Holding::Own(own) = block.holding() {
            own.count.get_or_init(BorrowCount::new);
        }
        block
    }

    /// A block that `lease` keeps. K1 is argued where it is made.
    pub(super) fn leased(
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        queue: &Queue,
        lease: Lease,
    ) -> Self {
        Self::new(start, len_bytes, kind, queue.clone(), 0, Ownership::Leased(lease))
    }

    /// A place of `rack` that belongs to its pool, in whose `bin` threads keep it (K7).
    pub(super) fn place(rack: NonNull<Rack>, index: u8, bin: BinId, kind: UsmKind) -> Self {
        debug_assert!(index != OWN);
        Self::of(0, 0, kind, 0, index, bin, rack.cast())
    }

    #[inline(always)]
    pub(super) fn holding(&self) -> Holding<'_> {
        if self.is_place() {
            // SAFETY: it is a place.
            Holding::Place(self.index, unsafe { self.rack() })
        } else {
            // SAFETY: K6: it goes with the block.
            Holding::Own(unsafe { self.holding.cast().as_ref() })
        }
    }

    /// The rack that the block lies in.
    ///
    /// # Safety
    /// 1. It is a place.
    #[inline(always)]
    pub(super) unsafe fn rack(&self) -> &Rack {
        // SAFETY: K6: the block lies in the rack (1), which so is there.
        unsafe { self.holding.cast().as_ref() }
    }

    /// Enters the list of all live blocks, and tells those who record that the memory is there.
    pub(super) fn register(&self, this: NonNull<Self>) {
        if let Holding::Own(own) = self.holding() {
            Self::record_start(own.start, self.len_bytes(), self.kind);
            own.registration.get_or_init(|| Registration::new(this));
        }
    }

    /// Leaves the list, and keeps its label. Nobody holds the block any more.
    pub(super) fn unregister(&self) {
        if let Holding::Own(own) = self.holding() {
            let tag = own.registration.get().map_or(TagId::NONE, Registration::end);
            self.tag.store(tag.number(), Ordering::Relaxed);
        }
    }

    /// Tells those who record that the memory is there.
    #[inline]
    pub(super) fn record_start(start: NonNull<u8>, len_bytes: usize, kind: UsmKind) {
        if snapshot::is_recording() {
            snapshot::record(false, start.addr().get(), len_bytes, kind, TagId::current());
        }
    }

    /// Tells those who record that something is in a place.
    #[inline]
    pub(super) fn record_start_in_place(&self) {
        if snapshot::is_recording() {
            Self::record_start(self.start(), self.len_bytes(), self.kind);
        }
    }

    /// Tells those who record that the memory goes.
    #[inline]
    pub(super) fn record_end(start: NonNull<u8>, len_bytes: usize, kind: UsmKind, tag: TagId) {
        if snapshot::is_recording() {
            snapshot::record(true, start.addr().get(), len_bytes, kind, tag);
        }
    }

    #[inline]
    pub(super) fn is_place(&self) -> bool {
        self.index != OWN
    }

    #[inline]
    pub(super) fn start(&self) -> NonNull<u8> {
        match self.holding() {
            Holding::Own(own) => own.start,
            Holding::Place(index, rack) => rack.start_of(index),
        }
    }

    /// The label of the memory.
    pub(super) fn tag(&self) -> TagId {
        match self.holding() {
            Holding::Own(own) => own.registration.get().map_or(TagId::NONE, Registration::tag),
            Holding::Place(..) => self.birth().tag,
        }
    }

    pub(super) fn set_tag(&self, tag: TagId) {
        match self.holding() {
            Holding::Own(own) => own.registration.get().into_iter().for_each(|entry| entry.set_tag(tag)),
            Holding::Place(..) => self.tag.store(tag.number(), Ordering::Relaxed),
        }
    }

    /// Adds to the hooks of the block.
    pub(super) fn with_hooks(&self, add: impl FnOnce(&ReleaseHooks)) {
        match self.holding() {
            Holding::Own(own) => add(&own.hooks),
            Holding::Place(index, rack) => {
                self.undone.fetch_or(HOOKED, Ordering::Relaxed);
                rack.with_hooks(index, add);
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
        match self.holding() {
            Holding::Own(own) => &own.queue,
            Holding::Place(_, rack) => {
                // SAFETY: K5: nobody changes it while there is a holder, who calls this.
                let queue = unsafe { &*self.queue.get() };
                queue.as_ref().unwrap_or_else(|| rack.queue())
            }
        }
    }

    pub(crate) fn ownership(&self) -> &Ownership {
        match self.holding() {
            Holding::Own(own) => &own.ownership,
            Holding::Place(..) => &LENT,
        }
    }

    /// Waits for work of earlier owners of the memory, of which foreign code cannot know. An error where a forked child does not have
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

    /// What was submitted to `queue`, of the same context, so far may use the memory until it has ended, even when all buffers
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

    /// Waits for what others may have submitted to the queue. Our own operations have ended when they return. An error where a forked
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

    /// Waits for the turn of an operation on a queue, as a guard of the memory has already done for foreign work.
    pub(crate) fn wait_for_turn(&self, queue: &Queue) -> Result<()> {
        let has_waited = self.pending() != 0 && same_queue(queue, self.queue());
        if has_waited { Ok(()) } else { waits::for_turn(queue) }
    }

    /// The pointer to a byte of the block, or one past its end.
    pub(crate) fn pointer_at(&self, offset_bytes: usize) -> NonNull<u8> {
        debug_assert!(offset_bytes <= self.len_bytes());
        // SAFETY: callers pass offsets within the block, or its length (U1 of buffers, G1 of guards).
        unsafe { self.start().add(offset_bytes) }
    }
}

impl Own {
    /// Waits until nothing uses memory that is about to be freed; memory that cannot be waited for is never freed.
    fn settle_or_leak(&mut self) {
        // The first wait may bring the error of an operation, or fail for the moment.
        if drops::wait(|| self.queue.wait().or_else(|_| self.queue.wait())).is_err() {
            let nobody = Ownership::Borrowed(Arc::new(()));
            mem::forget(mem::replace(&mut self.ownership, nobody));
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // The end of a place is another one: this one is for the record, which goes with its rack.
        if self.is_place() {
            return;
        }
        // SAFETY: K6: it goes with the block, here.
        let mut own = unsafe { Box::from_raw(self.holding.cast::<Own>().as_ptr()) };
        own.hooks.run_before();
        // Before somebody else gets the same address.
        Self::record_end(own.start, self.len_bytes(), self.kind, self.birth().tag);
        let pending = self.pending();
        let Own { queue, ownership, .. } = &mut *own;
        match ownership {
            Ownership::Leased(lease) => lease.end((pending != 0).then_some(queue)),
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
