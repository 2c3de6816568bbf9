//! Host code in a task of a queue: the host backend protects its device memory, and runs tasks where that is open

use usm_memory::usm_core::{HostTask, Queue, TaskMemory};

use super::cast::Cast;
use super::host;
use super::plan::{CopyPlan, Side};
use crate::error::Result;

/// Carries out a plan in a task of a queue that runs such, and waits for it.
///
/// # Safety
/// Those of [`host::execute`]; the bytes between the elements of a side are memory, too: USM of the queue's context, or, like what
/// host code reaches, any.
pub(super) unsafe fn execute(
    queue: &Queue,
    plan: CopyPlan,
    cast: Cast,
    dst: *mut u8,
    src: *const u8,
) -> Result<()> {
    let (to, to_lowest) = spanned(&plan, Side::Target, cast.dst.itemsize_bytes(), dst);
    let (from, from_lowest) = spanned(&plan, Side::Source, cast.src.itemsize_bytes(), src.cast_mut());
    let task = HostTask::new(move |addresses| {
        let &[dst, src] = addresses else { return Err("it needs two addresses".to_owned()) };
        let (dst, src) = (dst.wrapping_offset(-to_lowest), src.wrapping_offset(-from_lowest));
        // SAFETY: the caller's promises hold until the task is complete, at addresses that are moved as a whole.
        unsafe { host::execute(plan, cast, dst, src) };
        Ok(())
    });
    // SAFETY: 1. Valid and unshared by the caller's promises until the wait below has returned. 2. The task touches elements of the plan, all
    // of which the two ranges span. 3. It owns numbers.
    let event = unsafe { queue.host_task(&[to, from], task, &[]) }.map_err(usm_memory::Error::from)?;
    Ok(event.wait().map_err(usm_memory::Error::from)?)
}

/// The memory that a side of a plan spans, from its first byte on, and how far that lies from `start`, in bytes.
fn spanned(plan: &CopyPlan, side: Side, itemsize_bytes: usize, start: *mut u8) -> (TaskMemory, isize) {
    let span = plan.span(side);
    let lowest = span.start * itemsize_bytes.cast_signed();
    let memory = TaskMemory { start: start.wrapping_offset(lowest), len_bytes: span.len() * itemsize_bytes };
    (memory, lowest)
}
