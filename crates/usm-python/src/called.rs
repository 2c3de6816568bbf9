//! Python code that we call, at the end of the interpreter.
//!
//! Before Python 3.14 the interpreter ends threads that want to run while it goes, by unwinding their stack, which aborts the process
//! where a frame of Rust is on it. So the end waits for calls of Python code that may take long, and lets no more begin.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use usm_array::usm_core::fork::PerProcess;

/// How long the end waits. Code of a user can run for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of the calls under way, and of the end. A forked child has none of the threads that call in the parent.
static STATE: PerProcess<State> = PerProcess::new(State::new());

#[derive(Default)]
struct State {
    calls: AtomicUsize,
    is_ending: AtomicBool,
    /// The thread that ends the interpreter.
    main: OnceLock<ThreadId>,
}

impl State {
    const fn new() -> Self {
        Self { calls: AtomicUsize::new(0), is_ending: AtomicBool::new(false), main: OnceLock::new() }
    }

    fn is_main_thread(&self) -> bool {
        self.main.get() == Some(&thread::current().id())
    }
}

/// A call, counted where it began: code that is called may fork.
struct Call(&'static State);

impl Call {
    fn new(state: &'static State) -> Self {
        state.calls.fetch_add(1, Ordering::Relaxed);
        Self(state)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Release);
    }
}

/// Runs code that calls Python for an import or a method of an external object.
pub(crate) fn python<T>(py: Python<'_>, call: impl FnOnce() -> T) -> T {
    // Both happen with the interpreter held, as does what `wait_for_calls` looks at.
    if is_left_behind() {
        py.detach(|| {
            loop {
                thread::park(); // as Python 3.14 has its threads do
            }
        });
    }
    let _call = Call::new(STATE.get());
    call()
}

/// Whether the interpreter ends, and not by this thread. What needs the interpreter to go on does not begin then.
pub(crate) fn is_left_behind() -> bool {
    let state = STATE.get();
    state.is_ending.load(Ordering::Relaxed) && !state.is_main_thread()
}

/// At the end of the interpreter, on its main thread.
pub(crate) fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    let state = STATE.get();
    state.main.get_or_init(|| thread::current().id());
    state.is_ending.store(true, Ordering::Relaxed);
    let begin = Instant::now();
    wait_while(py, || state.calls.load(Ordering::Acquire) > 0 && begin.elapsed() < PATIENCE)
}

/// Waits as long as the condition holds. Ctrl-C ends the waiting.
pub(crate) fn wait_while(py: Python<'_>, condition: impl Fn() -> bool) -> PyResult<()> {
    while condition() {
        py.detach(|| thread::sleep(Duration::from_millis(1)));
        py.check_signals()?;
    }
    Ok(())
}
