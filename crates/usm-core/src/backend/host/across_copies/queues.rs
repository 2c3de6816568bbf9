//! The queues of a host backend by their addresses: what another copy calls a queue is looked up, and never read unless it is one.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::HostQueue;

/// Entries before those of queues that are gone are sorted out.
const REMEMBERED: usize = 64;

/// All live queues. While an entry is here, no other queue gets its address.
#[derive(Debug, Default)]
pub(in super::super) struct Queues {
    by_address: HashMap<usize, Weak<HostQueue>>,
    /// Number of entries at which they are sorted out.
    limit: usize,
}

impl Queues {
    pub(in super::super) fn add(&mut self, queue: &Arc<HostQueue>) {
        if self.by_address.len() >= self.limit {
            self.by_address.retain(|_, queue| queue.strong_count() > 0);
            self.limit = (2 * self.by_address.len()).max(REMEMBERED);
        }
        self.by_address.insert(Arc::as_ptr(queue).addr(), Arc::downgrade(queue));
    }

    pub(super) fn find(&self, address: usize) -> Option<Arc<HostQueue>> {
        self.by_address.get(&address)?.upgrade()
    }
}
