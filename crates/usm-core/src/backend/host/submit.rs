//! Operations on a queue: operands are looked up, and a job is made of them.

use std::sync::Arc;

use super::HostBackend;
use super::event::HostEvent;
use super::job::Work;
use super::memory::Memory;
use super::queue::HostQueue;
use crate::backend::objects::Handle;
use crate::backend::{HostTask, MAX_PATTERN_BYTES, RawEvent, RawQueue, TaskMemory};
use crate::{Error, Result};

/// # Safety
/// 1. As for [`crate::backend::Backend::memcpy`].
pub(super) unsafe fn memcpy(
    backend: &HostBackend,
    queue: RawQueue,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let work = |memory: &mut Memory, queue: &HostQueue| {
        let dst = memory.operand("memcpy destination", dst, len_bytes, true, queue)?;
        let src = memory.operand("memcpy source", src.cast_mut(), len_bytes, true, queue)?;
        // J1 is the caller's promise, at the addresses that `operand` found.
        Ok(Work::Copy { dst, src, len_bytes })
    };
    // SAFETY: O1: queue and dependencies are live (1).
    unsafe { submit(backend, queue, dependencies, work) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::fill`].
pub(super) unsafe fn fill(
    backend: &HostBackend,
    queue: RawQueue,
    dst: *mut u8,
    pattern: &[u8],
    count: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let work = |memory: &mut Memory, queue: &HostQueue| {
        let mut bytes = [0; MAX_PATTERN_BYTES];
        let len = pattern.len();
        bytes.get_mut(..len).ok_or(Error::PatternLength { len_bytes: len })?.copy_from_slice(pattern);
        let dst = memory.operand("fill", dst, len.saturating_mul(count), false, queue)?;
        // J2 is the caller's promise, at the address that `operand` found.
        Ok(Work::Fill { dst, pattern: bytes, len, count })
    };
    // SAFETY: O1: queue and dependencies are live (1).
    unsafe { submit(backend, queue, dependencies, work) }
}

/// An operation without effect, on USM that is looked up all the same.
///
/// # Safety
/// 1. Queue and dependencies are live.
pub(super) unsafe fn hint(
    backend: &HostBackend,
    operation: &'static str,
    queue: RawQueue,
    address: usize,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let range = std::ptr::without_provenance_mut(address);
    let work = |memory: &mut Memory, queue: &HostQueue| {
        memory.operand(operation, range, len_bytes, false, queue)?;
        Ok(Work::Nothing)
    };
    // SAFETY: O1: queue and dependencies are live (1).
    unsafe { submit(backend, queue, dependencies, work) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::host_task`].
pub(super) unsafe fn host_task(
    backend: &HostBackend,
    queue: RawQueue,
    memory: &[TaskMemory],
    task: HostTask,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let work = |known: &mut Memory, queue: &HostQueue| {
        let operand =
            |range: &TaskMemory| known.operand("host task", range.start, range.len_bytes, true, queue);
        let operands = memory.iter().map(operand).collect::<Result<_>>()?;
        let len_bytes = memory.iter().map(|range| range.len_bytes).max().unwrap_or(0);
        // J3 is the caller's promise, at the addresses that `operand` found.
        Ok(Work::Task { memory: operands, len_bytes, task })
    };
    // SAFETY: O1: queue and dependencies are live (1).
    unsafe { submit(backend, queue, dependencies, work) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::barrier`].
pub(super) unsafe fn barrier(backend: &HostBackend, queue: RawQueue, after: &[RawEvent]) -> Result<RawEvent> {
    // SAFETY: O1: the queue is live (1).
    let queue = unsafe { HostQueue::clone_raw(queue) };
    // SAFETY: O1: the events are live (1).
    let after = unsafe { events(after) };
    queue.barrier(&backend.executor, after).map(HostEvent::into_raw)
}

/// # Safety
/// 1. Queue and dependencies are live.
unsafe fn submit(
    backend: &HostBackend,
    queue: RawQueue,
    dependencies: &[RawEvent],
    work: impl FnOnce(&mut Memory, &HostQueue) -> Result<Work>,
) -> Result<RawEvent> {
    // SAFETY: O1: the queue is live (1).
    let queue = unsafe { HostQueue::clone_raw(queue) };
    let work = work(&mut backend.memory(), &queue)?;
    // SAFETY: O1: the dependencies are live (1).
    let dependencies = unsafe { events(dependencies) };
    queue.submit(&backend.executor, work, dependencies).map(HostEvent::into_raw)
}

/// Counts of our own to the events behind handles.
///
/// # Safety
/// 1. All of them are live.
unsafe fn events(raw: &[RawEvent]) -> Vec<Arc<HostEvent>> {
    // SAFETY: O1: all of them are live (1).
    raw.iter().map(|&event| unsafe { HostEvent::clone_raw(event) }).collect()
}
