//! What the process has once: the table of borrows, which a fork waits for, and the operations by address.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicBool;

use usm_core::fork::{ForkHooks, ForkOnce, set_fork_hooks};

use super::by_address::ByAddress;
use super::sync::{AtomicUsize, Condvar, ForkMutex, Mutex, MutexGuard, Ordering};
use super::table::{BorrowTable, Entries, OtherTable};

/// Every borrow of this process.
pub(crate) static BORROWS: BorrowTable =
    BorrowTable::over(Mutex::new(Entries::new()), Condvar::new(), theirs);

static BY_ADDRESS: ByAddress = ByAddress::over(ForkMutex::new(Vec::new()), AtomicUsize::new(0));

/// The operations on memory that several blocks may stand for.
pub(crate) fn by_address() -> &'static ByAddress {
    &BY_ADDRESS
}

/// The table of another copy that this one uses in place of its own.
static THEIRS: ForkOnce<&'static dyn OtherTable> = ForkOnce::new();

/// The table to use in place of our own.
pub(crate) fn theirs() -> Option<&'static dyn OtherTable> {
    THEIRS.get().copied()
}

/// Uses the table of another copy from now on. False when there is one already.
pub(crate) fn use_theirs(table: &'static dyn OtherTable) -> bool {
    THEIRS.set(table)
}

static HAS_HOOKS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The table during a fork of this thread, so that the child finds it open. A thread has this place to its very end, since it needs
    /// no drop.
    static FORKING: Cell<Option<ManuallyDrop<MutexGuard<'static, Entries>>>> = const { Cell::new(None) };
}

/// The table, for which forks wait from now on. As a `ForkMutex` its lock would take twice as long, at each access to memory.
#[inline]
pub(crate) fn borrows() -> &'static BorrowTable {
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
    FORKING.set(Some(ManuallyDrop::new(BORROWS.lock())));
}

fn in_child() {
    let held = FORKING.take();
    FORKING.set(held.map(|mut entries| {
        entries.forget_other_threads();
        entries
    }));
}

fn after_fork() {
    drop(FORKING.take().map(ManuallyDrop::into_inner));
}
