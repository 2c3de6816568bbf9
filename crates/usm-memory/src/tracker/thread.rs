//! The number of a thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// A thread has it to its very end, since it needs no drop. Zero before the first use.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// A number that no thread has.
pub(crate) fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The number of this thread, which no other one gets later.
pub(crate) fn this_thread() -> u64 {
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(new_number());
        }
        number.get()
    })
}

/// Does something while this thread has another number.
pub(crate) fn as_thread<T>(other: u64, job: impl FnOnce() -> T) -> T {
    /// The number that the thread has again at the end, also of a panic.
    struct Restored(u64);

    impl Drop for Restored {
        fn drop(&mut self) {
            NUMBER.with(|number| number.set(self.0));
        }
    }

    let _restored = Restored(NUMBER.with(|number| number.replace(other)));
    job()
}
