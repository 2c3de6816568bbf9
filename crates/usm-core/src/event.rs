//! An event: the end of one operation.

use std::sync::Arc;

use crate::Result;
use crate::backend::{Backend, RawEvent};

owned_handle!(
    /// Owner of a raw event.
    EventHandle, RawEvent, Event
);

/// The completion of an operation. Clones name the same event.
///
/// Dropping an event does not wait for it: whoever owns the operands does.
#[derive(Clone, Debug)]
pub struct Event {
    inner: Arc<EventHandle>,
}

impl Event {
    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: Arc<dyn Backend>, raw: RawEvent) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { EventHandle::from_raw(backend, raw) };
        Self { inner: Arc::new(handle) }
    }

    pub(crate) fn raw(&self) -> RawEvent {
        self.inner.raw()
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.inner.backend()
    }

    /// Waits until the operation has ended. After an error, too, the operation uses its operands no more.
    ///
    /// # Errors
    /// [`crate::Error::Asynchronous`], [`crate::Error::Backend`].
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().wait(self.raw()) }
    }

    /// Whether the operation has ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().is_complete(self.raw()) }
    }
}
