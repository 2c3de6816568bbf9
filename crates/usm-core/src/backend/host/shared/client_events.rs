//! A backend whose methods call the functions of another copy's table: operations and events.

use super::super::{EventStatus, HostTask, ProfilingTimes, RawEvent, RawQueue, TaskMemory};
use super::client::SharedHost;
use super::table::{Failure, HostTable, Range, Task, Token, status_of};
use crate::{BackendId, Error, Result};

fn tokens(events: &[RawEvent]) -> Vec<Token> {
    events.iter().map(|event| event.as_ptr()).collect()
}

impl SharedHost {
    fn submitted(
        &self,
        name: &'static str,
        submit: impl FnOnce(&HostTable, *mut Failure) -> Token,
    ) -> Result<RawEvent> {
        let event = std::ptr::NonNull::new(self.call(name, submit)?);
        event.map(RawEvent::new).ok_or(Error::Backend { backend: BackendId::Host, call: name })
    }

    /// # Safety
    /// 1. As for [`crate::backend::Backend::memcpy`].
    pub(super) unsafe fn submit_memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        after: &[RawEvent],
    ) -> Result<RawEvent> {
        let (queue, after) = (queue.as_ptr(), tokens(after));
        self.submitted("memcpy", |table, failure| {
            let (first, count) = (after.as_ptr(), after.len());
            // SAFETY: C1 and the caller's promises.
            unsafe { (table.memcpy)(table.server, queue, dst, src, len_bytes, first, count, failure) }
        })
    }

    /// # Safety
    /// 1. As for [`crate::backend::Backend::fill`].
    pub(super) unsafe fn submit_fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        repeats: usize,
        after: &[RawEvent],
    ) -> Result<RawEvent> {
        let (queue, after) = (queue.as_ptr(), tokens(after));
        let (start, pattern_bytes) = (pattern.as_ptr(), pattern.len());
        self.submitted("fill", |table, failure| {
            let (first, count) = (after.as_ptr(), after.len());
            // SAFETY: C1 and the caller's promises.
            unsafe {
                (table.fill)(table.server, queue, dst, start, pattern_bytes, repeats, first, count, failure)
            }
        })
    }

    /// # Safety
    /// 1. As for [`crate::backend::Backend::prefetch`].
    pub(super) unsafe fn submit_hint(
        &self,
        name: &'static str,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        after: &[RawEvent],
    ) -> Result<RawEvent> {
        let (queue, after) = (queue.as_ptr(), tokens(after));
        self.submitted(name, |table, failure| {
            let (first, count) = (after.as_ptr(), after.len());
            // SAFETY: C1 and the caller's promises.
            unsafe { (table.hint)(table.server, queue, address, len_bytes, first, count, failure) }
        })
    }

    /// # Safety
    /// 1. As for [`crate::backend::Backend::barrier`].
    pub(super) unsafe fn submit_barrier(&self, queue: RawQueue, after: &[RawEvent]) -> Result<RawEvent> {
        let (queue, after) = (queue.as_ptr(), tokens(after));
        self.submitted("barrier", |table, failure| {
            let (first, count) = (after.as_ptr(), after.len());
            // SAFETY: C1 and the caller's promises.
            unsafe { (table.barrier)(table.server, queue, first, count, failure) }
        })
    }

    /// # Safety
    /// 1. As for [`crate::backend::Backend::host_task`].
    pub(super) unsafe fn submit_task(
        &self,
        queue: RawQueue,
        memory: &[TaskMemory],
        task: HostTask,
        after: &[RawEvent],
    ) -> Result<RawEvent> {
        let (queue, after) = (queue.as_ptr(), tokens(after));
        let memory: Vec<_> =
            memory.iter().map(|range| Range { start: range.start, len_bytes: range.len_bytes }).collect();
        let task = Task::give(task);
        self.submitted("host_task", |table, failure| {
            let (ranges, first, count) = (memory.as_ptr(), after.as_ptr(), after.len());
            // SAFETY: C1 and the caller's promises; the other copy ends the task.
            unsafe {
                (table.host_task)(table.server, queue, ranges, memory.len(), task, first, count, failure)
            }
        })
    }

    /// # Safety
    /// 1. The event is live.
    pub(super) unsafe fn wait_for(&self, event: RawEvent) -> Result<()> {
        self.call("wait", |table, failure| {
            // SAFETY: C1 and the caller's promise.
            unsafe { (table.wait)(table.server, event.as_ptr(), failure) }
        })
    }

    /// # Safety
    /// 1. The event is live.
    pub(super) unsafe fn status(&self, event: RawEvent) -> EventStatus {
        // SAFETY: C1 and the caller's promise.
        status_of(unsafe { (self.table.status)(self.table.server, event.as_ptr()) })
    }

    /// # Safety
    /// 1. The event is live.
    pub(super) unsafe fn times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        let mut times = [0; 3];
        self.call("event_times", |table, failure| {
            // SAFETY: C1 and the caller's promise.
            unsafe { (table.times)(table.server, event.as_ptr(), &raw mut times, failure) }
        })?;
        let [submit_ns, start_ns, end_ns] = times;
        Ok(ProfilingTimes { submit_ns, start_ns, end_ns })
    }
}
