//! Copies between a GPU and host memory that is not USM, through pinned host USM.
//!
//! The bus of a GPU reaches its speed from and to pinned memory only; for other memory a driver copies through pinned buffers of its
//! own, on one thread. Here the threads for copies ([`bulk::copy`]) fill or empty one slot while the bus moves the others.

use usm_core::{DeviceType, Event, Queue, UsmKind, bulk};

use crate::{Result, UsmBuffer};

/// Shorter copies are one operation of the queue: more cost more than they save.
const MIN_BYTES: usize = 512 << 10;
/// Bytes of a slot: enough for the speed of the bus, and several slots stay in the cache of the processor.
const SLOT_BYTES: usize = 4 << 20;
/// One is filled or emptied, one is moved, one waits for its turn.
const SLOTS: usize = 3;

/// The direction of a copy, as seen from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToDevice,
    FromDevice,
}

/// Whether copies between memory of the queue's device and host memory go through pinned memory.
pub(super) fn pays(queue: &Queue, len_bytes: usize) -> bool {
    let info = queue.device().info();
    len_bytes >= MIN_BYTES && info.device_type == DeviceType::Gpu && info.supports(UsmKind::Host)
}

/// Copies and waits. `false` when there is no pinned memory; nothing was copied then.
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
    let slot_bytes = SLOT_BYTES.min(len_bytes.div_ceil(SLOTS).next_multiple_of(4096));
    let Ok(staging) = UsmBuffer::allocate(queue, UsmKind::Host, SLOTS * slot_bytes) else { return Ok(false) };
    let staging = staging.write_range(0..SLOTS * slot_bytes)?;
    let slot = |number: usize| staging.as_mut_ptr().wrapping_add(number % SLOTS * slot_bytes);
    let chunk = |number: usize| {
        let start = number * slot_bytes;
        (start, slot_bytes.min(len_bytes - start))
    };
    let chunks = len_bytes.div_ceil(slot_bytes);
    // Waits for all operations, also after an error: they use the slots and the caller's memory.
    let mut moving = Moving::default();
    match direction {
        Direction::ToDevice => {
            for number in 0..chunks {
                let ((start, len), slot) = (chunk(number), slot(number));
                moving.wait(number)?;
                // SAFETY: bytes of the source that host code reaches (1, 2), and a slot that nothing moves any more.
                unsafe { bulk::copy(slot, src.wrapping_add(start), len) };
                // SAFETY: a slot and its range of the target (1), which `moving` keeps until the operation is complete.
                moving.submit(number, unsafe { queue.memcpy(dst.wrapping_add(start), slot, len, &[]) }?);
            }
        }
        Direction::FromDevice => {
            let submit = |number: usize| {
                let ((start, len), slot) = (chunk(number), slot(number));
                // SAFETY: a range of the source (1) and a slot that nobody uses, which `moving` keeps until the operation is complete.
                unsafe { queue.memcpy(slot, src.wrapping_add(start), len, &[]) }
            };
            for number in 0..chunks.min(SLOTS) {
                moving.submit(number, submit(number)?);
            }
            for number in 0..chunks {
                let (start, len) = chunk(number);
                moving.wait(number)?;
                // SAFETY: bytes of the target that host code reaches (1, 2), and a slot that holds them and that nothing moves any more.
                unsafe { bulk::copy(dst.wrapping_add(start), slot(number), len) };
                if number + SLOTS < chunks {
                    moving.submit(number, submit(number + SLOTS)?);
                }
            }
        }
    }
    moving.wait_all()?;
    Ok(true)
}

/// The newest operation of each slot. Dropping it waits for them.
#[derive(Default)]
struct Moving([Option<Event>; SLOTS]);

impl Moving {
    fn submit(&mut self, number: usize, event: Event) {
        self.0[number % SLOTS] = Some(event);
    }

    /// Waits until nothing moves the slot.
    fn wait(&mut self, number: usize) -> Result<()> {
        match self.0[number % SLOTS].take() {
            Some(event) => Ok(event.wait()?),
            None => Ok(()),
        }
    }

    fn wait_all(&mut self) -> Result<()> {
        let waited: Vec<_> = (0..SLOTS).map(|number| self.wait(number)).collect();
        waited.into_iter().collect()
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        // The caller has the first error.
        let _ = self.wait_all();
    }
}
