//! Errors that the runtime reports after the call that caused them.
//!
//! The C interface's handler gets a code and nothing that tells the queue, so the last code is kept for the whole process and
//! the next wait on any queue reports it. It is an error that somebody must see; better on the wrong queue than on none.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::{Error, Result};

const NONE: i64 = i64::MIN;
static LAST: AtomicI64 = AtomicI64::new(NONE);

/// Given to every queue and context. Must not unwind: it is called from C++.
pub(super) unsafe extern "C" fn handler(code: c_int) {
    LAST.store(i64::from(code), Ordering::Release);
}

/// Takes the error that was reported since the last call.
pub(super) fn take() -> Result<()> {
    // A plain load first: waits are frequent and errors are not.
    if LAST.load(Ordering::Acquire) == NONE {
        return Ok(());
    }
    match i32::try_from(LAST.swap(NONE, Ordering::AcqRel)) {
        Ok(code) => Err(Error::Asynchronous { code, meaning: meaning(code) }),
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
