//! Operations on a queue.

use std::sync::Arc;

use super::capture::{Capture, NOT_RECORDED, OUTSIDE, refused};
use super::context::AddressFacts;
use super::device::Current;
use super::driver::{Address, Code, ContextHandle};
use super::event::{CudaEvent, Started};
use super::queue::CudaQueue;
use super::{Handle, fill as fills};
use crate::backend::{RawEvent, RawQueue};
use crate::{Error, Result, UsmKind};

/// Submits what `operation` gives to the driver, after the dependencies.
///
/// # Safety
/// 1. Queue and dependencies are live.
pub(super) unsafe fn submit(
    queue: RawQueue,
    dependencies: &[RawEvent],
    operation: impl FnOnce(&CudaQueue, &Current<'_>) -> Result<()>,
) -> Result<RawEvent> {
    // SAFETY: O1: the handle is live (1).
    let queue = unsafe { CudaQueue::get(queue) };
    let current = queue.device.enter()?;
    let capture = queue.capture(&current)?;
    let events = || {
        dependencies.iter().map(|&dependency| {
            // SAFETY: O1: the handle is live (1).
            unsafe { CudaEvent::get(dependency) }
        })
    };
    if capture.is_some() || events().any(|event| event.capture().is_some()) {
        check_dependencies(capture, events())?;
    }
    // What is complete is outside of the capture.
    for event in events().filter(|event| capture.is_none() || event.capture().is_some()) {
        event.order(&current, queue.stream)?;
    }
    let clock = queue.clock.as_ref().filter(|_| capture.is_none());
    let started = clock.map(|clock| Started::record(clock, &current, queue.stream)).transpose()?;
    let submitted = operation(queue, &current).and_then(|()| {
        let capture = capture.map(|capture| capture.id);
        CudaEvent::record(&queue.device, &current, queue.stream, started, capture)
    });
    match submitted {
        Ok(event) => Ok(CudaEvent::into_raw(Arc::new(event))),
        // A part may be in the graph, which keeps its memory.
        Err(error) if capture.is_some() => Err(error),
        Err(error) => {
            // A part may have been submitted, which must not touch memory after the call has returned.
            // SAFETY: DR1; CQ1.
            let code = unsafe { (current.cuStreamSynchronize)(queue.stream) };
            // Nothing runs in a stream that is captured itself.
            let is_over = code == Code::SUCCESS || code.is_of_capture();
            Err(if is_over { error } else { current.lose(code) })
        }
    }
}

/// Checks what an operation depends on, given the captures of the events: those of the capture or, outside of one,
/// of none; and in a capture an event that
/// permits the operation.
fn check_dependencies<'a>(
    capture: Option<Capture>,
    events: impl Iterator<Item = &'a CudaEvent>,
) -> Result<()> {
    let own = capture.map(|capture| capture.id);
    let mut is_permitted = own.is_none();
    for event in events {
        if event.capture() != own && (event.capture().is_some() || !event.is_complete()) {
            return Err(refused(OUTSIDE));
        }
        is_permitted |= event.is_permit();
    }
    if is_permitted { Ok(()) } else { Err(refused(NOT_RECORDED)) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::memcpy`].
pub(super) unsafe fn memcpy(
    queue: RawQueue,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let (to, from) = (dst.expose_provenance(), src.expose_provenance());
    let copy = |queue: &CudaQueue, current: &Current<'_>| {
        let target = check_operand(queue, current, "memcpy destination", to, len_bytes)?;
        let source = check_operand(queue, current, "memcpy source", from, len_bytes)?;
        if len_bytes == 0 {
            return Ok(());
        }
        if (target.is_none() || source.is_none()) && queue.capture(current)?.is_some() {
            // The graph would use the host memory at each launch.
            return Err(refused(NOT_RECORDED));
        }
        if let (Some(target), Some(source)) = (target, source)
            && [target.kind, source.kind] == [UsmKind::Device; 2]
            && target.ordinal != source.ordinal
        {
            let [target, source] = [context_of(queue, &target)?, context_of(queue, &source)?];
            // SAFETY: DR1; CQ1; PC1 of both devices; as below.
            let code = unsafe {
                (current.cuMemcpyPeerAsync)(
                    to as Address,
                    target,
                    from as Address,
                    source,
                    len_bytes,
                    queue.stream,
                )
            };
            return current.check("cuMemcpyPeerAsync", code);
        }
        // SAFETY: DR1; CQ1; both ranges are valid until the event is complete (the caller's promise 1). The driver knows by the address
        // on which device a range is, or that it is host memory.
        let code =
            unsafe { (current.cuMemcpyAsync)(to as Address, from as Address, len_bytes, queue.stream) };
        current.check("cuMemcpyAsync", code)
    };
    // SAFETY: the caller's promise 1.
    unsafe { submit(queue, dependencies, copy) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::fill`].
pub(super) unsafe fn fill(
    queue: RawQueue,
    dst: *mut u8,
    pattern: &[u8],
    count: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let address = dst.expose_provenance();
    let fill = |queue: &CudaQueue, current: &Current<'_>| {
        let found = check_operand(queue, current, "fill", address, pattern.len().saturating_mul(count))?;
        let is_near =
            found.is_some_and(|found| found.kind == UsmKind::Device && found.ordinal == queue.device.ordinal);
        // SAFETY: CQ1; the range is valid for writing until the event is complete (the caller's promise 1).
        unsafe { fills::fill(current, queue.stream, address as Address, pattern, count, is_near) }
    };
    // SAFETY: the caller's promise 1.
    unsafe { submit(queue, dependencies, fill) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::prefetch`].
pub(super) unsafe fn prefetch(
    queue: RawQueue,
    address: usize,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let prefetch = |queue: &CudaQueue, current: &Current<'_>| {
        // Other memory does not move.
        if !is_shared(current, address) || len_bytes == 0 {
            return Ok(());
        }
        let ordinal = queue.device.ordinal;
        // SAFETY: DR1; CQ1; managed memory that stays until the event is complete (the caller's promise 2).
        let code =
            unsafe { (current.cuMemPrefetchAsync)(address as Address, len_bytes, ordinal, queue.stream) };
        current.check("cuMemPrefetchAsync", code)
    };
    // SAFETY: the caller's promise 1.
    unsafe { submit(queue, dependencies, prefetch) }
}

/// `advice` has the numbers of `CUmem_advise`. 0 takes back what 1, 3 and 5 set.
///
/// # Safety
/// 1. As for [`crate::backend::Backend::mem_advise`].
pub(super) unsafe fn mem_advise(
    queue: RawQueue,
    address: usize,
    len_bytes: usize,
    advice: i32,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    const UNSET_ALL: [i32; 3] = [2, 4, 6];
    let advise = |queue: &CudaQueue, current: &Current<'_>| {
        if !is_shared(current, address) || len_bytes == 0 {
            return Ok(());
        }
        let advices = if advice == 0 { &UNSET_ALL[..] } else { &[advice] };
        for &advice in advices {
            // SAFETY: DR1; managed memory that stays until the event is complete (the caller's promise 2). The driver refuses an advice
            // that it does not know.
            let code =
                unsafe { (current.cuMemAdvise)(address as Address, len_bytes, advice, queue.device.ordinal) };
            current.check("cuMemAdvise", code)?;
        }
        Ok(())
    };
    // SAFETY: the caller's promise 1.
    unsafe { submit(queue, dependencies, advise) }
}

/// # Safety
/// 1. As for [`crate::backend::Backend::barrier`].
pub(super) unsafe fn barrier(queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent> {
    // SAFETY: the caller's promise 1.
    unsafe { submit(queue, events, |_, _| Ok(())) }
}

fn is_shared(current: &Current<'_>, address: usize) -> bool {
    current.find(address).is_some_and(|found| found.kind == UsmKind::Shared)
}

/// The primary context of memory of a device of the queue's context.
fn context_of(queue: &CudaQueue, found: &AddressFacts) -> Result<ContextHandle> {
    let device = queue.context.device(found.ordinal).unwrap_or(&queue.device);
    Ok(device.enter()?.context())
}

/// What the driver knows about memory, which is no memory of a device outside of the context, and no range that leaves its allocation. An
/// address that the driver does not know is host memory that is not USM.
fn check_operand(
    queue: &CudaQueue,
    current: &Current<'_>,
    operation: &'static str,
    address: usize,
    len_bytes: usize,
) -> Result<Option<AddressFacts>> {
    let Some(found) = current.find(address) else { return Ok(None) };
    if found.kind == UsmKind::Device && queue.context.device(found.ordinal).is_none() {
        return Err(Error::OtherContext {
            operation,
            address,
            memory_context: format!("of {}", queue.device.filter_string_of(found.ordinal)),
            queue_context: format!("of {}", queue.device.filter_string()),
        });
    }
    let leaves = |(start, block_bytes): (usize, usize)| len_bytes > block_bytes - (address - start);
    if found.block.is_some_and(leaves) {
        return Err(Error::Unreachable { operation, address, len_bytes });
    }
    Ok(Some(found))
}
