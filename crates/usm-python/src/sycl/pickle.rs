//! Devices, contexts, queues and events as pickles: what another process finds or makes again.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use usm_array::usm_core::{
    Context, Device, DeviceLocation, DeviceType, Partition, Platform, Queue, QueueProperties,
};

use super::resolve::{device_argument, target};
use super::{Target, dpctl, partition, runtime};
use crate::errors::{OrRaise, SyclDeviceCreationError, ToPyErr, first_line, in_place_of};
use crate::imported;
use crate::number::sequence;
use crate::sycl::QueueOrContext;

/// What makes an object again: a function and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

fn function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    imported::import(py, intern!(py, "usm._usm"))?.getattr(name)
}

/// A device by its filter string, its PCI address and its way from the root device.
pub(crate) fn device<'py>(py: Python<'py>, device: &Device) -> PyResult<Reduced<'py>> {
    let cannot_pickle =
        |error: usm_array::usm_core::Error| PyTypeError::new_err(format!("cannot pickle {error}"));
    let DeviceLocation { root, pci_address, parts } = device.location().map_err(cannot_pickle)?;
    let parts = parts
        .iter()
        .map(|(partition, position)| (partition_object(py, partition)?, position).into_pyobject(py));
    let parts = PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?;
    // The processor of another machine does the same; a GPU with the same number may have other memory.
    let info = device.info();
    let name = (info.device_type != DeviceType::Cpu).then_some(info.name.as_str());
    Ok((function(py, "_device_from_pickle")?, (root, pci_address, parts, name).into_pyobject(py)?))
}

/// An event of an operation that is complete.
pub(crate) fn complete_event(py: Python<'_>) -> PyResult<Reduced<'_>> {
    Ok((function(py, "SyclEvent")?, PyTuple::empty(py)))
}

/// A platform by its first device.
pub(crate) fn platform<'py>(py: Python<'py>, platform: &Platform) -> PyResult<Reduced<'py>> {
    let devices = platform.devices().or_raise()?;
    let first =
        devices.first().ok_or_else(|| PyTypeError::new_err("cannot pickle a platform without devices"))?;
    Ok((function(py, "SyclPlatform")?, (dpctl::device_object(py, first)?,).into_pyobject(py)?))
}

/// A context by its devices.
pub(crate) fn context<'py>(py: Python<'py>, context: &Context) -> PyResult<Reduced<'py>> {
    let devices = context.devices().or_raise()?;
    let first = devices.first().map(Device::default_context).transpose().or_raise()?;
    let is_default = first.as_ref() == Some(context);
    let devices = if is_default { &devices[..1] } else { &devices };
    let objects =
        devices.iter().map(|device| dpctl::device_object(py, device)).collect::<PyResult<Vec<_>>>()?;
    let argument = match (is_default, objects.first()) {
        (true, Some(first)) => first.clone(),
        _ => PyList::new(py, objects)?.into_any(),
    };
    Ok((function(py, "SyclContext")?, (argument,).into_pyobject(py)?))
}

/// A queue by its device, its properties, and its context unless that is the default one.
pub(crate) fn queue<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Reduced<'py>> {
    if queue.is_external_stream() {
        return Err(PyTypeError::new_err(
            "cannot pickle a queue on a stream of another library, which belongs to its process; pickle queue.sycl_device",
        ));
    }
    let device = queue.device();
    let is_default = *queue == runtime::default_queue_of(py, device)?;
    let context = match *queue.context() == device.default_context().or_raise()? {
        true => None,
        false => Some(dpctl::context_object(py, queue.context())?),
    };
    let QueueProperties { in_order, profiling, .. } = queue.properties();
    let state = (dpctl::device_object(py, device)?, context, in_order, profiling, is_default);
    Ok((function(py, "_queue_from_pickle")?, state.into_pyobject(py)?))
}

fn partition_object<'py>(py: Python<'py>, partition: &Partition) -> PyResult<Bound<'py, PyAny>> {
    Ok(match partition {
        Partition::Equally(units) => units.into_pyobject(py)?.into_any(),
        Partition::ByCounts(counts) => PyList::new(py, counts)?.into_any(),
        Partition::ByAffinity(domain) => domain.to_string().into_pyobject(py)?.into_any(),
    })
}

/// _device_from_pickle(root, pci_address, parts, name=None)
///
/// The device with that filter string, or at that PCI address, or one of its parts: how pickles are read. A device with another name is
/// another device.
///
/// >>> from usm._usm import _device_from_pickle
/// >>> _device_from_pickle("host:cpu:0", None, []).filter_string
/// 'host:cpu:0'
#[pyfunction]
#[pyo3(name = "_device_from_pickle", signature = (root, pci_address, parts, name=None))]
pub(crate) fn device_from_pickle<'py>(
    py: Python<'py>,
    root: String,
    pci_address: Option<String>,
    parts: &Bound<'py, PyAny>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let parts = sequence("parts", parts)?.into_iter().map(|part| {
        let (partition, position) = part.extract::<(Bound<'_, PyAny>, usize)>()?;
        Ok((partition::argument("parts", &partition)?, position))
    });
    let location = DeviceLocation { root, pci_address, parts: parts.collect::<PyResult<_>>()? };
    let runtime = runtime::get(py)?;
    let found = py.detach(|| runtime.device_at(&location)).map_err(|error| error.to_py_err());
    let missing = in_place_of::<SyclDeviceCreationError>(py, |text| {
        SyclDeviceCreationError::new_err(format!(
            "pickle: its device is not here: {}; unpickle it on a machine with that device",
            first_line(&text)
        ))
    });
    let found = found.map_err(missing)?;
    match name.filter(|name| *name != found.info().name) {
        None => dpctl::device_object(py, &found),
        Some(name) => Err(SyclDeviceCreationError::new_err(format!(
            "pickle: its device is not here: found {:?} as {}, allowed is {name:?}; the selectors of both processes must number \
             the same devices",
            found.info().name,
            location.root,
        ))),
    }
}

/// _queue_from_pickle(device, context, in_order, profiling, is_default)
///
/// The default queue of a device, or a new one: how pickles are read.
///
/// >>> import usm
/// >>> from usm._usm import _queue_from_pickle
/// >>> _queue_from_pickle(usm.SyclDevice("host"), None, True, False, False).is_in_order
/// True
#[pyfunction]
#[pyo3(name = "_queue_from_pickle")]
pub(crate) fn queue_from_pickle<'py>(
    py: Python<'py>,
    device: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    in_order: bool,
    profiling: bool,
    is_default: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let device = device_argument(py, "device", Some(device))?;
    if is_default {
        return dpctl::own_queue_object(py, &runtime::default_queue_of(py, &device)?);
    }
    let context = match context.map(|context| target(py, "context", Some(context))).transpose()? {
        Some(Target::Existing(QueueOrContext::Context(context))) => context,
        _ => device.default_context().or_raise()?,
    };
    let mut properties = QueueProperties::OUT_OF_ORDER.with_profiling(profiling);
    properties.in_order = in_order;
    let queue = py.detach(|| context.create_queue(&device, properties)).or_raise()?;
    dpctl::own_queue_object(py, &queue)
}
