//! How many allocations are alive: the answer to "does anything leak?".

use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Allocations made through this crate in this process and not freed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveAllocations {
    /// Number of allocations.
    pub count: usize,
    /// Their bytes, as asked for.
    pub bytes: usize,
}

/// Counts the live [`crate::Allocation`]s of all backends.
#[must_use]
pub fn live_allocations() -> LiveAllocations {
    LiveAllocations { count: COUNT.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

pub(crate) fn add(len_bytes: usize) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(len_bytes, Ordering::Relaxed);
}

pub(crate) fn remove(len_bytes: usize) {
    COUNT.fetch_sub(1, Ordering::Relaxed);
    BYTES.fetch_sub(len_bytes, Ordering::Relaxed);
}
