//! Panics in functions that C calls, to show that none gets out of them

use crate::unwind::ARMED;

/// Lets the function of this name panic at its next call on this thread, once.
pub fn panic_in(name: &'static str) {
    ARMED.set(Some(name));
}

/// Whether the function has still to be called.
#[must_use]
pub fn is_armed() -> bool {
    ARMED.get().is_some()
}
