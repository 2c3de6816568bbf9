//! Filling memory with a pattern of any length.

use sycl_sys::{Api, DPCTLSyclEventRef, DPCTLSyclQueueRef};

use super::{event, submit};
use crate::Result;
use crate::backend::RawEvent;

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
    // SAFETY: the caller's promise 1.
    unsafe { submit::order_after(api, queue, dependencies) }?;
    let is_aligned = dst.addr().is_multiple_of(pattern.len().max(1));
    if let (true, Some(event)) = (is_aligned, {
        // SAFETY: the caller's promise 1.
        unsafe { native(api, queue, dst, pattern, count) }
    }) {
        return submit::submitted(event, "Queue_Fill");
    }
    let mut chain = Chain { api, submitted: Vec::new() };
    // SAFETY: the caller's promise 1.
    match unsafe { doubling(&mut chain, queue, dst, pattern, count) } {
        Ok(last) => Ok(last),
        Err(error) => {
            chain.wait();
            Err(error)
        }
    }
}

/// The fill that the C interface has, or `None` for a pattern of another length.
///
/// # Safety
/// 1. As for [`crate::backend::Backend::fill`].
/// 2. `dst` is a multiple of the pattern's length.
unsafe fn native(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    dst: *mut u8,
    pattern: &[u8],
    count: usize,
) -> Option<DPCTLSyclEventRef> {
    let dst = dst.cast();
    let word = |bytes: [u8; 8]| u64::from_ne_bytes(bytes);
    Some(match *pattern {
        // SAFETY: promises 1 and 2.
        [value] => unsafe { (api.DPCTLQueue_Memset)(queue, dst, value, count) },
        [a, b] => {
            // SAFETY: promises 1 and 2.
            unsafe { (api.DPCTLQueue_Fill16)(queue, dst, u16::from_ne_bytes([a, b]), count) }
        }
        [a, b, c, d] => {
            // SAFETY: promises 1 and 2.
            unsafe { (api.DPCTLQueue_Fill32)(queue, dst, u32::from_ne_bytes([a, b, c, d]), count) }
        }
        _ => match pattern.as_chunks() {
            // SAFETY: promises 1 and 2.
            ([one], []) => unsafe { (api.DPCTLQueue_Fill64)(queue, dst, word(*one), count) },
            ([low, high], []) => {
                let mut words = [word(*low), word(*high)];
                // SAFETY: promises 1 and 2; the call reads the two words before it returns.
                unsafe { (api.DPCTLQueue_Fill128)(queue, dst, words.as_mut_ptr(), count) }
            }
            _ => return None,
        },
    })
}

/// Events of operations that belong together.
struct Chain<'a> {
    api: &'a Api,
    submitted: Vec<RawEvent>,
}

impl Chain<'_> {
    /// Waits for all operations: a chain that failed half way must not write after the call has returned.
    fn wait(&self) {
        for event in &self.submitted {
            // SAFETY: a live event of ours (S1). The failure that led here is what the caller gets to see.
            let _ = unsafe { event::wait(self.api, event.as_ptr().cast()) };
        }
    }

    /// Only the newest event matters from now on.
    fn restart(&mut self, event: RawEvent) {
        self.release();
        self.submitted.push(event);
    }

    fn release(&mut self) {
        for event in self.submitted.drain(..) {
            // SAFETY: our own handle (S1), without a later use; the operation goes on without its handle.
            unsafe { (self.api.DPCTLEvent_Delete)(event.as_ptr().cast()) };
        }
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// Sets the first repetition byte by byte, then copies what is there behind itself until all is written.
///
/// # Safety
/// 1. As for [`crate::backend::Backend::fill`].
unsafe fn doubling(
    chain: &mut Chain,
    queue: DPCTLSyclQueueRef,
    dst: *mut u8,
    pattern: &[u8],
    count: usize,
) -> Result<RawEvent> {
    let api = chain.api;
    let len_bytes = pattern.len().saturating_mul(count);
    for (i, &value) in pattern.iter().enumerate() {
        // No bytes are set when there is no repetition; the event is wanted all the same.
        let bytes = usize::from(count > 0);
        // SAFETY: the caller's promise 1; `i` lies within the first repetition.
        let event = unsafe { (api.DPCTLQueue_Memset)(queue, dst.wrapping_add(i).cast(), value, bytes) };
        chain.submitted.push(submit::submitted(event, "Queue_Memset")?);
    }
    let mut done = pattern.len();
    while done < len_bytes {
        let step = done.min(len_bytes - done);
        // SAFETY: the caller's promise 1; the parts do not overlap, and the first is written after the chain's events.
        let event =
            unsafe { submit::memcpy(api, queue, dst.wrapping_add(done), dst, step, &chain.submitted) }?;
        chain.restart(event);
        done += step;
    }
    // SAFETY: live events of ours (S1).
    let last = unsafe { submit::barrier(api, queue, &chain.submitted) }?;
    chain.release();
    Ok(last)
}
