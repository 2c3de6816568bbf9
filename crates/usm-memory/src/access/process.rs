//! What the process has once: the table of borrows, which a fork waits for, the operations by address, and the numbers of operations.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use usm_core::fork::{ForkHooks, set_fork_hooks};

use super::by_address::ByAddress;
use super::sync::{AtomicU64, AtomicUsize, Condvar, ForkMutex, Mutex, MutexGuard, Ordering};
use super::table::{BorrowTable, Entries};

/// Every borrow of this process.
pub(super) static BORROWS: BorrowTable = BorrowTable::over(Mutex::new(Entries::new()), Condvar::new());

static BY_ADDRESS: ByAddress = ByAddress::over(ForkMutex::new(Vec::new()), AtomicUsize::new(0));

/// The operations on memory that several blocks may stand for.
pub(super) fn by_address() -> &'static ByAddress {
    &BY_ADDRESS
}

/// The number of the next operation.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number that is above those of all operations that were recorded so far, and of which a later look at a block knows.
pub(super) fn next_number() -> u64 {
    NEXT.load(Ordering::Acquire)
}

/// The number of an operation, whose block is marked: who reads a greater number sees the mark.
pub(super) fn take_number() -> u64 {
    NEXT.fetch_add(1, Ordering::AcqRel)
}

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
