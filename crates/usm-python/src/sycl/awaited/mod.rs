//! Events that an event loop waits for.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | a file that becomes readable when one more event is complete |
//! | `windows.rs` | no such file |

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_array::usm_core::{Completion, Event};

#[cfg(not(windows))]
use self::linux::Signal;
#[cfg(windows)]
use self::windows::Signal;
use crate::errors::OrRaise;

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

/// What usm._await waits with. On Linux it has ``fileno()``, for ``add_reader`` of an event loop.
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
        let signal = Arc::new(Signal::new()?);
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
    #[cfg(not(windows))]
    fn fileno(&self) -> PyResult<i32> {
        self.with(|open| open.signal.fileno())
    }

    /// Whether all events are complete; if not, a file becomes readable when one more is. Raises the error of an operation.
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
