//! Blocks that a thread keeps for itself, records and all, so that it gets and returns them without the lock of the pool.

use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use usm_core::{Queue, UsmKind};

use super::classes::SizeClass;
use super::latch::Latch;
use crate::buffer::Block;
use crate::snapshot::Birth;

/// Most blocks of one size.
const MAX_BLOCKS: usize = 32;
/// Most bytes in blocks of one size, but for two blocks.
const MAX_BYTES: usize = 256 * 1024;
/// Largest block. More than this takes so long to be used that the pool's lock does not count.
const MAX_BLOCK_BYTES: usize = 4 * 1024 * 1024;
/// Most shelves, and most queues for each.
const MAX_TRAYS: usize = 6;
const MAX_QUEUES: usize = 4;

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
    trays: Vec<Tray>,
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

/// The blocks of a shelf.
#[derive(Debug)]
pub(super) struct Tray {
    /// Invariant M4: the shelf is there as long as the tray. Where a shelf goes, all trays were taken under the same lock
    /// ([`Stock::take_free`](super::stock::Stock::take_free)), so that none is of a former shelf with the number.
    shelf: usize,
    kind: UsmKind,
    /// Queues of the shelf that were seen last.
    queues: Vec<Queue>,
    /// By number of the class.
    bins: Vec<Bin>,
}

/// Blocks of one size. They count as lent in their slabs, and have no holder.
#[derive(Debug, Default)]
struct Bin {
    slab_bytes: usize,
    /// Invariant M3: each was lent by the pool, has no holder, hook or pending work, and is a place of the shelf and the class. Never
    /// more than there is room for.
    places: Box<[Option<NonNull<Block>>]>,
    /// How many there are: the first ones.
    count: usize,
}

impl Bin {
    fn new(slab_bytes: usize, most: usize) -> Self {
        Self { slab_bytes, places: vec![None; most].into_boxed_slice(), count: 0 }
    }

    fn is_full(&self) -> bool {
        self.count >= self.places.len()
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<NonNull<Block>> {
        let last = self.count.checked_sub(1)?;
        let place = *self.places.get(last)?;
        self.count = last;
        place
    }

    /// `false` where there is no room.
    #[inline(always)]
    fn push(&mut self, place: NonNull<Block>) -> bool {
        let Some(free) = self.places.get_mut(self.count) else { return false };
        *free = Some(place);
        self.count += 1;
        true
    }

    /// Takes the first half.
    fn take_half(&mut self) -> Vec<NonNull<Block>> {
        let half = self.count / 2;
        let taken = self.places[..half].iter().flatten().copied().collect();
        self.places.copy_within(half..self.count, 0);
        self.count -= half;
        taken
    }
}

// SAFETY: M3: the blocks are this value's alone, whichever thread has it.
unsafe impl Send for Kept {}

impl Magazine {
    pub(super) const fn new() -> Self {
        let kept = Kept {
            trays: Vec::new(),
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

    /// A block, lent to the caller.
    #[inline(always)]
    pub(super) fn take(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        size: SizeClass,
    ) -> Option<NonNull<Block>> {
        let birth = Birth::now();
        let place = self.kept.try_hold()?.take(queue, kind, len_bytes, size.index())?;
        // SAFETY: M3: it was lent by the pool, so that it stays.
        let block = unsafe { place.as_ref() };
        // SAFETY: M3: nobody holds it, and it was this value's alone.
        let unused = unsafe { block.lend_again(len_bytes, queue, birth) };
        drop(unused);
        Some(place)
    }
}

impl Kept {
    #[inline(always)]
    fn tray(&mut self, queue: &Queue, kind: UsmKind) -> Option<&mut Tray> {
        self.trays.iter_mut().find(|tray| tray.kind == kind && tray.knows(queue))
    }

    #[inline(always)]
    fn take(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
    ) -> Option<NonNull<Block>> {
        let used_bytes = self.used_bytes + len_bytes as isize;
        if used_bytes > self.max_used_bytes {
            return None;
        }
        let bin = self.tray(queue, kind)?.bins.get_mut(class)?;
        let (place, slab_bytes) = (bin.pop()?, bin.slab_bytes);
        self.pinned_bytes -= slab_bytes;
        self.used_bytes = used_bytes;
        self.reused_count += 1;
        Some(place)
    }

    /// Keeps a block whose last holder has gone; `false` where it cannot.
    ///
    /// # Safety
    /// 1. It is a place of this value's pool, lent, and without holder, hook and pending work.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, block: &Block) -> bool {
        let (pinned_bytes, max_pinned_bytes) = (self.pinned_bytes, self.max_pinned_bytes);
        // K7: shelf and class are those of the place.
        let to = block.bin();
        let Some(tray) = self.trays.iter_mut().find(|tray| tray.shelf == to.shelf.into()) else {
            return false;
        };
        debug_assert_eq!(tray.kind, block.kind());
        // SAFETY: nobody else ends it or lends it (1).
        if let Some(own) = unsafe { block.own_queue() }
            && !tray.knows(own)
        {
            // It would keep its queue with it.
            return false;
        }
        let Some(bin) = tray.bins.get_mut(usize::from(to.class)) else { return false };
        let pinned_bytes = pinned_bytes + bin.slab_bytes;
        if pinned_bytes > max_pinned_bytes || !bin.push(NonNull::from(block)) {
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
        let (mut tray, mut gone) = (None, None);
        if !self.trays.iter().any(|tray| tray.shelf == shelf) {
            if self.trays.len() == MAX_TRAYS {
                let first = self.trays.remove(0);
                let pinned_bytes = first.bins.iter().map(|bin| bin.slab_bytes * bin.count);
                self.pinned_bytes -= pinned_bytes.sum::<usize>();
                tray = Some(first);
            }
            self.trays.push(Tray { shelf, kind, queues: Vec::new(), bins: Vec::new() });
        }
        for tray in self.trays.iter_mut().filter(|tray| tray.shelf == shelf) {
            if !tray.knows(queue) {
                if tray.queues.len() == MAX_QUEUES {
                    gone = Some(tray.queues.remove(0));
                }
                tray.queues.push(queue.clone());
            }
            let number = size.index();
            if number >= tray.bins.len() {
                tray.bins.resize_with(number + 1, Bin::default);
            }
            if tray.bins[number].places.is_empty() {
                let count = (MAX_BYTES / size.block_bytes).clamp(2, MAX_BLOCKS);
                tray.bins[number] = Bin::new(size.slab_bytes(), count);
            }
        }
        (tray, gone)
    }

    fn bin(&mut self, shelf: usize, class: usize) -> Option<&mut Bin> {
        self.trays.iter_mut().find(|tray| tray.shelf == shelf)?.bins.get_mut(class)
    }

    /// A block, without counting it.
    pub(super) fn pop(&mut self, shelf: usize, class: usize) -> Option<NonNull<Block>> {
        let bin = self.bin(shelf, class)?;
        let (place, slab_bytes) = (bin.pop()?, bin.slab_bytes);
        self.pinned_bytes -= slab_bytes;
        Some(place)
    }

    /// How many blocks are to be added when there are none.
    pub(super) fn num_wanted(&mut self, shelf: usize, class: usize) -> usize {
        let pinned_bytes = self.max_pinned_bytes - self.pinned_bytes;
        let Some(bin) = self.bin(shelf, class).filter(|bin| bin.count == 0) else { return 0 };
        let room = (bin.places.len() / 2).min(pinned_bytes / bin.slab_bytes.max(1));
        // Of large blocks there are too few.
        if room < 4 { 0 } else { room }
    }

    /// Keeps a block that has never been lent from here: one of those that are wanted.
    pub(super) fn add(&mut self, shelf: usize, class: usize, place: NonNull<Block>) {
        let Some(bin) = self.bin(shelf, class) else { return };
        let added_bytes = if bin.push(place) { bin.slab_bytes } else { 0 };
        self.pinned_bytes += added_bytes;
    }

    /// Half of the blocks of a size, where there is no room for more.
    pub(super) fn overflow(&mut self, shelf: usize, class: usize) -> Vec<NonNull<Block>> {
        let (pinned_bytes, max_pinned_bytes) = (self.pinned_bytes, self.max_pinned_bytes);
        let is_over = |bin: &&mut Bin| bin.is_full() || pinned_bytes + bin.slab_bytes > max_pinned_bytes;
        let Some(bin) = self.bin(shelf, class).filter(is_over) else { return Vec::new() };
        let (taken, slab_bytes) = (bin.take_half(), bin.slab_bytes);
        self.pinned_bytes -= taken.len() * slab_bytes;
        taken
    }

    /// Takes all blocks out, and gives up the room for any.
    pub(super) fn empty(&mut self) -> Vec<Tray> {
        (self.pinned_bytes, self.max_pinned_bytes) = (0, 0);
        mem::take(&mut self.trays)
    }

    /// Bytes and number of blocks that were lent from here and not counted yet. From now on only as many are lent as come back.
    pub(super) fn count(&mut self) -> (isize, u64) {
        self.max_used_bytes = 0;
        (mem::take(&mut self.used_bytes), mem::take(&mut self.reused_count))
    }
}

impl Tray {
    /// By address: a tray keeps its queues, so that no other one has it.
    #[inline(always)]
    fn knows(&self, queue: &Queue) -> bool {
        self.queues.iter().any(|known| ptr::eq(known.context(), queue.context()))
    }

    /// The blocks.
    pub(super) fn places(&self) -> impl Iterator<Item = NonNull<Block>> {
        self.bins.iter().flat_map(|bin| bin.places.iter().take(bin.count).copied().flatten())
    }
}

/// Whether threads keep blocks of a size.
#[inline]
pub(super) fn is_kept(size: SizeClass) -> bool {
    size.block_bytes <= MAX_BLOCK_BYTES
}
