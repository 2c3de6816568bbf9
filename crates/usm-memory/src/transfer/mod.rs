//! Blocking copies: host and USM, USM and USM.

mod between;
mod host;

use usm_core::Queue;

use crate::{Error, Result};

/// Host memory for a copy. Its length comes from the caller, so that there being none is an error like any other.
fn host_memory(len_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len_bytes).map_err(|_| Error::OutOfHostMemory { len_bytes })?;
    bytes.resize(len_bytes, 0);
    Ok(bytes)
}

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
