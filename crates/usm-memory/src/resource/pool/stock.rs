//! All that a pool has, shared by the pool and the blocks that it has lent.

use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_core::{Queue, Runtime, UsmKind};

use super::class::{Stream, Time};
use super::classes::SizeClass;
use super::magazine::{self, Magazine};
use super::shelf::{Garbage, Shelf};
use super::slab::{Request, Slab};
use super::thread;
use crate::buffer::{Block, Home, HomeRef, Place, hand_down};
use crate::{Result, UsmBuffer, drops};

/// The memory of a pool.
#[derive(Debug)]
pub(super) struct Stock {
    state: Mutex<State>,
    /// Of the process that made it. In a forked child the lock may be closed for ever: nothing is lent there, and what comes back is
    /// the parent's.
    generation: u64,
    /// Of no other pool, unless none was left.
    pub(super) id: u32,
}

/// The number of the next pool; 0 is none.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// What the lock keeps.
#[derive(Debug)]
pub(super) struct State {
    /// Invariant P1: a shelf with lent blocks stays where it is.
    pub(super) shelves: Vec<Option<Shelf>>,
    pub(super) max_idle_bytes: usize,
    /// The pool is gone: what comes back goes upstream.
    pub(super) is_closed: bool,
    pub(super) now: Time,
    /// Invariant P2: the stock keeps itself as long as a block is lent, whose records are in its slabs.
    pub(super) lent_count: usize,
    pub(super) itself: Option<Arc<Stock>>,
    /// What is lent of the slabs, but for what magazines have not told yet: less than nothing where more came back here than was lent
    /// here.
    pub(super) lent_bytes: isize,
    /// What threads keep, and the sum of what they were told that they may use. A thread may lend more than comes back to it only as
    /// far as the peak stays what it is, so that the peak is exact though nobody counts at each allocation.
    pub(super) magazines: Vec<&'static Magazine>,
    pub(super) granted_bytes: isize,
    /// Buffers that do not come from a slab.
    pub(super) own_bytes: usize,
    pub(super) peak_bytes: usize,
    pub(super) reused_count: u64,
}

/// What to wait for so that parked blocks are free.
pub(super) struct Wait {
    shelf: usize,
    class: usize,
    queue: Queue,
    until: Time,
}

impl Stock {
    pub(super) fn new(max_idle_bytes: usize) -> Arc<Self> {
        let id = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1));
        Self::numbered(max_idle_bytes, id.unwrap_or(HomeRef::NO_NUMBER))
    }

    pub(super) fn numbered(max_idle_bytes: usize, id: u32) -> Arc<Self> {
        let state = State {
            shelves: Vec::new(),
            max_idle_bytes,
            is_closed: false,
            now: 0,
            lent_count: 0,
            itself: None,
            lent_bytes: 0,
            magazines: Vec::new(),
            granted_bytes: 0,
            own_bytes: 0,
            peak_bytes: 0,
            reused_count: 0,
        };
        let (state, generation) = (Mutex::new(state), Runtime::fork_generation());
        Arc::new(Self { state, generation, id })
    }

    /// Whether this is a forked child of the process that made the pool.
    pub(super) fn is_forked(&self) -> bool {
        !Runtime::is_fork_generation(self.generation)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // No code unwinds while it holds the lock half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer in a block that this thread keeps, for the pool, queue and kind of its last allocation; in the caller.
    #[inline(always)]
    pub(super) fn lend_first(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
    ) -> Option<UsmBuffer> {
        // In a forked child of no pool of the parent.
        Some(buffer(thread::current().take_first(self.id, queue, kind, len_bytes, class)?))
    }

    /// A buffer in a block that this thread keeps.
    pub(super) fn lend_kept(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        class: usize,
    ) -> Option<UsmBuffer> {
        if self.is_forked() {
            return None;
        }
        Some(buffer(thread::magazine(self.id)?.take(queue, kind, len_bytes, class)?))
    }

    /// A buffer in a block that nothing uses.
    pub(super) fn lend(
        self: &Arc<Self>,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        size: SizeClass,
        is_reuse: bool,
    ) -> Option<UsmBuffer> {
        if self.is_forked() {
            return None;
        }
        let magazine = if magazine::is_kept(size) { thread::magazine_or_new(self) } else { None };
        let request = Request::new(queue, len_bytes);
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        let index = state.shelf(queue, kind)?;
        let magazine =
            magazine.filter(|magazine| state.prepare(magazine, queue, kind, index, size, &mut garbage));
        let kept = magazine.and_then(|magazine| magazine.kept.hold().pop(index, size.index()));
        let place = match kept {
            Some(place) => {
                // SAFETY: M3: it was lent by the pool, so that it stays.
                let block = unsafe { place.as_ref() };
                // SAFETY: M3: nobody holds it, and it was the magazine's alone.
                let unused = unsafe { block.lend_again(len_bytes, queue, request.birth) };
                garbage.queues.extend(unused);
                place
            }
            None => {
                let place = state.shelves[index].as_mut()?.take_free(size, request)?.place;
                state.leaves(self, 1);
                place
            }
        };
        state.is_lent(len_bytes, is_reuse);
        if let Some(magazine) = magazine {
            state.fill(self, magazine, index, size);
        }
        drop(state);
        drop(garbage);
        Some(buffer(place))
    }

    /// A buffer in a block that was parked, without waiting.
    #[cold]
    pub(super) fn lend_parked(
        self: &Arc<Self>,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        size: SizeClass,
    ) -> Option<UsmBuffer> {
        let request = Request::new(queue, len_bytes);
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        let index = state.shelf(queue, kind)?;
        let mut taken = state.shelves[index].as_mut()?.take_in_order(size, request, &mut garbage);
        if taken.is_none() && state.absorb_ended(index, size.index(), &mut garbage) {
            taken = state.shelves[index].as_mut()?.take_free(size, request);
        }
        if taken.is_some() {
            state.leaves(self, 1);
            state.is_lent(len_bytes, true);
        }
        drop(state);
        drop(garbage);
        taken.map(|taken| buffer(taken.place))
    }

    /// Adds a slab for that queue and kind, and lends a block of it.
    pub(super) fn add(
        self: &Arc<Self>,
        slab: UsmBuffer,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        size: SizeClass,
    ) -> Option<UsmBuffer> {
        let mut state = self.lock();
        let index = match state.shelf(queue, kind) {
            Some(index) => index,
            None => state.add_shelf(Shelf::new(queue, kind)),
        };
        let home = HomeRef { home: Arc::<Self>::downgrade(self), number: self.id };
        let slab = state.shelves[index].as_mut()?.add(size, slab, home, index as u32);
        drop(state);
        let buffer = self.lend(queue, kind, len_bytes, size, false);
        // A block that came back meanwhile may have been lent instead, and the slab be one too many.
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        let max_idle_bytes = state.max_idle_bytes;
        if let Some(shelf) = state.shelves.get_mut(index).and_then(Option::as_mut) {
            shelf.evict(size.index(), slab, max_idle_bytes, &mut garbage);
        }
        drop(state);
        drop(garbage);
        buffer
    }

    /// What is to be waited for so that blocks of that size become free.
    pub(super) fn waits_for(&self, queue: &Queue, kind: UsmKind, size: SizeClass) -> Vec<Wait> {
        let state = self.lock();
        let Some(index) = state.shelf(queue, kind) else { return Vec::new() };
        state.waits(|shelf, class| shelf == index && class == size.index(), |_| true)
    }

    /// What is to be waited for so that all idle slabs are free.
    pub(super) fn waits_to_trim(&self) -> Vec<Wait> {
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        // Slabs whose blocks threads keep are not idle.
        state.recall(&mut garbage);
        state.waits(|_, _| true, |is_idle| is_idle)
    }

    /// Waits, without the lock, until parked blocks are free.
    ///
    /// # Errors
    /// Those of the queue. The blocks stay parked.
    pub(super) fn settle(&self, wait: &Wait) -> Result<()> {
        drops::wait(|| wait.queue.wait())?;
        let mut garbage = Garbage::default();
        self.lock().absorb(wait, &mut garbage);
        Ok(())
    }

    /// Takes all slabs out that nothing uses, to be dropped by the caller, and the shelves that are empty then.
    pub(super) fn take_free(&self) -> (Garbage, Vec<Shelf>) {
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        state.recall(&mut garbage);
        state.shelves.iter_mut().flatten().for_each(|shelf| shelf.evict_all(&mut garbage));
        let is_empty = |shelf: &mut Option<Shelf>| shelf.take_if(|shelf| shelf.slab_bytes == 0);
        let empty = state.shelves.iter_mut().filter_map(is_empty).collect();
        (garbage, empty)
    }

    /// The pool goes: all that comes back goes upstream from now on.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        (state.is_closed, state.max_idle_bytes) = (true, 0);
        let mut kept = Garbage::default();
        state.recall(&mut kept);
        for magazine in mem::take(&mut state.magazines) {
            // Its thread finds that it is of no pool.
            magazine.kept.hold().is_known = false;
            magazine.stock.store(0, Ordering::Relaxed);
        }
        let parked = state.hand_down_all();
        drop(state);
        drop(kept);
        for (slab, queue) in &parked {
            hand_down(slab.block(), queue);
        }
        let waits = self.lock().waits(|_, _| true, |_| true);
        let mut garbage = Garbage::default();
        // What waits for a queue does so when its slab is freed.
        waits.iter().for_each(|wait| {
            self.lock().absorb(wait, &mut garbage);
        });
        drop(parked);
        drop(garbage);
        drop(self.take_free());
    }

    /// Lets the blocks that threads keep be free. `true` when there were any.
    #[cold]
    pub(super) fn recall(&self) -> bool {
        if self.is_forked() {
            return false;
        }
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        let found = state.recall(&mut garbage);
        drop(state);
        found
    }

    /// The thread of a magazine ends.
    pub(super) fn retire(&self, magazine: &Magazine) {
        if self.is_forked() {
            return;
        }
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        state.count_one(magazine);
        state.recall_one(magazine, &mut garbage);
        state.magazines.retain(|known| !std::ptr::eq(*known, magazine));
        magazine.kept.hold().is_known = false;
        drop(state);
    }

    /// A buffer that does not come from a slab is there, or is gone.
    pub(super) fn count_used(&self, len_bytes: usize, is_new: bool) {
        if self.is_forked() {
            return;
        }
        let mut state = self.lock();
        if is_new {
            state.own_bytes = state.own_bytes.saturating_add(len_bytes);
            state.note_peak();
        } else {
            state.own_bytes -= len_bytes;
        }
    }
}

/// The buffer of a block that was lent.
#[inline(always)]
fn buffer(place: NonNull<Block>) -> UsmBuffer {
    // SAFETY: it was lent for this, from a slab, which is live memory of the shelf's kind and context. It is lent to nobody else (S1,
    // S2), and its slab stays (P2), until it is taken back.
    unsafe { UsmBuffer::lent(place) }
}

impl State {
    fn shelf(&self, queue: &Queue, kind: UsmKind) -> Option<usize> {
        let suits = |shelf: &Option<Shelf>| shelf.as_ref().is_some_and(|shelf| shelf.suits(queue, kind));
        self.shelves.iter().position(suits)
    }

    fn add_shelf(&mut self, shelf: Shelf) -> usize {
        let index = self.shelves.iter().position(Option::is_none).unwrap_or(self.shelves.len());
        if index == self.shelves.len() {
            self.shelves.push(None);
        }
        self.shelves[index] = Some(shelf);
        index
    }

    /// Bytes that buffers have, after [`count`](Self::count).
    pub(super) fn used_bytes(&self) -> usize {
        usize::try_from(self.lent_bytes).unwrap_or_default().saturating_add(self.own_bytes)
    }

    fn note_peak(&mut self) {
        if self.room_bytes() < 0 {
            self.count();
            self.peak_bytes = self.peak_bytes.max(self.used_bytes());
        }
    }

    /// How much more may be granted below the peak.
    pub(super) fn room_bytes(&self) -> isize {
        let signed = |bytes: usize| isize::try_from(bytes).unwrap_or(isize::MAX);
        let used_bytes = self.lent_bytes.saturating_add(self.granted_bytes);
        signed(self.peak_bytes).saturating_sub(used_bytes.saturating_add(signed(self.own_bytes)))
    }

    /// A block is not lent any more. What kept the stock for it goes with the caller, without the lock.
    #[must_use]
    pub(super) fn is_back(&mut self) -> Option<Arc<Stock>> {
        self.lent_count -= 1;
        if self.lent_count == 0 { self.itself.take() } else { None }
    }

    /// Blocks of a slab are lent, or kept by a thread.
    pub(super) fn leaves(&mut self, stock: &Arc<Stock>, count: usize) {
        if self.lent_count == 0 {
            self.itself = Some(Arc::clone(stock));
        }
        self.lent_count += count;
    }

    fn is_lent(&mut self, len_bytes: usize, is_reuse: bool) {
        self.lent_bytes += len_bytes as isize;
        self.note_peak();
        self.reused_count += u64::from(is_reuse);
    }

    /// Blocks whose event has ended are free. Those without an event get one, which the lock covers: no block may come back
    /// between the barrier and its time. `true` when there were any.
    fn absorb_ended(&mut self, shelf: usize, class: usize, garbage: &mut Garbage) -> bool {
        let now = self.now;
        let Some(found) = self.shelves[shelf].as_mut().and_then(|shelf| shelf.class_mut(class)) else {
            return false;
        };
        for stream in &mut found.streams {
            if stream.mark.is_none() {
                // Without an event the queue is waited for, if need be.
                stream.mark = stream.queue.barrier(&[]).ok().map(|event| (event, now));
            }
        }
        let has_ended = |stream: &Stream| {
            let (_, until) = stream.mark.as_ref().filter(|(event, _)| event.is_complete())?;
            Some(Wait { shelf, class, queue: stream.queue.clone(), until: *until })
        };
        let ended: Vec<_> = found.streams.iter().filter_map(has_ended).collect();
        ended.iter().filter(|wait| self.absorb(wait, garbage)).count() > 0
    }

    fn absorb(&mut self, wait: &Wait, garbage: &mut Garbage) -> bool {
        let max_idle_bytes = self.max_idle_bytes;
        let Some(shelf) = self.shelves.get_mut(wait.shelf).and_then(Option::as_mut) else { return false };
        shelf.absorb(wait.class, &wait.queue, wait.until, max_idle_bytes, garbage)
    }

    /// What parked blocks wait for, in the classes that are `wanted`, where one of the slabs `matters`: told whether it is idle.
    fn waits(&self, wanted: impl Fn(usize, usize) -> bool, matters: impl Fn(bool) -> bool) -> Vec<Wait> {
        let mut waits = Vec::new();
        for (shelf, found) in self.shelves.iter().enumerate() {
            for (class, found) in
                found.iter().flat_map(Shelf::classes).filter(|(class, _)| wanted(shelf, *class))
            {
                for stream in &found.streams {
                    if !found.parked_slabs(stream).any(|slab| matters(slab.is_idle())) {
                        continue;
                    }
                    waits.push(Wait { shelf, class, queue: stream.queue.clone(), until: self.now });
                }
            }
        }
        waits
    }

    /// The slabs with parked blocks, each with the queue that is to be waited for.
    fn hand_down_all(&mut self) -> Vec<(UsmBuffer, Queue)> {
        let mut parked: Vec<(UsmBuffer, Queue)> = Vec::new();
        for (_, class) in self.shelves.iter().flatten().flat_map(Shelf::classes) {
            for stream in &class.streams {
                let mut slabs: Vec<_> = class.parked_slabs(stream).collect();
                slabs.sort_unstable_by_key(|slab| slab.memory.address());
                slabs.dedup_by_key(|slab| slab.memory.address());
                parked.extend(slabs.into_iter().map(|slab| (slab.memory.clone(), stream.queue.clone())));
            }
        }
        parked
    }

    fn slab(&mut self, place: Place) -> Option<&mut Slab> {
        let shelf = self.shelves.get_mut(place.shelf as usize)?.as_mut()?;
        shelf.class_mut(place.class as usize)?.slab(place.slab)
    }

    /// Bytes of all slabs, and of the idle ones.
    pub(super) fn slab_bytes(&self) -> (usize, usize) {
        let shelves = self.shelves.iter().flatten();
        shelves.fold((0, 0), |(all, idle), shelf| (all + shelf.slab_bytes, idle + shelf.idle_bytes))
    }
}

impl Home for Stock {
    fn take_back(&self, place: Place, len_bytes: usize, mut pending: Option<&Queue>) {
        if self.is_forked() {
            return;
        }
        let mut state = self.lock();
        if state.is_closed
            && let Some(queue) = pending.take()
            && let Some(slab) = state.slab(place).map(|slab| slab.memory.clone())
        {
            drop(state);
            hand_down(slab.block(), queue);
            drop(slab);
            state = self.lock();
        }
        let mut kept = Garbage::default();
        state.lent_bytes -= len_bytes as isize;
        if let Some(magazine) = thread::magazine(self.id) {
            let more = magazine.kept.hold().overflow(place.shelf as usize, place.class as usize);
            more.into_iter().for_each(|place| state.set_one_free(place, &mut kept));
        }
        state.now += 1;
        let (now, max_idle_bytes) = (state.now, state.max_idle_bytes);
        let shelf = state.shelves.get_mut(place.shelf as usize).and_then(Option::as_mut);
        let garbage = shelf.and_then(|shelf| shelf.give(place, pending, now, max_idle_bytes));
        // The caller keeps the stock until this has returned.
        let itself = state.is_back();
        drop(state);
        drop((garbage, kept, itself));
    }
}
