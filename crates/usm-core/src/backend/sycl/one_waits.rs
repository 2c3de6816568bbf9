//! Waiting inside the OpenCL driver, one thread at a time.
//!
//! A thread that waits inside Intel's CPU driver works off tasks of the driver meanwhile. When two threads do so, one may take up
//! the other's wait on top of the very task that this wait is for, and neither ever returns. So one thread of the process waits inside
//! the driver, and the others look at their events until they are over or it is their turn.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sycl_sys::{Api, DPCTLSyclBackendType, DPCTLSyclEventRef, DPCTLSyclEventStatusType};

/// Whether a thread is inside.
static INSIDE: AtomicBool = AtomicBool::new(false);
/// The flag of another copy of this library in the process, which this one uses in place of its own.
static THEIRS: OnceLock<&'static AtomicBool> = OnceLock::new();

/// The flag of this copy, for others.
pub(crate) fn flag() -> &'static AtomicBool {
    &INSIDE
}

/// Takes turns with another copy from now on.
pub(crate) fn use_flag(theirs: &'static AtomicBool) {
    let _ = THEIRS.set(theirs); // there is one other copy at most that has a flag of its own
}

/// A thread's turn, which ends with this value.
pub(super) struct Turn(&'static AtomicBool);

impl Turn {
    fn take() -> Option<Self> {
        let flag = THEIRS.get().copied().unwrap_or(&INSIDE);
        let taken = flag.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then_some(Self(flag))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Looks without a pause before the thread sleeps between them: a small copy is over within a few.
const LOOKS: u32 = 64;
/// Doubled at each look, up to the longest.
const SHORTEST: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_micros(500);

/// Returns when it is the thread's turn to wait for `event` inside the driver, which lasts as long as the value lives, or when
/// the operation is over, whichever is first.
///
/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn turn(api: &Api, event: DPCTLSyclEventRef) -> Option<Turn> {
    // SAFETY: the caller's promise 1.
    if unsafe { (api.DPCTLEvent_GetBackend)(event) } != DPCTLSyclBackendType::OPENCL {
        return None;
    }
    let mut pause = SHORTEST;
    for look in 0_u32.. {
        if let Some(turn) = Turn::take() {
            return Some(turn);
        }
        // SAFETY: the caller's promise 1.
        if !is_under_way(unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) }) {
            break;
        }
        if look < LOOKS {
            thread::yield_now();
        } else {
            thread::sleep(pause);
            pause = LONGEST.min(pause * 2);
        }
    }
    None
}

/// One that is neither submitted nor running has ended, or failed (which has no name in this interface).
pub(super) fn is_under_way(status: DPCTLSyclEventStatusType) -> bool {
    matches!(status, DPCTLSyclEventStatusType::SUBMITTED | DPCTLSyclEventStatusType::RUNNING)
}
