//! A resource that does not let more than so many bytes be in use.

use std::sync::Arc;

use usm_core::fork::ForkMutex;

use super::{AllocationRequest, MemoryResource, Usage};
use crate::{Error, Result, UsmBuffer};

/// Refuses what would bring the bytes in live buffers over a limit, as if there were no more memory. Bytes count as asked for,
/// over all devices and kinds.
#[derive(Debug)]
pub struct LimitingResource {
    upstream: Arc<dyn MemoryResource>,
    limit_bytes: usize,
    counts: Arc<ForkMutex<LimitCounts>>,
}

#[derive(Debug, Default)]
struct LimitCounts {
    /// At most the limit.
    used_bytes: usize,
    peak_bytes: usize,
}

/// Bytes that count as in use.
struct Reservation {
    counts: Arc<ForkMutex<LimitCounts>>,
    len_bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.counts.lock().used_bytes -= self.len_bytes;
    }
}

impl LimitingResource {
    /// At most `limit_bytes` bytes of `upstream` at a time.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>, limit_bytes: usize) -> Self {
        Self { upstream, limit_bytes, counts: Arc::default() }
    }

    /// Bytes that may be in use.
    #[must_use]
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Bytes in use.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.counts.lock().used_bytes
    }

    /// Counts bytes as in use as long as the reservation lives; `None`, and no count, when that were more than the limit.
    fn reserve(&self, len_bytes: usize) -> Option<Reservation> {
        let mut counts = self.counts.lock();
        let used_bytes = counts.used_bytes.checked_add(len_bytes).filter(|&used| used <= self.limit_bytes)?;
        counts.used_bytes = used_bytes;
        Some(Reservation { counts: Arc::clone(&self.counts), len_bytes })
    }

    /// The allocation succeeded: only now the bytes count for the peak.
    fn keep(&self, reservation: Reservation, buffer: &UsmBuffer) {
        let mut counts = self.counts.lock();
        counts.peak_bytes = counts.peak_bytes.max(counts.used_bytes);
        drop(counts);
        // After: while the memory is on its way back, nobody else may have as much instead.
        buffer.after_release(move || drop(reservation));
    }

    fn usage(&self) -> Usage {
        let LimitCounts { used_bytes, peak_bytes } = *self.counts.lock();
        let limit_bytes = (self.limit_bytes != usize::MAX).then_some(self.limit_bytes);
        Usage { used_bytes: Some(used_bytes), peak_bytes: Some(peak_bytes), limit_bytes }
    }
}

impl MemoryResource for LimitingResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let Some(reservation) = self.reserve(request.len_bytes) else {
            return Err(Error::OutOfMemory {
                requested_bytes: request.len_bytes,
                kind: request.kind,
                device: request.queue.device().filter_string(),
                usage: self.usage(),
            });
        };
        let buffer = self.upstream.allocate(request)?;
        self.keep(reservation, &buffer);
        Ok(buffer)
    }

    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        let reservation = self.reserve(request.len_bytes)?;
        let buffer = self.upstream.allocate_at_once(request)?;
        self.keep(reservation, &buffer);
        Some(buffer)
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::LimitingResource;
    use crate::UsmBuffer;
    use crate::resource::DirectResource;

    #[test]
    fn limits_are_exact_and_refusals_leave_no_trace() {
        let runtime = usm_core::Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let limited = LimitingResource::new(Arc::new(DirectResource), 10);
        let six = UsmBuffer::allocate_in(&limited, &queue, usm_core::UsmKind::Host, 6).unwrap();
        assert!(limited.reserve(5).is_none() && limited.reserve(usize::MAX).is_none());
        let four = limited.reserve(4).unwrap();
        assert_eq!(limited.used_bytes(), 10);
        drop(four);
        drop(six);
        assert_eq!(limited.usage().used_bytes, Some(0));
        assert_eq!(limited.usage().peak_bytes, Some(6), "what failed does not count");
    }
}
