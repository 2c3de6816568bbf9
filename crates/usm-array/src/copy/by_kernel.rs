//! Strided copies and fills of memory that host code cannot touch, carried out by a kernel where there is one
//!
//! Everything here may answer that it did nothing; the copy then goes through the host.

use usm_memory::usm_core::Queue;

use super::kernel::{Launch, StridedKernels};
use super::plan::{CopyPlan, Loop};
use crate::array::UsmArray;
use crate::error::Result;

/// Copies of fewer bytes go through the host: the first use of a kernel builds it, which takes as long as staging hundreds of
/// megabytes.
const MIN_BYTES: usize = 1 << 20;

/// The same for copies that a queue can do as they are: they save less.
const MIN_RUN_BYTES: usize = 16 << 20;

/// Dense runs are copied in words of so many bytes, whatever their elements are.
const WORD_BYTES: usize = 8;

/// Copies elements from array to array of one dtype, by a plan that counts from the lowest elements. The two must not overlap.
/// False when nothing was done.
pub(super) fn assign(target: &UsmArray, source: &UsmArray, plan: &CopyPlan) -> Result<bool> {
    let queue = target.queue();
    let is_reachable = target.buffer().is_reachable_by(queue) && source.buffer().is_reachable_by(queue);
    if !is_reachable || !is_worth_it(queue, plan, target.itemsize_bytes()) {
        return Ok(false);
    }
    target.buffer().wait_for_turn()?;
    let from = source.buffer().read_range(source.byte_range())?;
    let to = target.buffer().write_range(target.byte_range())?;
    let item_bytes = target.itemsize_bytes();
    let dst = to.as_mut_ptr().wrapping_offset(plan.dst_start * item_bytes.cast_signed());
    let src = from.as_ptr().wrapping_offset(plan.src_start * item_bytes.cast_signed());
    // SAFETY: by P1 the plan visits elements of the two arrays, counted from the lowest ones, where the guarded memory begins;
    // what lies between them is memory of their buffers. The queue reaches both. 1. `is_worth_it` has seen that no
    // element of the target is visited twice. 1 and 2: the guards admit nobody else until the wait below has ended, and the
    // arrays do not overlap.
    let launch =
        unsafe { StridedKernels::global().copy_strided(queue, dst, src, &plan.loops, item_bytes, &[]) };
    finish(launch)
}

/// Copies one dense run to another of the same length, which do not overlap, where a kernel is the faster way. False when nothing was
/// done.
pub(super) fn assign_run(target: &UsmArray, source: &UsmArray) -> Result<bool> {
    let (queue, len_bytes) = (target.queue(), target.size_bytes());
    if len_bytes < MIN_RUN_BYTES
        || !len_bytes.is_multiple_of(WORD_BYTES)
        || !target.buffer().is_reachable_by(queue)
        || !source.buffer().is_reachable_by(queue)
        || !StridedKernels::global().outdo_queue_copies(queue)
    {
        return Ok(false);
    }
    target.buffer().wait_for_turn()?;
    let from = source.buffer().read_range(source.byte_range())?;
    let to = target.buffer().write_range(target.byte_range())?;
    let words = [Loop { count: len_bytes / WORD_BYTES, dst: 1, src: 1 }];
    // SAFETY: all words of the two guarded ranges, which are dense runs of that length and do not overlap. The queue reaches both. The
    // guards admit nobody else until the wait below has ended.
    let launch = unsafe {
        StridedKernels::global().copy_strided(queue, to.as_mut_ptr(), from.as_ptr(), &words, WORD_BYTES, &[])
    };
    finish(launch)
}

/// Sets the elements of an array to one value, by the plan of its layout, which counts from the lowest element. False when
/// nothing was done.
pub(super) fn fill(target: &UsmArray, element: &[u8], plan: &CopyPlan) -> Result<bool> {
    let queue = target.queue();
    if !target.buffer().is_reachable_by(queue) || !is_worth_it(queue, plan, element.len()) {
        return Ok(false);
    }
    target.buffer().wait_for_turn()?;
    let to = target.buffer().write_range(target.byte_range())?;
    let dst = to.as_mut_ptr().wrapping_offset(plan.dst_start * element.len().cast_signed());
    // SAFETY: as for `assign`, without a source.
    let launch = unsafe { StridedKernels::global().fill_strided(queue, dst, &plan.loops, element, &[]) };
    finish(launch)
}

/// Whether a copy is large enough for a kernel, which may do it in any order.
pub(super) fn is_worth_it(queue: &Queue, plan: &CopyPlan, item_bytes: usize) -> bool {
    // Host code in a task of the queue is better still, and no kernel is there.
    !queue.runs_host_tasks() && plan.size() * item_bytes >= MIN_BYTES && visits_each_target_once(plan)
}

/// True when no two steps of a plan lead to one element of the target: each loop goes on behind all that those inside it reach.
/// Plans for which this is not so obvious are rare, and take the other way.
fn visits_each_target_once(plan: &CopyPlan) -> bool {
    let mut reached = 0;
    plan.loops.iter().rev().all(|axis| {
        let goes_beyond = axis.dst > reached;
        reached += axis.dst * (axis.count - 1).cast_signed(); // that of an element, by P2
        goes_beyond
    })
}

pub(super) fn finish(launch: usm_memory::usm_core::Result<Launch>) -> Result<bool> {
    let failed = usm_memory::Error::from;
    match launch.map_err(failed)? {
        Launch::Submitted(event) => {
            event.wait().map_err(failed)?;
            Ok(true)
        }
        Launch::Unsupported(_) => Ok(false),
    }
}
