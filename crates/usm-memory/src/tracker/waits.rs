//! How host code waits for the work of others, which a program may want to do in its own way.

use std::time::{Duration, Instant};
use std::{hint, thread};

use usm_core::fork::ForkOnce;
use usm_core::{Event, EventStatus, HostTask, Queue, drops};

use crate::{Error, Result};

type WaitForEvent = fn(&Event) -> Result<()>;
/// Waits for an operation of another thread through its argument, which does so for a time and returns whether the wait is over.
type WaitForOperation = fn(&(dyn Fn(Duration) -> bool + Sync)) -> Result<()>;

/// Runs a job that nobody can break off, and waits for its end.
type RunJob = fn(Box<dyn FnOnce() + Send>) -> Result<()>;

static WAIT: ForkOnce<(WaitForEvent, WaitForOperation, RunJob)> = ForkOnce::new();

/// A wait without a hook looks again so often.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lets host code wait for operations of queues and for external work, and small blocking copies for earlier work on their queue, through
/// `event` in place of [`Event::wait`], and for host code of other threads through `operation`. `job` runs builds of kernels, which no
/// runtime breaks off. The first call of the process counts; `false` for later ones.
///
/// This is for programs in which the user may break off a wait: a function then returns [`Error::Interrupted`](crate::Error::Interrupted),
/// and nothing is accessed. The work goes on, and the next access waits for it again.
///
/// The functions are safe code, so their `Ok` is no proof: what is not complete then is waited for again.
///
/// ```
/// use std::thread;
/// use std::time::Duration;
/// use usm_memory::Error;
/// use usm_memory::interpreter::wait_for_others_with;
///
/// wait_for_others_with(
///     |event| {
///         while !event.is_complete() {
///             // return Err(Error::Interrupted) when the user wants that
///             std::thread::yield_now();
///         }
///         Ok(event.wait()?)
///     },
///     |wait| {
///         while !wait(Duration::from_millis(50)) {
///             // return Err(Error::Interrupted) when the user wants that
///         }
///         Ok(())
///     },
///     |job| {
///         let thread = thread::spawn(job);
///         while !thread.is_finished() {
///             // return Err(Error::Interrupted) when the user wants that
///             thread::sleep(Duration::from_millis(1));
///         }
///         Ok(())
///     },
/// );
/// ```
#[cfg(feature = "interpreter")]
pub fn wait_for_others_with(event: WaitForEvent, operation: WaitForOperation, job: RunJob) -> bool {
    WAIT.set((event, operation, job))
}

/// Runs a long job that nobody can break off, such as the build of a kernel: by the function that `interpreter::wait_for_others_with` has got,
/// which may let the user break off the wait for it. Otherwise, and in a host task, it runs here.
///
/// `Ok` is no proof that the job is complete.
///
/// # Errors
/// [`Error::Interrupted`] when the wait was broken off; the job goes on.
///
/// ```
/// use std::sync::OnceLock;
///
/// static ANSWER: OnceLock<u32> = OnceLock::new();
/// usm_memory::run_job(|| _ = ANSWER.set(42))?;
/// assert_eq!(ANSWER.get(), Some(&42));
/// # Ok::<(), usm_memory::Error>(())
/// ```
pub fn run_job(job: impl FnOnce() + Send + 'static) -> Result<()> {
    match WAIT.get() {
        Some((.., run)) if !HostTask::is_running() => run(Box::new(job)),
        _ => {
            job();
            Ok(())
        }
    }
}

/// Waits for host code of another thread.
pub(crate) fn for_operation(wait: &(dyn Fn(Duration) -> bool + Sync)) -> Result<()> {
    match WAIT.get() {
        Some((_, operation, _)) => operation(wait),
        None => {
            while !wait(PATIENCE) {}
            Ok(())
        }
    }
}

/// Lets what is submitted next start at once where waits can be broken off, since the operation cannot when it uses memory that the
/// caller owns. Only in-order queues let it wait for all that was submitted before.
pub(crate) fn before_submit(queue: &Queue) -> Result<()> {
    if WAIT.get().is_none() || !queue.properties().in_order || queue.is_surely_idle() {
        return Ok(());
    }
    wait_for(queue)
}

/// Waits for what others may have submitted to a queue. To wait for one that is idle takes longer than to read an element, and a queue
/// that no other library has is known to be so.
pub(crate) fn for_others(queue: &Queue) -> Result<()> {
    if queue.is_surely_idle() { Ok(()) } else { wait_for(queue) }
}

/// A host task waits for nothing that may come after it.
fn check_no_task() -> Result<()> {
    if HostTask::is_running() { Err(Error::HostTaskWaits) } else { Ok(()) }
}

/// Waits for what was submitted to a queue.
pub(crate) fn wait_for(queue: &Queue) -> Result<()> {
    wait_with(queue, |event| {
        // A wait for what is complete would bring errors of other operations on the queue. They come out of waits for those.
        if event.status() == EventStatus::Complete { Ok(()) } else { Ok(event.wait()?) }
    })
}

/// As `wait_for`, and returns the error of an operation that failed.
pub(crate) fn for_queue(queue: &Queue) -> Result<()> {
    wait_with(queue, |event| Ok(event.wait()?))
}

fn wait_with(queue: &Queue, end: impl FnOnce(&Event) -> Result<()>) -> Result<()> {
    check_no_task()?;
    let Some((wait, ..)) = WAIT.get() else { return Ok(queue.wait()?) };
    // Behind the work of a stream that others have, too, a new event would end later than the stream itself has an answer.
    if queue.is_shared_stream_idle().is_some() && ends_soon(|| queue.is_surely_idle()) {
        return Ok(());
    }
    let event = if queue.is_surely_idle() {
        queue.completion()?
    } else {
        // Submits a barrier, and a runtime submits nothing while it waits for a task that may need a lock of this thread.
        drops::wait(|| queue.completion())?
    };
    if !event.is_complete() {
        wait(&event)?;
    }
    end(&event)
}

/// Looks for about a millisecond whether a wait is over: to wait by a thread of its own takes up to a tenth of that.
///
/// ```
/// use usm_memory::interpreter::ends_soon;
///
/// assert!(ends_soon(|| true) && !ends_soon(|| false));
/// ```
#[cfg_attr(not(feature = "interpreter"), expect(unreachable_pub, reason = "for interpreters alone"))]
pub fn ends_soon(is_over: impl Fn() -> bool) -> bool {
    const SOON: Duration = Duration::from_millis(1);
    /// For so long a wait keeps the processor: to give it up takes as long as a small operation of a GPU.
    const SPIN: Duration = Duration::from_micros(20);
    if is_over() {
        return true;
    }
    let start = Instant::now();
    while !is_over() {
        let elapsed = start.elapsed();
        if elapsed > SOON {
            return false;
        }
        if elapsed > SPIN { thread::yield_now() } else { hint::spin_loop() }
    }
    true
}

/// Waits for an operation, and returns its error.
pub(crate) fn for_event(event: &Event) -> Result<()> {
    // What was recorded in a capture that is over is no work under way. During the capture this is an error.
    if event.capture().is_some() && event.is_complete() {
        return Ok(());
    }
    if !event.is_complete() {
        check_no_task()?;
    }
    // In a forked child there is nothing to wait for, but an error.
    if let Some((wait, ..)) =
        WAIT.get().filter(|_| event.capture().is_none() && !usm_core::fork::is_forked_child())
    {
        wait(event)?;
    }
    // At once after the other wait, which need not look for the error of a complete operation.
    Ok(event.wait()?)
}

/// Waits for the events that cannot be dependencies of an operation on a queue, and takes them out of the list: see [`Queue::takes`].
/// As there, errors of their operations are not for this one.
pub(crate) fn across_contexts(queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
    for event in events.extract_if(.., |event| !queue.takes(event)) {
        match for_event(&event) {
            Err(Error::Core(error)) => event.as_dependency(error)?,
            waited => waited?,
        }
    }
    Ok(())
}
