//! What is to be done when the memory of a block goes back to where it came from.

use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use usm_core::fork::ForkMutex;

/// Counts the end of blocks, with nothing allocated for each of them.
pub(crate) trait Watcher: Send + Sync {
    /// The memory of one that was added with this number is about to go back.
    fn ended(&self, len_bytes: usize);
}

/// Work of users, or one more end for a watcher.
pub(super) enum Hook {
    Call(Box<dyn FnOnce() + Send>),
    Tell(Arc<dyn Watcher>, usize),
}

impl Hook {
    fn run(self) {
        contain(move || match self {
            Self::Call(call) => call(),
            Self::Tell(watcher, len_bytes) => watcher.ended(len_bytes),
        });
    }
}

/// The hooks of a block in the order in which they were added. The later ones run when this value is dropped.
#[derive(Default)]
pub(super) struct ReleaseHooks(ForkMutex<Hooks>);

#[derive(Default)]
struct Hooks {
    before: Vec<Hook>,
    after: Vec<Hook>,
}

impl ReleaseHooks {
    pub(super) fn add_before(&self, hook: Hook) {
        self.0.lock().before.push(hook);
    }

    pub(super) fn add_after(&self, hook: Hook) {
        self.0.lock().after.push(hook);
    }

    /// Runs the hooks that come before the release, once, the last one first.
    pub(super) fn run_before(&mut self) {
        mem::take(&mut self.0.get_mut().before).into_iter().rev().for_each(Hook::run);
    }
}

impl Drop for ReleaseHooks {
    fn drop(&mut self) {
        mem::take(&mut self.0.get_mut().after).into_iter().for_each(Hook::run);
    }
}

/// Runs what users have given for the end of memory. A panic ends here, after the process's panic hook has told of it: what comes
/// next, such as waiting for work on the memory, must not be left out.
pub(super) fn contain(call: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
        // Dropping it may panic, too.
        mem::forget(payload);
    }
}

impl fmt::Debug for ReleaseHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks = self.0.lock();
        write!(f, "ReleaseHooks({} before, {} after)", hooks.before.len(), hooks.after.len())
    }
}
