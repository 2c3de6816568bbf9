//! Copies on queues: by one, or through host USM, read by one queue while the other writes what was read before.

use usm_core::{Event, Queue, Result as CoreResult, UsmKind};

use super::chain::Chain;
use super::shape::{Piece, PieceOrder, Shape};
use crate::access::{Operand, Submission};
use crate::tracker::waits;
use crate::{Result, UsmBuffer};

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
    pub(super) fn between(dst: &'a UsmBuffer, src: &'a UsmBuffer, order: PieceOrder) -> Self {
        let (write, read) = (dst.queue(), src.queue());
        if order != PieceOrder::Any {
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

/// Submits the pieces of a copy between memory without common bytes.
///
/// # Safety
/// 1. All pieces of `shape` are valid at `dst` and `src` until the copies are complete, the queue reaches them, and they do not overlap.
///    Other work on them is complete when the events of `copies` are.
pub(super) unsafe fn rows(
    copies: &mut Chain<'_>,
    dst: *mut u8,
    src: *const u8,
    shape: Shape,
) -> CoreResult<()> {
    for piece in shape.pieces(usize::MAX, PieceOrder::Any) {
        let (dst, src) = (dst.wrapping_add(piece.dst_bytes), src.wrapping_add(piece.src_bytes));
        // SAFETY: S1 for a piece (1).
        unsafe { copies.memcpy(dst, src, piece.len_bytes) }?;
    }
    Ok(())
}

/// Submits a copy through host USM, in chunks: one is written while the next one is read. Returns the events of all steps, the last of
/// which comes after the others, and the host USM.
///
/// # Safety
/// 1. The pieces of `shape` lie within the operands, counted from their starts, and `order` is what [`Shape::order`] says about them.
pub(super) unsafe fn copy(
    [read, write]: [&Queue; 2],
    dst: &Operand<'_>,
    src: &Operand<'_>,
    shape: Shape,
    order: PieceOrder,
    after: &[Event],
) -> Result<(Vec<Event>, Vec<UsmBuffer>)> {
    // Before the entries: a resource of the program may use the memory, and so may code of the user in a wait.
    let (chunks, chunk_bytes) = staging(read, shape.len_bytes(), order)?;
    let mut after = after.to_vec();
    waits::across_contexts(read, &mut after)?;
    let whole = Submission::of(&[dst.clone(), src.clone()])?;
    let mut steps = Vec::new();
    let mut batch = Vec::new();
    let mut pieces = shape.pieces(chunk_bytes, order).peekable();
    for chunk in chunks.iter().cycle() {
        take_batch(&mut pieces, chunk_bytes, &mut batch);
        if batch.is_empty() {
            break;
        }
        let used = 0..batch.iter().map(|piece| piece.len_bytes).sum();
        let reads = |starts: &[*mut u8], after: &[Event]| {
            let (kept, mut used_bytes) = ([src.buffer, chunk], 0);
            let mut copies = Chain::new(read, after, &kept);
            for piece in &batch {
                let (to, from) =
                    (starts[0].wrapping_add(used_bytes), starts[1].wrapping_add(piece.src_bytes));
                // SAFETY: promise 1 of `memcpy`: A piece of the source (S1), and its place in the chunk.
                unsafe { copies.memcpy(to, from, piece.len_bytes) }?;
                used_bytes += piece.len_bytes;
            }
            copies.end()
        };
        let operands = [Operand::written(chunk, used.clone()), src.clone()];
        // The first chunk comes after the events, and each other one after the first.
        let first = if steps.is_empty() { &after[..] } else { &[] };
        // SAFETY: promise 1 of `Submission::step`: The bytes of the operands. 2. USM of the queue's context. 3. Host code has slices under guards alone.
        let chunk_read = unsafe { whole.step(read, &operands, first, reads) }?;
        if read.context() == write.context() {
            steps.push(chunk_read);
        } else {
            chunk.wait()?; // no event orders the other queue
        }
        let writes = |starts: &[*mut u8], after: &[Event]| {
            let (kept, mut used_bytes) = ([dst.buffer, chunk], 0);
            let mut copies = Chain::new(write, after, &kept);
            for piece in &batch {
                let (to, from) =
                    (starts[0].wrapping_add(piece.dst_bytes), starts[1].wrapping_add(used_bytes));
                // SAFETY: promise 1 of `memcpy`: A piece of the target (S1), and its place in the chunk. What is read later does not overlap (`order`).
                unsafe { copies.memcpy(to, from, piece.len_bytes) }?;
                used_bytes += piece.len_bytes;
            }
            copies.end()
        };
        let operands = [dst.clone(), Operand::read(chunk, used)];
        // SAFETY: promise 1 of `Submission::step`: The bytes of the operands. 2. USM of the queue's context, and host USM. 3. As above.
        steps.push(unsafe { whole.step(write, &operands, &[], writes) }?);
    }
    Ok((steps, chunks))
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

/// Host USM for two chunks, or for one if that is all, and the length of a chunk. Less memory makes shorter chunks. The two are blocks of
/// their own, so that one is read while the other is written.
///
/// New pages cost more than the copy, so the memory comes from a pool unless the application has chosen otherwise.
fn staging(queue: &Queue, total_bytes: usize, order: PieceOrder) -> Result<(Vec<UsmBuffer>, usize)> {
    let needs_all = order == PieceOrder::ReadAllFirst;
    let wanted_bytes = (total_bytes / CHUNKS).clamp(SMALL_CHUNK_BYTES, MAX_CHUNK_BYTES);
    let mut chunk_bytes = if needs_all { total_bytes } else { total_bytes.min(wanted_bytes) };
    loop {
        let count = if chunk_bytes < total_bytes { 2 } else { 1 };
        let chunks = (0..count).map(|_| UsmBuffer::allocate(queue, UsmKind::Host, chunk_bytes));
        match chunks.collect::<Result<Vec<_>>>() {
            Ok(chunks) => return Ok((chunks, chunk_bytes)),
            Err(error) if needs_all || chunk_bytes <= MIN_CHUNK_BYTES => return Err(error),
            Err(_) => chunk_bytes = (chunk_bytes / 2).max(MIN_CHUNK_BYTES),
        }
    }
}
