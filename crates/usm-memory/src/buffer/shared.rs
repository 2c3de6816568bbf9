//! What other processes open for a block.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::{Queue, SharedMemory, SharedRange};

use super::block::{Block, Opened, Ownership, Parts};
use crate::tracker::SHARED;
use crate::{Error, Result, UsmBuffer};

/// Which memory others open for a block.
struct Extent {
    start: NonNull<u8>,
    len_bytes: usize,
    range: SharedRange,
}

impl UsmBuffer {
    /// A range of memory that is open. Of this process's own memory nobody else may have it: a pool does not know the range as allocated
    /// then, but it stays all the same.
    pub(crate) fn over_opened(
        queue: &Queue,
        opened: Arc<Opened>,
        range: Range<usize>,
        is_writable: bool,
    ) -> Result<Self> {
        // What is open already has the length that it was opened with.
        let (memory, len_bytes) = (&opened.memory, range.len());
        if range.end > memory.len_bytes() {
            let (offset_bytes, buffer_bytes) = (range.start, memory.len_bytes());
            return Err(Error::OutOfBounds { offset_bytes, len_bytes, buffer_bytes });
        }
        // SAFETY: B4: an address within the allocation, or one past its end.
        let (start, kind) = (unsafe { memory.as_ptr().add(range.start) }, memory.kind());
        // SAFETY: B4: the memory stays as long as `opened`. Processes that share memory order their accesses, as the module `processes` says.
        let block = unsafe { Block::new(start, len_bytes, kind, queue, Ownership::Borrowed(opened)) };
        Ok(Self::over(block, is_writable))
    }
}

impl Block {
    fn extent(&self) -> Extent {
        let block = |start, len_bytes| Extent { start, len_bytes, range: SharedRange::Block };
        match self.parts() {
            Parts::Slot(slab, index) => match slab.shared_bytes {
                Some(len_bytes) => block(slab.start, len_bytes),
                None => {
                    let (start, len_bytes) = (slab.start_of(index), slab.slot_bytes);
                    Extent { start, len_bytes, range: SharedRange::Part }
                }
            },
            Parts::Own(_) => match self.ownership() {
                Ownership::Owned(allocation) => Extent {
                    start: allocation.as_ptr(),
                    len_bytes: allocation.len_bytes(),
                    range: match allocation.is_start_of_block() {
                        true => SharedRange::Block,
                        false => SharedRange::Part,
                    },
                },
                Ownership::Leased(lease) => lease.below().map_or_else(|| self.external(), Self::extent),
                Ownership::Borrowed(owner) => match owner.downcast_ref::<Opened>() {
                    Some(Opened { memory, .. }) => block(memory.as_ptr(), memory.len_bytes()),
                    None => self.external(),
                },
            },
        }
    }

    fn external(&self) -> Extent {
        Extent { start: self.start(), len_bytes: self.len_bytes(), range: SharedRange::External }
    }

    /// The memory of the block in the form in which other processes open it, and where the block begins there.
    ///
    /// # Safety
    /// 1. Nobody writes to the memory of the block during the call, unless its queue [leaves it as it is](Queue::shares_in_place).
    pub(crate) unsafe fn share(&self) -> Result<(SharedMemory, usize)> {
        let extent = self.extent();
        let start = extent.start;
        // SAFETY: the caller's promise 1.
        let memory = unsafe { self.share_extent(extent) }?;
        Ok((memory, self.start().addr().get() - start.addr().get()))
    }

    /// Prepares a new allocation for [`share`](Self::share), which copies nothing then. The content is lost.
    ///
    /// # Safety
    /// 1. Nobody but the caller has the block, which is an allocation.
    pub(crate) unsafe fn share_new(&self) -> Result<()> {
        let extent = Extent { range: SharedRange::NewBlock, ..self.extent() };
        // SAFETY: the caller's promise 1.
        unsafe { self.share_extent(extent) }.map(drop)
    }

    /// # Safety
    /// 1. That of [`share`](Self::share).
    unsafe fn share_extent(&self, Extent { start, len_bytes, range }: Extent) -> Result<SharedMemory> {
        // SAFETY: B4 or K2: live memory of this kind and context (1). A slab that is shared as a whole has a file from
        // the start, so that nothing happens to its other slots.
        let memory = unsafe { self.queue().share(self.kind(), start, len_bytes, range) }?;
        self.mark_shared();
        Ok(memory)
    }

    fn mark_shared(&self) {
        self.state().add(SHARED);
        if let Ownership::Leased(lease) = self.ownership()
            && let Some(below) = lease.below()
        {
            below.mark_shared();
        }
    }

    /// Whether the memory may have another use now. Nobody of this process uses it any more.
    pub(super) fn end_share(&self) -> bool {
        let start = self.extent().start;
        let is_of_slab = matches!(self.parts(), Parts::Slot(slab, _) if slab.shared_bytes.is_some());
        if is_of_slab {
            // SAFETY: K2: live memory.
            return !unsafe { self.queue().is_open_elsewhere(start) };
        }
        // SAFETY: B4 or K2: memory that was shared on a queue of this context, and that nobody uses, as callers say.
        unsafe { self.queue().unshare(start) }
    }
}
