//! Blocks that a thread keeps for itself, records and all, so that it gets and returns them without the lock of the pool.

use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use usm_core::{Queue, UsmKind};

use super::classes::SizeClass;
use super::latch::Latch;
use super::trays::{Bin, Find, Tray, Trays};
use crate::buffer::Block;
use crate::snapshot::Birth;

/// Largest block. More than this takes so long to be used that the pool's lock does not count.
const MAX_BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// What one thread keeps of one pool. Magazines are never freed, but used again by other threads: there are as many as threads and
/// pools were at a time.
#[derive(Debug)]
pub(super) struct Magazine {
    /// The number of the pool, 0 for none. Changed by its thread, and by a pool that goes.
    pub(super) stock: AtomicU32,
    pub(super) kept: Latch<Kept>,
}

/// What the latch covers.
#[derive(Debug)]
pub(super) struct Kept {
    trays: Trays,
    /// Bytes of the slabs that the blocks might be the last ones of.
    pinned_bytes: usize,
    /// Invariant M1: `pinned_bytes` is at most this.
    pub(super) max_pinned_bytes: usize,
    /// What was lent from here less what came back here.
    used_bytes: isize,
    /// Invariant M2: `used_bytes` is at most this, for which the peak of the pool has room.
    pub(super) max_used_bytes: isize,
    reused_count: u64,
    /// Whether the pool has it in its list.
    pub(super) is_known: bool,
}

impl Magazine {
    pub(super) const fn new() -> Self {
        let kept = Kept {
            trays: Trays::NONE,
            pinned_bytes: 0,
            max_pinned_bytes: 0,
            used_bytes: 0,
            max_used_bytes: 0,
            reused_count: 0,
            is_known: false,
        };
        Self { stock: AtomicU32::new(0), kept: Latch::new(kept) }
    }

    #[inline(always)]
    pub(super) fn is_of(&self, stock: u32) -> bool {
        self.stock.load(Ordering::Relaxed) == stock
    }

    /// A block, lent to the caller, where it is for that pool, and for the queue and kind that were asked for last, and had that queue
    /// before. Nothing is called on the way but the clock, at the end, so that hardly anything has to be kept over a call.
    #[inline(always)]
    pub(super) fn take_first(
        &self,
        stock: u32,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
    ) -> Option<NonNull<Block>> {
        if !self.is_of(stock) {
            return None;
        }
        let is_for = |place: NonNull<Block>| {
            // SAFETY: M3: it was lent by the pool, so that it stays.
            let block = unsafe { place.as_ref() };
            // SAFETY: M3: nobody holds it, and it is the magazine's alone.
            unsafe { block.is_for(queue) }
        };
        let place = self.kept.try_hold()?.take(queue, kind, len_bytes, class, is_for)?;
        // SAFETY: as above.
        let block = unsafe { place.as_ref() };
        // SAFETY: M3: nobody holds it, and it was the magazine's alone.
        unsafe { block.lend_as_it_is(len_bytes) };
        Some(place)
    }

    /// A block, lent to the caller.
    pub(super) fn take(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
    ) -> Option<NonNull<Block>> {
        let mut kept = self.kept.try_hold()?;
        kept.trays.bring_first(queue, kind)?;
        let place = kept.take(queue, kind, len_bytes, class, |_| true)?;
        drop(kept);
        // SAFETY: M3: it was lent by the pool, so that it stays.
        let block = unsafe { place.as_ref() };
        // SAFETY: M3: nobody holds it, and it was the magazine's alone.
        let unused = unsafe { block.lend_again(len_bytes, queue, Birth::now()) };
        drop(unused);
        Some(place)
    }
}

impl Kept {
    /// A block of the tray that comes first.
    #[inline(always)]
    fn take(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
        is_suitable: impl FnOnce(NonNull<Block>) -> bool,
    ) -> Option<NonNull<Block>> {
        let bin = self.trays.first_for(queue, kind)?.bins.get_mut(class)?;
        // The length of a class, which does not overflow.
        let used_bytes = self.used_bytes + len_bytes as isize;
        if used_bytes > self.max_used_bytes {
            return None;
        }
        let place = bin.places.pop_if(|place| is_suitable(*place))?;
        self.pinned_bytes -= bin.slab_bytes;
        self.used_bytes = used_bytes;
        self.reused_count += 1;
        Some(place)
    }

    /// Keeps a block whose last holder has gone in the tray that `find` gives for its shelf and queue; `false` where it cannot.
    ///
    /// # Safety
    /// 1. It is a place of this value's pool, lent, and without holder, hook and pending work.
    /// 2. `find` gives no tray but that of the shelf it is asked for (M3).
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, block: &Block, find: Find) -> bool {
        // K7: shelf and class are those of the place.
        let to = block.bin();
        // SAFETY: nobody else ends it or lends it (1).
        let own = unsafe { block.own_queue() };
        let Some(tray) = find(&mut self.trays, to.shelf.into(), own) else { return false };
        debug_assert_eq!(tray.kind, block.kind());
        let Some(bin) = tray.bins.get_mut(usize::from(to.class)) else { return false };
        let pinned_bytes = self.pinned_bytes + bin.slab_bytes;
        if pinned_bytes > self.max_pinned_bytes || !bin.push(NonNull::from(block)) {
            return false;
        }
        let len_bytes = block.len_bytes();
        block.take_back();
        self.pinned_bytes = pinned_bytes;
        self.used_bytes -= len_bytes as isize;
        true
    }

    /// Makes room for blocks of a shelf of one size, for that queue. What has to go for that is given to the caller.
    pub(super) fn prepare(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        shelf: usize,
        size: SizeClass,
    ) -> (Option<Tray>, Option<Queue>) {
        let (gone, unused) = self.trays.make_room(queue, kind, shelf, size);
        self.pinned_bytes -= gone.as_ref().map_or(0, Tray::pinned_bytes);
        (gone, unused)
    }

    /// A block, without counting it.
    pub(super) fn pop(&mut self, shelf: usize, class: usize) -> Option<NonNull<Block>> {
        let bin = self.trays.bin(shelf, class)?;
        let place = bin.places.pop()?;
        self.pinned_bytes -= bin.slab_bytes;
        Some(place)
    }

    /// How many blocks are to be added when there are none.
    pub(super) fn num_wanted(&mut self, shelf: usize, class: usize) -> usize {
        let pinned_bytes = self.max_pinned_bytes - self.pinned_bytes;
        let Some(bin) = self.trays.bin(shelf, class).filter(|bin| bin.places.is_empty()) else { return 0 };
        let room = (bin.places.capacity() / 2).min(pinned_bytes / bin.slab_bytes.max(1));
        // Of large blocks there are too few.
        if room < 4 { 0 } else { room }
    }

    /// Keeps a block that has never been lent from here: one of those that are wanted.
    pub(super) fn add(&mut self, shelf: usize, class: usize, place: NonNull<Block>) {
        let Some(bin) = self.trays.bin(shelf, class) else { return };
        self.pinned_bytes += if bin.push(place) { bin.slab_bytes } else { 0 };
    }

    /// Half of the blocks of a size, where there is no room for more.
    pub(super) fn overflow(&mut self, shelf: usize, class: usize) -> Vec<NonNull<Block>> {
        let is_over =
            |bin: &&mut Bin| bin.is_full() || self.pinned_bytes + bin.slab_bytes > self.max_pinned_bytes;
        let Some(bin) = self.trays.bin(shelf, class).filter(is_over) else { return Vec::new() };
        let taken = bin.take_half();
        self.pinned_bytes -= taken.len() * bin.slab_bytes;
        taken
    }

    /// Takes all blocks out, and gives up the room for any.
    pub(super) fn empty(&mut self) -> Vec<Tray> {
        (self.pinned_bytes, self.max_pinned_bytes) = (0, 0);
        self.trays.take()
    }

    /// Bytes and number of blocks that were lent from here and not counted yet. From now on only as many are lent as come back.
    pub(super) fn count(&mut self) -> (isize, u64) {
        self.max_used_bytes = 0;
        (mem::take(&mut self.used_bytes), mem::take(&mut self.reused_count))
    }
}

/// Whether threads keep blocks of a size.
#[inline]
pub(super) fn is_kept(size: SizeClass) -> bool {
    size.block_bytes <= MAX_BLOCK_BYTES
}
