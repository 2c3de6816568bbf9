//! Work of users for when the memory of a block goes back to where it came from.

use std::mem;

use usm_core::unwind::contained;

/// Work of users.
pub(super) type Hook = Box<dyn FnOnce() + Send>;

/// The hooks of a block in the order in which they were added. The later ones run when this value is dropped.
#[derive(Default)]
pub(super) struct ReleaseHooks {
    pub(super) before: Vec<Hook>,
    pub(super) after: Vec<Hook>,
}

impl ReleaseHooks {
    /// Runs the hooks that come before the release, once, the last one first.
    pub(super) fn run_before(&mut self) {
        mem::take(&mut self.before).into_iter().rev().for_each(contain);
    }
}

impl Drop for ReleaseHooks {
    fn drop(&mut self) {
        mem::take(&mut self.after).into_iter().for_each(contain);
    }
}

/// Runs what users have given for the end of memory. A panic ends here, after the process's panic hook has told of it: what comes
/// next, such as waiting for work on the memory, must not be left out.
pub(super) fn contain(call: impl FnOnce()) {
    _ = contained("hook", call);
}
