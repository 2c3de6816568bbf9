//! How many foreign owners are kept alive.

use usm_core::LiveAllocations;

use crate::resource;
use std::sync::atomic::{AtomicUsize, Ordering};

static BORROWS: AtomicUsize = AtomicUsize::new(0);

/// Memory that live buffers own: what they have of the [pool of the process](crate::resource::process_pool), and all other allocations.
///
/// [`usm_core::live_allocations`] counts the slabs of that pool instead of the buffers in them.
#[must_use]
pub fn live_allocations() -> LiveAllocations {
    let [slabs, pooled] = resource::live();
    let all = usm_core::live_allocations();
    // Of what other threads allocate meanwhile one number may know and another not.
    LiveAllocations {
        count: (all.count + pooled.count).saturating_sub(slabs.count),
        bytes: (all.bytes + pooled.bytes).saturating_sub(slabs.bytes),
    }
}

/// Number of borrowed memory ranges in this process whose foreign owner is still kept alive.
///
/// Owned memory is counted by [`live_allocations`].
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
