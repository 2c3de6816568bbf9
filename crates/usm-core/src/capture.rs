//! Queues whose CUDA stream another library captures into a graph.

use std::any::Any;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::{Event, Queue, Result};

/// The text of the error for an allocation.
pub(crate) const NO_ALLOCATION: &str = "no memory can be allocated on a queue of its stream; allocate before the capture begins or \
                                        after it ends, or on another queue";

impl Queue {
    /// The capture that the queue's CUDA stream is in, by a number that no other capture of the process has; `None` outside of one.
    ///
    /// While a stream is captured, its operations run when the graph is launched, not before. An operation is refused unless it depends
    /// on an event of [`keep_in_graph`](Self::keep_in_graph), so that nothing is recorded by accident. A refusal changes nothing: the
    /// capture goes on.
    ///
    /// # Errors
    /// [`Error::StreamCapture`](crate::Error::StreamCapture) when the capture is invalid, or when this is the legacy default stream and
    /// would wait for a stream that is captured.
    pub fn capture(&self) -> Result<Option<u64>> {
        if !self.is_known_elsewhere() {
            return Ok(None);
        }
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().capture(self.raw()) }
    }

    /// Lets the graph that the queue's stream is captured into keep `value`: until the graph and all graphs made of it are gone, and
    /// their launches are complete. [`release_from_graphs`] drops it then.
    ///
    /// The event that comes back permits one operation, which depends on it and uses only memory that `value` keeps.
    ///
    /// # Errors
    /// [`Error::StreamCapture`](crate::Error::StreamCapture) when the driver is too old, and as [`capture`](Self::capture);
    /// [`Error::NotSupported`](crate::Error::NotSupported) where queues are no streams; [`Error::Driver`](crate::Error::Driver).
    pub fn keep_in_graph(&self, value: impl Any + Send) -> Result<Event> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().keep_in_graph(self.raw(), Box::new(value)) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        Ok(unsafe { self.event(raw) })
    }
}

/// Drops what graphs kept that are gone by now. The allocations of `usm-memory` call it, since the driver tells of the end of a graph on a
/// thread that must call no function of the driver.
pub fn release_from_graphs() {
    #[cfg(feature = "cuda")]
    cuda::let_go();
}
