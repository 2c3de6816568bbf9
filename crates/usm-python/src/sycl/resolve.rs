//! From the many objects that may stand for a context or queue to the thing itself.

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyTuple};
use usm_array::usm_core::fork::ForkMutex;
use usm_array::usm_core::{Context, Device, FilterSelector, Queue};

use super::capsule::{self, QueueOrContext};
use super::dpctl;
use super::runtime;
use crate::errors::{
    OrRaise, OrValueError, SyclDeviceCreationError, first_line, in_place_of, type_name, wrong_type,
};

/// The meaning of an argument that selects a device, a context or a queue.
pub(crate) enum Target {
    /// A device alone.
    Device(Device),
    /// A context or queue that exists.
    Existing(QueueOrContext),
}

impl Target {
    /// The queue, or the one to use on the device or in the context when nobody gave one.
    pub(crate) fn into_queue(self, py: Python<'_>) -> PyResult<Queue> {
        match self {
            Self::Device(device) => runtime::default_queue_of(py, &device),
            Self::Existing(QueueOrContext::Queue(queue)) => Ok(queue),
            Self::Existing(QueueOrContext::Context(context)) => {
                runtime::queue_in(py, &context, &first_device(&context)?)
            }
        }
    }
}

/// A queue for memory at `address` in a place: the one given, or one on the device of the memory.
///
/// `None` when the context does not know the address.
pub(crate) fn queue_for(py: Python<'_>, place: QueueOrContext, address: usize) -> PyResult<Option<Queue>> {
    match place {
        QueueOrContext::Queue(queue) => Ok(Some(queue)),
        QueueOrContext::Context(context) => {
            let runtime = runtime::get(py)?;
            py.detach(|| runtime.queue_for(&context, address)).or_raise()
        }
    }
}

/// The context or queue that an object stands for: each form of the protocol's `syclobj`, and our own classes.
///
/// Errors are `ValueError` or `TypeError` that start with `name`: the key or argument that holds the object.
pub(crate) fn queue_or_context(name: &str, object: &Bound<'_, PyAny>) -> PyResult<QueueOrContext> {
    let found = place_of(name, object)?;
    if let QueueOrContext::Queue(queue) = &found {
        dpctl::join_default_queues(object.py(), queue)?;
    }
    Ok(found)
}

fn place_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<QueueOrContext> {
    let py = object.py();
    if let Some(queue) = dpctl::own_queue(object)? {
        return Ok(QueueOrContext::Queue(queue));
    }
    if let Some(context) = dpctl::own_context(object)? {
        return Ok(QueueOrContext::Context(context));
    }
    let runtime = runtime::get(py)?;
    if let Ok(text) = object.cast::<PyString>() {
        let selector = text.to_string_lossy().parse::<FilterSelector>().or_value_error(name)?;
        let queue = py.detach(|| runtime.select(&selector).and_then(|device| runtime.default_queue(&device)));
        return queue.map(QueueOrContext::Queue).or_value_error(name);
    }
    if let Ok(capsule) = object.cast::<PyCapsule>() {
        capsule::check_allowed(name)?;
        return capsule::import(name, capsule, runtime);
    }
    if let Some(queue) = capsule::import_host(name, object, runtime)? {
        return Ok(QueueOrContext::Queue(queue));
    }
    dpctl::place_in_capsule(name, object, runtime)?.ok_or_else(|| {
        type_error!(
            "{name}: found {}; allowed are a filter selector such as \"gpu\", a queue such as usm.SyclQueue(\"gpu\"), a device, a \
             context, a capsule named \"SyclContextRef\" or \"SyclQueueRef\", and an object whose _get_capsule() makes one",
            type_name(object)
        )
    })
}

/// What an argument names: nothing the default device, a filter string or a device that device, an object with
/// a queue that queue, anything else a context or queue.
pub(crate) fn target(py: Python<'_>, name: &str, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Target> {
    let Some(argument) = argument else {
        return runtime::default_device(py).map(Target::Device);
    };
    if let Some(queue) = own_queue(argument)? {
        return Ok(Target::Existing(QueueOrContext::Queue(queue)));
    }
    if let Some(device) = device_of(py, argument)? {
        return Ok(Target::Device(device));
    }
    // Devices of the array API, ours and dpnp's, stand for a queue.
    match argument.getattr_opt(intern!(py, "sycl_queue"))? {
        Some(queue) => queue_or_context(name, &queue).map(Target::Existing),
        None => queue_or_context(name, argument).map(Target::Existing),
    }
}

/// The queue that an object of our class or of the joint class stands for, or one of dpctl that has been here before.
fn own_queue(object: &Bound<'_, PyAny>) -> PyResult<Option<Queue>> {
    let own = dpctl::own_queue(object)?;
    if let Some(queue) = &own {
        dpctl::join_default_queues(object.py(), queue)?;
    }
    Ok(own)
}

/// Devices as Python objects.
pub(crate) fn device_objects(
    py: Python<'_>,
    devices: impl IntoIterator<Item = Device>,
) -> PyResult<Vec<Bound<'_, PyAny>>> {
    devices.into_iter().map(|device| dpctl::device_object(py, &device)).collect()
}

/// The device that a filter string selects.
fn select(py: Python<'_>, filter_string: &str) -> PyResult<Device> {
    let runtime = runtime::get(py)?;
    let selector: FilterSelector = filter_string.parse::<FilterSelector>().or_raise()?;
    py.detach(|| runtime.select(&selector)).or_raise()
}

/// The device that an object is: ours, a filter string, or a root device of dpctl, which tells its filter string.
pub(crate) fn device_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<Device>> {
    if let Some(device) = dpctl::own_device(object)? {
        return Ok(Some(device));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return select(py, &text.to_string_lossy()).map(Some);
    }
    // A sub-device of dpctl has this attribute, too, but no value for it.
    if !object.get_type().hasattr(intern!(py, "filter_string"))? {
        return Ok(None);
    }
    select(py, &object.getattr(intern!(py, "filter_string"))?.extract::<String>()?).map(Some)
}

/// The device that an argument names; the default device when there is none.
pub(crate) fn device_argument(
    py: Python<'_>,
    name: &str,
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Device> {
    let Some(argument) = argument else { return runtime::default_device(py) };
    let wrong = || wrong_type(name, argument, "are a filter string and a SyclDevice");
    device_of(py, argument)?.ok_or_else(wrong)
}

/// The queue that an object of the three classes stands for; `None` for other objects.
pub(crate) fn queue_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Queue>> {
    if let Some(queue) = own_queue(object)? {
        return Ok(Some(queue));
    }
    if !dpctl::is_their_queue(object)? {
        return Ok(None);
    }
    match queue_or_context("queue", object)? {
        QueueOrContext::Queue(queue) => Ok(Some(queue)),
        QueueOrContext::Context(_) => Ok(None),
    }
}

/// The queue to use on a device, or in a context on a device of it, when nobody gave one.
pub(crate) fn cached_queue(key: &Bound<'_, PyAny>) -> PyResult<Queue> {
    let py = key.py();
    let allowed = "are a SyclDevice, a filter string, and a tuple of a SyclContext and a SyclDevice";
    let wrong = || wrong_type("key", key, allowed);
    let Ok(pair) = key.cast::<PyTuple>() else {
        return runtime::default_queue_of(py, &device_of(py, key)?.ok_or_else(wrong)?);
    };
    let [context, device] = pair.iter().collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
    let QueueOrContext::Context(context) = queue_or_context("key[0]", &context)? else { return Err(wrong()) };
    runtime::queue_in(py, &context, &device_of(py, &device)?.ok_or_else(wrong)?)
}

/// The first device of a context.
pub(crate) fn first_device(context: &Context) -> PyResult<Device> {
    context.first_device().or_raise()
}

/// The device of arrays and memory from pickles, where it is not the one that the pickle names.
static UNPICKLED: ForkMutex<Option<String>> = ForkMutex::new(None);

/// _unpickle_on(device)
///
/// Arrays and memory from pickles come to the device of this filter selector from now on, in this process; None leaves them on the
/// device that the pickle names.
#[pyfunction(name = "_unpickle_on")]
pub(crate) fn unpickle_on(device: Option<Bound<'_, PyString>>) -> PyResult<()> {
    if let Some(device) = &device {
        queue_argument(device.py(), "device", Some(device.as_any()))?;
    }
    let device = device.map(|device| device.extract()).transpose()?;
    *UNPICKLED.lock() = device;
    Ok(())
}

/// The default queue of the device that a pickle names, or of the one of `_unpickle_on`; `instead` is what can be pickled for any
/// machine.
pub(crate) fn pickled_queue(device: &Bound<'_, PyString>, instead: &str) -> PyResult<Queue> {
    let py = device.py();
    let unpickled = UNPICKLED.lock().clone();
    let unpickled = unpickled.map(|name| PyString::new(py, &name));
    let device = unpickled.as_ref().unwrap_or(device);
    let elsewhere = in_place_of::<SyclDeviceCreationError>(py, |text| {
        SyclDeviceCreationError::new_err(format!(
            "pickle: its memory was on {}, which is not here ({}); unpickle it on a machine with that device, or \
             pickle {instead} there",
            device.to_string_lossy(),
            first_line(&text)
        ))
    });
    queue_argument(py, "device", Some(device.as_any())).map_err(elsewhere)
}

/// The queue that the argument `name` selects; the default queue without an argument.
pub(crate) fn queue_argument(
    py: Python<'_>,
    name: &str,
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Queue> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else {
        return runtime::default_device_queue(py);
    };
    target(py, name, Some(argument))?.into_queue(py)
}
