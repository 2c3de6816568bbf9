//! Events: the completion of one operation, its status, and its times.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use super::capture::refused;
use super::device::{CudaDevice, Current};
use super::driver::{Code, EventHandle, Stream};
use crate::backend::{EventStatus, ProfilingTimes};
use crate::{Error, Result};

/// The text of the error of a question about an operation that was captured.
const RECORDED: &str = "the operation was recorded in the graph, and runs when the graph is launched; wait for the stream of the \
                        launch";

/// A recorded event of the driver.
#[derive(Debug)]
pub(super) struct CudaEvent {
    device: Arc<CudaDevice>,
    /// Invariant CE1: an event that was recorded behind the operation; nobody else records it before this value returns it.
    end: EventHandle,
    started: Option<Started>,
    is_complete: AtomicBool,
    /// The capture in which it was recorded.
    capture: Option<u64>,
}

/// The times of an operation before its end.
#[derive(Debug)]
pub(super) struct Started {
    clock: Arc<Clock>,
    /// CE1, recorded before the operation.
    event: EventHandle,
    /// Since the start of the clock, by the host.
    submit_ns: u64,
}

/// The start of the times of a queue.
#[derive(Debug)]
pub(super) struct Clock {
    device: Arc<CudaDevice>,
    /// CE1, complete.
    event: EventHandle,
    /// When the event was found complete, by the clock of the host.
    start: Instant,
}

impl CudaEvent {
    /// Records an event behind all that was submitted to a stream of the device.
    pub(super) fn record(
        device: &Arc<CudaDevice>,
        current: &Current<'_>,
        stream: Stream,
        started: Option<Started>,
        capture: Option<u64>,
    ) -> Result<Self> {
        let end = record(current, stream, started.is_some())?;
        let is_complete = AtomicBool::new(false);
        Ok(Self { device: Arc::clone(device), end, started, is_complete, capture })
    }

    /// The permit to record an operation whose memory the graph keeps. It stands for no event of the driver.
    pub(super) fn permit(device: &Arc<CudaDevice>, capture: u64) -> Self {
        let is_complete = AtomicBool::new(false);
        let capture = Some(capture);
        Self { device: Arc::clone(device), end: EventHandle::NULL, started: None, is_complete, capture }
    }

    pub(super) fn is_permit(&self) -> bool {
        self.end == EventHandle::NULL
    }

    /// The capture in which the operation was recorded. The driver must not be asked about it.
    pub(super) fn capture(&self) -> Option<u64> {
        self.capture
    }

    pub(super) fn is_complete(&self) -> bool {
        self.status() == EventStatus::Complete
    }

    /// Lets later work of a stream start after the operation. The stream may be of another device.
    pub(super) fn order(&self, current: &Current<'_>, stream: Stream) -> Result<()> {
        if self.is_complete.load(Ordering::Acquire) || self.is_permit() {
            return Ok(());
        }
        // SAFETY: DR1; CE1; the flags must be 0. The driver takes an event of another context.
        let code = unsafe { (current.cuStreamWaitEvent)(stream, self.end, 0) };
        if code == Code::SUCCESS || ptr::eq(current.device(), &raw const *self.device) {
            return current.check("cuStreamWaitEvent", code);
        }
        // One device may be lost, and the other one is not.
        let of_event = self.device.enter()?;
        let found = self.query(&of_event);
        if found.is_sticky() {
            return of_event.check("cuStreamWaitEvent", found);
        }
        drop(of_event);
        current.check("cuStreamWaitEvent", code)
    }

    pub(super) fn wait(&self) -> Result<()> {
        if self.is_complete.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.capture.is_some() {
            return Err(refused(RECORDED));
        }
        let current = self.device.enter_to_wait()?;
        // SAFETY: DR1; CE1.
        let code = unsafe { (current.cuEventSynchronize)(self.end) };
        let waited = current.check("cuEventSynchronize", code);
        if waited.is_err() {
            // The operation must not touch its operands any more when the wait has failed.
            self.wait_by_queries(&current)?;
        }
        self.is_complete.store(true, Ordering::Release);
        waited
    }

    /// Asks until the operation is complete. A device that gives no answer counts as lost: then its memory is used for nothing else.
    fn wait_by_queries(&self, current: &Current<'_>) -> Result<()> {
        loop {
            match self.query(current) {
                Code::NOT_READY => thread::yield_now(),
                Code::SUCCESS => return Ok(()),
                // No capture has the event, so that the answer comes sooner or later.
                code if code.is_of_capture() => thread::yield_now(),
                code => return Err(current.lose(code)),
            }
        }
    }

    pub(super) fn status(&self) -> EventStatus {
        if self.is_complete.load(Ordering::Acquire) {
            return EventStatus::Complete;
        }
        if self.capture.is_some() {
            return EventStatus::Submitted;
        }
        let Ok(current) = self.device.enter() else { return EventStatus::Failed };
        match self.query(&current) {
            Code::SUCCESS => {
                self.is_complete.store(true, Ordering::Release);
                EventStatus::Complete
            }
            code if code.is_sticky() => {
                current.lose(code);
                EventStatus::Failed
            }
            // The driver does not tell whether it runs already, or has no answer for the moment.
            _ => EventStatus::Submitted,
        }
    }

    fn query(&self, current: &Current<'_>) -> Code {
        // SAFETY: DR1; CE1.
        unsafe { (current.cuEventQuery)(self.end) }
    }

    pub(super) fn times(&self) -> Result<ProfilingTimes> {
        let Some(started) = &self.started else { return Err(Error::NoProfiling) };
        self.wait()?;
        let current = self.device.enter()?;
        let start_ns = elapsed_ns(&current, started.clock.event, started.event)?;
        let end_ns = start_ns.saturating_add(elapsed_ns(&current, started.event, self.end)?);
        Ok(ProfilingTimes { submit_ns: started.submit_ns.min(start_ns), start_ns, end_ns })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if !self.is_permit() {
            self.device.return_event(self.end, self.started.is_some());
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.clock.device.return_event(self.event, true);
    }
}

impl Started {
    /// Records the start of the operation that is submitted next.
    pub(super) fn record(clock: &Arc<Clock>, current: &Current<'_>, stream: Stream) -> Result<Self> {
        let submit_ns = u64::try_from(clock.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { clock: Arc::clone(clock), event: record(current, stream, true)?, submit_ns })
    }
}

impl Clock {
    pub(super) fn new(device: &Arc<CudaDevice>, stream: Stream) -> Result<Self> {
        let current = device.enter()?;
        let event = record(&current, stream, true)?;
        // SAFETY: DR1; just recorded.
        let code = unsafe { (current.cuEventSynchronize)(event) };
        let clock = Self { device: Arc::clone(device), event, start: Instant::now() };
        current.check("cuEventSynchronize", code)?;
        Ok(clock)
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.device.return_event(self.event, true);
    }
}

/// An event behind all that was submitted to a stream.
fn record(current: &Current<'_>, stream: Stream, has_times: bool) -> Result<EventHandle> {
    let event = current.take_event(has_times)?;
    // SAFETY: DR1; an event that no operation uses, and a stream of the current context.
    let code = unsafe { (current.cuEventRecord)(event, stream) };
    if let Err(error) = current.check("cuEventRecord", code) {
        current.device().return_event(event, has_times);
        return Err(error);
    }
    Ok(event)
}

/// The time between two complete events; the driver has a resolution of about half a microsecond.
fn elapsed_ns(current: &Current<'_>, start: EventHandle, end: EventHandle) -> Result<u64> {
    let mut milliseconds = 0.0_f32;
    // SAFETY: DR1; the pointer is writable; both were recorded with times (CE1).
    let code = unsafe { (current.cuEventElapsedTime)(&raw mut milliseconds, start, end) };
    current.check("cuEventElapsedTime", code)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let nanoseconds = (f64::from(milliseconds) * 1e6) as u64;
    Ok(nanoseconds)
}
