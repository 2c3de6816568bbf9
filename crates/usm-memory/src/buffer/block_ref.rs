//! Counted references to blocks: as `Arc`, for blocks that lie in a rack, too.

use std::fmt;
use std::ops::Deref;
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::block::Block;
use super::rack;

/// More references than this are no program, but a loop that forgets them.
const MAX_HOLDERS: u32 = u32::MAX / 2;

/// One of the holders of a block. With the last one the block ends: one of its own is freed, a place of a rack goes back to its pool.
pub(crate) struct BlockRef {
    /// Invariant K3: a block that is counted (K2), so that it stays where it is; with `READ_ONLY` added where the holder must not write.
    tagged: NonNull<Block>,
}

/// Added to addresses, which are multiples of the alignment of a block.
const READ_ONLY: usize = 1;
const _: () = assert!(align_of::<Block>() > READ_ONLY);

// SAFETY: a block may be used and ended on any thread.
unsafe impl Send for BlockRef {}
// SAFETY: as for Send.
unsafe impl Sync for BlockRef {}

impl BlockRef {
    /// The first holder of a block of its own, which is put into the list of all live ones.
    pub(super) fn registered(block: Block) -> Self {
        let block = Self { tagged: NonNull::from(Box::leak(Box::new(block))) };
        block.register(block.tagged);
        block
    }

    /// The first holder of a place that was lent.
    ///
    /// # Safety
    /// 1. The place was lent to the caller, who makes one reference of it: it counts one holder, and its rack stays until it ends.
    #[inline(always)]
    pub(crate) unsafe fn of_place(block: NonNull<Block>) -> Self {
        Self { tagged: block }
    }

    /// One more holder, unless the block has none any more.
    ///
    /// # Safety
    /// 1. The block is one of its own, and is not freed meanwhile.
    pub(crate) unsafe fn upgrade(block: NonNull<Block>) -> Option<Self> {
        // SAFETY: the caller's promise 1.
        let holders = unsafe { &block.as_ref().holders };
        let more = |count: u32| (count != 0 && count < MAX_HOLDERS).then(|| count + 1);
        holders.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).ok()?;
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

    /// How many holders there are.
    pub(crate) fn num_holders(&self) -> usize {
        self.holders.load(Ordering::Relaxed) as usize
    }
}

impl Deref for BlockRef {
    type Target = Block;

    #[inline(always)]
    fn deref(&self) -> &Block {
        // SAFETY: K3.
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
        let block = NonNull::from(&**self);
        if !self.is_place() {
            return self.drop_own();
        }
        // Only holders make others of a place, so that the only one need not count itself out: it is the last. What other holders
        // did comes before the end.
        let is_only_one = self.holders.load(Ordering::Acquire) == 1;
        if is_only_one || self.is_last() {
            // SAFETY: no holder is left but this one, which goes.
            unsafe { rack::end(block) };
        }
    }
}

impl BlockRef {
    /// One holder less. Whether it was the last one, after what all others did. No fence, since ThreadSanitizer knows none.
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.holders.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The end of a holder of a block that is in no rack. Apart, so that it takes no room from that of others.
    #[inline(never)]
    fn drop_own(&mut self) {
        if !self.is_last() {
            return;
        }
        // From here on nobody looks at it.
        self.unregister();
        // SAFETY: made by `registered`, and no holder is left.
        drop(unsafe { Box::from_raw(self.pointer()) });
    }
}

impl fmt::Debug for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
