//! An event: the completion of one operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::{Backend, EventStatus, ProfilingTimes, RawEvent, RawHandle};
use crate::fork::is_forked_child;
use crate::{Context, Error, Queue, Result, retired, unclaimed};

/// The completion of an operation. Clones name the same event.
///
/// Dropping an event does not wait for it. The owner of the operands has to wait.
#[derive(Clone, Debug)]
pub struct Event {
    inner: Arc<Inner>,
}

/// The state that clones share. It has no owner of the backend but the context: each operation makes an event, and counts what it clones.
#[derive(Debug)]
struct Inner {
    context: Context,
    /// Invariant EH1: a live handle of the context's backend, owned by this value alone.
    raw: RawEvent,
    /// Set when a wait or a status request found the operation complete. Later requests do not call the runtime.
    is_complete: AtomicBool,
    /// Set when a wait in a forked child has returned that the operation of its parent never runs.
    is_told: AtomicBool,
    /// The capture in which the operation was recorded, and its queue, which keeps the stream.
    recorded: Option<(Queue, u64)>,
}

impl Inner {
    fn new(context: Context, raw: RawEvent, recorded: Option<(Queue, u64)>) -> Self {
        let (is_complete, is_told) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { context, raw, is_complete, is_told, recorded }
    }
}

impl Event {
    /// # Safety
    /// 1. `raw` is a live handle of the context's backend whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(context: &Context, raw: RawEvent) -> Self {
        Self { inner: Arc::new(Inner::new(context.clone(), raw, None)) }
    }

    /// # Safety
    /// 1. As for [`from_raw`](Self::from_raw), of the queue's backend.
    pub(crate) unsafe fn recorded(queue: &Queue, raw: RawEvent, capture: u64) -> Self {
        Self { inner: Arc::new(Inner::new(queue.context().clone(), raw, Some((queue.clone(), capture)))) }
    }

    /// The [capture](Queue::capture) in which the operation was recorded, to run when the graph is launched.
    ///
    /// Such an event orders other operations of the same capture. It tells nothing of the launches: it cannot be waited for, and
    /// counts as complete once the capture is over, since nothing of it is under way.
    #[must_use]
    pub fn capture(&self) -> Option<u64> {
        self.inner.recorded.as_ref().map(|(_, capture)| *capture)
    }

    /// Whether both are of one operation: clones of one event.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The context of the queue that the operation was submitted to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    pub(crate) fn raw(&self) -> RawEvent {
        self.inner.raw
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.inner.context.backend()
    }

    /// Waits until the operation is complete. The operation no longer uses its operands then, even after an error.
    ///
    /// # Errors
    /// [`crate::Error::StreamCapture`] when the operation was recorded in a [capture](Self::capture);
    /// [`crate::Error::Asynchronous`], [`crate::Error::Backend`]; [`crate::Error::Forked`] in a process that was forked while
    /// the operation was pending.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the handle is live (EH1).
        let waited = unsafe { self.backend().wait(self.raw()) };
        if matches!(waited, Err(Error::Forked)) {
            self.inner.is_told.store(true, Ordering::Relaxed);
        }
        waited?;
        self.inner.is_complete.store(true, Ordering::Release);
        retired::sweep();
        Ok(())
    }

    /// Whether a wait in this forked child has returned [`Error::Forked`]: the memory of the operation need not tell it again.
    #[doc(hidden)]
    #[must_use]
    pub fn is_told_forked(&self) -> bool {
        self.inner.is_told.load(Ordering::Relaxed)
    }

    /// Waits until all operations are complete, even after an error.
    ///
    /// # Errors
    /// The first of their errors.
    pub fn wait_all<'a>(events: impl IntoIterator<Item = &'a Self>) -> Result<()> {
        events.into_iter().map(Self::wait).fold(Ok(()), Result::and)
    }

    /// What an error of a wait for this event means for an operation that comes after it: none where this one is complete, as within one
    /// context. The error is then for later waits for this event, or on any queue where the runtime reports it once.
    ///
    /// # Errors
    /// The same error when the operation is not surely complete.
    #[doc(hidden)]
    pub fn as_dependency(&self, error: Error) -> Result<()> {
        // What the parent of a forked child had under way never runs.
        if is_forked_child() || !self.is_complete() {
            return Err(error);
        }
        unclaimed::defer(&error);
        Ok(())
    }

    /// Whether the operation is complete, well or not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.status(), EventStatus::Complete | EventStatus::Failed)
    }

    /// How far the operation is.
    #[must_use]
    pub fn status(&self) -> EventStatus {
        if self.inner.is_complete.load(Ordering::Acquire) {
            return EventStatus::Complete;
        }
        let status = match &self.inner.recorded {
            Some((queue, capture)) if matches!(queue.capture(), Ok(now) if now != Some(*capture)) => {
                EventStatus::Complete
            }
            // SAFETY: the handle is live (EH1).
            _ => unsafe { self.backend().event_status(self.raw()) },
        };
        if status == EventStatus::Complete {
            self.inner.is_complete.store(true, Ordering::Release);
        }
        status
    }

    /// As [`status`](Self::status), for users: what was recorded has no status of its own.
    ///
    /// # Errors
    /// [`crate::Error::StreamCapture`] when the operation was recorded in a [capture](Self::capture).
    pub fn query(&self) -> Result<EventStatus> {
        match self.inner.recorded {
            // The error.
            Some(_) => self.wait().map(|()| EventStatus::Submitted),
            None => Ok(self.status()),
        }
    }

    /// When the operation was submitted, started and completed. Waits for its completion.
    ///
    /// # Errors
    /// [`crate::Error::NoProfiling`] unless the queue was made with [`crate::QueueProperties::with_profiling`].
    pub fn profiling_times(&self) -> Result<ProfilingTimes> {
        // SAFETY: the handle is live (EH1).
        unsafe { self.backend().event_times(self.raw()) }
    }

    /// The events that the operation starts after. Complete ones may be missing.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn dependencies(&self) -> Result<Vec<Self>> {
        // SAFETY: the handle is live (EH1).
        let raw = unsafe { self.backend().event_dependencies(self.raw()) }?;
        let wrap = |raw| {
            // SAFETY: fresh handles of this backend (promise 1 of `Backend`). It lists dependencies of one context only: CUDA, which takes others, lists none.
            unsafe { Self::from_raw(self.context(), raw) }
        };
        Ok(raw.into_iter().map(wrap).collect())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: EH1: the handle is live and this is its only release.
        unsafe { self.context.backend().release(RawHandle::Event(self.raw)) };
    }
}
