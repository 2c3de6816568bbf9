//! Queues without work: used again, and else deleted after a while.
//!
//! Intel's OpenCL driver for CPUs reports a command as complete before the worker that ran it has released it. The command has a
//! reference to its queue. If that is the last one, the queue dies on the worker, whose destructor waits for all tasks of the queue, and
//! so for the worker itself: for ever. No call of the interface tells when the worker is done. So with that driver the handles of
//! queues without work are kept, and these two things happen to them:
//!
//! - A queue that no other library has got to know is the next new queue with its properties, in its context. It never dies.
//! - Of other queues, and where many are kept, the oldest are deleted a second after their release. The worker needs microseconds.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::RawQueue;
use crate::fork::PerProcess;

/// How long a queue stays after its release.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same where more than [`MANY`] queues are kept.
const SHORT_PATIENCE: Duration = Duration::from_millis(50);
const MANY: usize = 1024;
/// So many queues stay for longer.
const KEPT: usize = 16;

/// Queues with equal ones are the same to their users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Likeness {
    /// Hash values of SYCL, which tell live contexts and devices apart. The queue keeps both alive.
    pub(super) context: usize,
    pub(super) device: usize,
    /// As bits of the C interface.
    pub(super) properties: i32,
}

#[derive(Debug)]
pub(super) struct IdleQueues {
    is_needed: AtomicBool,
    /// The handles of a parent are not a forked child's.
    state: PerProcess<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Live queues of ours that no other library has.
    private: HashMap<RawQueue, Likeness>,
    /// Invariant I1: live handles that nobody uses, the oldest first.
    idle: VecDeque<Idle>,
}

#[derive(Debug)]
struct Idle {
    queue: RawQueue,
    since: Instant,
    /// Only of a queue that can be used again.
    likeness: Option<Likeness>,
}

impl IdleQueues {
    pub(super) fn new() -> Self {
        Self { is_needed: AtomicBool::new(false), state: PerProcess::default() }
    }

    /// Keeps queues from now on.
    pub(super) fn need(&self) {
        self.is_needed.store(true, Ordering::Relaxed); // before the first queue
    }

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        let state = || self.state.get().lock().unwrap_or_else(PoisonError::into_inner);
        self.is_needed.load(Ordering::Relaxed).then(state)
    }

    /// A kept queue to use again; the caller owns the handle.
    pub(super) fn take(&self, likeness: Likeness) -> Option<RawQueue> {
        let mut state = self.state()?;
        let position = state.idle.iter().position(|idle| idle.likeness == Some(likeness))?;
        let queue = state.idle.remove(position)?.queue;
        state.private.insert(queue, likeness);
        Some(queue)
    }

    /// A queue was made, and no other library has it.
    pub(super) fn add(&self, queue: RawQueue, likeness: Likeness) {
        if let Some(mut state) = self.state() {
            state.private.insert(queue, likeness);
        }
    }

    /// Another library gets the queue.
    pub(super) fn publish(&self, queue: RawQueue) {
        if let Some(mut state) = self.state() {
            state.private.remove(&queue);
        }
    }

    /// Takes a handle over that nobody uses. The handles to delete now, which may be this one; the caller owns them.
    pub(super) fn release(&self, queue: RawQueue) -> Vec<RawQueue> {
        let Some(mut state) = self.state() else { return vec![queue] };
        let now = Instant::now();
        let likeness = state.private.remove(&queue);
        state.idle.push_back(Idle { queue, since: now, likeness });
        state.take_old(now)
    }

    /// All kept handles; the caller owns them.
    pub(super) fn take_all(&self) -> Vec<RawQueue> {
        self.state()
            .map(|mut state| state.idle.drain(..).map(|idle| idle.queue).collect())
            .unwrap_or_default()
    }
}

impl State {
    fn take_old(&mut self, now: Instant) -> Vec<RawQueue> {
        let patience = if self.idle.len() > MANY { SHORT_PATIENCE } else { PATIENCE };
        let is_old = |idle: &&Idle| now.duration_since(idle.since) >= patience;
        let old = self.idle.iter().take(self.idle.len().saturating_sub(KEPT)).take_while(is_old).count();
        self.idle.drain(..old).map(|idle| idle.queue).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    fn queue(number: usize) -> RawQueue {
        RawQueue::new(NonNull::without_provenance(number.try_into().unwrap()))
    }

    fn likeness(context: usize) -> Likeness {
        Likeness { context, device: 1, properties: 0 }
    }

    #[test]
    fn other_drivers_get_each_queue_back_at_once() {
        let queues = IdleQueues::new();
        queues.add(queue(1), likeness(1));
        assert_eq!(queues.release(queue(1)), [queue(1)]);
        assert_eq!(queues.take(likeness(1)), None);
    }

    #[test]
    fn a_private_queue_is_used_again_and_a_published_one_is_not() {
        let queues = IdleQueues::new();
        queues.need();
        queues.add(queue(1), likeness(1));
        queues.add(queue(2), likeness(2));
        assert_eq!(queues.take(likeness(1)), None, "in use");
        queues.publish(queue(2));
        for released in [queue(1), queue(2), queue(3)] {
            assert_eq!(queues.release(released), [], "not yet");
        }
        let others =
            [Likeness { device: 2, ..likeness(1) }, Likeness { properties: 2, ..likeness(1) }, likeness(2)];
        assert!(
            others.iter().all(|&other| queues.take(other).is_none()),
            "published, imported, or not alike"
        );
        assert_eq!([queues.take(likeness(1)), queues.take(likeness(1))], [Some(queue(1)), None]);
        assert_eq!(queues.release(queue(1)), []);
        assert_eq!(queues.take(likeness(1)), Some(queue(1)), "as often as one likes");
        assert_eq!(queues.take_all(), [queue(2), queue(3)]);
    }

    #[test]
    fn old_queues_are_deleted_and_some_stay() {
        let start = Instant::now();
        let mut state = State::default();
        let keep = |state: &mut State, range: std::ops::Range<usize>, since| {
            state.idle.extend(range.map(|number| Idle { queue: queue(number), since, likeness: None }));
        };
        keep(&mut state, 1..KEPT + 5, start);
        assert_eq!(state.take_old(start + PATIENCE / 2), []);
        assert_eq!(state.take_old(start + PATIENCE), [queue(1), queue(2), queue(3), queue(4)]);
        assert_eq!(state.take_old(start + 9 * PATIENCE), []);
        keep(&mut state, 100..101 + MANY, start + PATIENCE);
        let many = state.take_old(start + PATIENCE + SHORT_PATIENCE / 2);
        assert_eq!(many.len(), KEPT, "the younger ones are too young");
        keep(&mut state, 2000..2001 + KEPT, start + PATIENCE);
        assert_eq!(state.take_old(start + PATIENCE + SHORT_PATIENCE).len(), MANY + 2);
    }
}
