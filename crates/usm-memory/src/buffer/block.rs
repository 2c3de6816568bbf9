//! The one owner of a memory range: ours to free, or kept alive by somebody else.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::{Allocation, Queue, UsmKind};

use super::hooks::ReleaseHooks;
use super::lease::Lease;
use crate::Result;
use crate::live::BorrowCount;

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

/// A memory range, its context and its owner.
#[derive(Debug)]
pub(crate) struct Block {
    /// Invariant K1: `start .. start + len_bytes` is live USM of `kind` in the context of `queue` as long as this value lives.
    pub(super) start: NonNull<u8>,
    pub(super) len_bytes: usize,
    pub(super) kind: UsmKind,
    pub(super) queue: Queue,
    /// Foreign code may have work pending on the queue that uses the memory.
    pub(super) published: AtomicBool,
    pub(super) ownership: Ownership,
    pub(super) _count: Option<BorrowCount>,
    /// Last of the fields, since what it runs when dropped comes after the memory is gone.
    pub(super) hooks: ReleaseHooks,
}

// SAFETY: K1: the memory may be reached from any thread; access is ordered by the borrow table.
unsafe impl Send for Block {}
// SAFETY: as for Send.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn owned(allocation: Allocation) -> Self {
        Self {
            start: allocation.as_ptr(),
            len_bytes: allocation.len_bytes(),
            kind: allocation.kind(),
            queue: allocation.queue().clone(),
            published: AtomicBool::new(false),
            ownership: Ownership::Owned(allocation),
            _count: None,
            hooks: ReleaseHooks::default(),
        }
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
        Self {
            start,
            len_bytes,
            kind,
            queue: queue.clone(),
            published: AtomicBool::new(true),
            ownership: Ownership::Borrowed(owner),
            _count: Some(BorrowCount::new()),
            hooks: ReleaseHooks::default(),
        }
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    pub(crate) fn kind(&self) -> UsmKind {
        self.kind
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    pub(crate) fn publish(&self) {
        self.published.store(true, Ordering::Release);
    }

    /// Waits for what foreign code may have submitted to the queue. Our own operations have ended when they return.
    pub(crate) fn wait_for_others(&self) -> Result<()> {
        if self.published.load(Ordering::Acquire) {
            self.queue.wait()?;
        }
        match &self.ownership {
            Ownership::Leased(lease) => lease.wait_for_others(),
            _ => Ok(()),
        }
    }

    /// The pointer to a byte of the block, or one past its end.
    pub(crate) fn pointer_at(&self, offset_bytes: usize) -> NonNull<u8> {
        debug_assert!(offset_bytes <= self.len_bytes);
        // SAFETY: callers pass offsets within the block, or its length (U1 of buffers, G1 of guards).
        unsafe { self.start.add(offset_bytes) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.hooks.run_before();
        let published = *self.published.get_mut();
        if let Ownership::Leased(lease) = &mut self.ownership {
            lease.end(published.then(|| self.queue.clone()));
        }
    }
}
