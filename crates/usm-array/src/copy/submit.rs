//! Operations of a queue on the two sides of a copy

use usm_memory::Error as MemoryError;
use usm_memory::usm_core::{Event, Queue, Result as CoreResult};

use super::place::{Place, lock_for_queue};
use crate::error::Result;

/// Submits an operation on two places, which gets where they start and what it comes after. Between arrays it is under way when this
/// returns, unless host code reaches one of them; with memory of the host, or under a guard of the caller, it is complete.
///
/// # Safety
/// 1. The operation uses the bytes of the two places that a plan spans, writes to the first one alone, starts after the events, and is
///    complete when its event is. If it returns an error, nothing that it submitted is under way.
/// 2. The queue reaches both places. The memory of a place that is no array stays valid, and its elements unshared, until this returns.
pub(super) unsafe fn submit(
    queue: &Queue,
    to: Place<'_>,
    from: Place<'_>,
    operation: impl FnOnce(*mut u8, *const u8, &[Event]) -> CoreResult<Event>,
) -> Result<()> {
    if let (Place::Array(target), Place::Array(source)) = (to, from) {
        let operands = [target.spanned(true), source.spanned(false)];
        let submitted = |starts: &[*mut u8], after: &[Event]| operation(starts[0], starts[1], after);
        // SAFETY: promise 1 of `submit`: the bytes that the elements span. 2. The queue reaches them (promise 2).
        unsafe { usm_memory::submit(queue, &operands, submitted) }?;
        return Ok(());
    }
    let (to, from) = lock_for_queue(to, from)?;
    let event = operation(to.start, from.start, &[]).map_err(MemoryError::from)?;
    Ok(event.wait().map_err(MemoryError::from)?)
}
