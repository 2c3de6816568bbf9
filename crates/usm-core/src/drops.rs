//! Waits that happen while something is dropped, and what the program wants to do around them.

use crate::fork::ForkOnce;
use crate::{Event, Queue, Result, unclaimed};

type Around = fn(&mut (dyn FnMut() + Send));

static AROUND: ForkOnce<Around> = ForkOnce::new();

/// Lets every wait for work that a drop in this crate or in `usm-memory` makes, or a pool without free memory, run inside `around`, which
/// must call what it is given once. The first call of the process counts; `false` for later ones.
///
/// This is for languages with a lock that pending work may need: a binding gives up its interpreter's lock meanwhile, at no cost
/// for drops that do not wait.
///
/// ```
/// fn without_the_lock(wait: &mut (dyn FnMut() + Send)) {
///     // give up the lock
///     wait();
///     // take it again
/// }
/// usm_core::drops::around_waits_in_drops(without_the_lock);
/// ```
#[cfg(feature = "interpreter")]
pub fn around_waits_in_drops(around: Around) -> bool {
    AROUND.set(around)
}

/// Runs a wait that a drop makes.
pub fn wait<T: Send>(mut job: impl FnMut() -> T + Send) -> T {
    let Some(around) = AROUND.get() else { return job() };
    let mut result = None;
    around(&mut || result = Some(job()));
    // Should it not have been called: what waits is never left out.
    result.unwrap_or_else(job)
}

/// Waits in a drop until operations use nothing any more. `false` where a wait failed and its operation may go on, as one that was recorded
/// into a CUDA graph: what the operations use must not go then.
///
/// A wait that fails may have brought the error of an operation, or fail for the moment: so a second one follows.
pub fn settle<'a>(events: impl IntoIterator<Item = &'a Event, IntoIter: Clone + Send + Sync>) -> bool {
    let events = events.into_iter();
    let is_over = |event: &Event| twice(|| event.wait()).is_ok() || event.is_complete();
    events.clone().next().is_none() || wait(|| events.clone().all(is_over))
}

/// Waits for a queue in a drop. The first wait may bring the error of somebody's operation, or fail for the moment; so a second one
/// follows.
///
/// # Errors
/// Those of the second wait: work may still be pending.
pub fn wait_twice(queue: &Queue) -> Result<()> {
    wait(|| twice(|| queue.wait()))
}

/// Waits once more after an error, which others get.
fn twice(wait: impl Fn() -> Result<()>) -> Result<()> {
    wait().or_else(|error| {
        let waited = wait();
        // Now, since the second wait would take it.
        unclaimed::defer(&error);
        waited
    })
}
