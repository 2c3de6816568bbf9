//! Fills with a repeated pattern.

use usm_core::backend::MAX_PATTERN_BYTES;
use usm_core::bulk;
use usm_core::{Error as CoreError, Event};

use super::chain::Chain;
use crate::access::{Completion, Kept, Operand, WriteAccess, submit_async};
use crate::tracker::capture;
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
    pub fn fill_async(&self, pattern: &[u8], after: &[Event]) -> Result<Completion> {
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
        self.check_writable()?;
        let access = WriteAccess::for_copy(self.block(), self.in_block(0..self.len_bytes())?)?;
        if !self.is_host_reachable() {
            let count = self.len_bytes() / pattern.len();
            if count > 0 {
                // SAFETY: G1: the range is ours, and the wait ends the operation before the access does.
                unsafe { self.queue().fill(access.as_mut_ptr(), pattern, count, &[]) }?.wait()?;
            }
            return Ok(());
        }
        // Memory that host code reaches needs no queue.
        // SAFETY: the range of live memory that host code reaches (B4 or K2, G1); the pattern may be a view of it.
        unsafe { bulk::fill(access.as_mut_ptr(), pattern, self.len_bytes()) };
        Ok(())
    }

    /// As [`fill_any`](Self::fill_any), by the queue.
    pub(crate) fn fill_any_async(&self, pattern: &[u8], after: &[Event]) -> Result<Completion> {
        let (queue, len_bytes) = (self.queue(), self.len_bytes());
        let all = [Operand::written(self, 0..len_bytes)];
        if len_bytes == 0 {
            self.check_writable()?;
            return Ok(Completion::new(after.to_vec(), Kept::NONE));
        }
        if is_queue_pattern(pattern) {
            let count = len_bytes / pattern.len();
            // SAFETY: O2: the operand, until the event is complete.
            let fill =
                |start: &[*mut u8], after: &[Event]| unsafe { queue.fill(start[0], pattern, count, after) };
            // SAFETY: promise 1 of `submit_async`: The bytes of the operand. 2. Memory of the queue's context. 3. Host code has slices under guards alone.
            let event = unsafe { submit_async(queue, &all, after, fill) }?;
            return Ok(Completion::new(vec![event], Kept::NONE));
        }
        capture::check_none(queue)?; // a graph does not keep the pattern
        // Queues take short patterns only: others are copied from the host.
        let repetitions = STAGING_BYTES.min(len_bytes) / pattern.len().max(1);
        let repeated = pattern.repeat(repetitions.max(1));
        let (src, step_bytes) = (repeated.as_ptr(), repeated.len());
        let fill = |start: &[*mut u8], after: &[Event]| {
            let used = [self];
            if queue.capture()?.is_some() {
                return Err(capture::REASON); // begun meanwhile
            }
            let mut copies = Chain::new(queue, after, &used);
            for offset in (0..len_bytes).step_by(step_bytes) {
                let part_bytes = step_bytes.min(len_bytes - offset);
                // SAFETY: promise 1 of `memcpy`: Within the operand and the repeated pattern, which the completion keeps.
                unsafe { copies.memcpy(start[0].wrapping_add(offset), src, part_bytes) }?;
            }
            copies.end()
        };
        // SAFETY: promise 1 of `submit_async`: The bytes of the operand. 2. Memory of the queue's context. 3. Host code has slices under guards alone.
        let event = unsafe { submit_async(queue, &all, after, fill) }?;
        Ok(Completion::new(vec![event], Kept::memory(repeated)))
    }
}

fn is_queue_pattern(pattern: &[u8]) -> bool {
    (1..=MAX_PATTERN_BYTES).contains(&pattern.len())
}
