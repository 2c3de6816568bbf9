//! Copies between host memory and USM of any kind, and fills.

use usm_core::Error as CoreError;

use super::memcpy;
use crate::{Error, Result, UsmBuffer};

/// Bytes written at a time where a queue cannot fill.
const STAGING_BYTES: usize = 64 * 1024;

impl UsmBuffer {
    /// Copies all of `bytes` to `offset_bytes`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`]. The first three leave the buffer as
    /// it was.
    pub fn copy_from_host(&self, bytes: &[u8], offset_bytes: usize) -> Result<()> {
        self.check_range(offset_bytes, bytes.len())?;
        let guard = self.write_range(offset_bytes..offset_bytes + bytes.len())?;
        if self.is_host_accessible() {
            // `bytes` may be a view of this very memory that somebody else made, so let the ranges overlap.
            // SAFETY: live host-accessible memory (K1, G1) that the guard keeps for us.
            unsafe { std::ptr::copy(bytes.as_ptr(), guard.as_mut_ptr(), bytes.len()) };
            return Ok(());
        }
        // SAFETY: the guard's range is ours, `bytes` is borrowed, and host memory is no device memory.
        unsafe { memcpy(self.queue(), guard.as_mut_ptr(), bytes.as_ptr(), bytes.len()) }
    }

    /// Fills all of `bytes` from `offset_bytes` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_to_host(&self, bytes: &mut [u8], offset_bytes: usize) -> Result<()> {
        self.check_range(offset_bytes, bytes.len())?;
        let guard = self.read_range(offset_bytes..offset_bytes + bytes.len())?;
        if self.is_host_accessible() {
            // SAFETY: live host-accessible memory (K1, G1) that nobody writes while the guard lives.
            unsafe { std::ptr::copy(guard.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
            return Ok(());
        }
        // SAFETY: the guard's range is kept for us, `bytes` is borrowed, and host memory is no device memory.
        unsafe { memcpy(self.queue(), bytes.as_mut_ptr(), guard.as_ptr(), bytes.len()) }
    }

    /// The whole content, copied.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host).
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.len_bytes()];
        self.copy_to_host(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Repeats `pattern`, 1, 2, 4, 8 or 16 bytes long, over the whole buffer.
    ///
    /// # Errors
    /// [`Error::Core`] for a pattern of another length; [`Error::PatternMismatch`] unless its length divides the buffer's;
    /// [`Error::ReadOnly`], [`Error::BorrowConflict`].
    pub fn fill(&self, pattern: &[u8]) -> Result<()> {
        let (pattern_bytes, buffer_bytes) = (pattern.len(), self.len_bytes());
        if !matches!(pattern_bytes, 1 | 2 | 4 | 8 | 16) {
            return Err(CoreError::PatternLength { len_bytes: pattern_bytes }.into());
        }
        if !buffer_bytes.is_multiple_of(pattern_bytes) {
            return Err(Error::PatternMismatch { pattern_bytes, buffer_bytes });
        }
        let guard = self.write_range(0..buffer_bytes)?;
        if buffer_bytes == 0 {
            return Ok(());
        }
        if !self.is_host_accessible() && self.address().is_multiple_of(pattern_bytes) {
            let count = buffer_bytes / pattern_bytes;
            // SAFETY: the guard's range is ours and aligned to the pattern; the wait ends the operation before the guard does.
            unsafe { self.queue().fill(guard.as_mut_ptr(), pattern, count, &[]) }?.wait()?;
            return Ok(());
        }
        // Host-accessible memory needs no queue, and queues want aligned patterns.
        let staging = pattern.repeat(STAGING_BYTES.min(buffer_bytes) / pattern_bytes);
        for offset in (0..buffer_bytes).step_by(STAGING_BYTES) {
            let len_bytes = staging.len().min(buffer_bytes - offset);
            let dst = guard.as_mut_ptr().wrapping_add(offset);
            if self.is_host_accessible() {
                // SAFETY: `offset + len_bytes` lies within the guard's range of live host-accessible memory (K1, G1).
                unsafe { std::ptr::copy_nonoverlapping(staging.as_ptr(), dst, len_bytes) };
            } else {
                // SAFETY: as above; the staging memory is ours.
                unsafe { memcpy(self.queue(), dst, staging.as_ptr(), len_bytes) }?;
            }
        }
        Ok(())
    }
}
