//! Python code that we call, at the end of the interpreter.
//!
//! Before Python 3.14 the interpreter ends threads that want to run while it goes, by unwinding their stack, which aborts the process
//! where a frame of Rust is on it. So the end waits for calls of Python code that may take long, and lets no more begin.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long the end waits. Code of a user can run for ever.
const PATIENCE: Duration = Duration::from_secs(5);

static CALLS: AtomicUsize = AtomicUsize::new(0);
static IS_ENDING: AtomicBool = AtomicBool::new(false);

struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::Release);
    }
}

/// Runs code that calls Python for an import or a method of a foreign object.
pub(crate) fn python<T>(py: Python<'_>, call: impl FnOnce() -> T) -> T {
    // Both happen with the interpreter held, as does what `wait_for_calls` looks at.
    if IS_ENDING.load(Ordering::Relaxed) && !is_main_thread() {
        py.detach(|| {
            loop {
                thread::park(); // as Python 3.14 has its threads do
            }
        });
    }
    CALLS.fetch_add(1, Ordering::Relaxed);
    let _call = Call;
    call()
}

/// At the end of the interpreter, on its main thread.
pub(crate) fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    MAIN.get_or_init(thread::current);
    IS_ENDING.store(true, Ordering::Relaxed);
    let begin = Instant::now();
    while CALLS.load(Ordering::Acquire) > 0 && begin.elapsed() < PATIENCE {
        py.detach(|| thread::sleep(Duration::from_millis(1)));
        py.check_signals()?;
    }
    Ok(())
}

static MAIN: std::sync::OnceLock<thread::Thread> = std::sync::OnceLock::new();

fn is_main_thread() -> bool {
    MAIN.get().is_some_and(|main| main.id() == thread::current().id())
}
