//! The number of a thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// A thread has it to its very end, since it needs no drop. Zero before the first use.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other one gets later.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}
