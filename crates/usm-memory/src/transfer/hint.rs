//! Hints about the use of memory, which change no bytes.

use usm_core::{Event, Result as CoreResult};

use crate::access::{Completion, Kept, Operand, submit_async};
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Submits a hint that the queue's device will soon use the bytes, to be followed after the events. Only shared USM
    /// moves.
    ///
    /// # Errors
    /// [`Error::BorrowConflict`](crate::Error::BorrowConflict) while somebody holds a [`WriteGuard`](crate::WriteGuard) of a part of the
    /// bytes; [`Error::Core`](crate::Error::Core).
    pub fn prefetch_async(&self, after: &[Event]) -> Result<Completion> {
        // SAFETY: O2: the operand of `hint`.
        self.hint(after, |start, after| unsafe { self.queue().prefetch(start, self.len_bytes(), after) })
    }

    /// Submits advice how the bytes will be used, to be followed after the events. What its numbers mean is up to the
    /// device's backend; 0 takes earlier advice back.
    ///
    /// # Errors
    /// As [`prefetch_async`](Self::prefetch_async); [`Error::Core`](crate::Error::Core) also when the device does not know the
    /// advice.
    pub fn mem_advise_async(&self, advice: i32, after: &[Event]) -> Result<Completion> {
        let len_bytes = self.len_bytes();
        self.hint(after, |start, after| {
            // SAFETY: O2: as for `prefetch_async`.
            unsafe { self.queue().mem_advise(start, len_bytes, advice, after) }
        })
    }

    fn hint(
        &self,
        after: &[Event],
        hint: impl FnOnce(*const u8, &[Event]) -> CoreResult<Event>,
    ) -> Result<Completion> {
        if self.len_bytes() == 0 {
            return Ok(Completion::new(after.to_vec(), Kept::NONE));
        }
        let all = [Operand::read(self, 0..self.len_bytes())];
        let submitted = |start: &[*mut u8], after: &[Event]| hint(start[0].cast_const(), after);
        // SAFETY: promise 1 of `submit_async`: A hint changes no bytes, and is about the operand. 2. Memory of the queue's context. 3. Nothing is written.
        let event = unsafe { submit_async(self.queue(), &all, after, submitted) }?;
        Ok(Completion::new(vec![event], Kept::NONE))
    }
}
