//! The free blocks in a magazine, by shelf and size.

use std::ptr::{self, NonNull};

use usm_core::{Queue, UsmKind};

use super::classes::SizeClass;
use crate::buffer::Block;

/// Most blocks of one size.
const MAX_BLOCKS: usize = 32;
/// Most bytes in blocks of one size, but for two blocks.
const MAX_BYTES: usize = 256 * 1024;
/// Most shelves, and most queues for each.
const MAX_TRAYS: usize = 6;
const MAX_QUEUES: usize = 4;

/// The trays of a magazine. Most programs ask for one of them many times in a row, which comes first.
#[derive(Debug)]
pub(super) struct Trays(Vec<Tray>);

/// The blocks of a shelf.
#[derive(Debug)]
pub(super) struct Tray {
    /// Invariant M4: the shelf is there as long as the tray. Where a shelf goes, all trays were taken under the same lock
    /// ([`Stock::take_free`](super::stock::Stock::take_free)), so that none is of a former shelf with the number.
    shelf: usize,
    pub(super) kind: UsmKind,
    /// Queues of the shelf that were seen last; what was allocated last was for the first one.
    queues: Vec<Queue>,
    /// By number of the class.
    pub(super) bins: Vec<Bin>,
}

/// Blocks of one size. They count as lent in their slabs, and have no holder.
#[derive(Debug, Default)]
pub(super) struct Bin {
    pub(super) slab_bytes: usize,
    /// Invariant M3: each was lent by the pool, has no holder, hook or pending work, and is a place of the shelf and the class. Never
    /// more than there was room for at the start.
    pub(super) places: Vec<NonNull<Block>>,
}

// SAFETY: M3: the blocks are this value's alone, whichever thread has it.
unsafe impl Send for Bin {}

impl Trays {
    pub(super) const NONE: Self = Self(Vec::new());

    /// The tray for a queue and a kind, which comes first from then on.
    #[inline(always)]
    pub(super) fn for_queue(&mut self, queue: &Queue, kind: UsmKind) -> Option<&mut Tray> {
        let is_first = self.0.first().is_some_and(|tray| {
            tray.kind == kind && tray.queues.first().is_some_and(|first| is_it(first, queue))
        });
        if !is_first {
            self.bring_first(queue, kind)?;
        }
        self.0.first_mut()
    }

    #[inline(never)]
    fn bring_first(&mut self, queue: &Queue, kind: UsmKind) -> Option<()> {
        let place = self.0.iter().position(|tray| tray.kind == kind && tray.knows(queue))?;
        self.0[..=place].rotate_right(1);
        let queues = &mut self.0[0].queues;
        let place = queues.iter().position(|known| is_it(known, queue))?;
        queues[..=place].rotate_right(1);
        Some(())
    }

    /// The tray of a shelf.
    #[inline(always)]
    pub(super) fn of_shelf(&mut self, shelf: usize) -> Option<&mut Tray> {
        let place = match self.0.first()? {
            first if first.shelf == shelf => 0,
            _ => self.0.iter().position(|tray| tray.shelf == shelf)?,
        };
        self.0.get_mut(place)
    }

    pub(super) fn bin(&mut self, shelf: usize, class: usize) -> Option<&mut Bin> {
        self.of_shelf(shelf)?.bins.get_mut(class)
    }

    /// Makes room for blocks of a shelf of one size, for that queue. What has to go for that, since it was not asked for the longest, is
    /// given to the caller.
    pub(super) fn make_room(
        &mut self,
        queue: &Queue,
        kind: UsmKind,
        shelf: usize,
        size: SizeClass,
    ) -> (Option<Tray>, Option<Queue>) {
        let (mut gone, mut unused) = (None, None);
        if !self.0.iter().any(|tray| tray.shelf == shelf) {
            if self.0.len() == MAX_TRAYS {
                gone = self.0.pop();
            }
            self.0.insert(0, Tray { shelf, kind, queues: Vec::new(), bins: Vec::new() });
        }
        if let Some(tray) = self.of_shelf(shelf) {
            if !tray.knows(queue) {
                if tray.queues.len() == MAX_QUEUES {
                    unused = tray.queues.pop();
                }
                tray.queues.insert(0, queue.clone());
            }
            tray.make_bin(size);
        }
        (gone, unused)
    }

    /// Takes all out.
    pub(super) fn take(&mut self) -> Vec<Tray> {
        std::mem::take(&mut self.0)
    }
}

impl Tray {
    #[inline(always)]
    pub(super) fn knows(&self, queue: &Queue) -> bool {
        self.queues.iter().any(|known| is_it(known, queue))
    }

    fn make_bin(&mut self, size: SizeClass) {
        let number = size.index();
        if number >= self.bins.len() {
            self.bins.resize_with(number + 1, Bin::default);
        }
        let bin = &mut self.bins[number];
        if bin.places.capacity() == 0 {
            let most = (MAX_BYTES / size.block_bytes).clamp(2, MAX_BLOCKS);
            *bin = Bin { slab_bytes: size.slab_bytes(), places: Vec::with_capacity(most) };
        }
    }

    /// The blocks.
    pub(super) fn places(&self) -> impl Iterator<Item = NonNull<Block>> {
        self.bins.iter().flat_map(|bin| bin.places.iter().copied())
    }

    /// Bytes of the slabs that the blocks might be the last ones of.
    pub(super) fn pinned_bytes(&self) -> usize {
        self.bins.iter().map(|bin| bin.slab_bytes * bin.places.len()).sum()
    }
}

impl Bin {
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.places.len() == self.places.capacity()
    }

    /// `false` where there is no room.
    #[inline(always)]
    pub(super) fn push(&mut self, place: NonNull<Block>) -> bool {
        if self.is_full() {
            return false;
        }
        self.places.push(place);
        true
    }

    /// Takes the first half.
    pub(super) fn take_half(&mut self) -> Vec<NonNull<Block>> {
        self.places.drain(..self.places.len() / 2).collect()
    }
}

/// Whether the queue of a tray is that one: by address, since a tray keeps its queues, so that no other one has it, and clones have one
/// context field.
#[inline(always)]
fn is_it(known: &Queue, queue: &Queue) -> bool {
    ptr::eq(known.context(), queue.context())
}
