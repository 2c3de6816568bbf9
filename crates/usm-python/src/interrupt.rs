//! Waiting for operations and long work so that Ctrl-C gets through.

use std::slice;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use usm_array::usm_core::bulk::Progress;
use usm_array::usm_core::fork::{self, ForkOnce, PerProcess};
use usm_array::usm_core::{self, Event, EventStatus, Runtime, Unclaimed};
use usm_array::usm_memory;
use usm_array::usm_memory::flight::events_under_way;
use usm_array::usm_memory::interpreter::{Errand, Interlude, ends_soon};
use usm_array::{Cost, Work};

use crate::called;
use crate::errors::{self, OrRaise, UsmError};
use crate::held::with_interpreter;
use crate::imported;

/// How often Python's signal handlers get a chance.
const SIGNALS: Duration = Duration::from_millis(50);

/// After so many milliseconds work is long enough for a user to ask how far it is.
static PROGRESS_AFTER_MS: AtomicU64 = AtomicU64::new(1000);

/// How long the end of the interpreter waits for host code of another thread.
const AT_THE_END: Duration = Duration::from_secs(1);

/// As much as main threads have: compilers of devices run on these threads, and recurse.
const STACK_BYTES: usize = 8 << 20;

/// Threads of `elsewhere` that have not ended. A forked child has none of them.
static RUNNING: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0));

/// Runs a job with other Python threads running meanwhile, unless its work takes less time than giving the interpreter up: where such a
/// job has to wait after all, for work of others on memory that is known to them, [`wait_in_guard`] gives the interpreter up.
///
/// An exception of a signal handler ends the waiting for long work; the job goes on, and so it owns all that it works on.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: Work,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    match work.cost() {
        Cost::Negligible => Ok(job()),
        Cost::Short => Ok(py.detach(job)),
        Cost::Long => run_long(py, job),
    }
}

/// As [`run`], on this thread, also for long work: the job may borrow what it works on.
pub(crate) fn run_here<T: Send>(py: Python<'_>, work: Work, job: impl FnOnce() -> T + Send) -> T {
    match work.cost() {
        Cost::Negligible => job(),
        Cost::Short | Cost::Long => py.detach(job),
    }
}

/// As [`run`], for a job on a value that is dropped with the interpreter at hand, unless the job has outlasted the call.
pub(crate) fn run_on<V: Send + Sync + 'static, T: Send + 'static>(
    py: Python<'_>,
    work: Work,
    value: V,
    job: impl FnOnce(&V) -> T + Send + 'static,
) -> PyResult<T> {
    match work.cost() {
        Cost::Negligible | Cost::Short => Ok(run_here(py, work, || job(&value))),
        Cost::Long => run_long(py, move || job(&value)),
    }
}

/// Runs a job on a thread of its own, which this thread waits for until a signal handler raises. Where this call is in such a handler, which
/// has interrupted an operation, the job does not wait for that operation.
pub(crate) fn run_long<T: Send + 'static>(
    py: Python<'_>,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let state = Arc::new(AtomicU8::new(UNDER_WAY));
    let end = End(Arc::clone(&state));
    let (_errand, worker) = Errand::begin();
    let progress = Arc::new(Progress::default());
    let theirs = Arc::clone(&progress);
    let (result, job) = Parcel::of(move || {
        let _end = end;
        worker.run(|| theirs.watch(job))
    });
    let process = Runtime::fork_generation();
    match elsewhere(job) {
        Ok(ended) => wait_for_end(py, ended, &progress).inspect_err(|_| leave_alone(&state, process))?,
        Err(job) => py.detach(job),
    }
    result
        .take()
        .ok_or_else(|| UsmError::new_err("an operation completed without a result; this is a bug of usm"))
}

/// Says at the end of a job, by a panic, too, that it is complete, unless nobody waits for it any more.
struct End(Arc<AtomicU8>);

impl Drop for End {
    fn drop(&mut self) {
        if self.0.swap(COMPLETE, Ordering::AcqRel) == BROKEN_OFF {
            LEFT_ALONE.get().fetch_sub(1, Ordering::Release);
        }
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

/// A job without its types, so that one copy of the code of its thread serves all jobs.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The place of the result of a job. An error in it may be that of another operation, and is for the next wait when nobody takes it.
struct Parcel<T>(Arc<Mutex<Option<Unclaimed<T>>>>);

impl<T: Send + 'static> Parcel<T> {
    fn of(job: impl FnOnce() -> T + Send + 'static) -> (Self, Job) {
        let place = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&place);
        let job = move || {
            let result = Unclaimed::of(job);
            *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        (Self(place), Box::new(job))
    }

    /// The result; `None` before the end of the job, and after a panic in it.
    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(Unclaimed::claim)
    }
}

/// Counts a thread of [`elsewhere`] until it ends, by a panic, too.
struct Running;

impl Running {
    fn start() -> Self {
        RUNNING.get().fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.get().fetch_sub(1, Ordering::Release);
    }
}

/// Runs a job on another thread, whose end disconnects the channel. Gives the job back when there is no thread, or the end of the
/// interpreter waits for such threads already: daemon threads could start one after the other.
fn elsewhere(job: Job) -> Result<Receiver<()>, Job> {
    if called::is_left_behind() {
        return Err(job);
    }
    let (at_end, ended) = mpsc::channel();
    // A thread that cannot be started drops what it was to run.
    let shared = Arc::new(Mutex::new(Some(job)));
    let take = |job: &Mutex<Option<Job>>| job.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = Arc::clone(&shared);
    let running = Running::start();
    let run = move || {
        let _running = running;
        let _at_end: Sender<()> = at_end;
        if let Some(job) = take(&theirs) {
            job();
        }
    };
    match fork::spawn(thread::Builder::new().name("usm-wait".to_owned()).stack_size(STACK_BYTES), run) {
        Ok(_) => Ok(ended),
        Err(_) => take(&shared).map_or(Ok(ended), Err),
    }
}

/// Lets the end of the interpreter wait for operations and threads whose result nobody wants any more: the SYCL runtime goes down
/// after it, and must not do so under an operation or a wait. Ctrl-C ends this, too.
pub(crate) fn finish_at_exit(py: Python<'_>) -> PyResult<()> {
    let finish = wrap_pyfunction!(finish, py)?;
    imported::import(py, intern!(py, "atexit"))?.call_method1("register", (finish,)).map(drop)
}

#[pyfunction]
fn finish(py: Python<'_>) -> PyResult<()> {
    called::wait_for_calls(py)?;
    match wait_all(py, &py.detach(events_under_way)) {
        // There is nobody left to be told of a failed operation.
        Err(error) if !error.is_instance_of::<UsmError>(py) => return Err(error),
        _ => {}
    }
    called::wait_while(py, || RUNNING.get().load(Ordering::Acquire) > 0)
}

/// Runs Python's signal handlers, and maybe finalizers, in a wait.
fn handle_signals(py: Python<'_>) -> PyResult<()> {
    let _interlude = Interlude::begin();
    py.check_signals()
}

/// What the function of `usm.progress` was told of a job.
struct Report<'p> {
    progress: &'p Progress,
    started: Instant,
    told: f64,
}

impl Report<'_> {
    /// Tells how far the job is, if it is long and further than before. The function may call anything, as a signal handler may.
    fn tell(&mut self, py: Python<'_>) -> PyResult<()> {
        let part = self.progress.part().filter(|part| *part > self.told);
        let after = Duration::from_millis(PROGRESS_AFTER_MS.load(Ordering::Relaxed));
        let Some(part) = part.filter(|_| self.started.elapsed() >= after) else { return Ok(()) };
        self.told = part;
        // The module registers its function at its end. Programs without a function have not imported the module.
        let Some(tell) = TELL.get().filter(|_| !called::is_left_behind()) else { return Ok(()) };
        let _interlude = Interlude::begin();
        called::python(py, || tell.call1(py, (part,))).map(drop)
    }
}

/// `tell` of `usm._progress`.
static TELL: ForkOnce<Py<PyAny>> = ForkOnce::new();

/// _tell_progress(tell, after_ms)
///
/// Registers the function that gets the part of a job which takes longer than so many milliseconds. The first function stays.
#[pyfunction(name = "_tell_progress")]
pub(crate) fn tell_progress(tell: &Bound<'_, PyAny>, after_ms: u64) {
    TELL.get_or_init(|| tell.clone().unbind());
    PROGRESS_AFTER_MS.store(after_ms, Ordering::Relaxed);
}

/// Waits for the end of a job on another thread, with Python's signal handlers running meanwhile, and the function of `usm.progress`.
fn wait_for_end(py: Python<'_>, mut ended: Receiver<()>, progress: &Progress) -> PyResult<()> {
    let mut report = Report { progress, started: Instant::now(), told: 0.0 };
    let process = Runtime::fork_generation();
    loop {
        let (outcome, back) = py.detach(move || (ended.recv_timeout(SIGNALS), ended));
        ended = back;
        match outcome {
            Err(RecvTimeoutError::Timeout) => handle_signals(py)?,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return report.tell(py),
        }
        // A signal handler or the function may fork. In the child, that thread is missing.
        let is_child = || !Runtime::is_fork_generation(process);
        if !is_child() {
            report.tell(py)?;
        }
        if is_child() {
            return Err(usm_core::Error::Forked).or_raise();
        }
    }
}

/// Waits until all events are complete, also after an error, with other Python threads running meanwhile. An exception of a signal
/// handler ends the waiting; the operations go on.
pub(crate) fn wait_all(py: Python<'_>, events: &[Event]) -> PyResult<()> {
    let wait = || {
        if ends_soon(|| events.iter().all(Event::is_complete)) {
            return Ok(Event::wait_all(events)?);
        }
        wait_long(events)
    };
    py.detach(wait).or_raise()
}

/// How guards wait for work that others have submitted: `wait_for_others_with`.
pub(crate) fn wait_in_guard(event: &Event) -> usm_memory::Result<()> {
    if !ends_soon(|| event.is_complete()) {
        return wait_long(slice::from_ref(event));
    }
    // A wait for what is complete would bring errors of other operations on the queue. They come out of waits for those.
    if event.status() == EventStatus::Complete { Ok(()) } else { Ok(event.wait()?) }
}

/// Waits for events that may take long.
fn wait_long(events: &[Event]) -> usm_memory::Result<()> {
    // A wait of the runtime cannot be ended: another thread does it.
    let theirs = events.to_vec();
    let (result, job) = Parcel::of(move || Event::wait_all(&theirs));
    run_apart(job)?;
    Ok(result.take().unwrap_or_else(|| Event::wait_all(events))?)
}

/// Runs a job that changes no memory of arrays on a thread of its own. This thread waits for it until a signal handler raises; the job goes on
/// then. `Ok` is no proof of its end: the interpreter may end before.
pub(crate) fn run_apart(job: Job) -> usm_memory::Result<()> {
    match elsewhere(job) {
        Ok(ended) => {
            // Events have no steps.
            let none = Progress::default();
            let wait = |py: Python<'_>| wait_for_end(py, ended, &none).map_err(errors::set_raised);
            if let Some(Err(())) = with_interpreter(wait) {
                return Err(usm_memory::Error::Interrupted);
            }
        }
        Err(job) => job(),
    }
    Ok(())
}

/// How host code waits for that of another thread. The interpreter is given up meanwhile, since the other thread may need it to come to
/// its end.
pub(crate) fn wait_for_operation(wait: &(dyn Fn(Duration) -> bool + Sync)) -> usm_memory::Result<()> {
    if ends_soon(|| wait(Duration::ZERO)) {
        return Ok(());
    }
    let patiently = |py: Python<'_>| loop {
        if py.detach(|| wait(SIGNALS)) {
            return Ok(());
        }
        handle_signals(py).map_err(errors::set_raised)?;
    };
    match with_interpreter(patiently) {
        Some(waited) => waited.map_err(|()| usm_memory::Error::Interrupted),
        // The interpreter ends, and the other thread may never come to its end.
        None if wait(AT_THE_END) => Ok(()),
        None => Err(usm_memory::Error::Interrupted),
    }
}
