//! Freeing memory while no operation is submitted, where a driver needs it.
//!
//! PoCL 6 waits for the newest command of each queue of the context before it frees memory. It may find a command that another
//! thread is about to submit, for which no wait is possible yet, and the process crashes. So with an OpenCL driver that is not
//! Intel's, submissions may overlap each other, but no submission overlaps a free. The lock does not cover operations that other
//! libraries submit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::fork::PerProcess;

/// The lock, and whether a driver needs it.
#[derive(Debug)]
pub(super) struct OneFrees {
    is_needed: AtomicBool,
    lock: PerProcess<RwLock<()>>,
}

impl OneFrees {
    pub(super) const fn new() -> Self {
        Self { is_needed: AtomicBool::new(false), lock: PerProcess::new(RwLock::new(())) }
    }

    /// Uses the lock from now on.
    pub(super) fn need(&self) {
        self.is_needed.store(true, Ordering::Relaxed); // before the first memory is allocated
    }

    fn lock(&self) -> Option<&RwLock<()>> {
        self.is_needed.load(Ordering::Relaxed).then(|| self.lock.get())
    }

    /// Held while an operation is submitted.
    pub(super) fn submit(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.lock().map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Held while memory is freed.
    pub(super) fn free(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.lock().map(|lock| lock.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::OneFrees;

    #[test]
    fn memory_is_freed_while_nothing_is_submitted() {
        let frees = OneFrees::new();
        assert!(frees.submit().is_none() && frees.free().is_none(), "no driver needs it");
        frees.need();
        let lock = frees.lock().unwrap();
        let [first, second] = [frees.submit(), frees.submit()];
        assert!(first.is_some() && second.is_some());
        assert!(lock.try_write().is_err());
        drop((first, second));
        let freeing = frees.free();
        assert!(freeing.is_some() && lock.try_read().is_err());
    }
}
