//! Blocking copies of rows between host slices and USM of any kind.

use usm_core::bulk;

use super::chain::Chain;
use super::shape::{Copy2d, PieceOrder, Shape};
use super::staged;
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Copies rows of `bytes` into this buffer.
    ///
    /// # Errors
    /// [`Error::Copy2d`](crate::Error::Copy2d) names the field that is wrong; [`Error::ReadOnly`](crate::Error::ReadOnly),
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_2d_from_host(&self, bytes: &[u8], copy: Copy2d) -> Result<()> {
        let placed = copy.within(self.len_bytes(), bytes.len())?;
        let access = self.write_access(placed.dst)?;
        let (to, from) = (access.as_mut_ptr(), bytes.as_ptr().wrapping_add(placed.src.start));
        // SAFETY: the range of the access (G1) and a part of the slice (S1), which is borrowed until the call returns.
        unsafe { self.copy_and_wait(to, from, placed.shape) }
    }

    /// Copies rows of this buffer into `bytes`; what lies between the rows stays as it is.
    ///
    /// # Errors
    /// [`Error::Copy2d`](crate::Error::Copy2d) names the field that is wrong;
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_2d_to_host(&self, bytes: &mut [u8], copy: Copy2d) -> Result<()> {
        let placed = copy.within(bytes.len(), self.len_bytes())?;
        let access = self.read_access(placed.src)?;
        let (to, from) = (bytes.as_mut_ptr().wrapping_add(placed.dst.start), access.as_ptr());
        // SAFETY: the range of the access (G1) and a part of the slice (S1), which is borrowed until the call returns.
        unsafe { self.copy_and_wait(to, from, placed.shape) }
    }

    /// # Safety
    /// 1. All pieces of `shape` are valid at `to` and `from`: on one side memory of this buffer under an access of the caller, on the
    ///    other host memory that the caller keeps until this returns.
    unsafe fn copy_and_wait(&self, to: *mut u8, from: *const u8, shape: Shape) -> Result<()> {
        if self.is_host_reachable() {
            // The host memory may be a view of this very memory that somebody else made.
            // SAFETY: S1 for all pieces (1), in live memory that host code reaches (B4 or K2, G1).
            unsafe { copy(to, from, shape, shape.order(to.addr(), from.addr())) };
            return Ok(());
        }
        if shape.len_bytes() == 0 {
            return Ok(());
        }
        self.wait_before_submit()?;
        let used = [self];
        let mut copies = Chain::new(self.queue(), &[], &used);
        // SAFETY: 1. S1 for all pieces (1), until the wait below, or that of `copies` after an error. The access admits nobody. Host memory
        // is no device memory, so that nothing overlaps.
        unsafe { staged::rows(&mut copies, to, from, shape) }?;
        Ok(copies.end()?.wait()?)
    }
}

/// Copies by the calling thread. Rows that overlap with different pitches are copied one after the other.
///
/// # Safety
/// 1. All pieces of `shape` are valid at `to` and `from`, which host code reaches, and nobody else touches them meanwhile.
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, shape: Shape, order: PieceOrder) {
    for piece in shape.pieces(usize::MAX, order) {
        let (to, from) = (to.wrapping_add(piece.dst_bytes), from.wrapping_add(piece.src_bytes));
        // SAFETY: S1 for a piece (1); the ranges may overlap.
        unsafe { bulk::copy(to, from, piece.len_bytes) };
    }
}
