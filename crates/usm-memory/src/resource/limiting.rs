//! A resource that does not let more than so many bytes be in use.

use std::sync::Arc;

use super::meter::Meter;
use super::{AllocationRequest, MemoryResource};
use crate::{Error, Result, UsmBuffer};

/// Refuses what would bring the bytes in live buffers over a limit, as if there were no more memory. Bytes count as asked for,
/// over all devices and kinds.
#[derive(Debug)]
pub struct LimitingResource {
    upstream: Arc<dyn MemoryResource>,
    meter: Arc<Meter>,
}

impl LimitingResource {
    /// At most `limit_bytes` bytes of `upstream` at a time.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>, limit_bytes: usize) -> Self {
        Self { upstream, meter: Meter::new(limit_bytes) }
    }

    /// Bytes that may be in use.
    #[must_use]
    pub fn limit_bytes(&self) -> usize {
        self.meter.limit_bytes()
    }

    /// Bytes in use.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.meter.used_bytes()
    }
}

impl MemoryResource for LimitingResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let Some(reservation) = self.meter.reserve(request.len_bytes) else {
            return Err(Error::OutOfMemory {
                requested_bytes: request.len_bytes,
                kind: request.kind,
                device: request.queue.device().filter_string(),
                usage: self.meter.usage(),
            });
        };
        let buffer = self.upstream.allocate(request)?;
        let reservation = reservation.keep();
        // After: while the memory is on its way back, nobody else may have as much instead.
        buffer.after_release(move || drop(reservation));
        Ok(buffer)
    }

    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        let reservation = self.meter.reserve(request.len_bytes)?;
        let buffer = self.upstream.allocate_at_once(request)?;
        let reservation = reservation.keep();
        buffer.after_release(move || drop(reservation));
        Some(buffer)
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }
}
