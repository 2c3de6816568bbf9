//! A resource that tells what happens, as data.

use std::fmt;
use std::sync::Arc;

use usm_core::{Device, UsmKind};

use super::{AllocationRequest, MemoryResource};
use crate::{Result, UsmBuffer};

/// What happened to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryAction {
    /// A buffer was made. Nobody else has got it yet.
    Allocated {
        /// Its address.
        address: usize,
    },
    /// A buffer could not be made.
    Failed {
        /// Why.
        reason: String,
    },
    /// The last clone of a buffer is gone; its memory goes back now. No buffer has got the same address in between.
    Released {
        /// Its address.
        address: usize,
    },
}

/// An event of a [`LoggingResource`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryEvent {
    /// What happened.
    pub action: MemoryAction,
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Bytes asked for.
    pub len_bytes: usize,
    /// Alignment asked for, in bytes.
    pub align_bytes: usize,
    /// Device of the memory.
    pub device: Device,
}

type LogCallback = Arc<dyn Fn(&MemoryEvent) + Send + Sync>;

/// Calls back with every allocation, failure and release. The callback runs on the thread that allocates or lets go. A
/// panic of it leaves an allocation, and ends where memory is let go.
pub struct LoggingResource {
    upstream: Arc<dyn MemoryResource>,
    callback: LogCallback,
}

impl LoggingResource {
    /// Tells `callback` what happens to the memory of `upstream`.
    #[must_use]
    pub fn new(
        upstream: Arc<dyn MemoryResource>,
        callback: impl Fn(&MemoryEvent) + Send + Sync + 'static,
    ) -> Self {
        Self { upstream, callback: Arc::new(callback) }
    }
}

impl MemoryResource for LoggingResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let AllocationRequest { queue, kind, len_bytes, align_bytes } = request;
        let device = queue.device().clone();
        let event =
            move |action| MemoryEvent { action, kind, len_bytes, align_bytes, device: device.clone() };
        match self.upstream.allocate(request) {
            Ok(buffer) => {
                let address = buffer.address();
                (self.callback)(&event(MemoryAction::Allocated { address }));
                let callback = Arc::clone(&self.callback);
                buffer.before_release(move || callback(&event(MemoryAction::Released { address })));
                Ok(buffer)
            }
            Err(error) => {
                (self.callback)(&event(MemoryAction::Failed { reason: error.to_string() }));
                Err(error)
            }
        }
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }
}

impl fmt::Debug for LoggingResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggingResource").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
