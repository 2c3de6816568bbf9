//! The elements alone, which a kernel takes from their places or puts there
//!
//! Where the device reaches all memory of the process, one kernel does all of it. Elsewhere host code copies pieces in the order in
//! which their elements lie on its side, and the device, whose memory is faster, does the rest. Nothing between the elements is moved.

use std::ptr;

use usm_memory::usm_core::bulk::Machine;
use usm_memory::usm_core::{Aspects, DeviceType, Queue};

use super::room::Staging;
use crate::copy::by_kernel::{finish, is_worth_it};
use crate::copy::cast::Cast;
use crate::copy::host::execute_piece;
use crate::copy::kernel::{LINE_BYTES, Launch, StridedKernels};
use crate::copy::plan::{CopyPlan, Side};
use crate::error::Result;

/// The most bytes of a piece: enough for what starting a kernel takes, and still in the last cache.
const PACKED_PIECE_BYTES: usize = 4 << 20;

/// The same where smaller pieces have less than a line in each place of the target.
const LARGE_PIECE_BYTES: usize = 16 << 20;

/// Runs of elements side by side in both memories, from so many bytes on, host code copies as fast.
const LONG_RUN_BYTES: usize = 4 << 10;

/// As [`super::pull`]; false when another way is as good, or a kernel or memory for it is missing.
///
/// # Safety
/// Those of [`super::pull`], and kernels of the queue may touch the array's memory.
pub(super) unsafe fn pull(
    queue: &Queue,
    plan: &CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<bool> {
    let itemsize = cast.src.itemsize_bytes();
    if cast.run().is_some() || !is_worth_it(queue, plan, itemsize) {
        return Ok(false);
    }
    if reaches_all_memory(queue) {
        // SAFETY: the caller's promises; `is_worth_it` has seen that no element of the target is visited twice.
        return unsafe { at_once(queue, plan, itemsize, dst, src) };
    }
    // In another order a piece of the target has a few bytes of each line of the source, which would be read again for the next one.
    if has_long_runs(plan, itemsize) || !plan.keeps_order() {
        return Ok(false);
    }
    let size = plan.size();
    let stream = size * itemsize >= Machine::this().copy_stream_bytes();
    let mut stagings = Staging::two(queue);
    let mut waiting: Option<(CopyPlan, usize)> = None;
    let pieces = plan.clone().packed_parts(Side::Target, PACKED_PIECE_BYTES / itemsize);
    for (number, piece) in pieces.into_iter().map(Some).chain([None]).enumerate() {
        let slot = number % stagings.len();
        let next = match piece {
            None => None,
            Some(piece) => {
                let (pack, unpack) = piece.through_packed(Side::Target);
                let room = stagings[slot].room(pack.size() * itemsize)?;
                // SAFETY: elements of the source that nobody writes, by the caller's promise, each packed in a place of its own.
                if !unsafe { launch(&mut stagings[slot], &pack, itemsize, room, src, false) }? {
                    return Ok(false);
                }
                Some((unpack, slot))
            }
        };
        if let Some((unpack, slot)) = waiting.take() {
            stagings[slot].settle()?;
            let from = stagings[slot].start().cast_const();
            // SAFETY: the packed elements; the target is the caller's promise 2.
            unsafe { execute_piece(unpack, cast, size, stream, dst, from) };
        }
        waiting = next;
    }
    Ok(true)
}

/// As [`super::push`]; false when another way is as good, or a kernel or memory for it is missing.
///
/// # Safety
/// Those of [`super::push`], and kernels of the queue may touch the array's memory.
pub(super) unsafe fn push(
    queue: &Queue,
    plan: &CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<bool> {
    let itemsize = cast.src.itemsize_bytes();
    if cast.run().is_some() || !is_worth_it(queue, plan, itemsize) {
        return Ok(false);
    }
    if reaches_all_memory(queue) {
        // SAFETY: as in `pull`.
        return unsafe { at_once(queue, plan, itemsize, dst, src) };
    }
    let cuts = [PACKED_PIECE_BYTES, LARGE_PIECE_BYTES].map(|bytes| bytes / itemsize);
    let mut cuts = cuts.into_iter().map(|max_len| plan.clone().packed_parts(Side::Source, max_len));
    let wanted = cuts.find(|pieces| pieces.iter().all(|piece| fills_lines(piece, plan, itemsize)));
    let Some(pieces) = wanted.filter(|_| !has_long_runs(plan, itemsize)) else {
        return Ok(false);
    };
    let size = plan.size();
    let stream = size * itemsize >= Machine::this().copy_stream_bytes();
    let mut stagings = Staging::two(queue);
    for (number, piece) in pieces.into_iter().enumerate() {
        let staging = &mut stagings[number % 2];
        let (pack, unpack) = piece.through_packed(Side::Source);
        let room = staging.room(pack.size() * itemsize)?;
        // Before host code packs in vain.
        if number == 0 && !(staging.is_usm() && takes(queue, &unpack, itemsize, dst, stream)) {
            return Ok(false);
        }
        // SAFETY: the source is the caller's promise 2; there is room for the packed elements.
        unsafe { execute_piece(pack, cast, size, false, room, src) };
        // SAFETY: elements of the target that nobody else touches, by the caller's promise, each written once: `is_worth_it` has
        // looked.
        if !unsafe { launch(staging, &unpack, itemsize, dst, room, stream) }? {
            return Ok(false);
        }
    }
    stagings.iter_mut().try_for_each(Staging::settle)?;
    Ok(true)
}

/// Whether kernels reach all memory of the process, as their own. A device with memory of its own would move pages one by one when
/// they are first touched; nobody has measured that.
fn reaches_all_memory(queue: &Queue) -> bool {
    let info = queue.device().info();
    info.device_type == DeviceType::Cpu && info.has(Aspects::USM_SYSTEM_ALLOCATIONS)
}

fn has_long_runs(plan: &CopyPlan, itemsize: usize) -> bool {
    let row = plan.row();
    row.dst == 1 && row.src == 1 && row.count * itemsize >= LONG_RUN_BYTES
}

/// Whether a piece has whole lines in the target, as far as its plan has.
fn fills_lines(piece: &CopyPlan, plan: &CopyPlan, itemsize: usize) -> bool {
    let (part, whole) = (piece.row(), plan.row());
    whole.dst != 1 || (part.dst == 1 && part.count >= whole.count.min(LINE_BYTES / itemsize))
}

/// # Safety
/// Those of [`StridedKernels::copy_strided`], for what the plan counts from `dst` and `src`, on a device that reaches all memory of
/// the process.
unsafe fn at_once(
    queue: &Queue,
    plan: &CopyPlan,
    itemsize: usize,
    dst: *mut u8,
    src: *const u8,
) -> Result<bool> {
    let (dst, src) = starts(plan, itemsize, dst, src);
    // SAFETY: the caller's promises.
    finish(unsafe { StridedKernels::global().copy_strided(queue, dst, src, &plan.loops, itemsize, &[]) })
}

/// Submits the copy of a plan to the room of a staging, or from there; false when a kernel or memory for it is missing. `stream` says
/// whether its results are a part of more than a cache holds.
///
/// # Safety
/// Those of [`StridedKernels::copy_strided`], for what the plan counts from `dst` and `src`, until the staging is settled.
unsafe fn launch(
    staging: &mut Staging<'_>,
    plan: &CopyPlan,
    itemsize: usize,
    dst: *mut u8,
    src: *const u8,
    stream: bool,
) -> Result<bool> {
    if !staging.is_usm() {
        return Ok(false);
    }
    let (dst, src) = starts(plan, itemsize, dst, src);
    let (kernels, queue, loops) = (StridedKernels::global(), staging.queue(), &plan.loops);
    let launch = match stream {
        // SAFETY: the caller's promises.
        true => unsafe { kernels.copy_piece(queue, dst, src, loops, itemsize) },
        // SAFETY: as above.
        false => unsafe { kernels.copy_strided(queue, dst, src, loops, itemsize, &[]) },
    };
    match launch.map_err(usm_memory::Error::from)? {
        Launch::Submitted(event) => {
            staging.pending = Some(event);
            Ok(true)
        }
        Launch::Unsupported(_) => Ok(false),
    }
}

/// Whether there is a kernel for what [`launch`] would submit.
fn takes(queue: &Queue, plan: &CopyPlan, itemsize: usize, dst: *mut u8, stream: bool) -> bool {
    let (dst, _) = starts(plan, itemsize, dst, ptr::null());
    StridedKernels::global().takes_copy(queue, dst, &plan.loops, itemsize, stream)
}

/// Where the elements are at which all loops start.
fn starts(plan: &CopyPlan, itemsize: usize, dst: *mut u8, src: *const u8) -> (*mut u8, *const u8) {
    let moved = |elements: isize| elements * itemsize.cast_signed(); // the place of an element, by P2
    (dst.wrapping_offset(moved(plan.dst_start)), src.wrapping_offset(moved(plan.src_start)))
}
