//! Operations that are recorded in a CUDA graph, since another library captures the stream of their queue.
//!
//! A graph may run what was recorded at any time until it is gone, so the graph keeps the memory of its operations: no pool hands it out
//! meanwhile, whether or not somebody still has its buffers.

use std::any::Any;

use usm_core::{Error as CoreError, Event, Queue};

use super::waits;
use crate::{Error, Result};

/// Prepares an operation in a capture: the graph keeps the operands, work outside of the capture is waited for, and `after` permits the
/// operation. All runs of the graph come later than this call, and so after what was waited for.
pub(crate) fn record(
    queue: &Queue,
    capture: u64,
    operands: impl Any + Send,
    after: &mut Vec<Event>,
) -> Result<()> {
    // Of this queue nothing else is in the list: its operations are in order, but a launch may be on another stream.
    after.extend(queue.newest());
    wait_for_outside(capture, after)?;
    after.push(queue.keep_in_graph(operands)?);
    Ok(())
}

/// Waits for the events outside of a capture, and takes them out of the list.
fn wait_for_outside(capture: u64, events: &mut Vec<Event>) -> Result<()> {
    for event in events.extract_if(.., |event| event.capture() != Some(capture)) {
        waits::for_event(&event)?;
    }
    Ok(())
}

/// Lets what is submitted to a queue from now on come after the events, of any context.
pub(crate) fn come_after(queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
    match queue.capture()? {
        None => waits::across_contexts(queue, events)?,
        Some(capture) => wait_for_outside(capture, events)?,
    }
    if !events.is_empty() {
        barrier(queue, events)?;
    }
    Ok(())
}

/// A barrier behind the events; in a capture a recorded one.
pub(crate) fn barrier(queue: &Queue, events: &[Event]) -> Result<Event> {
    match queue.capture()? {
        None => Ok(queue.barrier(events)?),
        Some(_) => {
            let mut events = events.to_vec();
            events.push(queue.keep_in_graph(())?);
            Ok(queue.barrier(&events)?)
        }
    }
}

/// Refuses what a graph cannot record, before anything is done.
pub(crate) fn check_none(queue: &Queue) -> Result<()> {
    match queue.capture()? {
        None => Ok(()),
        Some(_) => Err(not_recorded()),
    }
}

/// Why an operation is not recorded.
pub(crate) const REASON: CoreError = CoreError::StreamCapture {
    reason: "this cannot be recorded: it allocates on a queue of the stream, waits, or uses memory that host code reaches; recorded \
             are copies, casts, fills and kernels between arrays in device memory; do this before the capture begins or after it \
             ends, or on another queue",
};

pub(crate) fn not_recorded() -> Error {
    REASON.into()
}
