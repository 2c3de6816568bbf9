//! What an event of the host backend remembers: how far its job is, and when.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::backend::{EventStatus, ProfilingTimes};
use crate::fork::{self, ForkOnce};

const SUBMITTED: u8 = 0;
const RUNNING: u8 = 1;
const COMPLETE: u8 = 2;

/// The state of one job, from its submission on. It has no link to other events, so that dropping one drops one.
#[derive(Debug)]
pub(super) struct HostEvent {
    progress: AtomicU8,
    /// Of the process that the job was submitted in. In a child of that it never runs.
    generation: u64,
    /// Where the job graph keeps the job; has a meaning under the graph's lock and before the end only.
    slot: AtomicUsize,
    /// Of queues with profiling.
    times: Option<Times>,
    /// Why the job failed.
    failure: ForkOnce<String>,
}

/// Nanoseconds of a clock that never goes back, common to all events of the process.
#[derive(Debug, Default)]
struct Times {
    submit: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

impl HostEvent {
    /// The event of a job that is being submitted.
    pub(super) fn submitted(profiling: bool) -> Self {
        let times = || Times { submit: AtomicU64::new(now_ns()), ..Times::default() };
        let times = profiling.then(times);
        Self {
            progress: AtomicU8::new(SUBMITTED),
            generation: fork::generation(),
            slot: AtomicUsize::new(0),
            times,
            failure: ForkOnce::new(),
        }
    }

    /// The job starts.
    pub(super) fn start(&self) {
        if let Some(times) = &self.times {
            times.start.store(now_ns(), Ordering::Relaxed);
        }
        self.progress.store(RUNNING, Ordering::Relaxed);
    }

    /// The job's work is done: the time of its end, and how it went.
    pub(super) fn stop(&self, done: Result<(), String>) {
        if let Err(reason) = done {
            // Once, since a job runs once.
            let _first = self.failure.set(reason);
        }
        if let Some(times) = &self.times {
            times.end.store(now_ns(), Ordering::Relaxed);
        }
    }

    /// Marks the job complete. A thread that sees the mark also sees all that the job wrote.
    pub(super) fn complete(&self) {
        self.progress.store(COMPLETE, Ordering::Release);
    }

    /// Why the job failed, if it did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.progress.load(Ordering::Acquire) == COMPLETE
    }

    /// Whether the job was pending in the parent when this process was forked.
    pub(super) fn is_lost(&self) -> bool {
        !self.is_complete() && !fork::is_generation(self.generation)
    }

    /// In a forked child, what was pending in the parent is over as far as it ever is.
    pub(super) fn status(&self) -> EventStatus {
        match self.progress.load(Ordering::Acquire) {
            _ if self.is_lost() => EventStatus::Complete,
            SUBMITTED => EventStatus::Submitted,
            RUNNING => EventStatus::Running,
            _ => EventStatus::Complete,
        }
    }

    pub(super) fn slot(&self) -> usize {
        self.slot.load(Ordering::Relaxed)
    }

    pub(super) fn set_slot(&self, slot: usize) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// The times of an event that is complete, if its queue records them.
    pub(super) fn times(&self) -> Option<ProfilingTimes> {
        let Times { submit, start, end } = self.times.as_ref()?;
        let [submit_ns, start_ns, end_ns] = [submit, start, end].map(|time| time.load(Ordering::Relaxed));
        Some(ProfilingTimes { submit_ns, start_ns, end_ns })
    }
}

/// In ns since the first use, which is 1: no time is 0.
fn now_ns() -> u64 {
    static START: ForkOnce<Instant> = ForkOnce::new();
    1 + u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
}
