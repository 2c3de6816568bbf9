//! Where panics end: nothing unwinds into C, and no callback of a user takes away what has to follow it

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function that C calls, or code of a user in the middle of ours. A panic ends here, after the panic hook has told of it: `None`.
///
/// Each function that this library gives to C has its body in a call of this, with a name of its own, by which tests let it panic.
/// Hooks of forks have none: half of a preparation would leave a child with a lock that nobody opens, so their panic ends the process, as
/// Rust does for functions of C.
///
/// ```
/// use usm_core::unwind::contained;
///
/// assert_eq!(contained("deleter", || 7), Some(7));
/// assert_eq!(contained("deleter", || panic!("a defect")), None::<()>);
/// ```
pub fn contained<R>(name: &'static str, code: impl FnOnce() -> R) -> Option<R> {
    let code = || {
        entered(name);
        code()
    };
    // Dropping the payload may panic, too.
    catch_unwind(AssertUnwindSafe(code)).map_err(mem::forget).ok()
}

#[cfg(feature = "testing")]
thread_local! {
    /// The function that panics next on this thread, by the wish of a test.
    pub(crate) static ARMED: std::cell::Cell<Option<&'static str>> = const { std::cell::Cell::new(None) };
}

/// Panics in the function that a test has chosen.
#[cfg(feature = "testing")]
#[allow(clippy::panic, reason = "what a test asks for")]
fn entered(name: &'static str) {
    if ARMED.get() == Some(name) {
        ARMED.set(None);
        panic!("asked for by a test");
    }
}

#[cfg(not(feature = "testing"))]
fn entered(_name: &'static str) {}
