//! Copies and fills that return when they are submitted, where one queue works on memory that only devices reach.

use usm_core::{Event, UsmKind};

use super::shape::{PieceOrder, Shape};
use super::staged::{self, Route};
use crate::access::{Operand, Submission, submit, submit_async};
use crate::tracker::capture;
use crate::{Result, UsmBuffer};

/// Bytes of host memory up to which a copy to a device goes through memory that the queue empties later. The bus takes longer than a wait
/// from there on.
const STAGED_BYTES: usize = 4 << 20;

impl UsmBuffer {
    /// As [`copy_from`](Self::copy_from), but returns when the copy is [submitted](submit), where one queue copies memory that only devices
    /// reach. Bytes that both have in common are copied twice.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    pub fn submit_copy_from(&self, src: &Self) -> Result<()> {
        let len_bytes = self.len_bytes();
        if self.is_host_reachable()
            || src.is_host_reachable()
            || len_bytes == 0
            || len_bytes != src.len_bytes()
        {
            return self.copy_from(src);
        }
        let order = Shape::contiguous(len_bytes).order(self.address(), src.address());
        let (to, from) = (Operand::written(self, 0..len_bytes), Operand::read(src, 0..len_bytes));
        match Route::between(self, src, order) {
            Route::Direct(queue) => {
                if queue != *self.queue() {
                    capture::check_none(self.queue())?; // the other queue would not be in the graph
                }
                let copy = |ends: &[*mut u8], after: &[Event]| {
                    // SAFETY: O2: the operands, until the event is complete; they do not overlap (`order`).
                    unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
                };
                // SAFETY: promise 1 of `submit`: The bytes of the operands. 2. As the route says.
                let event = unsafe { submit(&queue, &[to, from], copy) }?;
                staged::follow(self, src, &queue, &[event])?;
                Ok(())
            }
            // Bytes in common go through other memory, which the queue reaches.
            _ if order != PieceOrder::Any && self.context() == src.context() => {
                let Ok(between) = Self::allocate(self.queue(), self.kind(), len_bytes) else {
                    return self.copy_from(src);
                };
                // As one operation, so that none of another thread comes between the two copies.
                let (queue, submission) = (self.queue(), Submission::of(&[to.clone(), from.clone()])?);
                let copy = |ends: &[*mut u8], after: &[Event]| {
                    // SAFETY: O2: the operands, until the event is complete; one of them is new memory.
                    unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
                };
                let (filled, emptied) =
                    (Operand::written(&between, 0..len_bytes), Operand::read(&between, 0..len_bytes));
                let mut last = Vec::new();
                for step in [[filled, from], [to, emptied]] {
                    // SAFETY: promise 1 of `submit_async`: The bytes of the operands. 2. Memory of the queue's context. 3. Host code has slices
                    // under guards alone.
                    last = vec![unsafe { submission.step(queue, &step, &last, copy) }?];
                }
                staged::follow(self, src, queue, &last)
            }
            _ => self.copy_from(src),
        }
    }

    /// As [`fill`](Self::fill), but returns when the fill is [submitted](submit), where only devices reach the memory.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn submit_fill(&self, pattern: &[u8]) -> Result<()> {
        self.check_pattern(pattern)?;
        if self.is_host_reachable() || self.len_bytes() == 0 {
            return self.fill(pattern);
        }
        let (queue, count) = (self.queue(), self.len_bytes() / pattern.len());
        let all = Operand::written(self, 0..self.len_bytes());
        // SAFETY: O2: the operand, until the event is complete.
        let fill =
            |start: &[*mut u8], after: &[Event]| unsafe { queue.fill(start[0], pattern, count, after) };
        // SAFETY: promise 1 of `submit`: The bytes of the operand. 2. Memory of the queue's context.
        unsafe { submit(queue, &[all], fill) }?;
        Ok(())
    }

    /// As [`copy_from_host`](Self::copy_from_host), but returns when the bytes have been read, where only devices reach the memory: up to
    /// 4 MiB go through host USM.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn submit_copy_from_host(&self, bytes: &[u8], offset_bytes: usize) -> Result<()> {
        // SAFETY: promises 1 and 2 of `submit_copy_from_host_memory`: `bytes` is borrowed.
        unsafe { self.submit_copy_from_host_memory(bytes, offset_bytes) }
    }

    /// As [`submit_copy_from_host`](Self::submit_copy_from_host), from host memory that is not borrowed as a slice: it may be a view of this
    /// very memory.
    ///
    /// # Safety
    /// 1. The bytes are readable until this returns.
    /// 2. Nobody else writes them meanwhile.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub unsafe fn submit_copy_from_host_memory(&self, bytes: *const [u8], offset_bytes: usize) -> Result<()> {
        let (queue, len_bytes) = (self.queue(), bytes.len());
        if !(1..=STAGED_BYTES).contains(&len_bytes) || self.is_host_reachable() {
            // SAFETY: promises 1 and 2.
            return unsafe { self.copy_from_host_memory(bytes, offset_bytes) };
        }
        self.check_range(offset_bytes, len_bytes)?;
        self.check_writable()?;
        let range = offset_bytes..offset_bytes + len_bytes;
        let Ok(staging) = Self::allocate(queue, UsmKind::Host, len_bytes) else {
            // SAFETY: promises 1 and 2.
            return unsafe { self.copy_from_host_memory(bytes, offset_bytes) };
        };
        // SAFETY: promises 1 and 2.
        unsafe { staging.copy_from_host_memory(bytes, 0) }?;
        let to = Operand::written(self, range);
        let from = Operand::read(&staging, 0..len_bytes);
        let copy = |ends: &[*mut u8], after: &[Event]| {
            // SAFETY: O2: the operands, two blocks, until the event is complete.
            unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
        };
        // SAFETY: promise 1 of `submit_async`: The bytes of the operands. 2. Memory of the queue's context. 3. Nobody else has the staging memory.
        unsafe { submit_async(queue, &[to, from], &[], copy) }?;
        Ok(())
    }
}
