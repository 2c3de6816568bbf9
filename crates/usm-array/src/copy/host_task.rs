//! Copies and fills as host tasks: the host backend protects its device memory, and runs host tasks where that is open

use usm_memory::usm_core::{Event, HostTask, Queue, Result as CoreResult, TaskMemory};

use super::cast::Cast;
use super::host;
use super::plan::{CopyPlan, Side};
use crate::dtype::MAX_ITEMSIZE_BYTES;

/// Carries out a plan as a host task of a queue that runs such, after the events.
///
/// # Safety
/// Those of [`host::execute`], until the event is complete; the bytes between the elements of a side are memory, too: USM of the queue's
/// context, or, like what host code reaches, any.
pub(super) unsafe fn copy(
    queue: &Queue,
    plan: CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
    after: &[Event],
) -> CoreResult<Event> {
    let (to, to_lowest) = spanned(&plan, Side::Target, cast.dst.itemsize_bytes(), dst);
    let (from, from_lowest) = spanned(&plan, Side::Source, cast.src.itemsize_bytes(), src.cast_mut());
    let task = HostTask::new(move |addresses| {
        let &[dst, src] = addresses else { return Err("it needs two addresses".to_owned()) };
        let (dst, src) = (dst.wrapping_offset(-to_lowest), src.wrapping_offset(-from_lowest));
        // SAFETY: the caller's promises 1 to 4 hold until the task is complete, at addresses that are moved as a whole.
        unsafe { host::execute(plan, cast, dst, src) };
        Ok(())
    });
    // SAFETY: 1. Valid and unshared by the caller's promises 1 to 4 until the event is complete. 2. The task touches elements of the plan, all of
    // which the two ranges span. 3. It owns numbers.
    unsafe { queue.host_task(&[to, from], task, after) }
}

/// Sets the elements of the target of a plan to one value, as a host task of a queue that runs such, after the events. The plan reads the element
/// with displacement 0 of its source only.
///
/// # Safety
/// Those of [`copy`] for the target.
pub(super) unsafe fn fill(
    queue: &Queue,
    plan: CopyPlan,
    cast: Cast,
    element: [u8; MAX_ITEMSIZE_BYTES],
    dst: *mut u8,
    after: &[Event],
) -> CoreResult<Event> {
    let (to, to_lowest) = spanned(&plan, Side::Target, cast.dst.itemsize_bytes(), dst);
    let task = HostTask::new(move |addresses| {
        let &[dst] = addresses else { return Err("it needs one address".to_owned()) };
        // SAFETY: the caller's promises 1 to 4, as for `copy`; the element is memory of the task.
        unsafe { host::execute(plan, cast, dst.wrapping_offset(-to_lowest), element.as_ptr()) };
        Ok(())
    });
    // SAFETY: 1. Valid and unshared by the caller's promises 1 to 4 until the event is complete. 2. The task touches elements of the plan, all of
    // which the range spans. 3. It owns numbers.
    unsafe { queue.host_task(&[to], task, after) }
}

/// The memory that a side of a plan spans, from its first byte on, and how far that lies from `start`, in bytes.
fn spanned(plan: &CopyPlan, side: Side, itemsize_bytes: usize, start: *mut u8) -> (TaskMemory, isize) {
    let span = plan.span(side);
    let lowest = span.start * itemsize_bytes.cast_signed();
    let memory = TaskMemory { start: start.wrapping_offset(lowest), len_bytes: span.len() * itemsize_bytes };
    (memory, lowest)
}
