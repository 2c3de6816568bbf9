//! Pieces of the bytes that the elements span, sorted by host code
//!
//! What suits copies of long rows, casts, and queues without kernels.

use usm_memory::usm_core::bulk::Machine;
use usm_memory::usm_core::{Event, Queue};

use super::PIECE_BYTES;
use super::room::Staging;
use crate::copy::cast::Cast;
use crate::copy::host::execute_piece;
use crate::copy::plan::{CopyPlan, Side};
use crate::error::Result;

/// Gaps of more bytes are not copied: an operation of a queue costs about as much as this many bytes.
const GAP_BYTES: usize = 64 << 10;

/// Cuts a plan into parts that span at most so many bytes on a side, without large gaps.
pub(super) fn cut(
    plan: CopyPlan,
    side: Side,
    itemsize_bytes: usize,
    limit_bytes: usize,
    pieces: &mut Vec<CopyPlan>,
) {
    let span = plan.span(side).len() * itemsize_bytes;
    let gap = plan.farthest(side).map_or(0, |axis| {
        let axis = plan.loops[axis];
        let stride = axis.stride(side).unsigned_abs() * itemsize_bytes;
        let inside = span - stride * (axis.count - 1);
        stride.saturating_sub(inside)
    });
    // Several indices of one element, as in windows, count as often as they are.
    let copied =
        plan.loops.iter().filter(|axis| axis.stride(side) != 0).map(|axis| axis.count).product::<usize>();
    let parts = if gap > GAP_BYTES {
        plan.steps(side)
    } else if span.max(copied.saturating_mul(itemsize_bytes)) > limit_bytes {
        plan.halves(side).map(Vec::from)
    } else {
        None
    };
    match parts {
        Some(parts) => {
            parts.into_iter().for_each(|part| cut(part, side, itemsize_bytes, limit_bytes, pieces))
        }
        None => pieces.push(plan),
    }
}

/// Submits a copy of bytes.
///
/// # Safety
/// Those of [`Queue::memcpy`].
unsafe fn submit(
    queue: &Queue,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    after: &[Event],
) -> Result<Event> {
    // SAFETY: the caller's promises.
    Ok(unsafe { queue.memcpy(dst, src, len_bytes, after) }.map_err(usm_memory::Error::from)?)
}

/// Copies elements of device memory to host memory.
///
/// # Safety
/// Those of [`super::read`], with the lowest element at `src`; the bytes between the elements are live USM of the queue's context, too,
/// and nobody writes any of them meanwhile.
pub(super) unsafe fn pull(
    queue: &Queue,
    plan: CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let itemsize = cast.src.itemsize_bytes();
    let mut pieces = Vec::new();
    let size = plan.size();
    let stream = size * cast.dst.itemsize_bytes() >= Machine::this().copy_stream_bytes();
    cut(plan, Side::Source, itemsize, PIECE_BYTES, &mut pieces);
    let mut stagings = Staging::two(queue);
    let mut waiting: Option<(CopyPlan, usize)> = None;
    for (number, piece) in pieces.into_iter().map(Some).chain([None]).enumerate() {
        let slot = number % stagings.len();
        if let Some(piece) = &piece {
            let span = piece.span(Side::Source);
            let from = src.wrapping_offset(span.start * itemsize.cast_signed());
            let len_bytes = span.len() * itemsize;
            let room = stagings[slot].room(len_bytes)?;
            // SAFETY: the bytes that the piece spans, readable by the caller's promise, into memory of our own, which stays until
            // the event has ended: `Staging` waits for it.
            let event = unsafe { submit(queue, room, from, len_bytes, &[]) }?;
            stagings[slot].pending = Some(event);
        }
        if let Some((piece, slot)) = waiting.take() {
            stagings[slot].settle()?;
            let skipped = piece.span(Side::Source).start * itemsize.cast_signed();
            let from = stagings[slot].start().cast_const().wrapping_offset(-skipped);
            // SAFETY: the staging memory holds what the piece spans; the target is the caller's promise 2.
            unsafe { execute_piece(piece, cast, size, stream, dst, from) };
        }
        waiting = piece.map(|piece| (piece, slot));
    }
    Ok(())
}

/// Copies elements of host memory to device memory. What lies between them is read and written back.
///
/// # Safety
/// Those of [`super::write`], with the lowest element at `dst`; the bytes between the elements are live USM of the queue's context, too,
/// and nobody touches any of them meanwhile.
pub(super) unsafe fn push(
    queue: &Queue,
    plan: CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let itemsize = cast.dst.itemsize_bytes();
    let size = plan.size();
    let mut pieces = Vec::new();
    cut(plan, Side::Target, itemsize, PIECE_BYTES, &mut pieces);
    let mut stagings = Staging::two(queue);
    let mut last: Option<Event> = None;
    for (number, piece) in pieces.into_iter().enumerate() {
        let staging = &mut stagings[number % 2];
        let span = piece.span(Side::Target);
        let skipped = span.start * itemsize.cast_signed();
        let (to, len_bytes) = (dst.wrapping_offset(skipped), span.len() * itemsize);
        let room = staging.room(len_bytes)?;
        // Pieces of interleaved axes may overlap, and queues may be out of order.
        let before = last.as_slice();
        if piece.dense_target_loops() < piece.loops.len() {
            // SAFETY: the bytes that the piece spans, into memory of our own; the event is waited for at once.
            let event = unsafe { submit(queue, room, to, len_bytes, before) }?;
            event.wait().map_err(usm_memory::Error::from)?;
        }
        // SAFETY: the staging memory is what the piece spans; the source is the caller's promise 2.
        unsafe { execute_piece(piece, cast, size, false, room.wrapping_offset(-skipped), src) };
        // SAFETY: as above, the other way round; `Staging` waits for the event before its memory is used again or goes away.
        let event = unsafe { submit(queue, to, room, len_bytes, before) }?;
        staging.pending = Some(event.clone());
        last = Some(event);
    }
    stagings.iter_mut().try_for_each(Staging::settle)
}
