//! Waiting inside the OpenCL driver, one thread at a time.
//!
//! A thread that waits inside Intel's CPU driver runs tasks of the driver meanwhile. With two such threads, one may start the
//! other's wait on top of the task that this wait is for, and neither ever returns. So one thread of the process waits inside the
//! driver. The others poll their events until these are complete or the driver is free. The library does not wait for complete
//! events, since the driver may run tasks even then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sycl_sys::{Api, DPCTLSyclBackendType, DPCTLSyclEventRef, DPCTLSyclEventStatusType};

use crate::fork::ForkOnce;

/// Whether a thread is inside.
static INSIDE: AtomicBool = AtomicBool::new(false);
/// The flag of another copy of this library in the process, which this one uses in place of its own.
static THEIRS: ForkOnce<&'static AtomicBool> = ForkOnce::new();

/// The flag of this copy, for others.
#[cfg(feature = "across-copies")]
pub(crate) fn flag() -> &'static AtomicBool {
    &INSIDE
}

/// Shares the flag of another copy from now on.
#[cfg(feature = "across-copies")]
pub(crate) fn use_flag(theirs: &'static AtomicBool) {
    THEIRS.set(theirs); // there is one other copy at most that has a flag of its own
}

/// The right of one thread to wait inside the driver, which ends with this value.
pub(super) struct ExclusiveWait(&'static AtomicBool);

impl ExclusiveWait {
    fn take() -> Option<Self> {
        let flag = THEIRS.get().copied().unwrap_or(&INSIDE);
        let taken = flag.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Made only when taken: a dropped one gives the right back.
        taken.is_ok().then(|| Self(flag))
    }
}

impl Drop for ExclusiveWait {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Polls without a pause before the thread sleeps between polls. A small copy completes within a few polls.
const LOOKS: u32 = 64;
/// The pause doubles at each poll, up to the longest.
const SHORTEST: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_micros(500);

/// The next step of a wait.
pub(super) enum Next {
    /// To wait inside the driver, under this exclusive wait if waits are exclusive.
    Wait(Option<ExclusiveWait>),
    /// Nothing: the operation is complete, and did not fail.
    Return,
}

/// Returns when the thread may wait for `event` inside the driver, or when the operation is over, whichever is first.
///
/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn exclusive(api: &Api, event: DPCTLSyclEventRef) -> Next {
    // SAFETY: the caller's promise 1.
    if unsafe { (api.DPCTLEvent_GetBackend)(event) } != DPCTLSyclBackendType::OPENCL {
        return Next::Wait(None);
    }
    let mut pause = SHORTEST;
    let mut look = 0_u32;
    loop {
        if let Some(exclusive) = ExclusiveWait::take() {
            return Next::Wait(Some(exclusive));
        }
        // A failed operation has no name here: for that one the thread waits until it may enter the driver.
        // SAFETY: the caller's promise 1.
        if unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) } == DPCTLSyclEventStatusType::COMPLETE
        {
            return Next::Return;
        }
        if look < LOOKS {
            look += 1;
            thread::yield_now();
        } else {
            thread::sleep(pause);
            pause = LONGEST.min(pause * 2);
        }
    }
}

/// One that is neither submitted nor running is complete, or failed (which has no name in this interface).
pub(super) fn is_under_way(status: DPCTLSyclEventStatusType) -> bool {
    matches!(status, DPCTLSyclEventStatusType::SUBMITTED | DPCTLSyclEventStatusType::RUNNING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_wait_admits_another() {
        let exclusive = ExclusiveWait::take();
        assert!(exclusive.is_some());
        assert!((0..3).all(|_| ExclusiveWait::take().is_none()), "who asks in vain takes nothing away");
        drop(exclusive);
        assert!(ExclusiveWait::take().is_some());
    }
}
