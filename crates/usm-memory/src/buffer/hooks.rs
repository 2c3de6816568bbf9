//! What is to be done when the memory of a block goes back to where it came from.

use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Hook = Box<dyn FnOnce() + Send>;

/// The hooks of a block. The later ones run when this value is dropped.
#[derive(Default)]
pub(super) struct ReleaseHooks {
    /// Few blocks have hooks, and a pool makes blocks by the million: nothing is kept before there is one.
    hooks: Mutex<Option<Box<Hooks>>>,
}

#[derive(Default)]
struct Hooks {
    before: Vec<Hook>,
    after: Vec<Hook>,
}

impl ReleaseHooks {
    pub(super) fn add_before(&self, hook: Hook) {
        self.lock().get_or_insert_default().before.push(hook);
    }

    pub(super) fn add_after(&self, hook: Hook) {
        self.lock().get_or_insert_default().after.push(hook);
    }

    /// Runs the hooks that come before the release, once.
    #[inline]
    pub(super) fn run_before(&mut self) {
        if let Some(hooks) = self.get_mut() {
            mem::take(&mut hooks.before).into_iter().rev().for_each(contain);
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut Option<Box<Hooks>> {
        self.hooks.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Hooks>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReleaseHooks {
    #[inline]
    fn drop(&mut self) {
        if let Some(hooks) = self.get_mut().take() {
            hooks.after.into_iter().for_each(contain);
        }
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
        let hooks = self.lock();
        let (before, after) = hooks.as_ref().map_or((0, 0), |hooks| (hooks.before.len(), hooks.after.len()));
        write!(f, "ReleaseHooks({before} before, {after} after)")
    }
}
