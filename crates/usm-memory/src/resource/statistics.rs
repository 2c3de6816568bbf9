//! A resource that counts.

use std::sync::Arc;

use usm_core::fork::ForkMutex;

use super::{AllocationRequest, MemoryResource, Usage};
use crate::{Result, UsmBuffer};

/// What went through a [`StatisticsResource`]. Bytes count as asked for; failures count nowhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes in live buffers.
    pub current_bytes: usize,
    /// The most bytes in live buffers at a time.
    pub peak_bytes: usize,
    /// Bytes in all buffers ever made.
    pub total_bytes: u64,
    /// Live buffers.
    pub current_count: usize,
    /// The most live buffers at a time.
    pub peak_count: usize,
    /// All buffers ever made.
    pub total_count: u64,
    /// Allocations that failed, for whatever reason.
    pub failed_count: u64,
}

/// Counts current, peak and total bytes and buffers of another resource, and puts the numbers into its out-of-memory errors.
#[derive(Debug)]
pub struct StatisticsResource {
    upstream: Arc<dyn MemoryResource>,
    counts: Arc<ForkMutex<Statistics>>,
}

impl StatisticsResource {
    /// Counts what `upstream` does from now on.
    #[must_use]
    pub fn new(upstream: Arc<dyn MemoryResource>) -> Self {
        Self { upstream, counts: Arc::default() }
    }

    /// The numbers now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        *self.counts.lock()
    }

    /// Lets the peaks start again from the current numbers.
    pub fn reset_peak(&self) {
        let mut counts = self.counts.lock();
        counts.peak_bytes = counts.current_bytes;
        counts.peak_count = counts.current_count;
    }

    /// Counts a new buffer until its end.
    fn count(&self, buffer: &UsmBuffer, len_bytes: usize) {
        let mut counts = self.counts.lock();
        counts.current_bytes += len_bytes;
        counts.current_count += 1;
        counts.peak_bytes = counts.peak_bytes.max(counts.current_bytes);
        counts.peak_count = counts.peak_count.max(counts.current_count);
        counts.total_bytes += len_bytes as u64;
        counts.total_count += 1;
        drop(counts);

        // Before: once the memory is back, another thread may count the same bytes again.
        let counts = Arc::clone(&self.counts);
        buffer.before_release(move || {
            let mut counts = counts.lock();
            counts.current_bytes -= len_bytes;
            counts.current_count -= 1;
        });
    }
}

impl MemoryResource for StatisticsResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let buffer = self.upstream.allocate(request).map_err(|error| {
            let mut counts = self.counts.lock();
            counts.failed_count += 1;
            let (used_bytes, peak_bytes) = (Some(counts.current_bytes), Some(counts.peak_bytes));
            error.explained(Usage { used_bytes, peak_bytes, limit_bytes: None })
        })?;
        self.count(&buffer, request.len_bytes);
        Ok(buffer)
    }

    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        let buffer = self.upstream.allocate_at_once(request)?;
        self.count(&buffer, request.len_bytes);
        Some(buffer)
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }
}
