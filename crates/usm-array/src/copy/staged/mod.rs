//! Memory that host code cannot touch, piece by piece through the host
//!
//! There is host memory for two pieces at a time, so that a queue can work on one while host code works on the other.
//!
//! | file | job |
//! |---|---|
//! | `by_host.rs` | pieces of the bytes that the elements span, sorted by host code |
//! | `by_kernel.rs` | pieces of the elements alone, sorted by a kernel |
//! | `room.rs` | the host memory |

mod by_host;
mod by_kernel;
mod room;

use super::by_task;
use super::cast::Cast;
use super::executor::is_reachable;
use super::host::execute;
use super::plan::{CopyPlan, Side};
use crate::array::UsmArray;
use crate::error::Result;
use crate::view::{HostRead, HostWrite, zeroed_vec};

/// The most bytes of a piece: it is still in the cache when the other side of the copy comes to it.
const PIECE_BYTES: usize = 1 << 20;

/// The most bytes of a piece whose elements are all over the target.
const PACKED_BYTES: usize = 256 << 20;

/// How many times as long as its elements the target of a piece is that counts as all over it.
const SCATTERED: usize = 4;

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
    unsafe { pull(source, plan, cast, dst, guard.as_ptr()) }
}

/// Copies elements of host memory to an array, by a plan that counts from its lowest element.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of the dtypes of `cast`:
/// 1. The target displacement is an element of the array, counted from the lowest.
/// 2. An element is readable at the source displacement from `src`, written by nobody meanwhile. So are the bytes between the elements,
///    except that others may write them.
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
    unsafe { push(target, plan, cast, guard.as_mut_ptr(), src) }
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
        let (pack, unpack) = piece.through_packed(Side::Target);
        let mut elements = zeroed_vec::<u8>(pack.size() * cast.src.itemsize_bytes())?;
        let same = Cast::new(cast.src, cast.src);
        // SAFETY: elements of the source (P1) under the guard, into memory of our own that has room for them.
        unsafe { pull(source, pack, same, elements.as_mut_ptr(), from.as_ptr()) }?;
        // SAFETY: elements of the target (P1) under the guard, from memory of our own.
        unsafe { push(target, unpack, cast, to.as_mut_ptr(), elements.as_ptr()) }?;
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
        by_host::cut(plan, Side::Source, itemsize_bytes, limit_bytes, &mut pieces);
        pieces
    };
    let pieces = cut_at(plan.clone(), PIECE_BYTES);
    let is_scattered = |piece: &CopyPlan| piece.span(Side::Target).len() / SCATTERED > piece.size();
    if pieces.len() > 1 && pieces.iter().any(is_scattered) { cut_at(plan, PACKED_BYTES) } else { pieces }
}

/// Copies elements of an array in device memory to host memory.
///
/// # Safety
/// Those of [`read`], with the lowest element at `src`; nobody writes any of the bytes from there to the highest element meanwhile.
unsafe fn pull(source: &UsmArray, plan: CopyPlan, cast: Cast, dst: *mut u8, src: *const u8) -> Result<()> {
    let queue = source.queue();
    if queue.runs_host_tasks() {
        // SAFETY: the caller's promises.
        return unsafe { by_task::execute(queue, plan, cast, dst, src) };
    }
    // Memory of another device than the queue's is for copies of the queue, not for its kernels.
    let done = source.buffer().is_reachable_by(queue) && {
        // SAFETY: the caller's promises, and the device was just asked; pieces that were copied before it turned out that something is
        // missing are copied again.
        unsafe { by_kernel::pull(queue, &plan, cast, dst, src) }?
    };
    if !done {
        // SAFETY: the caller's promises.
        unsafe { by_host::pull(queue, plan, cast, dst, src) }?;
    }
    Ok(())
}

/// Copies elements of host memory to an array in device memory.
///
/// # Safety
/// Those of [`write`], with the lowest element at `dst`; nobody touches any of the bytes from there to the highest element meanwhile.
unsafe fn push(target: &UsmArray, plan: CopyPlan, cast: Cast, dst: *mut u8, src: *const u8) -> Result<()> {
    let queue = target.queue();
    if queue.runs_host_tasks() {
        // SAFETY: the caller's promises.
        return unsafe { by_task::execute(queue, plan, cast, dst, src) };
    }
    let done = target.buffer().is_reachable_by(queue) && {
        // SAFETY: the caller's promises, and the device was just asked.
        unsafe { by_kernel::push(queue, &plan, cast, dst, src) }?
    };
    if !done {
        // SAFETY: the caller's promises.
        unsafe { by_host::push(queue, plan, cast, dst, src) }?;
    }
    Ok(())
}
