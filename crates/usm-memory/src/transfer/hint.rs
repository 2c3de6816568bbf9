//! Hints about the use of memory, which change no bytes.

use usm_core::Event;

use super::dependency::Dependency;
use super::flight::Flight;
use super::handle::Transfer;
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Submits a hint that the queue's device will soon use the bytes, to be followed after the dependencies. Only shared USM
    /// moves.
    ///
    /// # Errors
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict) while somebody writes a part of the bytes;
    /// [`Error::Core`](crate::Error::Core).
    pub fn prefetch_async(&self, after: &[Dependency]) -> Result<Transfer> {
        // SAFETY: F1: the bytes of the guard that `hint` takes, which the flight keeps until the operation is complete.
        self.hint(after, |start, after| Ok(unsafe { self.queue().prefetch(start, self.len_bytes(), after) }?))
    }

    /// Submits advice how the bytes will be used, to be followed after the dependencies. What its numbers mean is up to the
    /// device's backend; 0 takes earlier advice back.
    ///
    /// # Errors
    /// As [`prefetch_async`](Self::prefetch_async); [`Error::Core`](crate::Error::Core) also when the device does not know the
    /// advice.
    pub fn mem_advise_async(&self, advice: i32, after: &[Dependency]) -> Result<Transfer> {
        let len_bytes = self.len_bytes();
        self.hint(after, |start, after| {
            // SAFETY: F1: as for `prefetch_async`.
            Ok(unsafe { self.queue().mem_advise(start, len_bytes, advice, after) }?)
        })
    }

    fn hint(
        &self,
        after: &[Dependency],
        submit: impl FnOnce(*const u8, &[Event]) -> Result<Event>,
    ) -> Result<Transfer> {
        let mut after = Dependency::all(after);
        let guard = self.read_range_after(0..self.len_bytes(), &after.borrows, &mut after.events)?;
        let start = guard.as_ptr();
        let mut flight = Flight::new(after, None, Some(guard));
        if self.len_bytes() > 0 {
            flight.add(submit(start, flight.after())?, self.queue());
        }
        Ok(Transfer::new(flight, ()))
    }
}
