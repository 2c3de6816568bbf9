//! Operations on a queue.

use std::ffi::c_int;

use sycl_sys::{Api, DPCTLSyclEventRef, DPCTLSyclQueueRef};

use super::{event, some};
use crate::Result;
use crate::backend::RawEvent;

fn handles(events: &[RawEvent]) -> Vec<DPCTLSyclEventRef> {
    events.iter().map(|event| event.as_ptr().cast()).collect()
}

pub(super) fn submitted(event: DPCTLSyclEventRef, call: &'static str) -> Result<RawEvent> {
    some(event, call).map(RawEvent::new)
}

/// The OpenCL CPU runtime cuts a copy into equal pieces. For lengths that are no multiple of this the pieces are tiny, and the copy
/// takes 2 to 40 times as long.
const EVEN_BYTES: usize = 64;
/// From this length on a second operation copies the rest. It takes 4 µs on an in-order queue.
const SPLIT_BYTES: usize = 16 * 1024;
/// The same length on an out-of-order queue, where a dependent operation takes 90 µs.
const SPLIT_OUT_OF_ORDER_BYTES: usize = 1024 * 1024;

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
    let rest = len_bytes % EVEN_BYTES;
    let limit_bytes = || {
        // SAFETY: the caller's promise 1.
        if unsafe { (api.DPCTLQueue_IsInOrder)(queue) } { SPLIT_BYTES } else { SPLIT_OUT_OF_ORDER_BYTES }
    };
    if rest == 0 || len_bytes < SPLIT_BYTES || len_bytes < limit_bytes() {
        // SAFETY: the caller's promise 1.
        return unsafe { memcpy_once(api, queue, dst, src, len_bytes, dependencies) };
    }
    let even = len_bytes - rest;
    // SAFETY: the caller's promise 1, for the first part of the ranges.
    let first = unsafe { memcpy_once(api, queue, dst, src, even, dependencies) }?;
    let (dst, src) = (dst.wrapping_add(even), src.wrapping_add(even));
    // SAFETY: the caller's promise 1, for the rest of the ranges; the event is live.
    let last = unsafe { memcpy_once(api, queue, dst, src, rest, &[first]) };
    if last.is_err() {
        // The first part must not touch the ranges after the call has returned. The caller gets the error of the second part.
        // SAFETY: a live event of ours (S1).
        let _ = unsafe { event::wait(api, first.as_ptr().cast()) };
    }
    // SAFETY: our own handle (S1), without a later use; the operation goes on without its handle.
    unsafe { (api.DPCTLEvent_Delete)(first.as_ptr().cast()) };
    last
}

/// # Safety
/// 1. As for [`memcpy`].
unsafe fn memcpy_once(
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
        let events = handles(dependencies);
        // SAFETY: the caller's promise 1; the array lives through the call.
        unsafe {
            (api.DPCTLQueue_MemcpyWithEvents)(queue, dst, src, len_bytes, events.as_ptr(), events.len())
        }
    };
    submitted(event, "Queue_Memcpy")
}

/// # Safety
/// 1. As for [`crate::backend::Backend::prefetch`].
pub(super) unsafe fn prefetch(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    address: usize,
    len_bytes: usize,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    // SAFETY: the caller's promise 1.
    unsafe { order_after(api, queue, dependencies) }?;
    // SAFETY: the caller's promise 1.
    let event = unsafe { (api.DPCTLQueue_Prefetch)(queue, std::ptr::without_provenance(address), len_bytes) };
    submitted(event, "Queue_Prefetch")
}

/// # Safety
/// 1. As for [`crate::backend::Backend::mem_advise`].
pub(super) unsafe fn mem_advise(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    address: usize,
    len_bytes: usize,
    advice: c_int,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    // SAFETY: the caller's promise 1.
    unsafe { order_after(api, queue, dependencies) }?;
    let pointer = std::ptr::without_provenance(address);
    // SAFETY: the caller's promise 1.
    let event = unsafe { (api.DPCTLQueue_MemAdvise)(queue, pointer, len_bytes, advice) };
    submitted(event, "Queue_MemAdvise")
}

/// # Safety
/// 1. As for [`crate::backend::Backend::barrier`].
pub(super) unsafe fn barrier(api: &Api, queue: DPCTLSyclQueueRef, events: &[RawEvent]) -> Result<RawEvent> {
    if events.is_empty() {
        // SAFETY: the caller's promise 1.
        let event = unsafe { (api.DPCTLQueue_SubmitBarrier)(queue) };
        return submitted(event, "Queue_SubmitBarrier");
    }
    let events = handles(events);
    // SAFETY: the caller's promise 1; the array lives through the call.
    let event = unsafe { (api.DPCTLQueue_SubmitBarrierForEvents)(queue, events.as_ptr(), events.len()) };
    submitted(event, "Queue_SubmitBarrierForEvents")
}

/// Orders later operations of the queue after events, for calls of the C interface without dependencies.
///
/// # Safety
/// 1. As for [`barrier`].
pub(super) unsafe fn order_after(api: &Api, queue: DPCTLSyclQueueRef, events: &[RawEvent]) -> Result<()> {
    if !events.is_empty() {
        // SAFETY: the caller's promise 1.
        let barrier = unsafe { barrier(api, queue, events) }?;
        // SAFETY: our own handle (S1), used no more; deleting it leaves the barrier in the queue.
        unsafe { (api.DPCTLEvent_Delete)(barrier.as_ptr().cast()) };
    }
    Ok(())
}
