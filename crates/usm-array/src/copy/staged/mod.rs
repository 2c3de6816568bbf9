//! Pieces of device memory, to and from host memory: a queue copies one piece while host code works on another
//!
//! The plan has cut them, see `plan/pieces.rs`. `buffers.rs` is the host memory.

mod buffers;

use usm_memory::usm_core::bulk::{Machine, Steps};
use usm_memory::usm_core::{Event, Queue, Result as CoreResult};

use super::cast::Cast;
use super::copy_kernels::Elements;
use super::host::execute_piece;
use super::plan::{CopyPlan, Side};
use crate::error::Result;
use crate::kernel_engine::Kernels;
pub(super) use buffers::Staging;

/// How many elements all pieces have, and whether results of as many bytes go past the caches.
fn size_of_all(pieces: &[CopyPlan], cast: Cast) -> (usize, bool) {
    let size = pieces.iter().map(CopyPlan::size).sum::<usize>();
    (size, size * cast.dst.itemsize_bytes() >= Machine::this().copy_stream_bytes())
}

fn submitted(event: CoreResult<Event>) -> Result<Event> {
    Ok(event.map_err(usm_memory::Error::from)?)
}

/// Copies pieces to host memory: the bytes that they span, which host code sorts.
///
/// # Safety
/// For every pair of displacements of the pieces, in elements of the dtypes of `cast`:
/// 1. An element is writable by host code at the first one from `dst`, and nobody else touches it meanwhile.
/// 2. The second one from `src` is an element in live USM of the queue's context. So are the bytes between the elements, and nobody
///    writes any of them meanwhile.
pub(super) unsafe fn read_spans(
    queue: &Queue,
    pieces: Vec<CopyPlan>,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let itemsize = cast.src.itemsize_bytes();
    let submit = |staging: &mut Staging<'_>, piece: CopyPlan| {
        let span = piece.span(Side::Source);
        let (skipped, len_bytes) = (span.start * itemsize.cast_signed(), span.len() * itemsize);
        let buffer = staging.buffer(len_bytes)?;
        // SAFETY: the bytes that the piece spans, readable by promise 2, into memory of our own that `staging` keeps until the event
        // is complete.
        let event = unsafe { queue.memcpy(buffer, src.wrapping_offset(skipped), len_bytes, &[]) };
        staging.pending = Some(submitted(event)?);
        Ok((piece, skipped))
    };
    // SAFETY: the buffers hold what the pieces span; promise 1.
    unsafe { read(Staging::two(queue), pieces, cast, dst, submit) }
}

/// Copies pieces to host memory: the elements alone, which a kernel packs.
///
/// # Safety
/// Those of [`read_spans`]; kernels of the queue reach the source, and do not cast; `staging` is for the pieces.
pub(super) unsafe fn read_packed(
    queue: &Queue,
    pieces: Vec<CopyPlan>,
    staging: [Staging<'_>; 2],
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let elements = Elements::of_size(cast.src.itemsize_bytes());
    let submit = |staging: &mut Staging<'_>, piece: CopyPlan| {
        let (pack, unpack) = piece.through_packed(Side::Target);
        let buffer = staging.start()?;
        // SAFETY: elements of the source that nobody writes, by promise 2, each packed in a place of its own.
        let event = unsafe { Kernels::global().copy(queue, &pack, elements, buffer, src, &[]) };
        staging.pending = Some(event?);
        Ok((unpack, 0))
    };
    // SAFETY: the buffers hold the packed elements; promise 1.
    unsafe { read(staging, pieces, cast, dst, submit) }
}

/// Has each piece copied into a buffer, and copies it from there while the next one is under way. `submit` says how: by a plan that
/// counts from so many bytes before the buffer.
///
/// # Safety
/// Promise 1 of [`read_spans`]; the elements are in the buffer once what is pending there is complete.
unsafe fn read<'a>(
    [mut next, mut current]: [Staging<'a>; 2],
    pieces: Vec<CopyPlan>,
    cast: Cast,
    dst: *mut u8,
    submit: impl Fn(&mut Staging<'a>, CopyPlan) -> Result<(CopyPlan, isize)>,
) -> Result<()> {
    let (size, stream) = size_of_all(&pieces, cast);
    let steps = Steps::of(pieces.len());
    let done = steps.counter();
    let mut waiting: Option<(CopyPlan, isize)> = None;
    for piece in pieces.into_iter().map(Some).chain([None]) {
        let submitted = piece.map(|piece| submit(&mut next, piece)).transpose()?;
        if let Some((plan, skipped)) = waiting.take() {
            let from = current.start()?.cast_const().wrapping_offset(-skipped);
            // SAFETY: the elements are in the buffer; promise 1.
            unsafe { execute_piece(plan, cast, size, stream, dst, from) };
            done();
        }
        waiting = submitted;
        std::mem::swap(&mut next, &mut current);
    }
    Ok(())
}

/// Copies pieces from host memory: host code puts the elements in their places between the bytes that are there, which are read and
/// written back.
///
/// # Safety
/// For every pair of displacements of the pieces, in elements of the dtypes of `cast`:
/// 1. The first one from `dst` is an element in live USM of the queue's context. So are the bytes between the elements, and nobody else
///    touches any of them meanwhile.
/// 2. An element is readable by host code at the second one from `src`, and nobody writes it meanwhile.
pub(super) unsafe fn write_spans(
    queue: &Queue,
    pieces: Vec<CopyPlan>,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let itemsize = cast.dst.itemsize_bytes();
    let (size, _) = size_of_all(&pieces, cast);
    let [mut staging, mut other] = Staging::two(queue);
    let steps = Steps::of(pieces.len());
    let done = steps.counter();
    let mut last: Option<Event> = None;
    for piece in pieces {
        let span = piece.span(Side::Target);
        let skipped = span.start * itemsize.cast_signed();
        let (to, len_bytes) = (dst.wrapping_offset(skipped), span.len() * itemsize);
        let buffer = staging.buffer(len_bytes)?;
        // Pieces of interleaved axes may overlap, and queues may be out of order.
        let before = last.as_slice();
        if piece.dense_target_loops() < piece.loops.len() {
            // SAFETY: promise 1: the bytes that the piece spans, into memory of our own, which `staging` keeps until the event is complete.
            staging.pending = Some(submitted(unsafe { queue.memcpy(buffer, to, len_bytes, before) })?);
            staging.settle()?;
        }
        // SAFETY: the buffer is what the piece spans; promise 2.
        unsafe { execute_piece(piece, cast, size, false, buffer.wrapping_offset(-skipped), src) };
        // SAFETY: promise 1: the bytes that the piece spans, from memory of our own, which `staging` keeps until the event is complete.
        let event = submitted(unsafe { queue.memcpy(to, buffer, len_bytes, before) })?;
        staging.pending = Some(event.clone());
        last = Some(event);
        std::mem::swap(&mut staging, &mut other);
        done();
    }
    staging.settle()?;
    other.settle()
}

/// Copies pieces from host memory: host code packs the elements, and a kernel takes each to its place.
///
/// # Safety
/// Those of [`write_spans`]; kernels of the queue reach the target, and do not cast; no element of the target is visited twice;
/// `staging` is for the pieces.
pub(super) unsafe fn write_packed(
    queue: &Queue,
    pieces: Vec<CopyPlan>,
    [mut staging, mut other]: [Staging<'_>; 2],
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let elements = Elements::of_size(cast.src.itemsize_bytes());
    let (size, _) = size_of_all(&pieces, cast);
    let steps = Steps::of(pieces.len());
    let done = steps.counter();
    for piece in pieces {
        let (pack, unpack) = piece.through_packed(Side::Source);
        let buffer = staging.start()?;
        // SAFETY: promise 2; the memory holds the packed elements.
        unsafe { execute_piece(pack, cast, size, false, buffer, src) };
        // SAFETY: elements of the target that nobody else touches, by promise 1, each written once, from a buffer that `staging` keeps
        // until the event is complete.
        let event = unsafe { Kernels::global().copy(queue, &unpack, elements, dst, buffer, &[]) };
        staging.pending = Some(event?);
        std::mem::swap(&mut staging, &mut other);
        done();
    }
    staging.settle()?;
    other.settle()
}
