//! Operations that may be under way, by their events.

use std::mem;

use crate::Event;

/// Operations that are remembered before those that are complete are sorted out.
const REMEMBERED: usize = 16;

/// The operations of several queues. At most twice as many are remembered as are under way, and a few.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    operations: Vec<PendingOperation>,
    /// Length at which the list is sorted out.
    limit: usize,
}

#[derive(Debug)]
struct PendingOperation {
    /// Number of its queue.
    queue: u64,
    event: Event,
}

impl Pending {
    /// Adds an operation. `is_last`: it completes after the earlier ones of its queue, and takes the place of one of them.
    ///
    /// The events that need not be remembered any more are for the caller, who drops them without a lock.
    #[must_use]
    pub(crate) fn add(&mut self, queue: u64, event: Event, is_last: bool) -> Dropped {
        let new = PendingOperation { queue, event };
        if is_last && let Some(earlier) = self.operations.iter_mut().find(|earlier| earlier.queue == queue) {
            return Dropped { _one: Some(mem::replace(earlier, new)), _several: Vec::new() };
        }
        let mut complete = Vec::new();
        if self.operations.len() >= self.limit.max(REMEMBERED) {
            complete = self.operations.extract_if(.., |operation| operation.event.is_complete()).collect();
            self.limit = 2 * self.operations.len();
        }
        self.operations.push(new);
        Dropped { _one: None, _several: complete }
    }

    /// The events of all operations that may be under way.
    pub(crate) fn into_events(self) -> Vec<Event> {
        self.operations.into_iter().map(|operation| operation.event).collect()
    }
}

/// Events that are remembered no more.
#[derive(Debug)]
pub(crate) struct Dropped {
    _one: Option<PendingOperation>,
    _several: Vec<PendingOperation>,
}
