//! Handles that were dropped while their work may be under way: host code releases them when it is complete.
//!
//! **The rule.** A handle of a queue, kernel, bundle or context is released by host code, when the operations that use it are
//! complete. Otherwise a runtime destroys the object within the completion of its last operation. Intel's OpenCL driver then waits in
//! one of its workers for this very worker, for ever.
//!
//! | handle | what its last drop leaves here |
//! |---|---|
//! | queue | itself, with the events of its newest operations, or of a barrier where other code may have submitted |
//! | kernel | itself and its bundle, with the newest event of each queue that runs it |
//! | bundle | nothing: its kernels keep it |
//! | context | nothing: its queues, bundles, events and memory keep it |
//! | event | nothing: programs drop events of pending operations, and runtimes count on it; its queue is kept |
//! | memory | nothing: who submits an operation keeps its memory |
//!
//! The host backend needs nothing of this: its operations have no queue.
//!
//! Later drops, new queues, allocations and waits look at a few of these handles each, so that a drop never waits, and no more
//! handles are here than operations are under way. At the end of a process the handles stay, and their work counts as under way. A
//! forked child leaves the parent's handles alone.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Event;
use crate::fork::PerProcess;

/// Handles that one call looks at.
const LOOKS: usize = 4;

static RETIRED: PerProcess<Mutex<VecDeque<Retired>>> = PerProcess::new(Mutex::new(VecDeque::new()));
/// Their number, for calls that find none. In a forked child, that of the parent until the first look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Retired {
    /// Dropped before the object, of which it may have a reference.
    after: Vec<Event>,
    /// Its drop releases a handle.
    _object: Box<dyn Send>,
}

impl Retired {
    fn is_over(&mut self) -> bool {
        self.after.retain(|event| !event.is_complete());
        self.after.is_empty()
    }
}

fn retired() -> MutexGuard<'static, VecDeque<Retired>> {
    RETIRED.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops `object`, which owns a handle, when all events of `after` are complete: now or in a later call of this module. Does not wait.
pub(crate) fn release_after(object: impl Send + 'static, after: Vec<Event>) {
    if after.iter().all(Event::is_complete) {
        drop(after);
        drop(object);
    } else {
        let mut retired = retired();
        retired.push_back(Retired { after, _object: Box::new(object) });
        COUNT.store(retired.len(), Ordering::Relaxed);
    }
    sweep();
}

/// Releases handles whose work is complete. Looks at a few, the ones first that wait the longest for a look. Calls no runtime when there is
/// none.
#[inline]
pub(crate) fn sweep() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        look();
    }
}

#[cold]
fn look() {
    for _ in 0..LOOKS {
        let mut all = retired();
        let oldest = all.pop_front();
        COUNT.store(all.len(), Ordering::Relaxed);
        drop(all); // what follows calls the runtime
        let Some(mut oldest) = oldest else { return };
        if !oldest.is_over() {
            let mut all = retired();
            all.push_back(oldest);
            COUNT.store(all.len(), Ordering::Relaxed);
        }
    }
}

/// The events that handles are kept for.
#[cfg_attr(not(feature = "sycl"), allow(dead_code, reason = "the end of a process waits for work of SYCL"))]
pub(crate) fn under_way() -> Vec<Event> {
    retired().iter().flat_map(|retired| &retired.after).cloned().collect()
}
