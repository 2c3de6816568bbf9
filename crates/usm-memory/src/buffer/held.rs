//! Memory that this process has freed, and that waits until other processes have closed it.

use std::mem;

use usm_core::fork::{ForkMutex, ForkOnce};

/// Memory that nobody of this process uses any more.
pub(super) trait Held: Send {
    /// Whether the memory may have another use now.
    fn may_go(&self) -> bool;

    /// Gives it another use.
    fn go(self: Box<Self>);
}

struct All {
    waiting: Vec<Box<dyn Held>>,
    /// So many wait before a release looks at all of them again: twice as many as waited after the last look.
    next_look: usize,
}

/// Called when memory waits and none did before, by whoever [sweeps](sweep) from time to time.
static WAKE: ForkOnce<fn()> = ForkOnce::new();

static ALL: ForkMutex<All> = ForkMutex::new(All { waiting: Vec::new(), next_look: 0 });

/// Gives memory another use, now or when other processes have closed it.
pub(super) fn release(held: impl Held + 'static) {
    let held = Box::new(held);
    if held.may_go() {
        return held.go();
    }
    let (is_time, is_first) = {
        let mut all = ALL.lock();
        all.waiting.push(held);
        (all.waiting.len() > all.next_look, all.waiting.len() == 1)
    };
    if is_time {
        sweep();
    }
    if is_first && let Some(wake) = WAKE.get() {
        wake();
    }
}

/// Says whom to wake. The first call counts.
pub(crate) fn set_wake(wake: fn()) {
    _ = WAKE.set(wake);
}

/// Gives memory another use that other processes have closed meanwhile. Returns whether there was any.
pub(crate) fn sweep() -> bool {
    // Backends are asked without the lock.
    let mut waiting = mem::take(&mut ALL.lock().waiting);
    if waiting.is_empty() {
        return false;
    }
    let gone: Vec<_> = waiting.extract_if(.., |held| held.may_go()).collect();
    let mut all = ALL.lock();
    all.waiting.append(&mut waiting);
    all.next_look = 2 * all.waiting.len();
    drop(all);
    let has_some = !gone.is_empty();
    gone.into_iter().for_each(Held::go);
    has_some
}

/// How many allocations and slots wait.
pub(crate) fn held_count() -> usize {
    ALL.lock().waiting.len()
}
