//! Memory that this process has freed, and that waits until other processes have closed it.

use std::mem;
use std::sync::{Mutex, PoisonError};

use usm_core::fork::{ForkMutex, ForkOnce, PerProcess};

/// Memory that nobody of this process uses any more.
pub(super) trait Held: Send {
    /// Whether the memory may have another use now.
    fn may_go(&self) -> bool;

    /// Gives it another use.
    fn go(self: Box<Self>);
}

struct All {
    waiting: Vec<Box<dyn Held>>,
    /// So many more are looked at now.
    looked_at: usize,
    /// So many wait before a release looks at all of them again: twice as many as waited after the last look.
    next_look: usize,
}

/// Wakes a thread that [sweeps](sweep) from time to time, when memory waits and none did before.
static WAKE: ForkOnce<fn()> = ForkOnce::new();

static ALL: ForkMutex<All> = ForkMutex::new(All { waiting: Vec::new(), looked_at: 0, next_look: 0 });

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

/// Sets the function that wakes the sweeping thread. The first call counts.
#[cfg(not(windows))]
pub(crate) fn set_wake(wake: fn()) {
    _ = WAKE.set(wake);
}

/// The sweeping thread holds it. A thread that waited for it sweeps again.
static LOOKING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()));

/// Gives memory another use that other processes have closed meanwhile. Returns whether there was any.
pub(crate) fn sweep() -> bool {
    let gone = take_gone();
    let has_some = !gone.is_empty();
    gone.into_iter().for_each(Held::go);
    has_some
}

fn take_gone() -> Vec<Box<dyn Held>> {
    if held_count() == 0 {
        return Vec::new();
    }
    let _alone = LOOKING.get().lock().unwrap_or_else(PoisonError::into_inner);
    // Backends are asked without the lock of the list.
    let mut waiting = {
        let mut all = ALL.lock();
        all.looked_at = all.waiting.len();
        mem::take(&mut all.waiting)
    };
    let gone = waiting.extract_if(.., |held| held.may_go()).collect();
    let mut all = ALL.lock();
    all.waiting.append(&mut waiting);
    all.looked_at = 0;
    all.next_look = 2 * all.waiting.len();
    gone
}

/// How many allocations and slots wait.
pub(crate) fn held_count() -> usize {
    let all = ALL.lock();
    all.waiting.len() + all.looked_at
}
