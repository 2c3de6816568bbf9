//! How many external owners are kept alive.

use std::sync::atomic::{AtomicUsize, Ordering};

static BORROWS: AtomicUsize = AtomicUsize::new(0);

/// Number of borrowed memory ranges in this process whose external owner is still kept alive.
///
/// Owned memory is counted by [`live_allocations`](crate::live_allocations).
#[must_use]
pub fn live_borrows() -> usize {
    BORROWS.load(Ordering::Relaxed)
}

/// Counts one borrow for as long as it lives.
#[derive(Debug)]
pub(crate) struct BorrowCount(());

impl BorrowCount {
    pub(crate) fn new() -> Self {
        BORROWS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for BorrowCount {
    fn drop(&mut self) {
        BORROWS.fetch_sub(1, Ordering::Relaxed);
    }
}
