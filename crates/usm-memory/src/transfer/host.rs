//! Blocking copies between host memory and USM of any kind.
//!
//! Raw pointers lead to the host memory, which may be a view of the very memory that a copy writes, or belong to a program in another
//! language, whose threads look at it meanwhile. No reference to such bytes may exist. Slices come in as pointers, too.

use usm_core::Queue;
use usm_core::bulk::{self, copy_bytes};

use super::pinned::{self, Direction};
use crate::access::{ReadAccess, WriteAccess, briefly};
use crate::buffer::Block;
use crate::plain::zeroed;
use crate::{Error, ReadGuard, Result, UsmBuffer, WriteGuard};

/// Bytes up to which a copy takes less time than two more looks at the table of borrows.
const BRIEF_BYTES: usize = 4 << 10;

/// Copies between host memory and the bytes of a guard or an access, whatever the kind of the memory.
macro_rules! copies {
    (read: $type:ident, $start:ident) => {
        impl $type {
            /// Copies the whole range to `bytes`, whatever the kind of the memory.
            ///
            /// # Errors
            /// [`Error::LengthMismatch`] unless there are as many bytes as the range has; [`Error::Core`].
            pub fn copy_to_host(&self, bytes: &mut [u8]) -> Result<()> {
                wait_before_submit(self.block())?;
                // SAFETY: promise 1 of `read`: G1: the range is kept for us: nobody writes it meanwhile. 2. `bytes` is borrowed.
                unsafe { read(self.block(), self.$start(), self.len_bytes(), bytes) }
            }
        }
    };
    (write: $type:ident) => {
        copies!(read: $type, as_mut_ptr);

        impl $type {
            /// Copies all of `bytes` to the range, whatever the kind of the memory.
            ///
            /// Needs the value for itself: two threads that share it cannot write at once.
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
                wait_before_submit(self.block())?;
                // SAFETY: promise 1 of `write`: G1: the range is ours. 2. and 3. `bytes` is borrowed.
                unsafe { write(self.block(), self.as_mut_ptr(), self.len_bytes(), bytes) }
            }
        }
    };
}
copies!(read: ReadGuard, as_ptr);
copies!(read: ReadAccess, as_ptr);
copies!(write: WriteGuard);
copies!(write: WriteAccess);

/// Copies host memory to a range that is kept for the caller.
///
/// # Safety
/// 1. `to` leads to `dst_bytes` bytes of the block, which nobody else uses meanwhile.
/// 2. The bytes are readable until this returns.
/// 3. Nobody else writes them meanwhile.
unsafe fn write(block: &Block, to: *mut u8, dst_bytes: usize, bytes: *const [u8]) -> Result<()> {
    let (from, src_bytes) = (bytes.cast::<u8>(), bytes.len());
    if dst_bytes != src_bytes {
        return Err(Error::LengthMismatch { dst_bytes, src_bytes });
    }
    if block.is_host_reachable() {
        // SAFETY: B4 or K2: live memory that host code reaches, kept for us (1); the ranges may overlap.
        unsafe { bulk::copy(to, from, src_bytes) };
        return Ok(());
    }
    // SAFETY: promises 1 to 3; host memory is no device memory.
    unsafe { copy_with_host(block, Direction::ToDevice, to, from, src_bytes) }
}

/// Copies a borrowed range to the host.
///
/// # Safety
/// 1. `src` leads to `src_bytes` bytes of the block, which nobody writes meanwhile.
/// 2. The bytes are writable until this returns, and nobody else uses them meanwhile.
unsafe fn read(block: &Block, src: *const u8, src_bytes: usize, bytes: *mut [u8]) -> Result<()> {
    let dst_bytes = bytes.len();
    if dst_bytes != src_bytes {
        return Err(Error::LengthMismatch { dst_bytes, src_bytes });
    }
    if block.is_host_reachable() {
        // SAFETY: G1 for the guarded range (1), and promise 2; the ranges may overlap.
        unsafe { bulk::copy(bytes.cast(), src, src_bytes) };
        return Ok(());
    }
    // SAFETY: G1 for the guarded range (1), and promise 2; host memory is no device memory.
    unsafe { copy_with_host(block, Direction::FromDevice, bytes.cast(), src, src_bytes) }
}

impl UsmBuffer {
    /// Copies all of `bytes` to `offset_bytes`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`]. The first three leave the buffer as
    /// it was.
    pub fn copy_from_host(&self, bytes: &[u8], offset_bytes: usize) -> Result<()> {
        // SAFETY: promises 1 and 2 of `copy_from_host_memory`: `bytes` is borrowed.
        unsafe { self.copy_from_host_memory(bytes, offset_bytes) }
    }

    /// As [`copy_from_host`](Self::copy_from_host), from host memory that is not borrowed as a slice: it may be a view of this very memory.
    ///
    /// # Safety
    /// 1. The bytes are readable until this returns.
    /// 2. Nobody else writes them meanwhile.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub unsafe fn copy_from_host_memory(&self, bytes: *const [u8], offset_bytes: usize) -> Result<()> {
        let (from, len_bytes) = (bytes.cast::<u8>(), bytes.len());
        let range = self.span_in_block(offset_bytes, len_bytes)?;
        self.check_writable()?;
        if len_bytes <= BRIEF_BYTES && self.is_host_reachable() {
            // SAFETY: as for a guard of the range, which is in the block; live memory that host code reaches (B4 or K2), which may be that of
            // the bytes (1, 2).
            let copy = |to| unsafe { copy_bytes(to, from, len_bytes) };
            if let Some(()) = briefly(self.block(), &range, true, copy) {
                return Ok(());
            }
        }
        let access = WriteAccess::for_copy(self.block(), range)?;
        // SAFETY: promise 1 of `write`: G1: the range is ours. 2. and 3. Promises 1 and 2.
        unsafe { write(access.block(), access.as_mut_ptr(), len_bytes, bytes) }
    }

    /// Fills all of `bytes` from `offset_bytes` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_to_host(&self, bytes: &mut [u8], offset_bytes: usize) -> Result<()> {
        // SAFETY: promises 1 and 2 of `copy_to_host_memory`: `bytes` is borrowed.
        unsafe { self.copy_to_host_memory(bytes, offset_bytes) }
    }

    /// As [`copy_to_host`](Self::copy_to_host), to host memory that is not borrowed as a slice: it may be a view of this very memory.
    ///
    /// # Safety
    /// 1. The bytes are writable until this returns.
    /// 2. Nobody else uses them meanwhile.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host).
    pub unsafe fn copy_to_host_memory(&self, bytes: *mut [u8], offset_bytes: usize) -> Result<()> {
        let (to, len_bytes) = (bytes.cast::<u8>(), bytes.len());
        let range = self.span_in_block(offset_bytes, len_bytes)?;
        if len_bytes <= BRIEF_BYTES && self.is_host_reachable() {
            // SAFETY: as for a guard of the range, which is in the block; live memory that host code reaches (B4 or K2), which may be that of
            // the bytes (1, 2).
            let copy = |from: *mut u8| unsafe { copy_bytes(to, from, len_bytes) };
            if let Some(()) = briefly(self.block(), &range, false, copy) {
                return Ok(());
            }
        }
        let access = ReadAccess::for_copy(self.block(), range)?;
        // SAFETY: promise 1 of `read`: The guard's range is kept for us: nobody writes it meanwhile. 2. Promises 1 and 2.
        unsafe { read(access.block(), access.as_ptr(), len_bytes, bytes) }
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

/// Waits until a copy of memory that only devices reach can start at once.
fn wait_before_submit(block: &Block) -> Result<()> {
    if block.is_host_reachable() { Ok(()) } else { block.wait_before_submit(block.queue()) }
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
        // SAFETY: G1 for the guarded range, and the caller's promises 1 and 2.
        if unsafe { pinned::copy(queue, direction, dst, src, len_bytes) }? {
            return Ok(());
        }
    }
    // SAFETY: the caller's promise 1.
    unsafe { memcpy(queue, dst, src, len_bytes) }
}

/// Copies from or to guarded memory through a queue and waits.
///
/// # Safety
/// 1. Both ranges are valid for the copy and do not overlap; neither is borrowed by somebody else meanwhile.
pub(super) unsafe fn memcpy(queue: &Queue, dst: *mut u8, src: *const u8, len_bytes: usize) -> Result<()> {
    if len_bytes > 0 {
        // SAFETY: G1 for the guarded range, and promise 1 for the other; the wait below ends the operation before they can go away.
        unsafe { queue.memcpy(dst, src, len_bytes, &[]) }?.wait()?;
    }
    Ok(())
}
