//! Hints about the use of memory, which change no bytes.

use super::flight::Flight;
use super::{Dependency, Transfer};
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Submits a hint that the queue's device will soon use the bytes, to be followed after the dependencies. Only shared USM
    /// moves.
    ///
    /// # Errors
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict) while somebody writes a part of the bytes;
    /// [`Error::Core`](crate::Error::Core).
    pub fn prefetch_async(&self, after: &[Dependency]) -> Result<Transfer> {
        let (mut flight, start) = self.hinted(after)?;
        if self.len_bytes() > 0 {
            // SAFETY: the guard in `flight` keeps the memory.
            unsafe { flight.prefetch(self.queue(), start, self.len_bytes()) }?;
        }
        Ok(Transfer::new(flight, ()))
    }

    /// Submits advice how the bytes will be used, to be followed after the dependencies. What its numbers mean is up to the
    /// device's backend; 0 takes earlier advice back.
    ///
    /// # Errors
    /// As [`prefetch_async`](Self::prefetch_async); [`Error::Core`](crate::Error::Core) also when the device does not know the
    /// advice.
    pub fn mem_advise_async(&self, advice: i32, after: &[Dependency]) -> Result<Transfer> {
        let (mut flight, start) = self.hinted(after)?;
        if self.len_bytes() > 0 {
            // SAFETY: the guard in `flight` keeps the memory.
            unsafe { flight.mem_advise(self.queue(), start, self.len_bytes(), advice) }?;
        }
        Ok(Transfer::new(flight, ()))
    }

    fn hinted(&self, after: &[Dependency]) -> Result<(Flight, *const u8)> {
        let after = Dependency::all(after);
        let guard = self.read_range_after(0..self.len_bytes(), &after.borrows)?;
        let start = guard.as_ptr();
        Ok((Flight::new(after, None, Some(guard)), start))
    }
}
