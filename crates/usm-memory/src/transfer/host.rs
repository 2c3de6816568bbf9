//! Blocking copies between host slices and USM of any kind.

use usm_core::Queue;
use usm_core::bulk::{self, copy_bytes};

use super::pinned::{self, Direction};
use crate::buffer::Block;
use crate::guard;
use crate::plain::zeroed;
use crate::{Error, ReadGuard, Result, UsmBuffer, WriteGuard};

/// Bytes up to which a copy takes less time than two more looks at the table of borrows.
const BRIEF_BYTES: usize = 4 << 10;

impl WriteGuard {
    /// Copies all of `bytes` to the range, whatever the kind of the memory.
    ///
    /// Needs the guard for itself: two threads that share it cannot write at once.
    ///
    /// ```compile_fail
    /// fn share(guard: &usm_memory::WriteGuard) {
    ///     let _ = guard.copy_from_host(&[0]);
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many bytes as the range has; [`Error::Core`].
    pub fn copy_from_host(&mut self, bytes: &[u8]) -> Result<()> {
        let (dst_bytes, src_bytes) = (self.len_bytes(), bytes.len());
        if dst_bytes != src_bytes {
            return Err(Error::LengthMismatch { dst_bytes, src_bytes });
        }
        if self.block().is_host_reachable() {
            // `bytes` may be a view of this very memory that somebody else made, so let the ranges overlap.
            // SAFETY: live memory that host code reaches (B4 or K2, G1) that the guard keeps for us.
            unsafe { bulk::copy(self.as_mut_ptr(), bytes.as_ptr(), bytes.len()) };
            return Ok(());
        }
        let (to, from) = (self.as_mut_ptr(), bytes.as_ptr());
        // SAFETY: the guard's range is ours, `bytes` is borrowed, and host memory is no device memory.
        unsafe { copy_with_host(self.block(), Direction::ToDevice, to, from, bytes.len()) }
    }

    /// Copies the whole range to `bytes`, whatever the kind of the memory.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn copy_to_host(&self, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the guard's range is kept for us: nobody writes it meanwhile.
        unsafe { read(self.block(), self.as_mut_ptr(), self.len_bytes(), bytes) }
    }
}

impl ReadGuard {
    /// Copies the whole range to `bytes`, whatever the kind of the memory.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many bytes as the range has; [`Error::Core`].
    pub fn copy_to_host(&self, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the guard's range is kept for us: nobody writes it meanwhile.
        unsafe { read(self.block(), self.as_ptr(), self.len_bytes(), bytes) }
    }
}

/// Copies a borrowed range to the host.
///
/// # Safety
/// 1. `src` leads to `src_bytes` bytes of the block, which nobody writes meanwhile.
unsafe fn read(block: &Block, src: *const u8, src_bytes: usize, bytes: &mut [u8]) -> Result<()> {
    let dst_bytes = bytes.len();
    if dst_bytes != src_bytes {
        return Err(Error::LengthMismatch { dst_bytes, src_bytes });
    }
    if block.is_host_reachable() {
        // SAFETY: G1 for the guarded range (1); the ranges may overlap.
        unsafe { bulk::copy(bytes.as_mut_ptr(), src, src_bytes) };
        return Ok(());
    }
    // SAFETY: G1 for the guarded range (1); `bytes` is borrowed, and host memory is no device memory.
    unsafe { copy_with_host(block, Direction::FromDevice, bytes.as_mut_ptr(), src, src_bytes) }
}

impl UsmBuffer {
    /// Copies all of `bytes` to `offset_bytes`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`]. The first three leave the buffer as
    /// it was.
    pub fn copy_from_host(&self, bytes: &[u8], offset_bytes: usize) -> Result<()> {
        let range = self.span_in_block(offset_bytes, bytes.len())?;
        self.check_writable()?;
        if bytes.len() <= BRIEF_BYTES && self.is_host_reachable() {
            // SAFETY: as for a guard of the range, which is in the block; live memory that host code reaches (B4 or K2), which may be that of
            // `bytes`.
            let copy = |to| unsafe { copy_bytes(to, bytes.as_ptr(), bytes.len()) };
            if let Some(()) = guard::briefly(self.block(), &range, true, copy)? {
                return Ok(());
            }
        }
        WriteGuard::new(self.block(), range)?.copy_from_host(bytes)
    }

    /// Fills all of `bytes` from `offset_bytes` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_to_host(&self, bytes: &mut [u8], offset_bytes: usize) -> Result<()> {
        let range = self.span_in_block(offset_bytes, bytes.len())?;
        if bytes.len() <= BRIEF_BYTES && self.is_host_reachable() {
            // SAFETY: as for a guard of the range, which is in the block; live memory that host code reaches (B4 or K2).
            let copy = |from: *mut u8| unsafe { copy_bytes(bytes.as_mut_ptr(), from, bytes.len()) };
            if let Some(()) = guard::briefly(self.block(), &range, false, copy)? {
                return Ok(());
            }
        }
        ReadGuard::new(self.block(), range)?.copy_to_host(bytes)
    }

    /// The whole content, copied.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host); [`Error::OutOfHostMemory`].
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed::<u8>(self.len_bytes())?;
        self.copy_to_host(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// Copies between guarded memory of `block` and host memory that is not USM, and waits.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by anyone else meanwhile.
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
        // SAFETY: G1 for the guarded range, and the caller's promises 1 and 2.
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
pub(super) unsafe fn memcpy(
    block: &Block,
    queue: &Queue,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
) -> Result<()> {
    if len_bytes > 0 {
        block.wait_before_submit(queue)?;
        // SAFETY: G1 for the guarded range, and promise 1 for the other; the wait below ends the operation before they can go away.
        unsafe { queue.memcpy(dst, src, len_bytes, &[]) }?.wait()?;
    }
    Ok(())
}
