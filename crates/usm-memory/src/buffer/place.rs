//! Blocks that lie in a rack: lent again and again, each time from the first holder to the last.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use usm_core::Queue;

use super::block::{Block, HOOKED, Holding, INHERITED};
use super::home::Home;
use super::hooks::ReleaseHooks;
use super::rack::{BinId, Ending, Place};
use crate::snapshot::{self, Birth, Stamp, TagId};

impl Block {
    /// A place is lent: from now on it has one holder.
    ///
    /// # Safety
    /// 1. It is a place without a holder, and nobody else lends it.
    #[inline(always)]
    pub(crate) unsafe fn lend(&self, len_bytes: usize, queue: &Queue, is_pending: bool, birth: Birth) {
        let Holding::Place(_, rack) = self.holding() else { return };
        let is_racks = ptr::eq(rack.queue().context(), queue.context());
        if !is_racks {
            // SAFETY: K5: the caller's promise 1.
            unsafe { *self.queue.get() = Some(queue.clone()) };
        }
        self.undone.store(if is_pending { INHERITED } else { 0 }, Ordering::Relaxed);
        self.len_bytes.store(len_bytes, Ordering::Relaxed);
        self.begin(birth);
    }

    /// A place that was kept with its queue is lent once more. Returns a queue that is not needed any more.
    ///
    /// # Safety
    /// 1. It is a place that was lent, has no holder since, and neither hooks nor pending work; nobody else lends it.
    #[inline(always)]
    pub(crate) unsafe fn lend_again(&self, len_bytes: usize, queue: &Queue, birth: Birth) -> Option<Queue> {
        let mut old = None;
        // SAFETY: as said (1).
        if !unsafe { self.is_for(queue) } {
            // SAFETY: K5: the caller's promise 1.
            old = unsafe { (*self.queue.get()).replace(queue.clone()) };
        }
        self.len_bytes.store(len_bytes, Ordering::Relaxed);
        self.begin(birth);
        old
    }

    /// As [`lend_again`](Self::lend_again), with the queue that it has.
    ///
    /// # Safety
    /// 1. As for [`lend_again`](Self::lend_again).
    #[inline(always)]
    pub(crate) unsafe fn lend_as_it_is(&self, len_bytes: usize) {
        self.len_bytes.store(len_bytes, Ordering::Relaxed);
        self.begin(Birth::now());
    }

    /// Whether a place has that queue.
    ///
    /// # Safety
    /// 1. As for [`empty`](Self::empty).
    #[inline(always)]
    pub(crate) unsafe fn is_for(&self, queue: &Queue) -> bool {
        // SAFETY: it is a place (1).
        let racks = unsafe { self.rack() }.queue();
        // SAFETY: as said (1).
        let own = unsafe { self.own_queue() };
        ptr::eq(own.unwrap_or(racks).context(), queue.context())
    }

    /// Which place it is, and the queue of its own, which it gives up.
    ///
    /// # Safety
    /// 1. It is a place without a holder, and nobody else lends it or ends it.
    pub(crate) unsafe fn empty(&self) -> Option<(Place, Option<Queue>)> {
        let Holding::Place(index, rack) = self.holding() else { return None };
        // SAFETY: K5: the caller's promise 1.
        let queue = unsafe { (*self.queue.get()).take() };
        // What was pending is its pool's from here on. Who lends it next may do so from a magazine.
        self.undone.store(0, Ordering::Relaxed);
        Some((rack.number(index), queue))
    }

    pub(super) fn home(&self) -> Option<Arc<dyn Home>> {
        match self.holding() {
            Holding::Own(_) => None,
            Holding::Place(_, rack) => rack.home(),
        }
    }

    /// Where threads keep the place.
    #[inline(always)]
    pub(crate) fn bin(&self) -> &BinId {
        &self.bin
    }

    /// Whether nothing is to be done when nobody holds the place any more.
    #[inline(always)]
    pub(super) fn is_done_with(&self) -> bool {
        self.undone.load(Ordering::Relaxed) == 0 && !snapshot::is_recording()
    }

    /// The end of a place that nobody holds begins: its hooks run, and those who record are told. `None` for other blocks.
    pub(super) fn begin_end(&self) -> Option<Ending> {
        let Holding::Place(index, rack) = self.holding() else { return None };
        let mut hooks = None;
        if self.undone.load(Ordering::Relaxed) & HOOKED != 0 {
            self.undone.fetch_and(!HOOKED, Ordering::Relaxed);
            hooks = rack.take_hooks(index);
        }
        hooks.iter_mut().for_each(ReleaseHooks::run_before);
        let is_pending = self.pending() != 0;
        // Before somebody else gets the same address.
        if snapshot::is_recording() {
            Self::record_end(self.start(), self.len_bytes(), self.kind, self.tag());
        }
        Some(Ending { hooks, is_pending })
    }

    /// The queue of its own that a place is lent with, where it is not that of the rack.
    ///
    /// # Safety
    /// 1. As for [`empty`](Self::empty), until the reference is gone.
    #[inline(always)]
    pub(crate) unsafe fn own_queue(&self) -> Option<&Queue> {
        // SAFETY: K5: the caller's promise 1.
        unsafe { &*self.queue.get() }.as_ref()
    }

    /// There is a holder from now on, and so is what a snapshot tells.
    #[inline(always)]
    fn begin(&self, birth: Birth) {
        self.tag.store(birth.tag.number(), Ordering::Relaxed);
        self.born.store(birth.stamp.number(), Ordering::Relaxed);
        self.holders.store(1, Ordering::Release);
    }

    /// A place belongs to its pool again.
    #[inline(always)]
    pub(crate) fn take_back(&self) {
        self.holders.store(0, Ordering::Release);
    }

    /// Length and birth of what is in a place, where something is.
    pub(crate) fn content(&self) -> Option<(usize, Birth)> {
        let is_held = self.holders.load(Ordering::Acquire) != 0;
        is_held.then(|| (self.len_bytes(), self.birth()))
    }

    pub(super) fn birth(&self) -> Birth {
        let tag = TagId::of_number(self.tag.load(Ordering::Relaxed));
        Birth { tag, stamp: Stamp::of_number(self.born.load(Ordering::Relaxed)) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use usm_core::{Runtime, UsmKind};

    use crate::UsmBuffer;
    use crate::resource::{DirectResource, PoolOptions, PoolResource};

    #[test]
    fn hooks_are_no_work_and_run_once() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let allocate = || UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 64).unwrap();
        let count = Arc::new(AtomicU32::new(0));
        let first = allocate();
        let (address, counted) = (first.address(), Arc::clone(&count));
        first.after_release(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert!(first.block().is_place() && first.block().has_no_others());
        assert_eq!(first.block().pending(), 0);
        assert!(!first.block().is_done_with());
        drop(first);
        let second = allocate();
        assert_eq!(second.address(), address);
        assert!(second.block().is_done_with());
        drop(second);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
