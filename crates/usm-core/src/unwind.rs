//! Where panics end: nothing unwinds into C, and no callback of a user takes away what has to follow it

use std::any::Any;
#[cfg(feature = "testing")]
use std::cell::Cell;
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
    // The drop of a payload may panic, too, and so may that of its own payload: the second one stays.
    let drop_contained = |payload| {
        catch_unwind(AssertUnwindSafe(|| drop::<Box<dyn Any + Send>>(payload))).unwrap_or_else(mem::forget)
    };
    catch_unwind(AssertUnwindSafe(code)).map_err(drop_contained).ok()
}

#[cfg(not(feature = "testing"))]
fn entered(_name: &'static str) {}

#[cfg(feature = "testing")]
thread_local! {
    /// The function that panics next on this thread.
    static ARMED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Lets the function of this name panic at its next call on this thread, once.
#[cfg(feature = "testing")]
pub fn panic_in(name: &'static str) {
    ARMED.set(Some(name));
}

/// Whether the function has still to be called.
#[cfg(feature = "testing")]
#[must_use]
pub fn is_armed() -> bool {
    ARMED.get().is_some()
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
