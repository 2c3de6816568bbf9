//! Copies between a GPU and host memory that is not USM, through pinned host USM.
//!
//! The bus of a GPU reaches its speed from and to pinned memory only; for other memory a driver copies through pinned buffers of its
//! own, on one thread. Here several threads each fill or empty slots of their own while the bus moves those of the others: no thread
//! hands a slot to another one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use usm_core::bulk::{self, copy_bytes, stream};
use usm_core::{DeviceType, Event, Queue, UsmKind};

use crate::{Result, UsmBuffer};

/// Uploads up to this length are left to the driver, which puts the bytes into its commands.
const DIRECT_UPLOAD_BYTES: usize = 16 << 10;
/// Up to this length a copy is one slot, which the calling thread fills or empties.
const ONE_SLOT_BYTES: usize = 64 << 10;
/// Most bytes of a slot. Shorter ones cost the bus its speed, and the longer ones of all threads leave the caches.
const SLOT_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4 << 10;
/// Slots of a thread: one is filled or emptied while the bus moves the other.
const SLOTS: usize = 2;
/// Most threads of a copy: as many keep the bus of an H200 busy.
const THREADS: usize = 8;

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
    let Slots { threads, slot_bytes, staging_bytes } = Slots::of(len_bytes, bulk::threads_for(len_bytes));
    let Ok(staging) = UsmBuffer::allocate(queue, UsmKind::Host, staging_bytes) else { return Ok(false) };
    let staging = staging.write_range(0..staging_bytes)?;
    let work = Work {
        queue: queue.clone(),
        direction,
        dst,
        src,
        len_bytes,
        slots: staging.as_mut_ptr(),
        slot_bytes,
        next: AtomicUsize::new(0),
        failure: Mutex::new(None),
    };
    if threads == 1 {
        work.run(0);
        return work.outcome().map(|()| true);
    }
    let work = Arc::new(work);
    let shared = Arc::clone(&work);
    // No thread works any more when this returns, and so nothing uses the ranges or the slots.
    bulk::share(threads, threads, move |thread| shared.run(thread));
    work.outcome().map(|()| true)
}

/// How a copy is divided.
#[derive(Clone, Copy, Debug)]
struct Slots {
    threads: usize,
    slot_bytes: usize,
    /// Of all slots together.
    staging_bytes: usize,
}

impl Slots {
    fn of(len_bytes: usize, threads: usize) -> Self {
        if len_bytes <= ONE_SLOT_BYTES {
            return Self { threads: 1, slot_bytes: len_bytes, staging_bytes: len_bytes };
        }
        let threads = threads.clamp(1, THREADS);
        let slot_bytes = SLOT_BYTES.min(len_bytes.div_ceil(SLOTS * threads).next_multiple_of(PAGE_BYTES));
        // Any thread may take any chunk, so each has all of its slots.
        Self { threads, slot_bytes, staging_bytes: threads * SLOTS * slot_bytes }
    }
}

/// A copy that several threads share.
struct Work {
    queue: Queue,
    direction: Direction,
    /// Invariant W1: both sides as the caller of [`copy`] promises them, until it returns, after all threads; of each chunk only the
    /// thread that took its number touches the bytes.
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    /// Invariant W2: [`SLOTS`] slots for each thread, which no other thread touches; one slot of a copy that is one chunk.
    slots: *mut u8,
    slot_bytes: usize,
    /// The number of the next chunk.
    next: AtomicUsize,
    failure: Mutex<Option<crate::Error>>,
}

// SAFETY: W1 and W2.
unsafe impl Send for Work {}
// SAFETY: W1 and W2.
unsafe impl Sync for Work {}

/// A part of the copy in a slot.
struct Chunk {
    start: usize,
    len_bytes: usize,
    slot: *mut u8,
}

impl Work {
    /// Moves chunks through the slots of a thread until none is left or a thread has failed.
    fn run(&self, thread: usize) {
        let mut lane = Lane::default();
        let done = match self.direction {
            Direction::ToDevice => self.upload(thread, &mut lane),
            Direction::FromDevice => self.download(thread, &mut lane),
        };
        // Also after an error: operations use the slots and the caller's memory.
        let waited = lane.wait_all();
        if let Err(error) = done.and(waited) {
            self.next.store(usize::MAX / 2, Ordering::Relaxed);
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    fn outcome(&self) -> Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// The next chunk, for a slot of a thread.
    fn take(&self, thread: usize, slot: usize) -> Option<Chunk> {
        let start = self.next.fetch_add(1, Ordering::Relaxed).checked_mul(self.slot_bytes)?;
        let len_bytes = self.slot_bytes.min(self.len_bytes.checked_sub(start).filter(|&left| left > 0)?);
        let slot = self.slots.wrapping_add((thread * SLOTS + slot) * self.slot_bytes);
        Some(Chunk { start, len_bytes, slot })
    }

    fn upload(&self, thread: usize, lane: &mut Lane) -> Result<()> {
        for slot in (0..SLOTS).cycle() {
            lane.wait(slot)?;
            let Some(chunk) = self.take(thread, slot) else { break };
            // SAFETY: bytes of the source that host code reaches (W1), and a slot that nothing moves any more (W2).
            unsafe { copy_bytes(chunk.slot, self.src.wrapping_add(chunk.start), chunk.len_bytes) };
            let target = self.dst.wrapping_add(chunk.start);
            // SAFETY: a slot (W2) and its range of the target (W1), which stay until `lane` has waited for the operation.
            let event = unsafe { self.queue.memcpy(target, chunk.slot, chunk.len_bytes, &[]) }?;
            lane.moving[slot] = Some(event);
        }
        Ok(())
    }

    fn download(&self, thread: usize, lane: &mut Lane) -> Result<()> {
        let mut arriving: [Option<Chunk>; SLOTS] = [None, None];
        let mut is_left = true;
        for slot in (0..SLOTS).cycle() {
            lane.wait(slot)?;
            if let Some(chunk) = arriving[slot].take() {
                let target = self.dst.wrapping_add(chunk.start);
                // SAFETY: bytes of the target that host code reaches (W1), and a slot that holds them and that nothing moves any more.
                unsafe { empty(target, chunk.slot, chunk.len_bytes) };
            }
            let chunk = if is_left { self.take(thread, slot) } else { None };
            match chunk {
                Some(chunk) => {
                    let source = self.src.wrapping_add(chunk.start);
                    // SAFETY: a range of the source (W1) and a slot that nobody uses (W2), which stay until `lane` has waited.
                    let event = unsafe { self.queue.memcpy(chunk.slot, source, chunk.len_bytes, &[]) }?;
                    lane.moving[slot] = Some(event);
                    arriving[slot] = Some(chunk);
                }
                None => is_left = false,
            }
            if !is_left && arriving.iter().all(Option::is_none) {
                break;
            }
        }
        Ok(())
    }
}

/// The operation under way in each slot of a thread.
#[derive(Default)]
struct Lane {
    moving: [Option<Event>; SLOTS],
}

impl Lane {
    /// Waits until nothing moves the slot.
    fn wait(&mut self, slot: usize) -> Result<()> {
        self.moving[slot].take().map_or(Ok(()), |event| Ok(event.wait()?))
    }

    fn wait_all(&mut self) -> Result<()> {
        let waited: Vec<_> = (0..SLOTS).map(|slot| self.wait(slot)).collect();
        waited.into_iter().collect()
    }
}

/// Copies the bytes of a slot to the caller's memory. Nobody reads those of a long copy soon, so they pass the caches by; the bus reads
/// a slot that was filled, which the caches have.
///
/// # Safety
/// 1. Both ranges are valid, and they do not overlap.
unsafe fn empty(dst: *mut u8, slot: *const u8, len_bytes: usize) {
    if len_bytes <= ONE_SLOT_BYTES {
        // SAFETY: promise 1.
        return unsafe { copy_bytes(dst, slot, len_bytes) };
    }
    // SAFETY: promise 1.
    unsafe { stream::copy(dst, slot, len_bytes) };
    stream::fence();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_slots_lie_within_the_staging_memory() {
        for threads in 0..70 {
            for len_bytes in
                [1, ONE_SLOT_BYTES, ONE_SLOT_BYTES + 1, 1 << 20, (2 << 20) + 16, 4 << 20, 5 << 30]
            {
                let slots = Slots::of(len_bytes, threads);
                assert!((1..=THREADS).contains(&slots.threads));
                let used_slots = (slots.threads * SLOTS).min(len_bytes.div_ceil(slots.slot_bytes));
                match used_slots {
                    1 => assert_eq!(slots.staging_bytes, len_bytes),
                    _ => assert_eq!(slots.staging_bytes, slots.threads * SLOTS * slots.slot_bytes),
                }
                assert!((1..=SLOT_BYTES).contains(&slots.slot_bytes), "{len_bytes} bytes, {threads} threads");
            }
        }
    }
}
