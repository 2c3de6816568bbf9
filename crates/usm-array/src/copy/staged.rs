//! Memory that host code cannot touch, piece by piece through the host
//!
//! Each piece is the bytes that a part of the plan spans. There is memory for two of them at a time, so that a queue can copy
//! one while host code works on the other.

use usm_memory::usm_core::{Event, Queue, UsmKind};
use usm_memory::{UsmBuffer, WriteGuard};

use super::by_task;
use super::cast::Cast;
use super::executor::is_reachable;
use super::host::{STREAM_BYTES, execute, execute_piece};
use super::plan::{CopyPlan, Side};
use crate::array::UsmArray;
use crate::error::Result;
use crate::view::{HostRead, HostWrite, zeroed_vec};

/// The most bytes of a piece: it is still in the cache when the other side of the copy comes to it.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// The most bytes of a piece whose elements are all over the target.
const PACKED_BYTES: usize = 256 << 20;

/// How many times as long as its elements the target of a piece is that counts as all over it.
const SCATTERED: usize = 4;

/// Gaps of more bytes are not copied: an operation of a queue costs about as much as this many bytes.
const GAP_BYTES: usize = 64 << 10;

/// Copies elements of an array to host memory, by a plan that counts from its lowest element.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of the dtypes of `cast`:
/// 1. The source displacement is an element of the array, counted from the lowest.
/// 2. An element is writable at the target displacement from `dst`, by nobody else meanwhile.
pub(super) unsafe fn read(source: &UsmArray, plan: CopyPlan, cast: Cast, dst: *mut u8) -> Result<()> {
    if is_reachable(source) {
        let from = HostRead::lock(source)?;
        // SAFETY: 1 and 2; the guard begins at the lowest element.
        unsafe { execute(plan, cast, dst, from.as_ptr()) };
        return Ok(());
    }
    source.buffer().wait_for_turn()?;
    let guard = source.buffer().read_range(source.byte_range())?;
    // SAFETY: 1 and 2; the guard begins at the lowest element and keeps all of them.
    unsafe { pull(source.queue(), plan, cast, dst, guard.as_ptr()) }
}

/// Copies elements of host memory to an array, by a plan that counts from its lowest element.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of the dtypes of `cast`:
/// 1. The target displacement is an element of the array, counted from the lowest.
/// 2. An element is readable at the source displacement from `src`, written by nobody meanwhile.
pub(super) unsafe fn write(target: &UsmArray, plan: CopyPlan, cast: Cast, src: *const u8) -> Result<()> {
    if is_reachable(target) {
        let to = HostWrite::lock(target)?;
        // SAFETY: 1 and 2; the guard begins at the lowest element.
        unsafe { execute(plan, cast, to.as_mut_ptr(), src) };
        return Ok(());
    }
    target.buffer().wait_for_turn()?;
    // One guard from the first byte read to the last one written, so that nobody else's write between the elements gets lost.
    let guard = target.buffer().write_range(target.byte_range())?;
    // SAFETY: 1 and 2; the guard begins at the lowest element and keeps all of them.
    unsafe { push(target.queue(), plan, cast, guard.as_mut_ptr(), src) }
}

/// Copies elements from array to array, one of which host code cannot touch, by a plan that counts from the lowest elements.
/// The two must not overlap.
pub(super) fn assign(target: &UsmArray, source: &UsmArray, plan: CopyPlan, cast: Cast) -> Result<()> {
    if is_reachable(target) {
        let to = HostWrite::lock(target)?;
        // SAFETY: the plan is that of the two arrays (P1), which do not overlap.
        return unsafe { read(source, plan, cast, to.as_mut_ptr()) };
    }
    if is_reachable(source) {
        let from = HostRead::lock(source)?;
        // SAFETY: as above.
        return unsafe { write(target, plan, cast, from.as_ptr()) };
    }
    source.buffer().wait_for_turn()?;
    target.buffer().wait_for_turn()?;
    let from = source.buffer().read_range(source.byte_range())?;
    let to = target.buffer().write_range(target.byte_range())?;
    for piece in packed_pieces(plan, cast.src.itemsize_bytes()) {
        let (pack, unpack) = piece.through_packed();
        let mut elements = zeroed_vec::<u8>(pack.size() * cast.src.itemsize_bytes())?;
        let same = Cast::new(cast.src, cast.src);
        // SAFETY: elements of the source (P1) under the guard, into memory of our own that has room for them.
        unsafe { pull(source.queue(), pack, same, elements.as_mut_ptr(), from.as_ptr()) }?;
        // SAFETY: elements of the target (P1) under the guard, from memory of our own.
        unsafe { push(target.queue(), unpack, cast, to.as_mut_ptr(), elements.as_ptr()) }?;
    }
    Ok(())
}

/// The pieces of a source that go through host memory as a whole, on their way to a target that goes through it in pieces, too.
///
/// In a transposing copy each piece of the source has elements in all of the target. So there are few, then: the target goes through
/// the host once for each.
fn packed_pieces(plan: CopyPlan, itemsize_bytes: usize) -> Vec<CopyPlan> {
    let cut_at = |plan, limit_bytes| {
        let mut pieces = Vec::new();
        cut(plan, Side::Source, itemsize_bytes, limit_bytes, &mut pieces);
        pieces
    };
    let pieces = cut_at(plan.clone(), PIECE_BYTES);
    let is_scattered = |piece: &CopyPlan| piece.span(Side::Target).len() / SCATTERED > piece.size();
    if pieces.len() > 1 && pieces.iter().any(is_scattered) { cut_at(plan, PACKED_BYTES) } else { pieces }
}

/// Cuts a plan into parts that span at most so many bytes on a side, without large gaps.
fn cut(plan: CopyPlan, side: Side, itemsize_bytes: usize, limit_bytes: usize, pieces: &mut Vec<CopyPlan>) {
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

/// Host memory for one piece, and what a queue still does with it.
struct Staging<'a> {
    queue: &'a Queue,
    room: Room,
    pending: Option<Event>,
}

/// Where a piece is.
enum Room {
    /// Host USM, mostly of a pool: touching new pages costs more than the copy, and devices copy from such memory at once.
    Usm(WriteGuard),
    /// Where there is no host USM.
    Heap(Vec<u8>),
}

impl Room {
    fn new(queue: &Queue, len_bytes: usize) -> Result<Self> {
        let usm = UsmBuffer::allocate(queue, UsmKind::Host, len_bytes);
        match usm.and_then(|memory| memory.write_range(0..len_bytes)) {
            Ok(guard) => Ok(Self::Usm(guard)),
            Err(_) => Ok(Self::Heap(zeroed_vec(len_bytes)?)),
        }
    }

    fn len_bytes(&self) -> usize {
        match self {
            Self::Usm(guard) => guard.len_bytes(),
            Self::Heap(bytes) => bytes.len(),
        }
    }

    fn start(&mut self) -> *mut u8 {
        match self {
            Self::Usm(guard) => guard.as_mut_ptr(),
            Self::Heap(bytes) => bytes.as_mut_ptr(),
        }
    }
}

impl<'a> Staging<'a> {
    fn two(queue: &'a Queue) -> [Self; 2] {
        [(); 2].map(|()| Self { queue, room: Room::Heap(Vec::new()), pending: None })
    }

    fn settle(&mut self) -> Result<()> {
        match self.pending.take() {
            Some(event) => Ok(event.wait().map_err(usm_memory::Error::from)?),
            None => Ok(()),
        }
    }

    /// Room for so many bytes, with which no queue works.
    fn room(&mut self, len_bytes: usize) -> Result<*mut u8> {
        self.settle()?;
        if self.room.len_bytes() < len_bytes {
            self.room = Room::new(self.queue, len_bytes)?;
        }
        Ok(self.room.start())
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // After an error: the queue must not work with memory that is gone. There is nobody to tell about a second one.
        let _ = self.settle();
    }
}

/// Copies elements of device memory to host memory.
///
/// # Safety
/// Those of [`read`], with the lowest element at `src`; the bytes between the elements are live USM of the queue's context, too,
/// and nobody writes any of them meanwhile.
unsafe fn pull(queue: &Queue, plan: CopyPlan, cast: Cast, dst: *mut u8, src: *const u8) -> Result<()> {
    if queue.runs_host_tasks() {
        // SAFETY: the caller's promises.
        return unsafe { by_task::execute(queue, plan, cast, dst, src) };
    }
    let itemsize = cast.src.itemsize_bytes();
    let mut pieces = Vec::new();
    let size = plan.size();
    let stream = size * cast.dst.itemsize_bytes() >= STREAM_BYTES;
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
            let from = stagings[slot].room.start().cast_const().wrapping_offset(-skipped);
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
/// Those of [`write`], with the lowest element at `dst`; the bytes between the elements are live USM of the queue's context, too,
/// and nobody touches any of them meanwhile.
unsafe fn push(queue: &Queue, plan: CopyPlan, cast: Cast, dst: *mut u8, src: *const u8) -> Result<()> {
    if queue.runs_host_tasks() {
        // SAFETY: the caller's promises.
        return unsafe { by_task::execute(queue, plan, cast, dst, src) };
    }
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
