//! Memory that this process has freed, and that waits until other processes have closed it.

use std::mem;

use usm_core::fork::ForkMutex;

/// Memory that nobody of this process uses any more.
pub(super) trait Held: Send {
    /// Whether the memory may have another use now.
    fn may_go(&self) -> bool;

    /// Gives it another use.
    fn go(self: Box<Self>);
}

static HELD: ForkMutex<Vec<Box<dyn Held>>> = ForkMutex::new(Vec::new());

/// Gives memory another use, now or when other processes have closed it.
pub(super) fn release(held: impl Held + 'static) {
    sweep();
    let held = Box::new(held);
    if held.may_go() { held.go() } else { HELD.lock().push(held) }
}

/// Gives memory another use that other processes have closed meanwhile. Returns whether there was any.
pub(crate) fn sweep() -> bool {
    // Backends are asked without the lock.
    let mut all = mem::take(&mut *HELD.lock());
    if all.is_empty() {
        return false;
    }
    let gone: Vec<_> = all.extract_if(.., |held| held.may_go()).collect();
    HELD.lock().append(&mut all);
    let has_some = !gone.is_empty();
    gone.into_iter().for_each(Held::go);
    has_some
}

/// How many allocations and slots wait.
pub(crate) fn held_count() -> usize {
    HELD.lock().len()
}
