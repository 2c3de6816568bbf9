//! Knows whether this process was forked, since a child has no worker threads and maybe a lock that nobody opens; and lets a fork wait for
//! what a child has to find whole.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that is another one in each forked child.
#[inline]
pub(crate) fn generation() -> u64 {
    if !REGISTER.is_completed() {
        register();
    }
    GENERATION.load(Ordering::Relaxed)
}

/// Keeps a fork of this process waiting, see [`Runtime::no_fork`](crate::Runtime::no_fork).
#[derive(Debug)]
#[must_use]
pub struct NoFork {
    _shared: RwLockReadGuard<'static, ()>,
}

pub(crate) fn no_fork() -> NoFork {
    generation(); // registers
    NoFork { _shared: FORK.read().unwrap_or_else(PoisonError::into_inner) }
}

/// Held by who changes something that a child uses, and alone by a fork until both processes go on.
static FORK: RwLock<()> = RwLock::new(());

thread_local! {
    /// From before a fork of this thread to after it.
    static FORKING: Cell<Option<RwLockWriteGuard<'static, ()>>> = const { Cell::new(None) };
}

static REGISTER: Once = Once::new();

#[cold]
fn register() {
    REGISTER.call_once(|| {
        // SAFETY: the handlers take a lock of ours, give it back on either side, and add to a number; they live as long as this code.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

extern "C" fn before() {
    // A thread that ends has nothing left to keep the lock in, and forks without.
    _ = FORKING.try_with(|held| held.set(Some(FORK.write().unwrap_or_else(PoisonError::into_inner))));
}

extern "C" fn in_parent() {
    _ = FORKING.try_with(Cell::take);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    in_parent();
}
