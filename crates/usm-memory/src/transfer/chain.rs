//! Several operations of a queue as one: each after the one before.

use std::{mem, slice};

use usm_core::{Event, Queue, Result as CoreResult, drops};

use crate::UsmBuffer;

/// Copies on a queue, each after the one before. Unless all are submitted, a drop waits for those that are.
pub(super) struct Chain<'a> {
    queue: &'a Queue,
    after: &'a [Event],
    last: Option<Event>,
    /// The memory, which stays for ever where that wait fails.
    used: &'a [&'a UsmBuffer],
}

impl<'a> Chain<'a> {
    /// After the events.
    pub(super) fn new(queue: &'a Queue, after: &'a [Event], used: &'a [&'a UsmBuffer]) -> Self {
        Self { queue, after, last: None, used }
    }

    /// Adds a copy.
    ///
    /// # Safety
    /// 1. Both ranges are valid for the copy and do not overlap until it is complete. Other work on them is complete when the events and
    ///    the copies before are.
    pub(super) unsafe fn memcpy(&mut self, dst: *mut u8, src: *const u8, len_bytes: usize) -> CoreResult<()> {
        let after = match &self.last {
            None => self.after,
            Some(_) if self.queue.properties().in_order => &[],
            Some(last) => slice::from_ref(last),
        };
        // SAFETY: promise 1.
        self.last = Some(unsafe { self.queue.memcpy(dst, src, len_bytes, after) }?);
        Ok(())
    }

    /// The event of the last copy, of which there is one.
    pub(super) fn end(mut self) -> CoreResult<Event> {
        match self.last.take() {
            Some(last) => Ok(last),
            None => self.queue.barrier(self.after),
        }
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        if !drops::settle(&self.last) {
            self.used.iter().for_each(|buffer| mem::forget((*buffer).clone()));
        }
    }
}
