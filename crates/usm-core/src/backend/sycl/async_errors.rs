//! Errors that the runtime reports after the call that caused them.
//!
//! The C interface's handler gets a code without the queue. The runtime calls it on the thread that waits, for the queue of the
//! wait. So an error that arrives during a wait belongs to that wait. Other errors are kept for the whole process, and the next wait
//! on any queue reports them: an error on the wrong queue is better than a lost one. They arrive when a queue is dropped with errors
//! pending, when another library waits for a queue of ours, and when the caller of a wait has left it.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::unwind::contained;
use crate::{Error, Result};

const NONE: i64 = i64::MIN;
static LAST: AtomicI64 = AtomicI64::new(NONE);

#[derive(Clone, Copy)]
enum Here {
    /// This thread does not wait.
    Idle,
    /// It waits, and no error has arrived.
    Waiting,
    /// It waits, and this is the first error that arrived.
    Failed(c_int),
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here::Idle) };
    /// The last error that a wait of this thread has returned.
    static RETURNED: Cell<Option<i32>> = const { Cell::new(None) };
}

/// Given to every queue and context.
pub(super) unsafe extern "C" fn handler(code: c_int) {
    _ = contained("handler of errors", || {
        // An ending thread has no thread-local values, and does not wait.
        let here = HERE.try_with(Cell::get).unwrap_or(Here::Idle);
        match here {
            Here::Idle => defer(code),
            Here::Waiting => HERE.set(Here::Failed(code)),
            Here::Failed(_) => {}
        }
    });
}

/// Runs a wait of this thread. Reports the error that arrived during the wait, or an earlier unreported one.
pub(super) fn during(wait: impl FnOnce()) -> Result<()> {
    HERE.set(Here::Waiting);
    wait();
    match HERE.replace(Here::Idle) {
        Here::Failed(code) => Err(error(code)),
        _ => take(),
    }
}

fn error(code: i32) -> Error {
    note(code);
    Error::Asynchronous { code, meaning: meaning(code) }
}

/// Lets the next wait on any queue return the error of a wait whose caller has no use for it.
pub(crate) fn defer(code: i32) {
    LAST.store(i64::from(code), Ordering::Release);
}

/// Counts an error as returned by a wait of this thread.
pub(crate) fn note(code: i32) {
    RETURNED.set(Some(code));
}

/// Takes the last error that a wait of this thread has returned.
pub(crate) fn take_noted() -> Option<i32> {
    RETURNED.take()
}

/// Takes the error that arrived outside of waits.
pub(super) fn take() -> Result<()> {
    // A plain load first: waits are frequent and errors are not.
    if LAST.load(Ordering::Acquire) == NONE {
        return Ok(());
    }
    match i32::try_from(LAST.swap(NONE, Ordering::AcqRel)) {
        Ok(code) => Err(error(code)),
        Err(_) => Ok(()),
    }
}

/// Names of `sycl::errc`, SYCL 2020 §4.13.2, in the order of their values in DPC++.
fn meaning(code: i32) -> &'static str {
    const NAMES: [&str; 15] = [
        "success",
        "runtime",
        "kernel",
        "accessor",
        "nd_range",
        "event",
        "kernel_argument",
        "build",
        "invalid",
        "memory_allocation",
        "platform",
        "profiling",
        "feature_not_supported",
        "kernel_not_supported",
        "backend_mismatch",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("not a SYCL error code")
}

#[cfg(test)]
mod tests {
    use super::{during, handler};
    use crate::Error;
    use crate::unwind::{is_armed, panic_in};

    #[test]
    fn a_panic_in_the_handler_ends_there() {
        panic_in("handler of errors");
        // SAFETY: any number.
        during(|| unsafe { handler(1) }).unwrap();
        assert!(!is_armed());
        // SAFETY: any number.
        let told = during(|| unsafe { handler(1) });
        assert!(matches!(told, Err(Error::Asynchronous { code: 1, .. })));
    }
}
