//! Copies between a GPU and host memory that is not USM, through pinned host USM.
//!
//! The bus of a GPU reaches its speed from and to pinned memory only; for other memory a driver copies through pinned buffers of its
//! own, on one thread. Here the bus moves pieces between the device and a ring of pinned slots, while threads copy parts of the other
//! pieces between the slots and the caller's memory.
//!
//! - One thread leads: it alone calls the driver, whose lock several threads would wait for. The others see in an atomic number how far
//!   they may copy. The leader copies parts, too, when the bus needs nothing.
//! - The bus rests for 7 µs before a piece that comes when the one before it is moved already, and for 2 µs before one that waits for
//!   it. So some pieces are ahead of the bus, and those in the middle of a copy are long.
//! - All threads copy parts of one piece. The bus waits for the first piece of a copy to the device, and the caller for the last piece of
//!   a copy from the device, so these two are short.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::iter;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use usm_core::bulk::{self, MIN_PART_BYTES, Machine, Steps, copy_bytes, stream};
use usm_core::{DeviceType, Event, Queue, UsmKind};

use crate::{Result, UsmBuffer};

/// Uploads up to this length are left to the driver, which puts the bytes into its commands.
const DIRECT_UPLOAD_BYTES: usize = 16 << 10;
/// Up to this length a copy is one piece of one thread.
const BRIEF_BYTES: usize = MIN_PART_BYTES;
/// A thread copies so many bytes of a piece at once. Longer parts are copied faster, but the bus then moves the other pieces so much slower
/// that the whole takes longer.
const PART_BYTES: usize = 16 << 10;
/// Most bytes of a piece: a pause of 2 µs between two of them costs a bus of 55 GB/s 5 %.
const PIECE_BYTES: usize = 2 << 20;
/// Most bytes of the shortest pieces, and the part of a copy that they are.
const SHORT_PIECE_BYTES: usize = 512 << 10;
const SHORT_PIECES: usize = 4;
/// Most threads of a copy: more of them slow the bus of an H200 down, and fewer are too few where a processor is slow.
const THREADS: usize = 12;
/// Slots of a processor whose second caches are small: the bus moves one, another waits for it, and threads copy two.
const FEW_SLOTS: usize = 4;
/// Slots of a processor with large second caches.
const MANY_SLOTS: usize = 16;
/// A wait for a thread that copies a part spins this often before it gives its processor to other threads.
const SPINS: u32 = 2000;
/// The leader asks so often whether the bus is done, which takes up to a microsecond each time, before it waits for the bus.
const POLLS: u32 = 200;

/// The direction of a copy, as seen from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToDevice,
    FromDevice,
}

/// Whether copies between memory of the queue's device and host memory go through pinned memory.
pub(super) fn pays(queue: &Queue, len_bytes: usize) -> bool {
    let info = queue.device().info();
    len_bytes > 0 && info.device_type == DeviceType::Gpu && info.supports(UsmKind::Host)
}

/// Copies and waits. `false` when there is no pinned memory, or the driver is as fast without; nothing was copied then.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by anyone else meanwhile.
/// 2. Host code reaches the side that `direction` does not name.
pub(super) unsafe fn copy(
    queue: &Queue,
    direction: Direction,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
) -> Result<bool> {
    if direction == Direction::ToDevice && len_bytes <= DIRECT_UPLOAD_BYTES {
        return Ok(false);
    }
    let pieces = Pieces { direction, len_bytes };
    let staging_bytes = pieces.slots() * pieces.slot_bytes();
    let Ok(staging) = UsmBuffer::allocate(queue, UsmKind::Host, staging_bytes) else { return Ok(false) };
    let staging = staging.write_range(0..staging_bytes)?;
    let steps = Steps::of(iter::successors(Some(pieces.first()), |piece| pieces.after(*piece)).count());
    let work = Arc::new(Work {
        queue: queue.clone(),
        done: Box::new(steps.counter()),
        pieces,
        dst,
        src,
        staging: staging.as_mut_ptr(),
        is_led: AtomicBool::new(false),
        next: AtomicUsize::new(0),
        open: AtomicUsize::new(0),
        copied: (0..pieces.slots()).map(|_| AtomicUsize::new(0)).collect(),
        moving: Mutex::default(),
        is_stopped: AtomicBool::new(false),
        failure: Mutex::new(None),
        may_go_on: AtomicBool::new(false),
    });
    let threads = bulk::threads_for(len_bytes).clamp(1, THREADS);
    let shared = Arc::clone(&work);
    {
        let _moving = Moving(&work);
        bulk::share(threads, threads, move |_| shared.run());
    }
    // No thread works any more. The bus uses neither the ranges nor the slots after a wait, as every backend promises; memory of our own
    // stays where it does.
    if work.may_go_on.load(Ordering::Relaxed) {
        mem::forget(staging);
    }
    let failure = work.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(Ok(true), Err)
}

/// How a copy is divided into pieces, and each piece into parts of [`PART_BYTES`].
#[derive(Clone, Copy, Debug)]
struct Pieces {
    direction: Direction,
    len_bytes: usize,
}

/// A part of the copy that the bus moves at once. Its start is a multiple of [`PART_BYTES`].
#[derive(Clone, Copy, Debug)]
struct BusPiece {
    number: usize,
    start: usize,
    len_bytes: usize,
}

/// A part of a piece that a thread copies at once.
#[derive(Clone, Copy, Debug)]
struct ThreadPart {
    start: usize,
    len_bytes: usize,
}

impl BusPiece {
    fn end(self) -> usize {
        self.start + self.len_bytes
    }
}

impl Pieces {
    fn first(self) -> BusPiece {
        BusPiece { number: 0, start: 0, len_bytes: self.len_from(0) }
    }

    /// The piece behind a piece, unless that is the last one.
    fn after(self, piece: BusPiece) -> Option<BusPiece> {
        let start = piece.end();
        (start < self.len_bytes).then(|| BusPiece {
            number: piece.number + 1,
            start,
            len_bytes: self.len_from(start),
        })
    }

    fn len_from(self, start: usize) -> usize {
        let left = self.len_bytes - start;
        let wanted = match self.direction {
            // Several threads fill a piece in half the time in which the bus moves it.
            Direction::ToDevice => start,
            // The threads are asleep when the bus begins. The last piece is short.
            Direction::FromDevice => left / 2,
        };
        self.rounded(wanted).min(left)
    }

    /// Whole parts, between the shortest and the longest piece.
    fn rounded(self, len_bytes: usize) -> usize {
        if self.is_brief() {
            return self.len_bytes;
        }
        let shortest = (self.len_bytes / SHORT_PIECES).min(SHORT_PIECE_BYTES);
        len_bytes.clamp(shortest, PIECE_BYTES).next_multiple_of(PART_BYTES)
    }

    fn is_brief(self) -> bool {
        self.len_bytes <= BRIEF_BYTES
    }

    /// The bytes of the longest piece.
    fn slot_bytes(self) -> usize {
        self.rounded(self.len_bytes / 2).min(self.len_bytes)
    }

    /// The bus waits for each line that it writes and that is in the second cache of a core. So all slots together are larger than
    /// the second caches of the threads: until a slot is written again, its lines have left them.
    fn slots(self) -> usize {
        if self.is_brief() {
            return 1;
        }
        let second = Machine::this().caches().iter().find(|cache| cache.level == 2);
        let slots = second.map_or(0, |cache| ((THREADS + 2) * cache.bytes).div_ceil(PIECE_BYTES));
        slots.clamp(FEW_SLOTS, MANY_SLOTS).min(self.len_bytes.div_ceil(self.slot_bytes()) + 1)
    }

    /// The part of a number, which is in `piece` or in a later one, with that piece.
    fn part(self, mut piece: BusPiece, number: usize) -> Option<(BusPiece, ThreadPart)> {
        let start = number.saturating_mul(PART_BYTES);
        while piece.end() <= start {
            piece = self.after(piece)?;
        }
        Some((piece, ThreadPart { start, len_bytes: PART_BYTES.min(piece.end() - start) }))
    }
}

/// Who does a step of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The threads copy its parts.
    Threads,
    /// The bus moves it.
    Bus,
}

/// A copy that several threads share.
struct Work {
    queue: Queue,
    /// Counts a piece at its end.
    done: Box<dyn Fn() + Send + Sync>,
    pieces: Pieces,
    /// Invariant PW1: both sides as the caller of [`copy`] promises them, until it returns, after all threads; of each part only the
    /// thread that took its number touches the bytes.
    dst: *mut u8,
    src: *const u8,
    /// Invariant PW2: the slots, one after the other, until [`copy`] returns. A slot is its piece's alone, from its first step to the end of
    /// its second one; in the step of the bus its bytes belong to the bus, in that of the threads part by part as in PW1.
    staging: *mut u8,
    /// Whether a thread leads.
    is_led: AtomicBool,
    /// The number of the next part.
    next: AtomicUsize,
    /// Parts below this number may be copied.
    open: AtomicUsize,
    /// For each slot, how many parts of its piece are copied.
    copied: Vec<AtomicUsize>,
    /// The pieces that the bus moves, in order.
    moving: Mutex<VecDeque<Event>>,
    /// Whether a thread has failed. The others wait for no further parts then.
    is_stopped: AtomicBool,
    failure: Mutex<Option<crate::Error>>,
    /// Whether the bus may still use slots after a failed wait.
    may_go_on: AtomicBool,
}

// SAFETY: PW1 and PW2.
unsafe impl Send for Work {}
// SAFETY: PW1 and PW2.
unsafe impl Sync for Work {}

/// Stops all threads when a thread unwinds.
struct Unwinding<'a>(&'a Work);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Waits for what the bus still moves after an error or a panic.
struct Moving<'a>(&'a Work);

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        for event in self.0.moving().drain(..) {
            if let Err(error) = event.wait() {
                self.0.stop(error.into());
                self.0.may_go_on.fetch_or(!event.is_complete(), Ordering::Relaxed);
            }
        }
    }
}

impl Work {
    /// Leads, or copies parts until none is left or a thread has failed.
    fn run(&self) {
        let unwinding = Unwinding(self);
        if self.is_led.swap(true, Ordering::Relaxed) {
            self.follow();
        } else if let Err(error) = self.lead() {
            self.stop(error);
        }
        mem::forget(unwinding);
    }

    fn stop(&self, error: crate::Error) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn moving(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leads all pieces through their two steps, each in order.
    fn lead(&self) -> Result<()> {
        let (first, second) = match self.pieces.direction {
            Direction::ToDevice => (Step::Threads, Step::Bus),
            Direction::FromDevice => (Step::Bus, Step::Threads),
        };
        let start = Some(self.pieces.first());
        // The next piece that begins the first step, the second step, and that ends.
        let (mut begins, mut goes_on, mut ends) = (start, start, start);
        let mut of_mine = self.pieces.first();
        let mut turn = 0;
        while let Some(ending) = ends {
            let number = |piece: Option<BusPiece>| piece.map_or(usize::MAX, |piece| piece.number);
            if ending.number < number(goes_on) && self.has_done(second, ending)? {
                ends = self.pieces.after(ending);
                (self.done)();
            } else if let Some(piece) = goes_on.filter(|piece| piece.number < number(begins))
                && self.has_done(first, piece)?
            {
                self.begin(second, piece)?;
                goes_on = self.pieces.after(piece);
            } else if let Some(piece) =
                begins.filter(|piece| piece.number < ending.number + self.copied.len())
            {
                self.begin(first, piece)?;
                begins = self.pieces.after(piece);
            } else if self.is_stopped.load(Ordering::Relaxed) {
                return Ok(()); // a follower panicked
            } else if let Some(number) = self.take_open() {
                of_mine = self.copy_part(of_mine, number).unwrap_or(of_mine);
            } else {
                if turn < POLLS || !self.wait_for_bus()? {
                    rest(&mut turn);
                }
                continue;
            }
            turn = 0;
        }
        Ok(())
    }

    /// Begins a step of a piece that has its slot.
    fn begin(&self, step: Step, piece: BusPiece) -> Result<()> {
        if step == Step::Threads {
            self.copied[self.slot(piece)].store(0, Ordering::Relaxed);
            self.open.store(piece.end().div_ceil(PART_BYTES), Ordering::Release);
            return Ok(());
        }
        let staged = self.staged(piece);
        let (dst, src) = match self.pieces.direction {
            Direction::ToDevice => (self.dst.wrapping_add(piece.start), staged.cast_const()),
            Direction::FromDevice => (staged, self.src.wrapping_add(piece.start)),
        };
        // SAFETY: a slot (PW2) and the piece of the device's side (PW1), which stay until the leader or `Moving` has waited for the event.
        let event = unsafe { self.queue.memcpy(dst, src, piece.len_bytes, &[]) }?;
        self.moving().push_back(event);
        Ok(())
    }

    /// Whether a step is done. The bus has begun no earlier piece that is not done.
    fn has_done(&self, step: Step, piece: BusPiece) -> Result<bool> {
        if step == Step::Threads {
            let copied = self.copied[self.slot(piece)].load(Ordering::Acquire);
            return Ok(copied == piece.len_bytes.div_ceil(PART_BYTES));
        }
        let mut moving = self.moving();
        // There is nothing else to do in a brief copy.
        if !moving.front().is_some_and(|event| self.pieces.is_brief() || event.is_complete()) {
            return Ok(false);
        }
        // One that cannot be waited for stays, for `Moving`.
        moving.front().map_or(Ok(()), Event::wait)?;
        moving.pop_front();
        Ok(true)
    }

    /// Waits for the oldest piece that the bus moves, if there is one. A runtime may begin operations only when somebody waits.
    fn wait_for_bus(&self) -> Result<bool> {
        let oldest = self.moving().front().cloned();
        oldest.map_or(Ok(false), |event| Ok(event.wait().map(|()| true)?))
    }

    /// Copies parts until none is left. Waits for none when a thread has failed.
    fn follow(&self) {
        let mut piece = self.pieces.first();
        loop {
            // The parts of a thread come in order.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let mut turn = 0;
            while number >= self.open.load(Ordering::Acquire) {
                if self.is_stopped.load(Ordering::Relaxed)
                    || number >= self.pieces.len_bytes.div_ceil(PART_BYTES)
                {
                    return;
                }
                rest(&mut turn);
            }
            let Some(of) = self.copy_part(piece, number) else { return };
            piece = of;
        }
    }

    /// The number of a part that may be copied at once.
    fn take_open(&self) -> Option<usize> {
        let open = self.open.load(Ordering::Relaxed);
        let next = |number| (number < open).then_some(number + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// The number of a piece's slot.
    fn slot(&self, piece: BusPiece) -> usize {
        piece.number % self.copied.len()
    }

    /// The start of a piece's slot.
    fn staged(&self, piece: BusPiece) -> *mut u8 {
        self.staging.wrapping_add(self.slot(piece) * self.pieces.slot_bytes())
    }

    /// Copies a part that the thread took and that is open, between its place in the slot of its piece and the caller's memory. Returns
    /// that piece, which is `piece` or a later one.
    fn copy_part(&self, piece: BusPiece, number: usize) -> Option<BusPiece> {
        let (piece, ThreadPart { start, len_bytes }) = self.pieces.part(piece, number)?;
        let staged = self.staged(piece).wrapping_add(start - piece.start);
        let (dst, src) = match self.pieces.direction {
            Direction::ToDevice => (staged, self.src.wrapping_add(start)),
            Direction::FromDevice => (self.dst.wrapping_add(start), staged.cast_const()),
        };
        // No thread reads the bytes of a long copy soon, so they pass the caches by. The bus reads shorter ones sooner from the caches.
        let cached_bytes = match self.pieces.direction {
            Direction::ToDevice => PIECE_BYTES,
            Direction::FromDevice => BRIEF_BYTES,
        };
        if self.pieces.len_bytes <= cached_bytes {
            // SAFETY: PW1 and PW2 for the part, which is open.
            unsafe { copy_bytes(dst, src, len_bytes) };
        } else {
            // SAFETY: PW1 and PW2 for the part, which is open.
            unsafe { stream::copy(dst, src, len_bytes) };
            stream::fence();
        }
        self.copied[self.slot(piece)].fetch_add(1, Ordering::Release);
        Some(piece)
    }
}

/// Rests once in a wait for another thread or the bus. `turn` counts how often it did in this wait.
fn rest(turn: &mut u32) {
    if *turn < SPINS {
        *turn += 1;
        spin_loop();
    } else {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::iter::successors;

    use super::*;

    #[test]
    fn pieces_cover_the_copy_and_fit_their_slots() {
        for direction in [Direction::ToDevice, Direction::FromDevice] {
            for len_bytes in [
                1,
                PART_BYTES,
                PART_BYTES + 1,
                2 * PART_BYTES,
                (1 << 20) - 1,
                (2 << 20) + 16,
                (16 << 20) + 1,
                5 << 30,
            ] {
                let pieces = Pieces { direction, len_bytes };
                let all: Vec<_> = successors(Some(pieces.first()), |&piece| pieces.after(piece)).collect();
                let mut end = 0;
                for (number, piece) in all.iter().enumerate() {
                    assert_eq!((piece.number, piece.start, piece.start % PART_BYTES), (number, end, 0));
                    assert!((1..=pieces.slot_bytes()).contains(&piece.len_bytes), "{len_bytes}: {piece:?}");
                    end = piece.end();
                }
                assert_eq!(end, len_bytes);
                let (mut piece, mut end) = (pieces.first(), 0);
                for number in 0.. {
                    let Some((of, part)) = pieces.part(piece, number) else { break };
                    assert!(
                        (of.start..of.end()).contains(&part.start) && part.start == end && part.len_bytes > 0
                    );
                    (piece, end) = (of, part.start + part.len_bytes);
                    assert!(end <= of.end());
                }
                assert_eq!(end, len_bytes);
                assert!(pieces.slot_bytes() <= PIECE_BYTES.min(len_bytes));
                let ends = match direction {
                    Direction::ToDevice => all.first(),
                    Direction::FromDevice => all.last(),
                };
                assert!(ends.unwrap().len_bytes <= SHORT_PIECE_BYTES, "{direction:?} {len_bytes}");
            }
        }
    }
}
