//! The table of borrows of the process, which a fork waits for.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::fork::{ForkHooks, set_fork_hooks};

use super::sync::{Condvar, Mutex, MutexGuard};
use super::table::{BorrowTable, Entries};

/// Every borrow of this process.
pub(super) static BORROWS: BorrowTable = BorrowTable::over(Mutex::new(Entries::new()), Condvar::new());

static HAS_HOOKS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The table during a fork of this thread, so that the child finds it open.
    static FORKING: RefCell<Option<MutexGuard<'static, Entries>>> = const { RefCell::new(None) };
}

/// The table, for which forks wait from now on. As a `ForkMutex` its lock would take twice as long, at each access to memory.
#[inline]
pub(super) fn borrows() -> &'static BorrowTable {
    if !HAS_HOOKS.load(Ordering::Relaxed) {
        set_hooks();
    }
    &BORROWS
}

/// Has forks from now on wait for the table.
#[cold]
fn set_hooks() {
    // Another thread may have been here.
    set_fork_hooks(ForkHooks { before: before_fork, after: after_fork, in_child });
    HAS_HOOKS.store(true, Ordering::Relaxed);
}

fn before_fork() {
    // A thread at its end has no place for the lock any more, and forks without.
    _ = FORKING.try_with(|held| held.replace(Some(BORROWS.lock())));
}

fn in_child() {
    _ = FORKING.try_with(|held| {
        if let Some(entries) = held.borrow_mut().as_mut() {
            entries.forget_other_threads();
        }
    });
}

fn after_fork() {
    _ = FORKING.try_with(RefCell::take);
}
