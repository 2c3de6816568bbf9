//! Facts about events that backends report.

/// How far an operation is, `sycl::info::event_command_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventStatus {
    /// It waits for the queue, for its dependencies or for a free device.
    Submitted,
    /// It runs.
    Running,
    /// It is complete. The host backend reports failed tasks as complete, too.
    Complete,
    /// It failed. A wait for it returns the error.
    Failed,
}

texts!(EventStatus, "status of an event": Submitted = "submitted", Running = "running", Complete = "complete", Failed = "failed");

/// When an operation was submitted, started and completed, in nanoseconds of the device's own clock, `sycl::info::event_profiling`.
///
/// Only differences between times of one device have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProfilingTimes {
    /// Submission, in ns.
    pub submit_ns: u64,
    /// Start, in ns.
    pub start_ns: u64,
    /// End, in ns.
    pub end_ns: u64,
}

impl ProfilingTimes {
    /// Time between start and end.
    #[must_use]
    pub const fn duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.end_ns.saturating_sub(self.start_ns))
    }
}
