//! Events that an event loop waits for: a file that becomes readable when they are complete.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_array::usm_core::{Completion, Event};

use crate::errors::OrRaise;

/// A pipe that has a byte from the first wake on. The thread that wakes calls no Python, so the end of the interpreter or of a loop
/// does not concern it. It keeps both ends: a write to a pipe without a reader could end the process.
struct Signal {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        // A full pipe would be readable, too.
        drop((&self.writer).write(&[1]));
    }
}

/// What usm._await waits with: an object with ``fileno()`` for ``add_reader`` of an event loop.
#[pyclass(frozen, name = "_Awaited", module = "usm._usm")]
pub(crate) struct Awaited {
    /// `None` when it is closed.
    open: Mutex<Option<OpenAwait>>,
}

struct OpenAwait {
    signal: Arc<Signal>,
    /// Those that are not known to be complete.
    completions: Vec<Completion>,
}

impl Awaited {
    pub(super) fn new(events: &[Event]) -> PyResult<Self> {
        let (reader, writer) = io::pipe()?;
        let signal = Arc::new(Signal { reader, writer });
        let completions = events.iter().map(Event::completion).collect();
        Ok(Self { open: Mutex::new(Some(OpenAwait { signal, completions })) })
    }

    fn with<T>(&self, job: impl FnOnce(&mut OpenAwait) -> T) -> PyResult<T> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_mut().map(job).ok_or_else(|| PyValueError::new_err("the file is closed"))
    }
}

#[pymethods]
impl Awaited {
    fn fileno(&self) -> PyResult<i32> {
        self.with(|open| open.signal.reader.as_raw_fd())
    }

    /// Whether all events are complete; if not, the file becomes readable when one more is. Raises the error of an operation.
    fn is_complete(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| {
            self.with(|open| {
                let waker = Waker::from(Arc::clone(&open.signal));
                let mut result = Ok(());
                let mut poll = |completion: &mut Completion| match Pin::new(completion)
                    .poll(&mut Context::from_waker(&waker))
                {
                    Poll::Pending => false,
                    Poll::Ready(output) => {
                        result = std::mem::replace(&mut result, Ok(())).and(output);
                        true
                    }
                };
                let complete: Vec<_> =
                    open.completions.extract_if(.., |completion| poll(completion)).collect();
                (complete, result.map(|()| open.completions.is_empty()))
            })
            // What is complete goes without the lock: the last event of a context may take the interpreter.
            .map(|(_complete, result)| result)
        })?
        .or_raise()
    }

    /// Ends the waiting, not the operations.
    fn close(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(open);
    }
}
