//! Operations of others on a queue, such as kernels, over the bytes of buffers.

use std::ops::Range;

use usm_core::{Event, Queue, Result as CoreResult};

use crate::{Result, UsmBuffer};

/// Bytes that an operation uses.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// The buffer.
    pub buffer: &'a UsmBuffer,
    /// Its bytes that the operation uses.
    pub range: Range<usize>,
    /// Whether the operation writes them.
    pub writes: bool,
}

/// Submits an operation to a queue after all other work on its operands, which it borrows meanwhile.
///
/// `operation` gets a pointer to the first byte of each operand, in their order, and the events to depend on; it returns the event of what
/// it submitted.
///
/// # Safety
/// 1. What `operation` submits uses those bytes alone, as the operands say, and is complete when the event that it returns is. If it
///    returns an error, nothing that it submitted is under way.
/// 2. The queue reaches the operands.
///
/// # Errors
/// Those of [`UsmBuffer::read_range`] and [`UsmBuffer::write_range`]; [`Error::Core`](crate::Error::Core) when the submission failed.
pub unsafe fn submit(
    queue: &Queue,
    operands: &[Operand<'_>],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    let (mut reading, mut writing) = (Vec::new(), Vec::new());
    let mut pointers = Vec::with_capacity(operands.len());
    for operand in operands {
        operand.buffer.block().wait_before_submit(queue)?;
        if operand.writes {
            let guard = operand.buffer.write_range(operand.range.clone())?;
            pointers.push(guard.as_mut_ptr());
            writing.push(guard);
        } else {
            let guard = operand.buffer.read_range(operand.range.clone())?;
            pointers.push(guard.as_ptr().cast_mut());
            reading.push(guard);
        }
    }
    let event = operation(&pointers, &[])?;
    event.wait()?;
    Ok(event)
}
