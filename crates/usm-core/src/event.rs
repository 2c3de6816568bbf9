//! An event: the completion of one operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::{Backend, EventStatus, ProfilingTimes, RawEvent};
use crate::{Context, Result};

owned_handle!(
    /// Owner of a raw event.
    EventHandle, RawEvent, Event
);

/// The completion of an operation. Clones name the same event.
///
/// Dropping an event does not wait for it. The owner of the operands has to wait.
#[derive(Clone, Debug)]
pub struct Event {
    inner: Arc<Inner>,
    context: Context,
}

/// The state that clones share.
#[derive(Debug)]
struct Inner {
    handle: EventHandle,
    /// Set when a wait or a status request found the operation complete. Later requests do not call the runtime.
    is_complete: AtomicBool,
}

impl Event {
    /// # Safety
    /// 1. `raw` is a live handle of the context's backend whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(context: &Context, raw: RawEvent) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { EventHandle::from_raw(Arc::clone(context.backend()), raw) };
        let inner = Inner { handle, is_complete: AtomicBool::new(false) };
        Self { inner: Arc::new(inner), context: context.clone() }
    }

    /// The context of the queue that the operation was submitted to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn raw(&self) -> RawEvent {
        self.inner.handle.raw()
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.inner.handle.backend()
    }

    /// Waits until the operation is complete. The operation no longer uses its operands then, even after an error.
    ///
    /// # Errors
    /// [`crate::Error::Asynchronous`], [`crate::Error::Backend`]; [`crate::Error::Forked`] in a process that was forked while
    /// the operation was pending.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().wait(self.raw()) }?;
        self.inner.is_complete.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until all operations are complete, even after an error.
    ///
    /// # Errors
    /// The first of their errors.
    pub fn wait_all<'a>(events: impl IntoIterator<Item = &'a Self>) -> Result<()> {
        events.into_iter().map(Self::wait).fold(Ok(()), Result::and)
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
        // SAFETY: the handle is live (H1).
        let status = unsafe { self.backend().event_status(self.raw()) };
        if status == EventStatus::Complete {
            self.inner.is_complete.store(true, Ordering::Release);
        }
        status
    }

    /// When the operation was submitted, started and completed. Waits for its completion.
    ///
    /// # Errors
    /// [`crate::Error::NoProfiling`] unless the queue was made with [`crate::QueueProperties::with_profiling`].
    pub fn profiling_times(&self) -> Result<ProfilingTimes> {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().event_times(self.raw()) }
    }

    /// The events that the operation starts after. Complete ones may be missing.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn dependencies(&self) -> Result<Vec<Self>> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().event_dependencies(self.raw()) }?;
        let wrap = |raw| {
            // SAFETY: fresh handles of this backend; `Queue::submit` hands events of one context only to it.
            unsafe { Self::from_raw(&self.context, raw) }
        };
        Ok(raw.into_iter().map(wrap).collect())
    }
}
