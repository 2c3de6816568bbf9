//! Blocking copies of rows between host slices and USM of any kind.

use usm_core::bulk;

use super::dependency::Dependency;
use super::flight::Flight;
use super::shape::{Copy2d, Order, Shape};
use super::staged::{self, Route};
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Copies rows of `bytes` into this buffer.
    ///
    /// # Errors
    /// [`Error::Copy2d`](crate::Error::Copy2d) names the field that is wrong; [`Error::ReadOnly`](crate::Error::ReadOnly),
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_2d_from_host(&self, bytes: &[u8], copy: Copy2d) -> Result<()> {
        let placed = copy.within(self.len_bytes(), bytes.len())?;
        let guard = self.write_range(placed.dst)?;
        let (to, from) = (guard.as_mut_ptr(), bytes.as_ptr().wrapping_add(placed.src.start));
        let flight = Flight::new(Dependency::default(), Some(guard), None);
        // SAFETY: the guard's range (G1) and a part of the slice (S1), which is borrowed until the call returns.
        unsafe { self.copy_and_wait(flight, to, from, placed.shape) }
    }

    /// Copies rows of this buffer into `bytes`; what lies between the rows stays as it is.
    ///
    /// # Errors
    /// [`Error::Copy2d`](crate::Error::Copy2d) names the field that is wrong;
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict), [`Error::Core`](crate::Error::Core).
    pub fn copy_2d_to_host(&self, bytes: &mut [u8], copy: Copy2d) -> Result<()> {
        let placed = copy.within(bytes.len(), self.len_bytes())?;
        let guard = self.read_range(placed.src)?;
        let (to, from) = (bytes.as_mut_ptr().wrapping_add(placed.dst.start), guard.as_ptr());
        let flight = Flight::new(Dependency::default(), None, Some(guard));
        // SAFETY: the guard's range (G1) and a part of the slice (S1), which is borrowed until the call returns.
        unsafe { self.copy_and_wait(flight, to, from, placed.shape) }
    }

    /// # Safety
    /// 1. All pieces of `shape` are valid at `to` and `from`: on one side memory of this buffer under the guard of `flight`, on the
    ///    other host memory that the caller keeps until this returns.
    unsafe fn copy_and_wait(&self, flight: Flight, to: *mut u8, from: *const u8, shape: Shape) -> Result<()> {
        if self.is_host_reachable() {
            // The host memory may be a view of this very memory that somebody else made.
            // SAFETY: S1 for all pieces (1), in live memory that host code reaches (B4 or K2, G1).
            unsafe { copy(to, from, shape, shape.order(to.addr(), from.addr())) };
            return Ok(());
        }
        self.wait_before_submit()?;
        // SAFETY: 1. S1 for all pieces (1), and F1: the flight ends before this returns. 2. The guard admits nobody. 3. Host memory is no
        // device memory, so that nothing overlaps.
        unsafe { self.submit_to_host(flight, to, from, shape) }?.wait()
    }

    /// Submits a copy between this buffer and memory of the host, which any queue reaches.
    ///
    /// # Safety
    /// 1. All pieces of `shape` are valid at `to` and `from`, and stay so until the flight is dropped.
    /// 2. Other work on them is complete when [`Flight::after`] is.
    /// 3. The two sides do not overlap.
    pub(super) unsafe fn submit_to_host(
        &self,
        mut flight: Flight,
        to: *mut u8,
        from: *const u8,
        shape: Shape,
    ) -> Result<Flight> {
        // SAFETY: 1 and 2 as promised. 3. Nothing overlaps.
        unsafe {
            staged::copy(&mut flight, &Route::Direct(self.queue().clone()), to, from, shape, Order::Any)
        }?;
        Ok(flight)
    }
}

/// Copies by the calling thread. Rows that overlap with different pitches are copied one after the other.
///
/// # Safety
/// 1. All pieces of `shape` are valid at `to` and `from`, which host code reaches, and nobody else touches them meanwhile.
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, shape: Shape, order: Order) {
    for piece in shape.pieces(usize::MAX, order) {
        let (to, from) = (to.wrapping_add(piece.dst_bytes), from.wrapping_add(piece.src_bytes));
        // SAFETY: S1 for a piece (1); the ranges may overlap.
        unsafe { bulk::copy(to, from, piece.len_bytes) };
    }
}
