//! Panics in functions that C calls, to show that none gets out of them

use std::cell::Cell;

thread_local! {
    /// The function that panics next on this thread.
    static ARMED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Lets the function of this name panic at its next call on this thread, once.
pub fn panic_in(name: &'static str) {
    ARMED.set(Some(name));
}

/// Whether the function has still to be called.
#[must_use]
pub fn is_armed() -> bool {
    ARMED.get().is_some()
}

/// Panics in the function that a test has chosen.
#[allow(clippy::panic, reason = "what a test asks for")]
pub(crate) fn entered(name: &'static str) {
    if ARMED.get() == Some(name) {
        ARMED.set(None);
        panic!("asked for by a test");
    }
}
