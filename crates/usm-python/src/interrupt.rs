//! Waiting for operations so that Ctrl-C gets through.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use usm_array::usm_core::{Event, Result};

use crate::errors::OrRaise;

/// Operations that end within this time are waited for without another thread.
const SHORT: Duration = Duration::from_micros(200);
/// How often Python's signal handlers get a chance.
const SIGNALS: Duration = Duration::from_millis(50);

/// Waits until all events have ended, also after an error, with other Python threads running meanwhile. An exception of a signal
/// handler ends the waiting; the operations go on.
pub(crate) fn wait_all(py: Python<'_>, events: &[Event]) -> PyResult<()> {
    let wait = || Event::wait_all(events);
    if py.detach(|| ends_soon(events)) {
        return py.detach(wait).or_raise();
    }
    // A wait of the runtime cannot be ended, and nothing else gets the errors: another thread does it.
    let (done, mut result) = mpsc::channel::<Result<()>>();
    let theirs = events.to_vec();
    let job = move || drop(done.send(Event::wait_all(&theirs)));
    if thread::Builder::new().name("usm-wait".to_owned()).spawn(job).is_err() {
        return py.detach(wait).or_raise();
    }
    loop {
        let (outcome, back) = py.detach(move || (result.recv_timeout(SIGNALS), result));
        result = back;
        match outcome {
            Ok(ended) => return ended.or_raise(),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return py.detach(wait).or_raise(),
        }
    }
}

fn ends_soon(events: &[Event]) -> bool {
    let start = Instant::now();
    while !events.iter().all(Event::is_complete) {
        if start.elapsed() > SHORT {
            return false;
        }
        thread::yield_now();
    }
    true
}
