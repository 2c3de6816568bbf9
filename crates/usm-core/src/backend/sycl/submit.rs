//! Operations on a queue and waiting for them.

use std::ptr::NonNull;

use sycl_sys::{Api, DPCTLSyclEventRef, DPCTLSyclEventStatusType, DPCTLSyclQueueRef};

use super::{SyclBackend, async_errors};
use crate::backend::RawEvent;
use crate::{Error, Result};

fn submitted(event: DPCTLSyclEventRef, call: &'static str) -> Result<RawEvent> {
    NonNull::new(event.cast()).map(RawEvent::new).ok_or_else(|| SyclBackend::failed(call))
}

/// # Safety
/// 1. As for [`crate::backend::Backend::memcpy`].
pub(super) unsafe fn memcpy(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let (dst, src) = (dst.cast(), src.cast());
    let event = if dependencies.is_empty() {
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLQueue_Memcpy)(queue, dst, src, len_bytes) }
    } else {
        let events: Vec<DPCTLSyclEventRef> = dependencies.iter().map(|event| event.as_ptr().cast()).collect();
        // SAFETY: the caller's promise 1; the array lives through the call.
        unsafe {
            (api.DPCTLQueue_MemcpyWithEvents)(queue, dst, src, len_bytes, events.as_ptr(), events.len())
        }
    };
    submitted(event, "Queue_Memcpy")
}

/// # Safety
/// 1. As for [`crate::backend::Backend::fill`].
pub(super) unsafe fn fill(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    dst: *mut u8,
    pattern: &[u8],
    count: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    // Fills of the C interface take no events: a barrier in front of them does.
    if !dependencies.is_empty() {
        let events: Vec<DPCTLSyclEventRef> = dependencies.iter().map(|event| event.as_ptr().cast()).collect();
        // SAFETY: the queue and the events are live; the array lives through the call.
        let barrier =
            unsafe { (api.DPCTLQueue_SubmitBarrierForEvents)(queue, events.as_ptr(), events.len()) };
        let barrier = submitted(barrier, "Queue_SubmitBarrierForEvents")?;
        // SAFETY: our own handle, used no more; deleting it leaves the barrier in the queue.
        unsafe { (api.DPCTLEvent_Delete)(barrier.as_ptr().cast()) };
    }
    let dst = dst.cast();
    // SAFETY (all arms): the caller's promise 1.
    let event = match *pattern {
        // SAFETY: see above.
        [value] => unsafe { (api.DPCTLQueue_Memset)(queue, dst, value, count) },
        [a, b] => {
            // SAFETY: see above.
            unsafe { (api.DPCTLQueue_Fill16)(queue, dst, u16::from_ne_bytes([a, b]), count) }
        }
        [a, b, c, d] => {
            // SAFETY: see above.
            unsafe { (api.DPCTLQueue_Fill32)(queue, dst, u32::from_ne_bytes([a, b, c, d]), count) }
        }
        _ => {
            let words: Vec<u64> =
                pattern.as_chunks::<8>().0.iter().map(|chunk| u64::from_ne_bytes(*chunk)).collect();
            match words.as_slice() {
                // SAFETY: see above.
                [word] => unsafe { (api.DPCTLQueue_Fill64)(queue, dst, *word, count) },
                &[low, high] => {
                    let mut words = [low, high];
                    // SAFETY: see above; the two words are read during the call.
                    unsafe { (api.DPCTLQueue_Fill128)(queue, dst, words.as_mut_ptr(), count) }
                }
                _ => return Err(Error::PatternLength { len_bytes: pattern.len() }),
            }
        }
    };
    submitted(event, "Queue_Fill")
}

/// Waits until the operation is over, whatever became of it, and then tells.
///
/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn wait(api: &Api, event: DPCTLSyclEventRef) -> Result<()> {
    // Plain `Event_Wait` would leave asynchronous errors in the queue.
    // SAFETY: the caller's promise 1.
    unsafe { (api.DPCTLEvent_WaitAndThrow)(event) };
    // The interface swallows the exception of a wait that failed, and the operands must not be let go before the operation is
    // over. One that is neither submitted nor running is: it has ended, or failed (which has no name in this interface).
    let status = loop {
        // SAFETY: the caller's promise 1.
        match unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) } {
            DPCTLSyclEventStatusType::SUBMITTED | DPCTLSyclEventStatusType::RUNNING => {
                std::thread::yield_now();
                // SAFETY: the caller's promise 1.
                unsafe { (api.DPCTLEvent_Wait)(event) };
            }
            status => break status,
        }
    };
    async_errors::take()?;
    if status == DPCTLSyclEventStatusType::COMPLETE {
        Ok(())
    } else {
        Err(SyclBackend::failed("Event_WaitAndThrow"))
    }
}

/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn is_complete(api: &Api, event: DPCTLSyclEventRef) -> bool {
    // SAFETY: the caller's promise 1.
    let status = unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) };
    status == DPCTLSyclEventStatusType::COMPLETE
}
