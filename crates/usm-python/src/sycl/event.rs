//! `SyclEvent`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use usm_array::usm_core::{Error, Event, EventStatus, ProfilingTimes};
use usm_array::usm_memory::{self, flight};

use super::awaited::Awaited;
use super::resolve::first_device;
use super::runtime;
use super::{enums, pickle};
use crate::errors::{OrRaise, in_place_of, wrong_type};
use crate::imported;
use crate::interrupt;
use crate::number::sequence;

/// SyclEvent(arg=None)
///
/// The completion of an operation. Without an argument a complete one; with an event the same one.
///
/// What an operation works on stays until it is complete, whether or not its event is kept. USM remembers the operation, and whoever reads
/// or writes it afterwards comes later. Objects with the buffer protocol are let go when an event or queue is waited for after the
/// completion, when the event is dropped or asked for its status, or when the next operation is submitted.
///
/// >>> import usm, usm.memory
/// >>> queue = usm.SyclQueue("host")
/// >>> memory = usm.memory.MemoryUSMDevice(4, queue=queue)
/// >>> event = queue.memcpy_async(memory, b"abcd", 4)
/// >>> event.wait()
/// >>> memory.tobytes()
/// b'abcd'
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Clone)]
pub struct SyclEvent {
    /// The operation is complete when these are: the events of its steps, the last one first.
    events: Vec<Event>,
}

impl SyclEvent {
    /// Wraps an event without its operands. The submitter keeps them.
    #[must_use]
    pub fn from_event(event: Event) -> Self {
        Self { events: vec![event] }
    }

    /// An operation that is complete.
    pub(crate) fn complete() -> Self {
        Self { events: Vec::new() }
    }

    /// Of an operation whose steps have these events, the last one first.
    pub(crate) fn of_steps(events: Vec<Event>) -> Self {
        Self { events }
    }

    /// The events after which the operation is complete.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    fn times(&self, py: Python<'_>) -> PyResult<ProfilingTimes> {
        let event = self.events.first().ok_or(Error::NoProfiling).or_raise()?;
        interrupt::wait_all(py, &self.events)?;
        py.detach(|| event.profiling_times()).or_raise()
    }
}

/// What an operation comes after: a list or tuple of events. Events of dpctl, which do not tell their context, are waited for.
pub(crate) fn events(name: &str, argument: &Bound<'_, PyAny>) -> PyResult<Vec<Event>> {
    let mut found = Vec::new();
    for item in sequence(name, argument)? {
        if let Ok(event) = item.cast::<SyclEvent>() {
            found.extend_from_slice(&event.get().events);
            continue;
        }
        let (py, class) = (item.py(), item.get_type());
        if !class.hasattr(intern!(py, "_get_capsule"))? || !class.hasattr(intern!(py, "execution_status"))? {
            return Err(wrong_type(name, &item, "is a list of SyclEvent"));
        }
        item.call_method0(intern!(py, "wait"))?;
    }
    Ok(found)
}

#[pymethods]
impl SyclEvent {
    #[new]
    #[pyo3(signature = (arg=None))]
    fn new(arg: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(arg) = arg else { return Ok(Self::complete()) };
        match arg.cast::<Self>() {
            Ok(event) => Ok(event.get().clone()),
            Err(_) => Err(wrong_type("arg", arg, "are None and a SyclEvent")),
        }
    }

    /// Wait until the operation is complete.
    ///
    /// Raises UsmError when it failed. Ctrl-C ends the waiting, not the operation.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let waited = interrupt::wait_all(py, &self.events);
        waited.and(py.detach(|| flight::finish(&self.events)).or_raise())
    }

    /// Wait until the operation is complete, while the running loop of asyncio runs other tasks.
    ///
    /// Raises UsmError when it failed. Cancelling ends the waiting, not the operation. The task goes on at most about 1 ms after
    /// the completion, on Windows about 16 ms.
    ///
    /// >>> import asyncio, usm, usm.memory
    /// >>> async def copied(queue, data):
    /// ...     memory = usm.memory.MemoryUSMDevice(len(data), queue=queue)
    /// ...     await queue.memcpy_async(memory, data, len(data))
    /// ...     return memory.tobytes()
    /// >>> asyncio.run(copied(usm.SyclQueue("host"), b"abcd"))
    /// b'abcd'
    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let wait =
            imported::import(py, intern!(py, "usm._await"))?.call_method1(intern!(py, "wait"), (slf,))?;
        wait.call_method0(intern!(py, "__await__"))
    }

    /// What a loop waits with.
    fn _awaited(&self) -> PyResult<Awaited> {
        Awaited::new(&self.events)
    }

    /// Wait for an event, or for a list of events, also after an error; the first error comes out.
    #[staticmethod]
    fn wait_for(event: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = event.py();
        let wrong =
            |found: &Bound<'_, PyAny>| wrong_type("event", found, "are a SyclEvent and a list of them");
        if let Ok(event) = event.cast::<Self>() {
            return event.get().wait(py);
        }
        let items = sequence("event", event).map_err(in_place_of::<PyTypeError>(py, |_| wrong(event)))?;
        let events = items.iter().map(|item| item.cast::<Self>().map_err(|_| wrong(item)));
        let events: Vec<_> = events.collect::<PyResult<_>>()?;
        events.iter().map(|event| event.get().wait(py)).fold(Ok(()), PyResult::and)
    }

    /// How far the operation is, an `event_status_type`.
    ///
    /// Raises UsmError for an operation that was recorded in a CUDA graph: it runs when the graph is launched.
    #[getter]
    fn execution_status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = py.detach(|| -> usm_memory::Result<_> {
            for event in &self.events {
                let status = event.query()?;
                if status != EventStatus::Complete {
                    return Ok(status);
                }
            }
            // A caller that sees the completion may use the host memory.
            flight::finish(&self.events)?;
            Ok(EventStatus::Complete)
        });
        enums::event_status(py, status.or_raise()?)
    }

    /// Backend of the operation's context, a `backend_type`; that of the default device for an event without an operation.
    #[getter]
    fn backend<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let device = match self.events.first() {
            Some(event) => first_device(event.context())?,
            None => {
                let runtime = runtime::get(py)?;
                py.detach(|| runtime.default_device()).or_raise()?
            }
        };
        enums::backend_type(py, device.info().backend_name)
    }

    /// The events that the operation was submitted to start after. Those that are complete may be missing.
    fn get_wait_list(&self) -> PyResult<Vec<Self>> {
        let mut found = Vec::new();
        for event in &self.events {
            found.extend(event.dependencies().or_raise()?.into_iter().map(Self::from_event));
        }
        Ok(found)
    }

    /// When the operation was submitted, in nanoseconds of the device's clock. Waits for its completion.
    ///
    /// Raises ValueError unless the queue was made with the property "enable_profiling".
    #[getter]
    fn profiling_info_submit(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.times(py)?.submit_ns)
    }

    /// When the operation started, in nanoseconds of the device's clock. Waits for its completion.
    ///
    /// Raises ValueError unless the queue was made with the property "enable_profiling".
    #[getter]
    fn profiling_info_start(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.times(py)?.start_ns)
    }

    /// When the operation completed, in nanoseconds of the device's clock. Waits for that.
    ///
    /// Raises ValueError unless the queue was made with the property "enable_profiling".
    #[getter]
    fn profiling_info_end(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.times(py)?.end_ns)
    }

    /// A pickle waits for the operation, and is a complete event: whoever gets it need not wait, and has no times of the operation.
    ///
    /// Raises UsmError when the operation failed.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<pickle::Reduced<'py>> {
        self.wait(py)?;
        pickle::complete_event(py)
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __repr__(&self) -> &'static str {
        let complete = self.events.iter().all(Event::is_complete);
        if complete { "<usm.SyclEvent, complete>" } else { "<usm.SyclEvent, under way>" }
    }
}

impl Drop for SyclEvent {
    fn drop(&mut self) {
        // Complete events go now; the others stay in the list.
        if !self.events.is_empty() && self.events.iter().all(Event::is_complete) {
            let _ = Python::try_attach(|py| py.detach(flight::sweep));
        }
    }
}
