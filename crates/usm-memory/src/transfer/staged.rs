//! Copies on queues: by one, or through host USM, read by one queue while the other writes what was read before.

use usm_core::{Event, Queue, UsmKind};

use super::flight::Flight;
use super::shape::{Order, Piece, Shape};
use crate::{Result, UsmBuffer, WriteGuard};

/// Most bytes that are read at once while as many are written.
///
/// Measured on two contexts of an OpenCL CPU with new staging memory for each copy: 256 KiB was best for copies of 4 MiB, 512 KiB
/// for 16 MiB and 1 MiB for 64 MiB; 2, 4 and 8 MiB were slower everywhere.
const MAX_CHUNK_BYTES: usize = 1 << 20;
/// What a chunk has at most of a whole copy that is large enough.
const CHUNKS: usize = 32;
/// A copy of less than two of these is one chunk.
const SMALL_CHUNK_BYTES: usize = 256 << 10;
/// The least that is tried where there is no memory for more.
const MIN_CHUNK_BYTES: usize = 64 << 10;

/// Which queues copy.
pub(super) enum Route<'a> {
    /// One reaches both sides.
    Direct(Queue),
    /// Each side needs its own, or the sides overlap.
    Staged { read: &'a Queue, write: &'a Queue },
}

impl<'a> Route<'a> {
    /// The way from `src` to `dst`. A queue copies between USM of its context, and host-accessible memory of any.
    pub(super) fn between(dst: &'a UsmBuffer, src: &'a UsmBuffer, order: Order) -> Self {
        let (write, read) = (dst.queue(), src.queue());
        if order != Order::Any {
            Self::Staged { read, write }
        } else if write.context() == read.context() {
            if copies_at_once(dst, src) { Self::Direct(write.clone()) } else { Self::Staged { read, write } }
        } else if src.is_host_accessible() {
            Self::Direct(write.clone())
        } else if dst.is_host_accessible() {
            Self::Direct(read.clone())
        } else if dst.memory_device() == write.device()
            && let Some(queue) = write.with_peer(src.memory_device())
        {
            Self::Direct(queue)
        } else {
            Self::Staged { read, write }
        }
    }
}

/// Whether a copy between memory of one context is one operation of a queue.
///
/// Not between devices of OpenCL: there the SYCL runtime copies through memory of its own, which it frees in a callback of the
/// driver before the second half has read it. The driver then waits for itself, for ever.
fn copies_at_once(dst: &UsmBuffer, src: &UsmBuffer) -> bool {
    let (to, from) = (dst.memory_device(), src.memory_device());
    to.info().backend_name != "opencl"
        || [dst, src].iter().any(|buffer| buffer.kind() == UsmKind::Host)
        || to == from
}

/// Lets the queues of both sides go on after a copy by a queue of neither: who waits for one of them waits for the copy, too.
pub(super) fn follow(dst: &UsmBuffer, src: &UsmBuffer, copied_by: &Queue, copied: &[Event]) -> Result<()> {
    let (to, from) = (dst.queue(), src.queue());
    if [to, from].contains(&copied_by) {
        return Ok(());
    }
    if to != from {
        from.barrier(copied)?;
    }
    to.barrier(copied)?;
    Ok(())
}

/// Submits a copy.
///
/// # Safety
/// 1. All pieces of `shape` are valid at `dst` and `src`, and stay so until `flight` is dropped; the queues of `route` reach them.
/// 2. Other work on them is complete when [`Flight::after`] is.
/// 3. `order` is what [`Shape::order`] says about them; anything but [`Order::Any`] comes with [`Route::Staged`].
pub(super) unsafe fn copy(
    flight: &mut Flight,
    route: &Route<'_>,
    dst: *mut u8,
    src: *const u8,
    shape: Shape,
    order: Order,
) -> Result<()> {
    match route {
        Route::Direct(queue) => {
            let mut after = flight.after().to_vec();
            for piece in shape.pieces(usize::MAX, order) {
                let (dst, src) = (dst.wrapping_add(piece.dst_bytes), src.wrapping_add(piece.src_bytes));
                // SAFETY: S1 for a piece (1 to 3); in an in-order queue every operation is after those before it, in others after
                // the event of the one before.
                let event = unsafe { flight.memcpy(queue, dst, src, piece.len_bytes, &after) }?;
                after.clear();
                if !queue.properties().in_order {
                    after.push(event);
                }
            }
            Ok(())
        }
        // SAFETY: S1 for all pieces (1 to 3).
        Route::Staged { read, write } => unsafe { pipeline(flight, read, write, dst, src, shape, order) },
    }
}

/// # Safety
/// As for [`copy`].
unsafe fn pipeline(
    flight: &mut Flight,
    read: &Queue,
    write: &Queue,
    dst: *mut u8,
    src: *const u8,
    shape: Shape,
    order: Order,
) -> Result<()> {
    let total_bytes = shape.len_bytes();
    if total_bytes == 0 {
        return Ok(());
    }
    let (staging, chunk_bytes) = staging(read, total_bytes, order)?;
    let start = staging.as_mut_ptr();
    flight.staging = Some(staging);

    let mut last_read = flight.after().to_vec();
    let mut last_write: Option<Event> = None;
    // The last write out of the half that is read into next.
    let mut emptied: [Option<Event>; 2] = [None, None];
    let mut batch = Vec::new();
    let mut pieces = shape.pieces(chunk_bytes, order).peekable();
    for half in [0, 1].into_iter().cycle() {
        take_batch(&mut pieces, chunk_bytes, &mut batch);
        if batch.is_empty() {
            break;
        }
        // Of no more than one chunk there is one half.
        let slot = start.wrapping_add(half * chunk_bytes);
        let mut after = last_read;
        after.extend(emptied[half].take());
        let mut used_bytes = 0;
        for piece in &batch {
            let (to, from) = (slot.wrapping_add(used_bytes), src.wrapping_add(piece.src_bytes));
            // SAFETY: a piece of the source (S1) and the range of the batch in its half of the staging memory, which `flight`
            // keeps; other writes from there are complete when `after` is, as is every read before.
            after = vec![unsafe { flight.memcpy(read, to, from, piece.len_bytes, &after) }?];
            used_bytes += piece.len_bytes;
        }
        last_read = after.clone();
        after.extend(last_write.take());
        used_bytes = 0;
        for piece in &batch {
            let (to, from) = (dst.wrapping_add(piece.dst_bytes), slot.wrapping_add(used_bytes));
            // SAFETY: a piece of the target (S1) and what was read into its half of the staging memory. All that was read before, which may overlap, has been read when `after` is complete;
            // what is read later does not overlap, because of the order (promise 3).
            after = vec![unsafe { flight.memcpy(write, to, from, piece.len_bytes, &after) }?];
            used_bytes += piece.len_bytes;
        }
        last_write = after.pop();
        emptied[half].clone_from(&last_write);
    }
    Ok(())
}

/// The next pieces that fit into a chunk together.
fn take_batch(
    pieces: &mut std::iter::Peekable<impl Iterator<Item = Piece>>,
    chunk_bytes: usize,
    batch: &mut Vec<Piece>,
) {
    batch.clear();
    let mut left_bytes = chunk_bytes;
    while let Some(piece) = pieces.next_if(|piece| piece.len_bytes <= left_bytes) {
        left_bytes -= piece.len_bytes;
        batch.push(piece);
    }
}

/// Host USM for two chunks, or for all if that is one, and the length of a chunk. Less memory makes shorter chunks.
///
/// New pages cost more than the copy, so the memory comes from a pool unless the application has chosen otherwise.
fn staging(queue: &Queue, total_bytes: usize, order: Order) -> Result<(WriteGuard, usize)> {
    let needs_all = order == Order::ReadAllFirst;
    let wanted_bytes = (total_bytes / CHUNKS).clamp(SMALL_CHUNK_BYTES, MAX_CHUNK_BYTES);
    let mut chunk_bytes = if needs_all { total_bytes } else { total_bytes.min(wanted_bytes) };
    loop {
        let len_bytes = if chunk_bytes < total_bytes { 2 * chunk_bytes } else { chunk_bytes };
        match UsmBuffer::allocate(queue, UsmKind::Host, len_bytes) {
            Ok(memory) => return Ok((memory.write_range(0..len_bytes)?, chunk_bytes)),
            Err(error) if needs_all || chunk_bytes <= MIN_CHUNK_BYTES => return Err(error),
            Err(_) => chunk_bytes = (chunk_bytes / 2).max(MIN_CHUNK_BYTES),
        }
    }
}
