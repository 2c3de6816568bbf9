//! Copies and fills: host and USM, USM and USM, whole ranges and rows with pitches; blocking, and as transfers under way.
//!
//! A blocking copy of memory that host code reaches is done by the calling thread, any other by queues. A transfer under way
//! ([`Transfer`]) is always done by queues.

mod between;
mod fill;
mod flight;
mod handle;
mod hint;
mod host;
mod host_memory;
mod pinned;
mod rows;
mod shape;
mod staged;
mod vector;

use usm_core::Queue;

pub use self::handle::{Dependency, Refused, Transfer};
pub use self::host_memory::{HostMemory, HostMemoryMut};
use self::pinned::Direction;
pub use self::shape::Copy2d;
use crate::Result;
use crate::buffer::Block;

/// Copies between guarded memory of `block` and host memory that is not USM, and waits.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by somebody else meanwhile.
/// 2. Host code reaches the side that `direction` does not name.
unsafe fn copy_with_host(
    block: &Block,
    direction: Direction,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
) -> Result<()> {
    let queue = block.queue();
    if pinned::pays(queue, len_bytes) {
        block.wait_before_submit(queue)?;
        // SAFETY: G1 for the guarded range, and the caller's promises.
        if unsafe { pinned::copy(queue, direction, dst, src, len_bytes) }? {
            return Ok(());
        }
    }
    // SAFETY: the caller's promise 1.
    unsafe { memcpy(block, queue, dst, src, len_bytes) }
}

/// Copies from or to guarded memory of `block` through a queue and waits.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by somebody else meanwhile.
unsafe fn memcpy(block: &Block, queue: &Queue, dst: *mut u8, src: *const u8, len_bytes: usize) -> Result<()> {
    if len_bytes > 0 {
        block.wait_before_submit(queue)?;
        // SAFETY: G1 for the guarded range, and promise 1 for the other; the wait below ends the operation before they can go away.
        unsafe { queue.memcpy(dst, src, len_bytes, &[]) }?.wait()?;
    }
    Ok(())
}
