//! The free blocks in a magazine, by shelf and size.

use std::mem;
use std::ptr::{self, NonNull};

use usm_core::{Context, Queue, UsmKind};

use super::classes::SizeClass;
use crate::buffer::Block;

/// Most blocks of one size.
const MAX_BLOCKS: usize = 32;
/// Most bytes in blocks of one size, but for two blocks.
const MAX_BYTES: usize = 256 * 1024;
/// Most shelves, and most queues for each.
const MAX_TRAYS: usize = 6;
const MAX_QUEUES: usize = 4;

/// Finds the tray for a block of a shelf, with a queue of its own or that of its rack: no tray but that of the shelf.
pub(super) type Find = for<'a> fn(&'a mut Trays, usize, Option<&Queue>) -> Option<&'a mut Tray>;

/// The trays of a magazine. Most programs ask for one of them many times in a row, which comes first, where no list leads to it.
#[derive(Debug)]
pub(super) struct Trays {
    first: Tray,
    others: Vec<Tray>,
}

/// The blocks of a shelf.
#[derive(Debug)]
pub(super) struct Tray {
    /// Invariant M4: the shelf is there as long as the tray. Where a shelf goes, all trays were taken under the same lock
    /// ([`Stock::take_free`](super::stock::Stock::take_free)), so that none is of a former shelf with the number.
    shelf: usize,
    pub(super) kind: UsmKind,
    /// Queues of the shelf that were seen last; what was allocated last was for the first one.
    queues: Vec<Queue>,
    /// Invariant M5: the [`key`] of the first queue and the kind, which so is that of no others; 0 without any queue.
    first_key: usize,
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
    pub(super) const NONE: Self = Self { first: Tray::NONE, others: Vec::new() };

    /// The tray that comes first, where it is the one for a queue and a kind.
    #[inline(always)]
    pub(super) fn first_for(&mut self, queue: &Queue, kind: UsmKind) -> Option<&mut Tray> {
        (self.first.first_key == key(queue, kind)).then_some(&mut self.first)
    }

    /// Lets the tray for a queue and a kind come first.
    pub(super) fn bring_first(&mut self, queue: &Queue, kind: UsmKind) -> Option<()> {
        let is_for = |tray: &Tray| tray.kind == kind && tray.knows(queue);
        if !is_for(&self.first) {
            let place = self.others.iter().position(is_for)?;
            self.others[..=place].rotate_right(1);
            mem::swap(&mut self.first, &mut self.others[0]);
        }
        self.first.bring_first(queue);
        Some(())
    }

    /// The tray that comes first, where it is the one of a shelf, for a block that has the first queue of the tray or that of its rack.
    #[inline(always)]
    pub(super) fn first_to_keep(&mut self, shelf: usize, own: Option<&Queue>) -> Option<&mut Tray> {
        let knows = |own| self.first.first_key == key(own, self.first.kind);
        let is_it = self.first.shelf == shelf && own.is_none_or(knows);
        is_it.then_some(&mut self.first)
    }

    /// The tray of a shelf for a block that has a queue of the tray or that of its rack. With another one it would keep that, too.
    pub(super) fn any_to_keep(&mut self, shelf: usize, own: Option<&Queue>) -> Option<&mut Tray> {
        self.of_shelf(shelf).filter(|tray| own.is_none_or(|own| tray.knows(own)))
    }

    /// The tray of a shelf.
    pub(super) fn of_shelf(&mut self, shelf: usize) -> Option<&mut Tray> {
        if self.first.shelf == shelf {
            return Some(&mut self.first);
        }
        self.others.iter_mut().find(|tray| tray.shelf == shelf)
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
        let mut gone = None;
        if self.of_shelf(shelf).is_none() {
            let last = mem::replace(&mut self.first, Tray { shelf, kind, ..Tray::NONE });
            if last.shelf != Tray::NONE.shelf {
                self.others.insert(0, last);
            }
            if self.others.len() == MAX_TRAYS {
                gone = self.others.pop();
            }
        }
        let unused = self.of_shelf(shelf).and_then(|tray| {
            tray.make_bin(size);
            tray.learn(queue)
        });
        (gone, unused)
    }

    /// Takes all out.
    pub(super) fn take(&mut self) -> Vec<Tray> {
        let Self { first, others } = mem::replace(self, Self::NONE);
        [first].into_iter().chain(others).collect()
    }
}

impl Tray {
    /// No shelf has that number.
    const NONE: Self =
        Self { shelf: usize::MAX, kind: UsmKind::Host, queues: Vec::new(), first_key: 0, bins: Vec::new() };

    fn knows(&self, queue: &Queue) -> bool {
        self.queues.iter().any(|known| address_of(known) == address_of(queue))
    }

    /// Lets a queue that it knows come first.
    fn bring_first(&mut self, queue: &Queue) {
        if let Some(place) = self.queues.iter().position(|known| address_of(known) == address_of(queue)) {
            self.queues[..=place].rotate_right(1);
            self.first_key = key(queue, self.kind);
        }
    }

    /// Knows a queue from now on. Gives up the one that was not asked for the longest, where there are too many.
    fn learn(&mut self, queue: &Queue) -> Option<Queue> {
        let mut unused = None;
        if !self.knows(queue) {
            if self.queues.len() == MAX_QUEUES {
                unused = self.queues.pop();
            }
            self.queues.insert(0, queue.clone());
            self.first_key = key(queue, self.kind);
        }
        unused
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

/// Clones of a queue have one context field.
#[inline(always)]
fn address_of(queue: &Queue) -> usize {
    ptr::from_ref(queue.context()).addr()
}

/// A number for a queue that lives and a kind: no other pair has it.
#[inline(always)]
fn key(queue: &Queue, kind: UsmKind) -> usize {
    const LAST_KIND: usize = UsmKind::ALL.len() - 1;
    const { assert!(align_of::<Context>() > LAST_KIND) };
    address_of(queue) + kind as usize
}

#[cfg(test)]
mod tests {
    use usm_core::{Context, QueueProperties, Runtime, UsmKind};

    use super::{MAX_QUEUES, MAX_TRAYS, SizeClass, Trays};

    const KIND: UsmKind = UsmKind::Shared;

    fn queues(count: usize) -> Vec<super::Queue> {
        let device = Runtime::global().host_device().clone();
        let context = Context::new(std::slice::from_ref(&device)).unwrap();
        (0..count).map(|_| context.create_queue(&device, QueueProperties::IN_ORDER).unwrap()).collect()
    }

    #[test]
    fn the_tray_that_was_not_asked_for_the_longest_goes() {
        let queues = queues(MAX_TRAYS + 1);
        let size = SizeClass::of(64, 1).unwrap();
        let mut trays = Trays::NONE;
        assert!(trays.first_for(&queues[0], KIND).is_none() && trays.bring_first(&queues[0], KIND).is_none());
        for (shelf, queue) in queues[..MAX_TRAYS].iter().enumerate() {
            assert!(trays.make_room(queue, KIND, shelf, size).0.is_none());
            assert_eq!(trays.first_for(queue, KIND).unwrap().shelf, shelf);
        }
        assert!(trays.first_for(&queues[0], KIND).is_none(), "it is the last one");
        trays.bring_first(&queues[0], KIND).unwrap();
        assert_eq!(trays.first_for(&queues[0], KIND).unwrap().shelf, 0);
        assert!(trays.first_for(&queues[0], UsmKind::Host).is_none());
        assert!(trays.bring_first(&queues[0], UsmKind::Host).is_none());
        let (gone, _) = trays.make_room(&queues[MAX_TRAYS], KIND, MAX_TRAYS, size);
        assert_eq!(gone.unwrap().shelf, 1);
        let left: Vec<_> = trays.take().iter().map(|tray| tray.shelf).collect();
        assert_eq!(left, [6, 0, 5, 4, 3, 2]);
        assert!(trays.first_for(&queues[0], KIND).is_none() && trays.of_shelf(0).is_none());
    }

    #[test]
    fn the_queue_that_was_not_asked_for_the_longest_goes() {
        let queues = queues(MAX_QUEUES + 1);
        let size = SizeClass::of(64, 1).unwrap();
        let mut trays = Trays::NONE;
        for queue in &queues[..MAX_QUEUES] {
            assert!(trays.make_room(queue, KIND, 0, size).1.is_none());
            assert!(trays.first_for(queue, KIND).is_some());
        }
        trays.bring_first(&queues[0], KIND).unwrap();
        assert!(trays.first_for(&queues[0], KIND).is_some());
        let (_, unused) = trays.make_room(&queues[MAX_QUEUES], KIND, 0, size);
        assert_eq!(unused, Some(queues[1].clone()));
        assert!(trays.bring_first(&queues[1], KIND).is_none());
        assert!(trays.bring_first(&queues[0], KIND).is_some());
    }
}
