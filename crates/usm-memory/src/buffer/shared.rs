//! What other processes open for a block.

use std::fmt;
use std::ptr::NonNull;

use usm_core::{Allocation, Error as CoreError, SharedMemory};

use super::block::{Block, Ownership, Parts};
use crate::Result;
use crate::tracker::SHARED;

/// Memory of another process that is open in this one: the owner of borrowed blocks.
pub(crate) struct Opened {
    pub(crate) memory: Allocation,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("memory", &self.memory).finish()
    }
}

/// Which memory others open for a block.
struct Extent {
    start: NonNull<u8>,
    len_bytes: usize,
    /// An allocation, and not a part of one.
    is_whole: bool,
}

impl Block {
    fn extent(&self) -> Result<Extent> {
        let whole = |start, len_bytes| Ok(Extent { start, len_bytes, is_whole: true });
        match self.parts() {
            Parts::Slot(slab, index) => match slab.shared_bytes {
                Some(len_bytes) => whole(slab.start, len_bytes),
                None => {
                    let (start, len_bytes) = (slab.start_of(index), slab.slot_bytes);
                    Ok(Extent { start, len_bytes, is_whole: false })
                }
            },
            Parts::Own(_) => match self.ownership() {
                Ownership::Owned(allocation) => Ok(Extent {
                    start: allocation.as_ptr(),
                    len_bytes: allocation.len_bytes(),
                    is_whole: allocation.is_start_of_block(),
                }),
                Ownership::Leased(lease) => lease.below().map_or_else(|| Err(not_ours()), Self::extent),
                Ownership::Borrowed(owner) => match owner.downcast_ref::<Opened>() {
                    Some(Opened { memory }) => whole(memory.as_ptr(), memory.len_bytes()),
                    None => Err(not_ours()),
                },
            },
        }
    }

    /// The memory of the block in the form in which other processes open it, and where the block begins there.
    ///
    /// # Safety
    /// 1. Nobody writes to the memory of the block during the call.
    pub(crate) unsafe fn share(&self) -> Result<(SharedMemory, usize)> {
        let Extent { start, len_bytes, is_whole } = self.extent()?;
        // SAFETY: B4 or K2: live memory of this kind and context, which nobody writes to (1). A slab that is shared as a whole has a file from
        // the start, so that nothing happens to its other slots.
        let memory = unsafe { self.queue().share(self.kind(), start, len_bytes, is_whole) }?;
        self.mark_shared();
        Ok((memory, self.start().addr().get() - start.addr().get()))
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
        let Ok(Extent { start, .. }) = self.extent() else { return true };
        let is_of_slab = matches!(self.parts(), Parts::Slot(slab, _) if slab.shared_bytes.is_some());
        if is_of_slab {
            // SAFETY: K2: live memory.
            return !unsafe { self.queue().is_open_elsewhere(start) };
        }
        // SAFETY: B4 or K2: memory that was shared on a queue of this context, and that nobody uses, as callers say.
        unsafe { self.queue().unshare(start) }
    }
}

fn not_ours() -> crate::Error {
    let reason = "another library owns it; a copy of it, as by usm.tensor.copy, works".to_owned();
    CoreError::NotShareable { reason }.into()
}
