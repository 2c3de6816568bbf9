//! Bytes in use and their peak, never over a limit.

use std::sync::Arc;

use usm_core::fork::{ForkMutex, ForkMutexGuard};

use super::Usage;

/// Counts bytes in use.
#[derive(Debug)]
pub(super) struct Meter {
    limit_bytes: usize,
    counts: ForkMutex<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Invariant: at most the limit.
    used_bytes: usize,
    peak_bytes: usize,
}

impl Meter {
    pub(super) fn new(limit_bytes: usize) -> Arc<Self> {
        Arc::new(Self { limit_bytes, counts: ForkMutex::default() })
    }

    pub(super) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.lock().used_bytes
    }

    /// Counts bytes as in use as long as the reservation lives; `None`, and no count, when that were more than the limit.
    pub(super) fn reserve(self: &Arc<Self>, len_bytes: usize) -> Option<Reservation> {
        let mut counts = self.lock();
        let used_bytes = counts.used_bytes.checked_add(len_bytes).filter(|&used| used <= self.limit_bytes)?;
        counts.used_bytes = used_bytes;
        Some(Reservation { meter: Arc::clone(self), len_bytes })
    }

    pub(super) fn usage(&self) -> Usage {
        let counts = *self.lock();
        let limit_bytes = (self.limit_bytes != usize::MAX).then_some(self.limit_bytes);
        Usage { used_bytes: Some(counts.used_bytes), peak_bytes: Some(counts.peak_bytes), limit_bytes }
    }

    fn lock(&self) -> ForkMutexGuard<'_, Counts> {
        self.counts.lock()
    }
}

/// Bytes that count as in use.
#[derive(Debug)]
pub(super) struct Reservation {
    meter: Arc<Meter>,
    len_bytes: usize,
}

impl Reservation {
    /// The allocation succeeded: only now the bytes count for the peak.
    pub(super) fn keep(self) -> Self {
        let mut counts = self.meter.lock();
        counts.peak_bytes = counts.peak_bytes.max(counts.used_bytes);
        drop(counts);
        self
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.meter.lock().used_bytes -= self.len_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn limits_are_exact_and_refusals_leave_no_trace() {
        let meter = Meter::new(10);
        let six = meter.reserve(6).unwrap().keep();
        assert!(meter.reserve(5).is_none() && meter.reserve(usize::MAX).is_none());
        let four = meter.reserve(4).unwrap();
        assert_eq!(meter.used_bytes(), 10);
        drop(four);
        drop(six);
        assert_eq!(meter.usage().used_bytes, Some(0));
        assert_eq!(meter.usage().peak_bytes, Some(6), "what failed does not count");
    }
}
