//! From the many objects that may stand for a context or queue to the thing itself.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};
use usm_array::usm_core::{Context, Device, FilterSelector, Queue};

use super::capsule;
use super::context::SyclContext;
use super::device::{self, SyclDevice};
use super::queue::{SyclQueue, default_queue};
use crate::errors::{OrRaise, OrValueError, type_name};
use crate::runtime;

/// Where memory is bound to: a context, perhaps with a queue.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A context alone.
    Context(Context),
    /// A queue and its context.
    Queue(Queue),
}

impl Place {
    pub(crate) fn context(&self) -> &Context {
        match self {
            Self::Context(context) => context,
            Self::Queue(queue) => queue.context(),
        }
    }

    /// A queue for memory at `address` in this place: the one given, or one on the device of the memory.
    ///
    /// `None` when the context does not know the address.
    pub(crate) fn queue_for(self, py: Python<'_>, address: usize) -> PyResult<Option<Queue>> {
        let context = match self {
            Self::Queue(queue) => return Ok(Some(queue)),
            Self::Context(context) => context,
        };
        let runtime = runtime::get(py)?;
        context
            .pointer_device(address)
            .or_raise()?
            .map(|device| queue_in(runtime, &context, &device))
            .transpose()
    }
}

fn queue_in(runtime: &usm_array::usm_core::Runtime, context: &Context, device: &Device) -> PyResult<Queue> {
    let default = runtime.default_queue(device).or_raise()?;
    if default.context() == context {
        return Ok(default);
    }
    context.create_queue(device, usm_array::usm_core::QueueProperties::IN_ORDER).or_raise()
}

/// What the `syclobj` of an interface stands for: each form of the protocol, and our own classes.
///
/// Errors are `ValueError` or `TypeError` that start with `syclobj`.
pub(crate) fn place_of(object: &Bound<'_, PyAny>) -> PyResult<Place> {
    let py = object.py();
    if let Ok(queue) = object.cast::<SyclQueue>() {
        return Ok(Place::Queue(queue.get().queue().clone()));
    }
    if let Ok(context) = object.cast::<SyclContext>() {
        return Ok(Place::Context(context.get().context().clone()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        let selector = text.to_str()?.parse::<FilterSelector>().or_value_error("syclobj")?;
        let runtime = runtime::get(py)?;
        let queue = py.detach(|| runtime.select(&selector).and_then(|device| runtime.default_queue(&device)));
        return queue.map(Place::Queue).or_value_error("syclobj");
    }
    if let Ok(capsule) = object.cast::<PyCapsule>() {
        return capsule::import(capsule);
    }
    let Some(method) = object.getattr_opt(intern!(py, "_get_capsule"))? else {
        return Err(PyTypeError::new_err(format!(
            "syclobj: found {}; allowed are a filter selector string, a context, a queue, a capsule named \
             \"SyclContextRef\" or \"SyclQueueRef\", and an object whose _get_capsule() makes one",
            type_name(object)
        )));
    };
    let made = method.call0()?;
    match made.cast::<PyCapsule>() {
        Ok(capsule) => capsule::import(capsule),
        Err(_) => Err(PyTypeError::new_err(format!(
            "syclobj: _get_capsule() of {} gave {}, allowed is a capsule named \"SyclContextRef\" or \"SyclQueueRef\"",
            type_name(object),
            type_name(&made)
        ))),
    }
}

/// The device that an argument names by itself: none given, a filter string or a device. `None` for all other objects.
pub(super) fn device_argument(
    py: Python<'_>,
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Device>> {
    let Some(argument) = argument else {
        let runtime = runtime::get(py)?;
        return Ok(Some(py.detach(|| runtime.default_device())));
    };
    if let Ok(device) = argument.cast::<SyclDevice>() {
        return Ok(Some(device.get().device().clone()));
    }
    match argument.cast::<PyString>() {
        Ok(text) => device::select(py, text.to_str()?).map(Some),
        Err(_) => Ok(None),
    }
}

/// The queue that an argument `queue`, `sycl_queue` or `device` asks for; the default queue when there is none.
pub(crate) fn queue_argument(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Queue> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return default_queue(py) };
    let runtime = runtime::get(py)?;
    if let Some(device) = device_argument(py, Some(argument))? {
        return py.detach(|| runtime.default_queue(&device)).or_raise();
    }
    match place_of(argument)? {
        Place::Queue(queue) => Ok(queue),
        Place::Context(context) => {
            let devices = context.devices().or_raise()?;
            let first =
                devices.first().ok_or_else(|| PyTypeError::new_err("queue: the context has no device"))?;
            queue_in(runtime, &context, first)
        }
    }
}
