//! Counted references to blocks: like `Arc`, but for slots of a table, too.

use std::fmt;
use std::ops::Deref;
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::block::Block;
use super::returns;
use super::slot::FreeSlot;

/// More references than this are no program, but a loop that forgets them.
const MAX_HOLDERS: u32 = u32::MAX / 2;

/// One of the holders of a block. When the last one drops, a block of its own is freed, and a slot goes back to its pool.
pub(crate) struct BlockRef {
    /// Invariant H1: the block counts this holder (B1), so it stays where it is. `READ_ONLY` is added where the holder must not write:
    /// a read-only view allocates nothing.
    tagged: NonNull<Block>,
}

/// Added to addresses, which are multiples of the alignment of a block.
const READ_ONLY: usize = 1;
const _: () = assert!(align_of::<Block>() > READ_ONLY);

// SAFETY: H1: the holder counts on whichever thread it is, and a block may be used and freed on any.
unsafe impl Send for BlockRef {}
// SAFETY: H1, as for Send.
unsafe impl Sync for BlockRef {}

impl BlockRef {
    /// The first holder of a block of its own.
    pub(super) fn new(block: Block) -> Self {
        Self { tagged: NonNull::from(Box::leak(Box::new(block))) }
    }

    /// The first holder of a slot.
    ///
    /// # Safety
    /// 1. The block counts one holder, for which the caller has no other reference. The table of the slot stays until the holder drops.
    #[inline]
    pub(super) unsafe fn of_slot(block: NonNull<Block>) -> Self {
        Self { tagged: block }
    }

    /// One more holder of a block that may have none any more.
    ///
    /// # Safety
    /// 1. The block is there during the call.
    pub(super) unsafe fn of_live(block: NonNull<Block>) -> Option<Self> {
        // SAFETY: the caller's promise 1.
        let holders = &unsafe { block.as_ref() }.holders;
        let more = |holders| (1..MAX_HOLDERS).contains(&holders).then(|| holders + 1);
        // What other holders did comes before.
        holders.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).ok()?;
        Some(Self { tagged: block })
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        self.pointer() == other.pointer()
    }

    #[inline(always)]
    fn pointer(&self) -> *mut Block {
        self.tagged.as_ptr().map_addr(|address| address & !READ_ONLY)
    }

    /// One more holder, which must not write.
    pub(super) fn read_only(&self) -> Self {
        let mut more = self.clone();
        more.tagged = more.tagged.map_addr(|address| address | READ_ONLY);
        more
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.tagged.addr().get() & READ_ONLY != 0
    }

    /// Whether this is the only holder, and what the memory was leased from has no other one either: nobody else reaches the memory
    /// through a buffer, and only who has this reference makes others, unless the memory itself was shared with other processes and comes
    /// back from one. `Err` with the number of holders where there are several.
    pub(crate) fn check_alone(&self) -> Result<(), u32> {
        let mut block = Some(&**self);
        while let Some(this) = block {
            // What other holders did comes before.
            let holders = this.holders.load(Ordering::Acquire);
            if holders != 1 {
                return Err(holders);
            }
            block = this.below();
        }
        Ok(())
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
        // SAFETY: H1.
        unsafe { &*self.pointer() }
    }
}

impl Clone for BlockRef {
    #[inline]
    fn clone(&self) -> Self {
        if self.holders.fetch_add(1, Ordering::Relaxed) >= MAX_HOLDERS {
            process::abort();
        }
        Self { tagged: self.tagged }
    }
}

impl Drop for BlockRef {
    #[inline]
    fn drop(&mut self) {
        // Only holders make others, so that the only one need not count itself out, unless the memory may come back from another process.
        // What other holders did comes before the end. No fence, since ThreadSanitizer knows none.
        let is_only_one = self.holders.load(Ordering::Acquire) == 1 && !self.state().is_shared();
        if !is_only_one && self.holders.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        if self.state().is_shared() {
            returns::forget(self);
        }
        if self.is_slot() {
            // SAFETY: H1: this was the last holder.
            unsafe { FreeSlot::new(NonNull::from(&**self)) }.free();
        } else {
            // SAFETY: B1: `new` made the box, and this was the last holder.
            drop(unsafe { Box::from_raw(self.pointer()) });
        }
    }
}

impl fmt::Debug for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
