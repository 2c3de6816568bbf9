//! Copies between a GPU and host memory that is not USM, through pinned host USM.
//!
//! The bus of a GPU reaches its speed from and to pinned memory only; for other memory a driver copies through pinned buffers of its
//! own, on one thread. Here the bus moves pieces between the device and a ring of pinned slots, while threads copy the parts of the
//! other pieces between the slots and the caller's memory:
//!
//! - On the way to the device the bus waits until the first piece is filled. So all threads fill parts of the piece that the bus needs
//!   next, and there are few slots: the first store into each of their pages takes longer than a later one.
//! - On the way from the device each thread empties a piece of its own, and asks the driver for no other one. The bus begins to move the
//!   first pieces before a helper has woken up, and goes on into the slots that are empty.
//! - The copy waits until the last piece is there, so the pieces at its end are short. The bus rests between two pieces, so the others are
//!   long.

use std::hint::spin_loop;
use std::iter::successors;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use usm_core::bulk::{self, MIN_PART_BYTES, copy_bytes, stream};
use usm_core::{DeviceType, Event, Queue, UsmKind};

use crate::{Result, UsmBuffer};

/// Uploads up to this length are left to the driver, which puts the bytes into its commands.
const DIRECT_UPLOAD_BYTES: usize = 16 << 10;
/// A thread fills so many bytes of a slot at once. A copy of no more is one piece.
const PART_BYTES: usize = MIN_PART_BYTES;
/// Most bytes of a piece: a pause of 2 µs between two of them costs a bus of 55 GB/s 5 %.
const PIECE_BYTES: usize = 2 << 20;
/// Most bytes of the shortest pieces.
const SHORT_PIECE_BYTES: usize = 512 << 10;
/// The length of a piece is this part of the bytes that are left, or on the way to the device of the bytes before it, if they are fewer.
const SHARE: usize = 4;
/// Most threads of a copy: as many keep the bus of an H200 busy.
const THREADS: usize = 8;
/// Slots of a copy to the device: one is filled, the bus moves another, and two are reserves for delays of either side.
const FILLED_SLOTS: usize = 4;
/// Most slots of a copy from the device: each thread empties one while the bus fills another.
const SLOTS: usize = 2 * THREADS;
/// A wait for a thread that copies a part spins this often before it gives its processor to other threads.
const SPINS: u32 = 2000;

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
    let work = Arc::new(Work {
        queue: queue.clone(),
        pieces,
        dst,
        src,
        staging: staging.as_mut_ptr(),
        slots: Default::default(),
        next: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
        failure: Mutex::new(None),
    });
    if let Err(error) = work.begin() {
        work.stop(error);
    } else {
        let threads = bulk::threads_for(len_bytes).clamp(1, THREADS);
        let shared = Arc::clone(&work);
        // No thread works any more when this returns.
        bulk::share(threads, threads, move |_| shared.run());
    }
    // After this nothing uses the ranges or the slots, also after an error.
    work.end().map(|()| true)
}

/// How a copy is divided into pieces, and on the way to the device a piece into parts of [`PART_BYTES`].
#[derive(Clone, Copy, Debug)]
struct Pieces {
    direction: Direction,
    len_bytes: usize,
}

/// A part of the copy that the bus moves at once. Its start is a multiple of [`PART_BYTES`].
#[derive(Clone, Copy, Debug)]
struct Piece {
    number: usize,
    start: usize,
    len_bytes: usize,
}

/// A part of a piece that a thread copies at once.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    len_bytes: usize,
}

impl Piece {
    fn end(self) -> usize {
        self.start + self.len_bytes
    }
}

impl Pieces {
    fn first(self) -> Piece {
        Piece { number: 0, start: 0, len_bytes: self.len_from(0) }
    }

    /// A piece and all behind it.
    fn from(self, piece: Piece) -> impl Iterator<Item = Piece> {
        successors(Some(piece), move |&piece| self.after(piece))
    }

    /// The piece behind a piece, unless that is the last one.
    fn after(self, piece: Piece) -> Option<Piece> {
        let start = piece.end();
        (start < self.len_bytes).then(|| Piece {
            number: piece.number + 1,
            start,
            len_bytes: self.len_from(start),
        })
    }

    fn len_from(self, start: usize) -> usize {
        let left = self.len_bytes - start;
        let whole = match self.direction {
            // The last pieces are short, too: helpers that have filled them are awake for a copy that follows this one.
            Direction::ToDevice => start.min(left),
            Direction::FromDevice => left,
        };
        self.rounded(whole / SHARE).min(left)
    }

    /// Whole parts, between the shortest and the longest piece.
    fn rounded(self, len_bytes: usize) -> usize {
        let shortest = (self.len_bytes / SHARE).clamp(1, SHORT_PIECE_BYTES);
        len_bytes.clamp(shortest, PIECE_BYTES).next_multiple_of(PART_BYTES)
    }

    /// The bytes of the longest piece.
    fn slot_bytes(self) -> usize {
        self.rounded(self.len_bytes / SHARE).min(self.len_bytes)
    }

    fn slots(self) -> usize {
        match self.direction {
            _ if self.len_bytes <= PART_BYTES => 1,
            Direction::ToDevice => FILLED_SLOTS,
            Direction::FromDevice => self.len_bytes.div_ceil(self.slot_bytes()).min(SLOTS),
        }
    }

    /// The part of a number, which is in `piece` or in a later one, with that piece.
    fn part(self, mut piece: Piece, number: usize) -> Option<(Piece, Part)> {
        let start = number.saturating_mul(PART_BYTES);
        let is_before = |piece: Piece| match self.direction {
            Direction::ToDevice => piece.end() <= start,
            Direction::FromDevice => piece.number < number,
        };
        while is_before(piece) {
            piece = self.after(piece)?;
        }
        let part = match self.direction {
            Direction::ToDevice => Part { start, len_bytes: PART_BYTES.min(piece.end() - start) },
            Direction::FromDevice => Part { start: piece.start, len_bytes: piece.len_bytes },
        };
        Some((piece, part))
    }

    /// How many parts a piece has.
    fn parts(self, piece: Piece) -> usize {
        match self.direction {
            Direction::ToDevice => piece.len_bytes.div_ceil(PART_BYTES),
            Direction::FromDevice => 1,
        }
    }
}

/// A copy that several threads share.
///
/// The bus moves piece `p` after all parts of another one are copied: on the way to the device those of `p` itself, else those of the
/// piece before it in the same slot. A part is copied after the bus has moved another piece: on the way to the device the one before it
/// in its slot, else its own. So each thread waits only for the bus and for threads that copy parts of earlier pieces.
struct Work {
    queue: Queue,
    pieces: Pieces,
    /// Invariant W1: both sides as the caller of [`copy`] promises them, until it returns, after all threads; of each part only the
    /// thread that took its number touches the bytes.
    dst: *mut u8,
    src: *const u8,
    /// Invariant W2: the slots, one after the other, until [`copy`] returns. A slot is its piece's alone, whose bytes belong to the bus,
    /// or part by part as in W1 to the threads.
    staging: *mut u8,
    slots: [Slot; SLOTS],
    /// The number of the next part.
    next: AtomicUsize,
    /// Whether a thread has failed. The others take no more parts then.
    is_stopped: AtomicBool,
    failure: Mutex<Option<crate::Error>>,
}

// SAFETY: W1 and W2.
unsafe impl Send for Work {}
// SAFETY: W1 and W2.
unsafe impl Sync for Work {}

/// The state of a slot.
#[derive(Debug, Default)]
struct Slot {
    /// The last piece that the bus moves or has moved.
    moving: Mutex<Option<(usize, Event)>>,
    /// How many parts of a piece are copied. The thread that copies the last one sets this back.
    copied: AtomicUsize,
}

/// Stops all threads when a thread unwinds.
struct Unwinding<'a>(&'a Work);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Work {
    /// Lets the bus move pieces of the device into all slots.
    fn begin(&self) -> Result<()> {
        if self.pieces.direction == Direction::ToDevice {
            return Ok(());
        }
        let mut first = self.pieces.from(self.pieces.first()).take(self.pieces.slots());
        first.try_for_each(|piece| self.submit(piece))
    }

    /// Copies parts until none is left or a thread has failed.
    fn run(&self) {
        let unwinding = Unwinding(self);
        if let Err(error) = self.copy_parts() {
            self.stop(error);
        }
        mem::forget(unwinding);
    }

    fn stop(&self, error: crate::Error) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Waits for the bus; the first error.
    fn end(&self) -> Result<()> {
        for slot in &self.slots {
            let moving = slot.moving.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(Err(error)) = moving.map(|(_, event)| event.wait()) {
                self.stop(error.into());
            }
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn copy_parts(&self) -> Result<()> {
        let mut piece = self.pieces.first();
        let mut moved = None;
        while !self.is_stopped.load(Ordering::Relaxed) {
            // The parts of a thread come in order.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((of, part)) = self.pieces.part(piece, number) else { return Ok(()) };
            piece = of;
            let needed = match self.pieces.direction {
                Direction::ToDevice => piece.number.checked_sub(self.pieces.slots()),
                Direction::FromDevice => Some(piece.number),
            };
            if let Some(number) = needed.filter(|_| needed != moved) {
                let Some(event) = self.event(number) else { return Ok(()) };
                event.wait()?;
                moved = needed;
            }
            // SAFETY: the thread took this part, and the bus has moved the piece before it out of the slot, or this piece into it.
            unsafe { self.copy_part(piece, part) };
            self.count(piece)?;
        }
        Ok(())
    }

    /// The event of a piece. Waits for the threads that copy parts, before whose end the bus does not move it; `None` when a thread has
    /// failed.
    fn event(&self, number: usize) -> Option<Event> {
        let slot = &self.slots[number % self.pieces.slots()];
        for turn in 0_u32.. {
            match &*slot.moving.lock().unwrap_or_else(PoisonError::into_inner) {
                Some((moving, event)) if *moving == number => return Some(event.clone()),
                _ if self.is_stopped.load(Ordering::Relaxed) => return None,
                _ => {}
            }
            if turn < SPINS { spin_loop() } else { thread::yield_now() }
        }
        None
    }

    fn slot(&self, piece: Piece) -> *mut u8 {
        self.staging.wrapping_add(piece.number % self.pieces.slots() * self.pieces.slot_bytes())
    }

    /// Copies a part between its place in the slot of its piece and the caller's memory.
    ///
    /// # Safety
    /// 1. The part is the thread's (W1), and the bus does not use the slot (W2).
    unsafe fn copy_part(&self, piece: Piece, Part { start, len_bytes }: Part) {
        let staged = self.slot(piece).wrapping_add(start - piece.start);
        let (dst, src) = match self.pieces.direction {
            Direction::ToDevice => (staged, self.src.wrapping_add(start)),
            Direction::FromDevice => (self.dst.wrapping_add(start), staged.cast_const()),
        };
        // No thread reads the bytes of a long copy soon, so they pass the caches by. The bus reads shorter ones sooner from the caches.
        let cached_bytes = match self.pieces.direction {
            Direction::ToDevice => PIECE_BYTES,
            Direction::FromDevice => PART_BYTES,
        };
        if self.pieces.len_bytes <= cached_bytes {
            // SAFETY: W1 and W2 for the part (1).
            return unsafe { copy_bytes(dst, src, len_bytes) };
        }
        // SAFETY: W1 and W2 for the part (1).
        unsafe { stream::copy(dst, src, len_bytes) };
        stream::fence();
    }

    /// Counts a part that was copied. With the last one of a piece the bus may move the next one.
    fn count(&self, piece: Piece) -> Result<()> {
        let copied = &self.slots[piece.number % self.pieces.slots()].copied;
        if copied.fetch_add(1, Ordering::AcqRel) + 1 < self.pieces.parts(piece) {
            return Ok(());
        }
        copied.store(0, Ordering::Relaxed);
        let next = match self.pieces.direction {
            Direction::ToDevice => Some(piece),
            Direction::FromDevice => self.pieces.from(piece).nth(self.pieces.slots()),
        };
        next.map_or(Ok(()), |next| self.submit(next))
    }

    /// Lets the bus move a piece whose slot it may use.
    fn submit(&self, piece: Piece) -> Result<()> {
        let staged = self.slot(piece);
        let (dst, src) = match self.pieces.direction {
            Direction::ToDevice => (self.dst.wrapping_add(piece.start), staged.cast_const()),
            Direction::FromDevice => (staged, self.src.wrapping_add(piece.start)),
        };
        // SAFETY: a slot (W2) and the piece of the device's side (W1), which stay until `end` or a thread has waited for the event.
        let event = unsafe { self.queue.memcpy(dst, src, piece.len_bytes, &[]) }?;
        let slot = &self.slots[piece.number % self.pieces.slots()];
        let before =
            slot.moving.lock().unwrap_or_else(PoisonError::into_inner).replace((piece.number, event));
        drop(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
                let all: Vec<_> = pieces.from(pieces.first()).collect();
                let mut end = 0;
                for (number, piece) in all.iter().enumerate() {
                    assert_eq!((piece.number, piece.start, piece.start % PART_BYTES), (number, end, 0));
                    assert!((1..=pieces.slot_bytes()).contains(&piece.len_bytes), "{len_bytes}: {piece:?}");
                    end = piece.end();
                }
                assert_eq!(end, len_bytes);
                assert!((1..=all.len().max(FILLED_SLOTS)).contains(&pieces.slots()), "{len_bytes}");
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
                assert_eq!(
                    all.iter().map(|&piece| pieces.parts(piece)).sum::<usize>(),
                    match direction {
                        Direction::ToDevice => len_bytes.div_ceil(PART_BYTES),
                        Direction::FromDevice => all.len(),
                    }
                );
                assert!(pieces.slot_bytes() <= PIECE_BYTES.min(len_bytes));
                let is_short = |piece: Option<&Piece>| piece.unwrap().len_bytes <= SHORT_PIECE_BYTES;
                assert!(
                    is_short(all.last()) && (direction == Direction::FromDevice || is_short(all.first()))
                );
            }
        }
    }
}
