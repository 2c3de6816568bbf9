//! The one owner of a memory range: ours to free, or kept alive by somebody else.

use std::any::Any;
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use usm_core::{Allocation, Queue, UsmKind};

use super::hooks::ReleaseHooks;
use super::lease::Lease;
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
const INHERITED: u8 = 2;
/// Work of the buffer's users may use the memory even after the buffer is gone.
const RELEASED: u8 = 4;

/// A memory range, its context and its owner.
#[derive(Debug)]
pub(crate) struct Block {
    /// Invariant K1: `start .. start + len_bytes` is live USM of `kind` in the context of `queue` as long as this value lives.
    pub(super) start: NonNull<u8>,
    pub(super) len_bytes: usize,
    pub(super) kind: UsmKind,
    pub(super) queue: Queue,
    /// What may be pending on the queue: of `PUBLISHED`, `INHERITED` and `RELEASED`.
    pending: AtomicU8,
    pub(super) ownership: Ownership,
    _count: Option<BorrowCount>,
    /// `None` for a block of a pool, which keeps the list itself.
    registration: Option<Registration>,
    /// Last of the fields, since what it runs when dropped comes after the memory is gone.
    pub(super) hooks: ReleaseHooks,
}

// SAFETY: K1: the memory may be reached from any thread; access is ordered by the borrow table.
unsafe impl Send for Block {}
// SAFETY: as for Send.
unsafe impl Sync for Block {}

impl Block {
    /// K1 holds for the arguments as long as `ownership` lives: the promise of each caller.
    #[inline(always)]
    fn new(
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        queue: &Queue,
        pending: u8,
        ownership: Ownership,
    ) -> Self {
        let (queue, pending) = (queue.clone(), AtomicU8::new(pending));
        let hooks = ReleaseHooks::default();
        Self { start, len_bytes, kind, queue, pending, ownership, _count: None, registration: None, hooks }
    }

    pub(super) fn owned(allocation: Allocation) -> Self {
        let (start, len_bytes, kind) = (allocation.as_ptr(), allocation.len_bytes(), allocation.kind());
        let queue = allocation.queue().clone();
        Self::new(start, len_bytes, kind, &queue, 0, Ownership::Owned(allocation))
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
        let mut block = Self::new(start, len_bytes, kind, queue, PUBLISHED, Ownership::Borrowed(owner));
        block._count = Some(BorrowCount::new());
        block
    }

    /// A block that `lease` keeps. K1 is argued where it is made.
    #[inline(always)]
    pub(super) fn lent(
        start: NonNull<u8>,
        len_bytes: usize,
        kind: UsmKind,
        queue: &Queue,
        is_pending: bool,
        lease: Lease,
    ) -> Self {
        let pending = if is_pending { INHERITED } else { 0 };
        Self::new(start, len_bytes, kind, queue, pending, Ownership::Leased(lease))
    }

    /// The block in the list of all live ones.
    pub(super) fn registered(mut self) -> Arc<Self> {
        Self::record_start(self.start, self.len_bytes, self.kind);
        Arc::new_cyclic(|block| {
            self.registration = Some(Registration::new(block.clone()));
            self
        })
    }

    /// Tells those who record that the memory is there.
    #[inline]
    pub(super) fn record_start(start: NonNull<u8>, len_bytes: usize, kind: UsmKind) {
        if snapshot::is_recording() {
            snapshot::record(false, start.addr().get(), len_bytes, kind, TagId::current());
        }
    }

    fn address(&self) -> usize {
        self.start.addr().get()
    }

    /// The label of the memory.
    fn tag(&self) -> TagId {
        match (&self.registration, &self.ownership) {
            (Some(registration), _) => registration.tag(),
            (None, Ownership::Leased(lease)) => {
                lease.home().map_or(TagId::NONE, |(home, place)| home.tag(place))
            }
            _ => TagId::NONE,
        }
    }

    pub(super) fn set_tag(&self, tag: TagId) {
        match (&self.registration, &self.ownership) {
            (Some(registration), _) => registration.set_tag(tag),
            (None, Ownership::Leased(lease)) => {
                if let Some((home, place)) = lease.home() {
                    home.set_tag(place, tag);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    pub(crate) fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Whether host code of this library may follow pointers into the block, however it is called to users. Devices of one
    /// context are of one platform, which allocates device USM in this process for all of them or for none.
    pub(crate) fn is_host_reachable(&self) -> bool {
        self.queue.device().host_reachable(self.kind)
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// Waits for work of earlier owners of the memory, of which foreign code cannot know.
    pub(crate) fn publish(&self) -> Result<()> {
        if self.pending.load(Ordering::Acquire) & INHERITED != 0 {
            self.wait_for_others()?;
        } else if let Ownership::Leased(lease) = &self.ownership {
            lease.wait_for_others()?;
        }
        self.pending.fetch_or(PUBLISHED, Ordering::Release);
        Ok(())
    }

    /// What was submitted to `queue`, of the same context, so far may use the memory until it has ended, even when all buffers
    /// are gone by then. May wait for that queue.
    pub(crate) fn release_on(&self, queue: &Queue) -> Result<()> {
        if !same_queue(queue, &self.queue) {
            // One queue is enough to remember when ours goes on after the other one.
            let ordered = queue.barrier(&[]).and_then(|event| self.queue.barrier(&[event]));
            if ordered.is_err() {
                return Ok(queue.wait()?);
            }
        }
        self.pending.fetch_or(RELEASED, Ordering::Release);
        Ok(())
    }

    /// Waits for what others may have submitted to the queue. Our own operations have ended when they return.
    pub(crate) fn wait_for_others(&self) -> Result<()> {
        if self.pending.load(Ordering::Acquire) != 0 {
            waits::for_others(&self.queue)?;
            self.pending.fetch_and(!INHERITED, Ordering::Release);
        }
        match &self.ownership {
            Ownership::Leased(lease) => lease.wait_for_others(),
            _ => Ok(()),
        }
    }

    /// Waits for the turn of an operation on a queue, as a guard of the memory has already done for foreign work.
    pub(crate) fn wait_for_turn(&self, queue: &Queue) -> Result<()> {
        let has_waited = self.pending.load(Ordering::Acquire) != 0 && same_queue(queue, &self.queue);
        if has_waited { Ok(()) } else { waits::for_turn(queue) }
    }

    /// The pointer to a byte of the block, or one past its end.
    pub(crate) fn pointer_at(&self, offset_bytes: usize) -> NonNull<u8> {
        debug_assert!(offset_bytes <= self.len_bytes);
        // SAFETY: callers pass offsets within the block, or its length (U1 of buffers, G1 of guards).
        unsafe { self.start.add(offset_bytes) }
    }

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
        self.hooks.run_before();
        // Before somebody else gets the same address.
        if snapshot::is_recording() {
            snapshot::record(true, self.address(), self.len_bytes, self.kind, self.tag());
        }
        let pending = *self.pending.get_mut();
        match &mut self.ownership {
            Ownership::Leased(lease) => lease.end(self.len_bytes, (pending != 0).then_some(&self.queue)),
            _ if pending & RELEASED != 0 => self.settle_or_leak(),
            _ => {}
        }
    }
}

/// Whether both name one queue. Asks the backend only when they are no clones of each other, as they mostly are.
pub(crate) fn same_queue(a: &Queue, b: &Queue) -> bool {
    // Clones share one context field; both being alive, the addresses of two do not coincide.
    ptr::eq(a.context(), b.context()) || a == b
}
