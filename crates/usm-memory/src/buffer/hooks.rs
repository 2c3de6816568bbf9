//! What is to be done when the memory of a block goes back to where it came from.

use std::fmt;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Hook = Box<dyn FnOnce() + Send>;

/// The hooks of a block. The later ones run when this value is dropped.
#[derive(Default)]
pub(super) struct ReleaseHooks {
    hooks: Mutex<Hooks>,
}

#[derive(Default)]
struct Hooks {
    before: Vec<Hook>,
    after: Vec<Hook>,
}

impl ReleaseHooks {
    pub(super) fn add_before(&self, hook: Hook) {
        self.lock().before.push(hook);
    }

    pub(super) fn add_after(&self, hook: Hook) {
        self.lock().after.push(hook);
    }

    /// Runs the hooks that come before the release, once.
    pub(super) fn run_before(&self) {
        // Taken out first: hooks run without the lock.
        let hooks = mem::take(&mut self.lock().before);
        hooks.into_iter().rev().for_each(|hook| hook());
    }

    fn lock(&self) -> MutexGuard<'_, Hooks> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReleaseHooks {
    fn drop(&mut self) {
        let hooks = mem::take(&mut self.lock().after);
        hooks.into_iter().for_each(|hook| hook());
    }
}

impl fmt::Debug for ReleaseHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks = self.lock();
        write!(f, "ReleaseHooks({} before, {} after)", hooks.before.len(), hooks.after.len())
    }
}
