//! Waiting for operations and long work so that Ctrl-C gets through.

use std::hint;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use usm_array::usm_core::fork::{self, PerProcess};
use usm_array::usm_core::{self, Event, EventStatus, Queue, Runtime, Unclaimed};
use usm_array::{UsmArray, usm_memory};

use crate::called;
use crate::errors::{self, OrRaise, UsmError};
use crate::flight::events_under_way;

/// Operations that complete within this time are waited for without another thread, which takes up to a tenth of it to start and to
/// answer.
const SHORT: Duration = Duration::from_millis(1);
/// For so long a wait keeps the processor: to give it up takes as long as a small operation of a GPU.
const SPIN: Duration = Duration::from_micros(20);
/// How often Python's signal handlers get a chance.
const SIGNALS: Duration = Duration::from_millis(50);

/// Bytes of work from which on a job runs on a thread of its own: some milliseconds of work, and of the slowest kinds some dozens. To
/// start the thread takes as long as to copy 4 MiB.
const LARGE_BYTES: usize = 16 << 20;

/// Threads of `elsewhere` that have not ended. A forked child has none of them.
static RUNNING: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0));

/// Whether a job on about that many bytes may take long.
pub(crate) fn is_long(work_bytes: usize) -> bool {
    work_bytes >= LARGE_BYTES
}

/// The bytes of the elements of an array that this thread goes through in an operation. They are none where kernels do it: what they
/// answer is waited for in guards, which let Ctrl-C through.
pub(crate) fn bytes_here(array: &UsmArray) -> usize {
    if array.is_for_kernels() { 0 } else { array.size_bytes() }
}

/// Bytes of work up to which it takes less time than giving the interpreter up and taking it again.
const SMALL_BYTES: usize = 4 << 10;

/// One pass over elements.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) len: usize,
    pub(crate) bytes: usize,
}

impl Pass {
    /// Over nothing: what only looks at elements' places is never long.
    pub(crate) const NONE: Self = Self { len: 0, bytes: 0 };

    /// Over all elements of an array.
    pub(crate) fn over(array: &UsmArray) -> Self {
        Self { len: array.size(), bytes: array.size_bytes() }
    }

    /// Over so many bytes, one after the other.
    pub(crate) fn in_order(bytes: usize) -> Self {
        Self { len: 0, bytes }
    }

    /// The pass, unless a queue does the work and nobody waits for it, as between arrays that only devices reach.
    pub(crate) fn unless_submitted(self, is_submitted: bool) -> Self {
        if is_submitted { Self::NONE } else { self }
    }

    /// Whether it may take long, where this thread itself touches the memory or a queue does.
    pub(crate) fn is_long(self, is_host_reachable: bool) -> bool {
        is_long(self.bytes) && !(is_host_reachable && self.is_quick())
    }

    /// Whether it ends long before anybody misses Ctrl-C, where this thread itself touches the memory. The worst order of elements of
    /// one byte takes 4 ns for each.
    fn is_quick(self) -> bool {
        self.len <= 16 << 20 && self.bytes <= 64 << 20
    }
}

/// As [`run`], for one pass over elements. On memory that this thread itself touches a small one keeps the interpreter, and only a
/// very large one has a thread of its own: where it has to wait after all, for work of others on memory that is known to them,
/// [`wait_in_guard`] gives the interpreter up and lets Ctrl-C through.
pub(crate) fn run_at<T: Send + 'static>(
    py: Python<'_>,
    pass: Pass,
    is_host_reachable: bool,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !is_host_reachable || !pass.is_quick() {
        return run(py, pass.bytes, job);
    }
    Ok(if pass.bytes <= SMALL_BYTES { job() } else { py.detach(job) })
}

/// Runs a job that is not long with other Python threads running meanwhile, but a small one as [`run_at`] does.
pub(crate) fn detach_unless_small<T: Send>(
    py: Python<'_>,
    work_bytes: usize,
    is_host_reachable: bool,
    job: impl FnOnce() -> T + Send,
) -> T {
    if is_host_reachable && work_bytes <= SMALL_BYTES { job() } else { py.detach(job) }
}

/// Runs a job on about `work_bytes` bytes with other Python threads running meanwhile. An exception of a signal handler ends the
/// waiting for a long one; the job goes on, and so it owns all that it works on.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work_bytes: usize,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !is_long(work_bytes) {
        return Ok(py.detach(job));
    }
    // Says whether the job is complete, or nobody waits for it any more.
    let state = Arc::new(AtomicU8::new(UNDER_WAY));
    let theirs = Arc::clone(&state);
    let job = move || {
        let result = job();
        if theirs.swap(COMPLETE, Ordering::AcqRel) == BROKEN_OFF {
            LEFT_ALONE.get().fetch_sub(1, Ordering::Release);
        }
        result
    };
    let process = Runtime::fork_generation();
    match elsewhere(job) {
        Ok(result) => received(py, result).inspect_err(|_| leave_alone(&state, process))?.ok_or_else(|| {
            UsmError::new_err("an operation completed without a result; this is a bug of usm")
        }),
        Err(job) => Ok(py.detach(job)),
    }
}

/// States of a job.
const UNDER_WAY: u8 = 0;
const COMPLETE: u8 = 1;
const BROKEN_OFF: u8 = 2;

/// Jobs that go on although nobody waits for them any more.
static LEFT_ALONE: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0));

fn leave_alone(state: &AtomicU8, process: u64) {
    if !Runtime::is_fork_generation(process) {
        return; // a signal handler has forked, and the job is the parent's
    }
    // Counted before it is marked, since the job counts down.
    LEFT_ALONE.get().fetch_add(1, Ordering::Relaxed);
    let marked = state.compare_exchange(UNDER_WAY, BROKEN_OFF, Ordering::AcqRel, Ordering::Acquire);
    if marked.is_err() {
        LEFT_ALONE.get().fetch_sub(1, Ordering::Release);
    }
}

/// Waits until the jobs that Ctrl-C has broken off are complete; once more it ends the waiting.
pub(crate) fn wait_for_broken_off(py: Python<'_>) -> PyResult<()> {
    called::wait_while(py, || LEFT_ALONE.get().load(Ordering::Acquire) > 0)
}

/// Lets signal handlers run now and then in a loop over Python objects, which is at step `i`.
pub(crate) fn check_now_and_then(py: Python<'_>, i: usize) -> PyResult<()> {
    const STEPS: usize = 1 << 16;
    if i % STEPS == STEPS - 1 { py.check_signals() } else { Ok(()) }
}

/// Runs a job on another thread; gives it back when there is none, or the end of the interpreter waits for such threads already: daemon
/// threads could start one after the other.
fn elsewhere<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    job: F,
) -> Result<Receiver<Unclaimed<T>>, F> {
    if called::is_left_behind() {
        return Err(job);
    }
    let (done, result) = mpsc::channel();
    // A thread that cannot be started drops what it was to run.
    let shared = Arc::new(Mutex::new(Some(job)));
    let take = |job: &Mutex<Option<F>>| job.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = Arc::clone(&shared);
    let run = move || {
        let job = take(&theirs);
        if let Some(job) = job {
            // An error in it may be that of another operation, and is for the next wait when nobody waits here any more.
            drop(done.send(Unclaimed::of(job)));
        }
        RUNNING.get().fetch_sub(1, Ordering::Release);
    };
    RUNNING.get().fetch_add(1, Ordering::Relaxed);
    match fork::spawn(thread::Builder::new().name("usm-wait".to_owned()), run) {
        Ok(_) => Ok(result),
        Err(_) => {
            RUNNING.get().fetch_sub(1, Ordering::Release);
            take(&shared).map_or(Ok(result), Err)
        }
    }
}

/// Lets the end of the interpreter wait for operations and threads whose result nobody wants any more: the SYCL runtime goes down
/// after it, and must not do so under an operation or a wait. Ctrl-C ends this, too.
pub(crate) fn finish_at_exit(py: Python<'_>) -> PyResult<()> {
    let finish = wrap_pyfunction!(finish, py)?;
    py.import("atexit")?.call_method1("register", (finish,)).map(drop)
}

#[pyfunction]
fn finish(py: Python<'_>) -> PyResult<()> {
    called::wait_for_calls(py)?;
    match wait_all(py, &events_under_way(py)) {
        // There is nobody left to be told of a failed operation.
        Err(error) if !error.is_instance_of::<UsmError>(py) => return Err(error),
        _ => {}
    }
    called::wait_while(py, || RUNNING.get().load(Ordering::Acquire) > 0)
}

/// What another thread sends, with Python's signal handlers running meanwhile; `None` when it sends nothing.
fn received<T: Send>(py: Python<'_>, mut result: Receiver<Unclaimed<T>>) -> PyResult<Option<T>> {
    let process = Runtime::fork_generation();
    loop {
        let (outcome, back) = py.detach(move || (result.recv_timeout(SIGNALS), result));
        result = back;
        match outcome {
            Ok(value) => return Ok(Some(value.claim())),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        if !Runtime::is_fork_generation(process) {
            // A signal handler has forked, and this is the child, in which that thread is missing.
            return Err(usm_core::Error::Forked).or_raise();
        }
    }
}

/// Waits until all events are complete, also after an error, with other Python threads running meanwhile. An exception of a signal
/// handler ends the waiting; the operations go on.
pub(crate) fn wait_all(py: Python<'_>, events: &[Event]) -> PyResult<()> {
    let waited = py.detach(|| wait_shortly(events));
    waited.map_or_else(|| wait_long(py, events), OrRaise::or_raise)
}

/// As [`wait_all`], until all that was submitted to a queue is complete.
pub(crate) fn wait_for_queue(py: Python<'_>, queue: &Queue) -> PyResult<()> {
    let wait = || {
        // Behind the work of a stream that others have, too, a new event would end later than the stream itself has an answer.
        if queue
            .is_shared_stream_idle()
            .is_some_and(|is_idle| is_idle || ends_soon(|| queue.is_surely_idle()))
        {
            return Ok(None);
        }
        let event = [queue.completion()?];
        match wait_shortly(&event) {
            Some(waited) => waited.map(|()| None),
            None => Ok(Some(event)),
        }
    };
    py.detach(wait).or_raise()?.map_or(Ok(()), |event| wait_long(py, &event))
}

/// Waits for events that are complete soon; `None` where they are not.
fn wait_shortly(events: &[Event]) -> Option<usm_core::Result<()>> {
    ends_soon(|| events.iter().all(Event::is_complete)).then(|| Event::wait_all(events))
}

/// Waits for events that may take long.
fn wait_long(py: Python<'_>, events: &[Event]) -> PyResult<()> {
    let wait = || Event::wait_all(events);
    // A wait of the runtime cannot be ended, and nothing else gets the errors: another thread does it.
    let theirs = events.to_vec();
    let result = match elsewhere(move || Event::wait_all(&theirs)) {
        Ok(result) => received(py, result)?,
        Err(_) => None,
    };
    result.unwrap_or_else(|| py.detach(wait)).or_raise()
}

/// How guards wait for work that others have submitted: `wait_for_others_with`.
pub(crate) fn wait_in_guard(event: &Event) -> usm_memory::Result<()> {
    if ends_soon(|| event.is_complete()) {
        // A wait for what is complete would bring errors of other operations on the queue. They come out of waits for those.
        return if event.status() == EventStatus::Complete { Ok(()) } else { Ok(event.wait()?) };
    }
    let theirs = event.clone();
    let Ok(result) = elsewhere(move || theirs.wait()) else { return Ok(event.wait()?) };
    // Guards are taken by threads that have given the interpreter up, which signal handlers need.
    match Python::try_attach(|py| received(py, result)) {
        Some(Ok(Some(result))) => Ok(result?),
        Some(Err(error)) => {
            errors::set_raised(error);
            Err(usm_memory::Error::Interrupted)
        }
        _ => Ok(event.wait()?),
    }
}

fn ends_soon(is_over: impl Fn() -> bool) -> bool {
    if is_over() {
        return true;
    }
    let start = Instant::now();
    while !is_over() {
        let elapsed = start.elapsed();
        if elapsed > SHORT {
            return false;
        }
        if elapsed > SPIN { thread::yield_now() } else { hint::spin_loop() }
    }
    true
}
