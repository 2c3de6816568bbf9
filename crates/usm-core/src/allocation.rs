//! One live USM block, freed when dropped.

use std::ptr::NonNull;

use crate::{Context, Device, Queue, UsmKind, live, os};

/// A USM block with its kind and context. It keeps the context alive and is freed with it when dropped.
///
/// Freeing does not wait for pending operations, like SYCL's `free`. The submitter of an operation keeps the allocation until
/// its event is complete.
#[derive(Debug)]
pub struct Allocation {
    /// Invariant A1: a live block of `queue`'s context, `lead_bytes + len_bytes` long, of `kind`, owned by this value alone.
    block: NonNull<u8>,
    /// Bytes before the memory, skipped for the requested alignment.
    lead_bytes: usize,
    len_bytes: usize,
    kind: UsmKind,
    queue: Queue,
}

// SAFETY: A1: exclusive ownership of memory that any thread may reach; the backend's handles are thread-safe.
unsafe impl Send for Allocation {}
// SAFETY: A1: shared access only reads the address and the facts beside it.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Bytes of a huge page. A block at a multiple of it has huge pages from its start on.
    pub const HUGE_PAGE_BYTES: usize = 2 << 20;

    /// # Safety
    /// 1. A1 holds for the arguments: the caller gives the block away.
    pub(crate) unsafe fn from_raw(
        queue: &Queue,
        block: NonNull<u8>,
        lead_bytes: usize,
        len_bytes: usize,
        kind: UsmKind,
    ) -> Self {
        live::add(len_bytes);
        Self { block, lead_bytes, len_bytes, kind, queue: queue.clone() }
    }

    /// Start of the memory. Only memory of host-accessible kinds may be read or written through it by host code.
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<u8> {
        // SAFETY: A1: an address within the block, which is no longer than `isize::MAX`.
        unsafe { self.block.add(self.lead_bytes) }
    }

    /// Address of the start.
    #[must_use]
    pub fn address(&self) -> usize {
        self.as_ptr().addr().get()
    }

    /// Whether the memory starts where the runtime's block does. Otherwise bytes before it were skipped for its alignment.
    #[doc(hidden)]
    #[must_use]
    pub fn is_start_of_block(&self) -> bool {
        self.lead_bytes == 0
    }

    /// Length in bytes, as asked for.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Kind of the memory.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Asks the system for huge pages ([`HUGE_PAGE_BYTES`](Self::HUGE_PAGE_BYTES)) in a block that lies in this process: touching new
    /// small pages takes several times as long as a copy of them. The content stays. The system may refuse.
    pub fn advise_huge_pages(&self) {
        let start = self.address().next_multiple_of(Self::HUGE_PAGE_BYTES);
        let end = (self.address() + self.len_bytes) & !(Self::HUGE_PAGE_BYTES - 1);
        if start >= end || cfg!(miri) || !self.device().is_in_process(self.kind) {
            return;
        }
        let first = self.as_ptr().as_ptr().wrapping_add(start - self.address());
        // SAFETY: A1: pages within the block, mapped into this process. The size of the pages does not change their content.
        unsafe { os::prefer_huge_pages(first, end - start) };
    }

    /// The queue that allocated it.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The context it is bound to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.queue.context()
    }

    /// The device it was allocated for.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.queue.device()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        live::remove(self.len_bytes);
        let context = self.context();
        // SAFETY: A1: the block is live, of this context, and this is its only release.
        unsafe { context.backend().free(context.raw(), self.block) };
    }
}
