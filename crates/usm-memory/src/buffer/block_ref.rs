//! Counted references to blocks: like `Arc`, but for slots of a table, too.

use std::fmt;
use std::ops::Deref;
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::block::Block;
use super::slot::FreeSlot;

/// More references than this are no program, but a loop that forgets them.
const MAX_HOLDERS: u32 = u32::MAX / 2;

/// One of the holders of a block. When the last one drops, a block of its own is freed, and a slot goes back to its pool.
pub(crate) struct BlockRef {
    /// Invariant R1: the block counts this holder (B1), so it stays where it is.
    block: NonNull<Block>,
}

// SAFETY: a block may be used and freed on any thread.
unsafe impl Send for BlockRef {}
// SAFETY: as for Send.
unsafe impl Sync for BlockRef {}

impl BlockRef {
    /// The first holder of a block of its own.
    pub(super) fn new(block: Block) -> Self {
        Self { block: NonNull::from(Box::leak(Box::new(block))) }
    }

    /// The first holder of a slot.
    ///
    /// # Safety
    /// 1. The block counts one holder, for which the caller has no other reference. The table of the slot stays until the holder drops.
    #[inline]
    pub(super) unsafe fn of_slot(block: NonNull<Block>) -> Self {
        Self { block }
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        self.block == other.block
    }

    /// How many holders there are.
    pub(crate) fn num_holders(&self) -> usize {
        self.holders.load(Ordering::Relaxed) as usize
    }
}

impl Deref for BlockRef {
    type Target = Block;

    #[inline(always)]
    fn deref(&self) -> &Block {
        // SAFETY: R1.
        unsafe { self.block.as_ref() }
    }
}

impl Clone for BlockRef {
    #[inline]
    fn clone(&self) -> Self {
        if self.holders.fetch_add(1, Ordering::Relaxed) >= MAX_HOLDERS {
            process::abort();
        }
        Self { block: self.block }
    }
}

impl Drop for BlockRef {
    #[inline]
    fn drop(&mut self) {
        // Only holders make others, so that the only one need not count itself out. What other holders did comes before the end. No
        // fence, since ThreadSanitizer knows none.
        let is_only_one = self.holders.load(Ordering::Acquire) == 1;
        if !is_only_one && self.holders.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        if self.is_slot() {
            // SAFETY: R1: this was the last holder.
            unsafe { FreeSlot::of_last_holder(self.block) }.free();
        } else {
            // SAFETY: `new` made the box, and this was the last holder.
            drop(unsafe { Box::from_raw(self.block.as_ptr()) });
        }
    }
}

impl fmt::Debug for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
