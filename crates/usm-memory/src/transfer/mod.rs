//! Blocking copies: host and USM, USM and USM.

mod between;
mod host;

use usm_core::Queue;

use crate::Result;

/// Copies through a queue and waits.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by somebody else meanwhile.
unsafe fn memcpy(queue: &Queue, dst: *mut u8, src: *const u8, len_bytes: usize) -> Result<()> {
    if len_bytes > 0 {
        // SAFETY: the caller's promise 1; the wait below ends the operation before the ranges can go away.
        unsafe { queue.memcpy(dst, src, len_bytes, &[]) }?.wait()?;
    }
    Ok(())
}
