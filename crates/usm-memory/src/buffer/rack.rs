//! The places of a slab: the records of all its blocks in one piece, each made once for all buffers that it will have.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use usm_core::Queue;
use usm_core::fork::{ForkMutex, ForkMutexGuard};

use super::block::Block;
use super::hooks::ReleaseHooks;
use super::{Home, HomeRef, UsmBuffer};
use crate::resource;

/// Which block of a pool a place is for; only its home understands the numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) shelf: u32,
    pub(crate) class: u32,
    pub(crate) slab: u32,
    pub(crate) index: u32,
}

/// Where threads keep a place of which nothing is left to do: the number of its home, and shelf and class there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinId {
    pub(crate) home: u32,
    pub(crate) shelf: u16,
    pub(crate) class: u16,
}

impl BinId {
    /// That of blocks which no thread keeps.
    pub(super) const NONE: Self = Self { home: HomeRef::NO_NUMBER, shelf: 0, class: 0 };

    fn of(home: &HomeRef, first: Place) -> Self {
        match (u16::try_from(first.shelf), u16::try_from(first.class)) {
            (Ok(shelf), Ok(class)) => Self { home: home.number, shelf, class },
            _ => Self::NONE,
        }
    }
}

/// The blocks of a slab.
pub(crate) struct Rack {
    /// Where the blocks go back to.
    home: Weak<dyn Home>,
    /// The number of the first block.
    first: Place,
    block_bytes: usize,
    /// Start and queue of the slab. Its owner, the home, keeps it at least as long as this value.
    start: NonNull<u8>,
    queue: Queue,
    /// Of the places that have any: few, in most programs none.
    hooks: ForkMutex<Vec<(u8, ReleaseHooks)>>,
    /// Invariant K4: each leads to this rack, and lies in it.
    places: Box<[Block]>,
}

// SAFETY: an address that is only handed out; the rest may cross threads.
unsafe impl Send for Rack {}
// SAFETY: as for Send.
unsafe impl Sync for Rack {}

impl Rack {
    /// Places for `count` blocks, at most 128, of `block_bytes` bytes each from the start of `slab` on.
    pub(crate) fn new(
        home: HomeRef,
        slab: &UsmBuffer,
        first: Place,
        block_bytes: usize,
        count: usize,
    ) -> Arc<Self> {
        let bin = BinId::of(&home, first);
        Arc::new_cyclic(|rack: &Weak<Self>| {
            let rack = NonNull::new(rack.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
            let place = |index: usize| Block::place(rack, index as u8, bin, slab.kind());
            Self {
                home: home.home,
                first,
                block_bytes,
                start: slab.as_ptr(),
                queue: slab.queue().clone(),
                hooks: ForkMutex::default(),
                places: (0..count).map(place).collect(),
            }
        })
    }

    /// The number of a place for its home.
    pub(super) fn number(&self, index: u8) -> Place {
        Place { index: index.into(), ..self.first }
    }

    #[inline]
    pub(crate) fn place(&self, index: u32) -> Option<&Block> {
        self.places.get(index as usize)
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &Block> {
        self.places.iter()
    }

    /// A queue of the slab's context and device: that of all places that name no other.
    #[inline]
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Where the block of a place starts.
    #[inline]
    pub(super) fn start_of(&self, index: u8) -> NonNull<u8> {
        // SAFETY: K4: a place is for a block within the slab.
        unsafe { self.start.add(index as usize * self.block_bytes) }
    }

    /// Does something with the hooks of a place, which has some from then on.
    pub(super) fn with_hooks(&self, index: u8, add: impl FnOnce(&ReleaseHooks)) {
        let mut hooks = self.hooks();
        match hooks.iter().find(|(of, _)| *of == index) {
            Some((_, hooks)) => add(hooks),
            None => {
                let first = ReleaseHooks::default();
                add(&first);
                hooks.push((index, first));
            }
        }
    }

    #[cold]
    pub(super) fn take_hooks(&self, index: u8) -> Option<ReleaseHooks> {
        let mut hooks = self.hooks();
        let at = hooks.iter().position(|(of, _)| *of == index)?;
        Some(hooks.swap_remove(at).1)
    }

    fn hooks(&self) -> ForkMutexGuard<'_, Vec<(u8, ReleaseHooks)>> {
        self.hooks.lock()
    }
}

// Without the places, of which only holders may read all.
impl fmt::Debug for Rack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places.len();
        f.debug_struct("Rack").field("first", &self.first).field("places", &places).finish_non_exhaustive()
    }
}

/// The last holder of a place has gone: its hooks run, and it goes back to its home, or is kept by this thread.
///
/// # Safety
/// 1. It is a place that was lent, no holder is left, and this is called once for that.
#[inline(always)]
pub(super) unsafe fn end(place: NonNull<Block>) {
    // SAFETY: the place is lent until it is taken back below (1), so that it stays.
    if unsafe { place.as_ref() }.is_done_with()
        // SAFETY: nobody holds it (1), and nothing is to be done before.
        && unsafe { resource::keep_first(place) }
    {
        return;
    }
    // SAFETY: as for this one.
    unsafe { end_slowly(place) };
}

/// # Safety
/// 1. As for [`end`].
#[cold]
#[inline(never)]
unsafe fn end_slowly(place: NonNull<Block>) {
    // The rack may go as soon as the place is back, so that no reference into it is kept over that.
    // SAFETY: the place is lent until it is taken back below (1), so that it stays.
    let Some(Ending { hooks, is_pending }) = unsafe { place.as_ref() }.begin_end() else {
        return;
    };
    // SAFETY: nobody holds it (1), and what had to be done before has been done.
    if is_pending || !unsafe { resource::keep(place) } {
        // SAFETY: as above.
        unsafe { give_back(place, is_pending) };
    }
    drop(hooks);
}

/// What is to be done when nobody holds a place any more.
pub(super) struct Ending {
    /// Those that come after the release.
    pub(super) hooks: Option<ReleaseHooks>,
    pub(super) is_pending: bool,
}

/// # Safety
/// 1. As for [`end`].
unsafe fn give_back(place: NonNull<Block>, is_pending: bool) {
    // SAFETY: the place is lent until it is taken back below (1), so that it stays.
    let block = unsafe { place.as_ref() };
    let (len_bytes, queue) = (block.len_bytes(), is_pending.then(|| block.queue().clone()));
    let Some(home) = block.home() else { return };
    // SAFETY: nobody else ends it (1).
    let Some((place, own_queue)) = (unsafe { block.empty() }) else { return };
    home.take_back(place, len_bytes, queue.as_ref());
    drop(own_queue);
}

impl Rack {
    #[inline]
    pub(super) fn home(&self) -> Option<Arc<dyn Home>> {
        self.home.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use usm_core::Queue;

    use super::{BinId, Home, HomeRef, Place};

    #[derive(Debug)]
    struct Nowhere;

    impl Home for Nowhere {
        fn take_back(&self, _: Place, _: usize, _: Option<&Queue>) {}
    }

    #[test]
    fn numbers_that_do_not_fit_are_of_no_bin() {
        let home: Weak<dyn Home> = Arc::downgrade(&Arc::new(Nowhere)) as _;
        let home = HomeRef { home, number: 7 };
        let of = |shelf, class| BinId::of(&home, Place { shelf, class, slab: 3, index: 0 });
        assert_eq!(of(2, 5), BinId { home: 7, shelf: 2, class: 5 });
        assert_eq!(of(0xffff, 0xffff), BinId { home: 7, shelf: 0xffff, class: 0xffff });
        assert_eq!((of(0x1_0000, 0), of(0, 0x1_0000)), (BinId::NONE, BinId::NONE));
    }
}
