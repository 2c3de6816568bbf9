//! A resource that does not let more than so many bytes be in use.

use std::sync::Arc;

use usm_core::{Queue, UsmKind};

use super::MemoryResource;
use super::meter::Meter;
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
    fn allocate(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer> {
        let Some(reservation) = self.meter.reserve(len_bytes) else {
            return Err(Error::OutOfMemory {
                requested_bytes: len_bytes,
                kind,
                device: queue.device().filter_string(),
                usage: self.meter.usage(),
            });
        };
        let buffer = self.upstream.allocate(queue, kind, len_bytes, align_bytes)?;
        let reservation = reservation.keep();
        // After: while the memory is on its way back, nobody else may have as much instead.
        buffer.after_release(move || drop(reservation));
        Ok(buffer)
    }

    fn allocate_at_once(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<UsmBuffer> {
        let reservation = self.meter.reserve(len_bytes)?;
        let buffer = self.upstream.allocate_at_once(queue, kind, len_bytes, align_bytes)?;
        let reservation = reservation.keep();
        buffer.after_release(move || drop(reservation));
        Some(buffer)
    }

    fn trim(&self) -> usize {
        self.upstream.trim()
    }
}
