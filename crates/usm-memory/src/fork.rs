//! What this crate does when the process forks.

use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::fork::{ForkHooks, set_fork_hooks};

use crate::guard;

static ARE_SET: AtomicBool = AtomicBool::new(false);

/// Has forks from now on find what they must. Called by who is about to change that.
#[inline]
pub(crate) fn set_hooks() {
    if !ARE_SET.load(Ordering::Relaxed) {
        set();
    }
}

#[cold]
fn set() {
    let (before, after) = (guard::before_fork, guard::after_fork);
    // Another thread may have been here.
    set_fork_hooks(ForkHooks { before, after, in_child: || () });
    ARE_SET.store(true, Ordering::Relaxed);
}
