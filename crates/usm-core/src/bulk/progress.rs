//! How far long work of host code is, for whoever waits for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The steps of a job, and how many of them are done.
///
/// ```
/// use std::sync::Arc;
/// use usm_core::bulk::{Progress, Steps};
///
/// let progress = Arc::new(Progress::default());
/// progress.watch(|| {
///     assert_eq!(progress.part(), None);
///     let steps = Steps::of(4);
///     let done = steps.counter();
///     done();
///     assert_eq!(progress.part(), Some(0.25));
/// });
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    all: AtomicUsize,
    done: AtomicUsize,
}

thread_local! {
    /// Of the job of this thread, while it has not begun its steps.
    static WATCHED: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// Puts a value into the place of this thread, and returns what was there.
fn replace(progress: Option<Arc<Progress>>) -> Option<Arc<Progress>> {
    // After the end of the thread's values nobody watches.
    WATCHED.try_with(|watched| watched.replace(progress)).ok().flatten()
}

/// Puts back what was in the place of this thread.
struct Restored(Option<Arc<Progress>>);

impl Drop for Restored {
    fn drop(&mut self) {
        replace(self.0.take());
    }
}

impl Progress {
    /// Runs a job on this thread, whose [`Steps`] count here.
    pub fn watch<T>(self: &Arc<Self>, job: impl FnOnce() -> T) -> T {
        let _before = Restored(replace(Some(Arc::clone(self))));
        job()
    }

    /// The part of the steps that is done, from 0 to 1. `None` for a job that has not begun its steps, or has none.
    #[must_use]
    pub fn part(&self) -> Option<f64> {
        match self.all.load(Ordering::Relaxed) {
            0 => None,
            all => Some(self.done.load(Ordering::Relaxed).min(all) as f64 / all as f64),
        }
    }
}

/// The steps of a loop: those of the watched job of this thread, unless they are steps of a step.
#[derive(Debug)]
pub struct Steps(Option<Arc<Progress>>);

impl Steps {
    /// So many steps, of which none is done.
    #[must_use]
    pub fn of(count: usize) -> Self {
        let progress = replace(None);
        if let Some(progress) = &progress {
            progress.done.store(0, Ordering::Relaxed);
            progress.all.store(count, Ordering::Relaxed);
        }
        Self(progress)
    }

    /// What is called at the end of each step, on any thread.
    pub fn counter(&self) -> impl Fn() + Send + Sync + 'static {
        let progress = self.0.clone();
        move || {
            if let Some(progress) = &progress {
                progress.done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(progress) = self.0.take() {
            replace(Some(progress));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::share;

    #[test]
    fn the_outermost_steps_of_a_watched_job_count() {
        let progress = Arc::new(Progress::default());
        drop(Steps::of(9));
        assert_eq!(progress.part(), None);
        progress.watch(|| {
            let steps = Steps::of(2);
            share(100, 2, |_| {});
            steps.counter()();
            assert_eq!(progress.part(), Some(0.5));
            drop(steps);
            share(100, 2, |_| {});
            assert_eq!(progress.part(), Some(1.0));
        });
        share(100, 1, |_| {});
        drop(Steps::of(9));
        assert_eq!(progress.part(), Some(1.0));
    }
}
