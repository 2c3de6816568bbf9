//! What a pool knows of the magazines of its threads: what they may keep and lend, and how it gets that back.

use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::{Queue, UsmKind};

use super::classes::SizeClass;
use super::magazine::Magazine;
use super::shelf::Garbage;
use super::stock::{State, Stock};
use super::trays::Tray;
use crate::buffer::Block;

/// What the magazine of a thread may pin of slabs that nobody uses else: this part of what the pool may keep, beside that, and no more than
/// these bytes.
const MAX_PINNED_PART: usize = 16;
const MAX_PINNED_BYTES: usize = 16 * 1024 * 1024;

impl State {
    /// Counts what magazines have lent and got back: from here on the numbers are exact.
    pub(super) fn count(&mut self) {
        for index in 0..self.magazines.len() {
            self.count_one(self.magazines[index]);
        }
    }

    pub(super) fn count_one(&mut self, magazine: &Magazine) {
        let mut kept = magazine.kept.hold();
        self.granted_bytes -= kept.max_used_bytes;
        let (used_bytes, reused_count) = kept.count();
        self.lent_bytes += used_bytes;
        self.reused_count += reused_count;
    }

    /// Lets a thread keep blocks of a size: `false` where it may not keep a single slab of them.
    pub(super) fn prepare(
        &mut self,
        magazine: &'static Magazine,
        queue: &Queue,
        kind: UsmKind,
        shelf: usize,
        size: SizeClass,
        garbage: &mut Garbage,
    ) -> bool {
        if self.is_closed {
            return false;
        }
        let mut kept = magazine.kept.hold();
        if !kept.is_known {
            kept.is_known = true;
            self.magazines.push(magazine);
        }
        kept.max_pinned_bytes = (self.max_idle_bytes / MAX_PINNED_PART).min(MAX_PINNED_BYTES);
        if kept.max_pinned_bytes < size.slab_bytes() {
            return false;
        }
        let (tray, unused) = kept.prepare(queue, kind, shelf, size);
        drop(kept);
        garbage.queues.extend(unused);
        self.set_free(tray.into_iter().collect(), garbage);
        true
    }

    /// Gives a thread some blocks to lend, and room below the peak to do so.
    pub(super) fn fill(&mut self, stock: &Arc<Stock>, magazine: &Magazine, shelf: usize, size: SizeClass) {
        let room_bytes = self.room_bytes() / 2;
        let mut kept = magazine.kept.hold();
        kept.max_used_bytes += room_bytes;
        self.granted_bytes += room_bytes;
        let count = kept.num_wanted(shelf, size.index());
        let class = self.shelves[shelf].as_mut().and_then(|shelf| shelf.class_mut(size.index()));
        let Some(class) = class.filter(|_| count != 0) else { return };
        let added = class.set_aside(count, |place| kept.add(shelf, size.index(), place));
        drop(kept);
        self.leaves(stock, added);
    }

    /// Takes all blocks that threads keep. `true` when there were any.
    pub(super) fn recall(&mut self, garbage: &mut Garbage) -> bool {
        self.count();
        let mut trays = Vec::new();
        for magazine in &self.magazines {
            trays.extend(magazine.kept.hold().empty());
        }
        let found = trays.iter().any(|tray| tray.places().next().is_some());
        self.set_free(trays, garbage);
        found
    }

    /// Takes what one thread keeps.
    pub(super) fn recall_one(&mut self, magazine: &Magazine, garbage: &mut Garbage) {
        let trays = magazine.kept.hold().empty();
        self.set_free(trays, garbage);
    }

    /// The blocks of trays are free.
    pub(super) fn set_free(&mut self, trays: Vec<Tray>, garbage: &mut Garbage) {
        for place in trays.iter().flat_map(Tray::places) {
            self.set_one_free(place, garbage);
        }
        garbage.trays.extend(trays);
    }

    /// A block that a magazine had alone, and gives up, is free.
    pub(super) fn set_one_free(&mut self, place: NonNull<Block>, garbage: &mut Garbage) {
        // SAFETY: M3: it was lent, so that it stays until it is free below.
        let block = unsafe { place.as_ref() };
        // SAFETY: M3: the magazine had it alone.
        let Some((place, queue)) = (unsafe { block.empty() }) else { return };
        garbage.queues.extend(queue);
        let (now, max_idle_bytes) = (self.now, self.max_idle_bytes);
        let shelf = self.shelves.get_mut(place.shelf as usize).and_then(Option::as_mut);
        if let Some(more) = shelf.and_then(|shelf| shelf.give(place, None, now, max_idle_bytes)) {
            garbage.append(*more);
        }
        garbage.stock = self.is_back().or(garbage.stock.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use usm_core::{Runtime, UsmKind};

    use crate::UsmBuffer;
    use crate::resource::{DirectResource, PoolOptions, PoolResource};

    #[test]
    fn what_a_pool_keeps_does_not_keep_threads_from_it() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let options = PoolOptions::new().max_retained_bytes(32 << 20);
        let pool = PoolResource::new(Arc::new(DirectResource), options);
        let allocate = |len| UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len).unwrap();
        drop(allocate(32 << 20));
        drop(allocate(64));
        assert!(pool.allocate_kept(&queue, UsmKind::Host, 64, 1).is_some());
        assert_eq!(pool.statistics().used_bytes, 0);
    }
}
