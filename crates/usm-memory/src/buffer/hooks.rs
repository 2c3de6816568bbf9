//! What is to be done when the memory of a block goes back to where it came from.

use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use usm_core::fork::{ForkMutex, ForkMutexGuard};

/// Is told of the end of blocks, with nothing allocated for each of them.
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

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    After,
}

/// The hooks of a block. The later ones run when this value is dropped.
#[derive(Default)]
pub(super) struct ReleaseHooks {
    hooks: ForkMutex<Hooks>,
}

/// In the order in which they were added. Most blocks with hooks have one, for which nothing more is allocated.
#[derive(Default)]
struct Hooks {
    first: Option<(When, Hook)>,
    more: Vec<(When, Hook)>,
}

impl Hooks {
    fn add(&mut self, when: When, hook: Hook) {
        match &self.first {
            None => self.first = Some((when, hook)),
            Some(_) => self.more.push((when, hook)),
        }
    }

    fn count(&self, wanted: When) -> usize {
        self.first.iter().chain(&self.more).filter(|(when, _)| *when == wanted).count()
    }
}

impl ReleaseHooks {
    pub(super) fn add_before(&self, hook: Hook) {
        self.lock().add(When::Before, hook);
    }

    pub(super) fn add_after(&self, hook: Hook) {
        self.lock().add(When::After, hook);
    }

    /// Runs the hooks that come before the release, once, the last one first.
    #[inline]
    pub(super) fn run_before(&mut self) {
        let hooks = self.get_mut();
        for place in (0..hooks.more.len()).rev() {
            if hooks.more[place].0 == When::Before {
                hooks.more.remove(place).1.run();
            }
        }
        if let Some((_, hook)) = hooks.first.take_if(|(when, _)| *when == When::Before) {
            hook.run();
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut Hooks {
        self.hooks.get_mut()
    }

    fn lock(&self) -> ForkMutexGuard<'_, Hooks> {
        self.hooks.lock()
    }
}

impl Drop for ReleaseHooks {
    #[inline]
    fn drop(&mut self) {
        let hooks = self.get_mut();
        if hooks.first.is_none() && hooks.more.is_empty() {
            return;
        }
        let Hooks { first, more } = mem::take(hooks);
        for (when, hook) in first.into_iter().chain(more) {
            if when == When::After {
                hook.run();
            }
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
        let (before, after) = (hooks.count(When::Before), hooks.count(When::After));
        write!(f, "ReleaseHooks({before} before, {after} after)")
    }
}
