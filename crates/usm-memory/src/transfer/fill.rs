//! Fills with a repeated pattern.

use usm_core::backend::MAX_PATTERN_BYTES;
use usm_core::bulk;
use usm_core::{Error as CoreError, Event};

use super::dependency::Dependency;
use super::flight::Flight;
use super::handle::Transfer;
use super::submit::{Operand, record};
use crate::{Error, Result, UsmBuffer};

/// Bytes written at a time by repeated copies.
const STAGING_BYTES: usize = 64 * 1024;

impl UsmBuffer {
    /// Repeats `pattern`, 1 to 16 bytes long, over the whole buffer.
    ///
    /// # Errors
    /// [`Error::Core`] for a pattern of another length; [`Error::PatternMismatch`] unless its length divides the buffer's;
    /// [`Error::ReadOnly`], [`Error::BorrowConflict`].
    pub fn fill(&self, pattern: &[u8]) -> Result<()> {
        self.check_pattern(pattern)?;
        self.fill_any(pattern)
    }

    /// As [`fill`](Self::fill), but returns when the fill is submitted, to be done after the dependencies.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn fill_async(&self, pattern: &[u8], after: &[Dependency]) -> Result<Transfer> {
        self.check_pattern(pattern)?;
        self.fill_any_async(pattern, after)
    }

    pub(super) fn check_pattern(&self, pattern: &[u8]) -> Result<()> {
        let (pattern_bytes, buffer_bytes) = (pattern.len(), self.len_bytes());
        if !is_queue_pattern(pattern) {
            return Err(CoreError::PatternLength { len_bytes: pattern_bytes }.into());
        }
        if !buffer_bytes.is_multiple_of(pattern_bytes) {
            return Err(Error::PatternMismatch { pattern_bytes, buffer_bytes });
        }
        Ok(())
    }

    /// Fills with a pattern of any length but 0 that divides the buffer's.
    pub(crate) fn fill_any(&self, pattern: &[u8]) -> Result<()> {
        if !self.is_host_reachable() && !is_queue_pattern(pattern) {
            self.wait_before_submit()?;
            return self.fill_any_async(pattern, &[])?.wait();
        }
        let guard = self.write_range(0..self.len_bytes())?;
        if !self.is_host_reachable() {
            let count = self.len_bytes() / pattern.len();
            if count > 0 {
                self.wait_before_submit()?;
                // SAFETY: the guard's range is ours, and the wait ends the operation before the guard does.
                unsafe { self.queue().fill(guard.as_mut_ptr(), pattern, count, &[]) }?.wait()?;
            }
            return Ok(());
        }
        // Memory that host code reaches needs no queue.
        // SAFETY: the guard's range of live memory that host code reaches (B4 or K2, G1); the pattern may be a view of it.
        unsafe { bulk::fill(guard.as_mut_ptr(), pattern, self.len_bytes()) };
        Ok(())
    }

    /// As [`fill_any`](Self::fill_any), by the queue.
    pub(crate) fn fill_any_async(&self, pattern: &[u8], after: &[Dependency]) -> Result<Transfer> {
        if self.queue().capture()?.is_some() && is_queue_pattern(pattern) {
            return self.record_fill(pattern, after);
        }
        let mut after = Dependency::all(after);
        let guard = self.write_range_after(0..self.len_bytes(), &after.borrows, &mut after.events)?;
        let (start, queue) = (guard.as_mut_ptr(), self.queue());
        let mut flight = Flight::new(after, Some(guard), None);
        if self.len_bytes() == 0 {
            return Ok(Transfer::new(flight, ()));
        }
        if is_queue_pattern(pattern) {
            let count = self.len_bytes() / pattern.len();
            // SAFETY: F1: the guard's range, which `flight` keeps until the operation is complete.
            flight.add(unsafe { queue.fill(start, pattern, count, flight.after()) }?, queue);
            return Ok(Transfer::new(flight, ()));
        }
        // Queues take short patterns only: others are copied from the host.
        let repetitions = STAGING_BYTES.min(self.len_bytes()) / pattern.len().max(1);
        flight.pattern = pattern.repeat(repetitions.max(1));
        let (src, step_bytes) = (flight.pattern.as_ptr(), flight.pattern.len());
        let mut after = flight.after().to_vec();
        for offset in (0..self.len_bytes()).step_by(step_bytes) {
            let len_bytes = step_bytes.min(self.len_bytes() - offset);
            // SAFETY: within the guard's range and the repeated pattern, both kept by `flight`; each after the one before.
            let event = unsafe { flight.memcpy(queue, start.wrapping_add(offset), src, len_bytes, &after) }?;
            after = vec![event];
        }
        Ok(Transfer::new(flight, ()))
    }

    /// Records a fill in the graph that the stream of the queue is captured into.
    fn record_fill(&self, pattern: &[u8], after: &[Dependency]) -> Result<Transfer> {
        let (queue, count) = (self.queue(), self.len_bytes() / pattern.len());
        let all = Operand { buffer: self, range: 0..self.len_bytes(), writes: true };
        let fill = |start: &[*mut u8], after: &[Event]| {
            // SAFETY: T1: the operand, which the graph keeps.
            unsafe { queue.fill(start[0], pattern, count, after) }
        };
        // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
        unsafe { record(queue, &[all], after, fill) }
    }
}

fn is_queue_pattern(pattern: &[u8]) -> bool {
    (1..=MAX_PATTERN_BYTES).contains(&pattern.len())
}
