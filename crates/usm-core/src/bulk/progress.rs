//! How far long work of host code is, for whoever waits for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Both numbers in one, so that nobody reads them of two loops: all steps in the upper half, those that are done in the lower one.
    steps: AtomicU64,
}

thread_local! {
    /// The progress of the job that this thread runs. A loop takes it out for its time.
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

    /// The part of the steps that is done, from 0 to 1, of the last loop that has begun. `None` for a job that has not begun a loop.
    #[must_use]
    pub fn part(&self) -> Option<f64> {
        let steps = self.steps.load(Ordering::Relaxed);
        let (all, done) = ((steps >> 32) as u32, steps as u32);
        (all > 0).then(|| f64::from(done) / f64::from(all))
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
            // More than 2³² steps are none.
            let all = u32::try_from(count).unwrap_or(0);
            progress.steps.store(u64::from(all) << 32, Ordering::Relaxed);
        }
        Self(progress)
    }

    /// A function to call once at the end of each step, on any thread.
    pub fn counter(&self) -> impl Fn() + Send + Sync + 'static {
        let progress = self.0.clone();
        move || {
            if let Some(progress) = &progress {
                progress.steps.fetch_add(1, Ordering::Relaxed);
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
