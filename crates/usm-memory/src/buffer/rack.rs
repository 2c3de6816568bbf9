//! The places of a slab: the records of all its blocks in one piece, each made once for all buffers that it will have.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use usm_core::Queue;

use super::block::Block;
use super::hooks::ReleaseHooks;
use super::{Home, UsmBuffer};

/// Which block of a pool a place is for; only its home understands the numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) shelf: u32,
    pub(crate) class: u32,
    pub(crate) slab: u32,
    pub(crate) index: u32,
}

/// The blocks of a slab.
#[derive(Debug)]
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
    hooks: Mutex<Vec<(u8, ReleaseHooks)>>,
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
        home: Weak<dyn Home>,
        slab: &UsmBuffer,
        first: Place,
        block_bytes: usize,
        count: usize,
    ) -> Arc<Self> {
        Arc::new_cyclic(|rack: &Weak<Self>| {
            let rack = NonNull::new(rack.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
            let place = |index: usize| Block::place(rack, index as u8, slab.kind());
            Self {
                home,
                first,
                block_bytes,
                start: slab.as_ptr(),
                queue: slab.queue().clone(),
                hooks: Mutex::default(),
                places: (0..count).map(place).collect(),
            }
        })
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
    fn take_hooks(&self, index: u8) -> Option<ReleaseHooks> {
        let mut hooks = self.hooks();
        let at = hooks.iter().position(|(of, _)| *of == index)?;
        Some(hooks.swap_remove(at).1)
    }

    fn hooks(&self) -> MutexGuard<'_, Vec<(u8, ReleaseHooks)>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last holder of a place has gone: its hooks run, and it goes back to its home.
///
/// # Safety
/// 1. It is a place that was lent, no holder is left, and this is called once for that.
#[inline]
pub(super) unsafe fn end(place: NonNull<Block>) {
    // All that is needed afterwards is taken out first: the rack may go as soon as the place is back, so that no reference into it is
    // kept over that.
    // SAFETY: the place is lent until it is taken back below (1), so that it stays.
    let ended = unsafe { place.as_ref() }.end();
    let Some(Ended { hooks, queue, is_pending, home, number, len_bytes }) = ended else { return };
    if let Some(home) = home {
        home.take_back(number, len_bytes, queue.as_ref().filter(|_| is_pending));
    }
    drop(hooks);
}

/// What is left of a lent place.
pub(super) struct Ended {
    /// Those of them that come after the release.
    hooks: Option<ReleaseHooks>,
    /// That of the buffer, where work is pending, or where it is another one than that of the slab.
    queue: Option<Queue>,
    is_pending: bool,
    home: Option<Arc<dyn Home>>,
    number: Place,
    len_bytes: usize,
}

impl Rack {
    /// The end of a place that nobody holds: all but its return.
    pub(super) fn end(&self, block: &Block, index: u8, own_queue: Option<Queue>) -> Ended {
        let mut hooks = if block.has_hooks.load(Ordering::Relaxed) { self.take_hooks(index) } else { None };
        if let Some(hooks) = &mut hooks {
            hooks.run_before();
        }
        // Before somebody else gets the same address.
        block.record_end_in_place();
        let is_pending = block.pending.load(Ordering::Relaxed) != 0;
        let queue = own_queue.or_else(|| is_pending.then(|| self.queue.clone()));
        let number = Place { index: index.into(), ..self.first };
        Ended { hooks, queue, is_pending, home: self.home.upgrade(), number, len_bytes: block.len_bytes() }
    }
}
