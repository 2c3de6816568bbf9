//! Copies between two buffers: in one context by its queue, across contexts and backends staged through the host.

use super::memcpy;
use crate::guard::{self, ReadGuard, WriteGuard};
use crate::typed::zeroed;
use crate::{Error, Result, UsmBuffer};

/// Bytes that a staged copy moves at a time.
const STAGING_BYTES: usize = 8 * 1024 * 1024;

impl UsmBuffer {
    /// Copies the whole of `src`, which has the same length, into this buffer. The two may be of any kinds and contexts, and may
    /// overlap.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ReadOnly`], [`Error::BorrowConflict`], [`Error::OutOfHostMemory`],
    /// [`Error::Core`].
    pub fn copy_from(&self, src: &Self) -> Result<()> {
        let (dst_bytes, src_bytes) = (self.len_bytes(), src.len_bytes());
        if dst_bytes != src_bytes {
            return Err(Error::LengthMismatch { dst_bytes, src_bytes });
        }
        self.check_writable()?;
        let (to, from) = guard::write_and_read((self.block(), self.range()), (src.block(), src.range()))?;
        if self.is_host_accessible() && src.is_host_accessible() {
            // SAFETY: both are live host-accessible memory (K1, G1), kept for us by the guards; they may overlap.
            unsafe { std::ptr::copy(from.as_ptr(), to.as_mut_ptr(), src_bytes) };
            return Ok(());
        }
        // Two borrows of the same foreign memory overlap without being of one block.
        let overlap = self.address().abs_diff(src.address()) < src_bytes;
        if !overlap && self.context() == src.context() {
            // SAFETY: the guards' ranges are kept for us, are of the queue's context and do not overlap.
            return unsafe { memcpy(self.queue(), to.as_mut_ptr(), from.as_ptr(), src_bytes) };
        }
        self.copy_staged(src, &to, &from, if overlap { src_bytes } else { STAGING_BYTES })
    }

    fn copy_staged(&self, src: &Self, to: &WriteGuard, from: &ReadGuard, chunk_bytes: usize) -> Result<()> {
        let mut staging = zeroed::<u8>(chunk_bytes.min(from.len_bytes()))?;
        for offset in (0..from.len_bytes()).step_by(chunk_bytes) {
            let len_bytes = chunk_bytes.min(from.len_bytes() - offset);
            let dst = to.as_mut_ptr().wrapping_add(offset);
            let src_ptr = from.as_ptr().wrapping_add(offset);
            // SAFETY: `offset + len_bytes` lies within the guards' ranges; the staging memory is ours.
            unsafe { memcpy(src.queue(), staging.as_mut_ptr(), src_ptr, len_bytes) }?;
            // SAFETY: as above.
            unsafe { memcpy(self.queue(), dst, staging.as_ptr(), len_bytes) }?;
        }
        Ok(())
    }
}
