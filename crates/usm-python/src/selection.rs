//! Functions of the package `usm` that list and choose platforms, devices and default queues.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::{Aspects, DeviceType};

use crate::errors::{OrRaise, type_name};
use crate::number::sequence;
use crate::sycl::{
    Selection, SyclPlatform, cached_queue, describe_platform, device_object, device_objects, print,
    queue_object, runtime, verbosity as verbosity_of,
};

/// get_devices(backend="all", device_type="all")
///
/// The root devices of a backend and type, all by default: those of the SYCL runtime, then the embedded host device. The
/// arguments are names, or members of `backend_type` and `device_type`, ours or dpctl's.
///
/// >>> import usm
/// >>> [device.filter_string for device in usm.get_devices(backend="host")]
/// ['host:cpu:0']
#[pyfunction]
#[pyo3(signature = (backend=None, device_type=None), text_signature = "(backend='all', device_type='all')")]
pub(crate) fn get_devices<'py>(
    py: Python<'py>,
    backend: Option<&Bound<'py, PyAny>>,
    device_type: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let selection = Selection::parse(backend, device_type)?;
    device_objects(py, runtime::devices(py)?.into_iter().filter(|device| selection.has(device)))
}

/// get_platforms()
///
/// All platforms: those of the SYCL runtime, then those of the embedded host devices.
///
/// >>> import usm
/// >>> sum(len(platform.get_devices()) for platform in usm.get_platforms()) == usm.get_num_devices()
/// True
#[pyfunction]
pub(crate) fn get_platforms(py: Python<'_>) -> PyResult<Vec<SyclPlatform>> {
    let runtime = runtime::get(py)?;
    let platforms = py.detach(|| runtime.platforms()).or_raise()?;
    Ok(platforms.into_iter().map(SyclPlatform::from_platform).collect())
}

/// lsplatform(verbosity=0)
///
/// Print all platforms: name and version; with `verbosity` 1 more about each, with 2 about its devices, too. For another
/// verbosity a UserWarning, and it is 0.
///
/// >>> import usm
/// >>> usm.lsplatform(verbosity=2)  # doctest: +ELLIPSIS
/// Platform 0 ::
///     Name        ...
#[pyfunction]
#[pyo3(signature = (verbosity=None), text_signature = "(verbosity=0)")]
pub(crate) fn lsplatform(py: Python<'_>, verbosity: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let verbosity = verbosity_of(py, verbosity)?;
    let runtime = runtime::get(py)?;
    for (number, platform) in py.detach(|| runtime.platforms()).or_raise()?.iter().enumerate() {
        let text = describe_platform(platform, verbosity)?;
        let head = if verbosity > 0 { format!("Platform {number} ::\n") } else { String::new() };
        print(py, &(head + &text))?;
    }
    Ok(())
}

/// get_device_cached_queue(key)
///
/// The queue to use on a device when nobody gave one: in order, the same at each call. `key` is a device, a filter string, or
/// a tuple of a context and a device. The default context of a device is the one whose queue is kept.
///
/// >>> import usm
/// >>> usm.get_device_cached_queue("host") == usm.get_device_cached_queue(usm.SyclDevice("host:cpu:0"))
/// True
#[pyfunction]
pub(crate) fn get_device_cached_queue<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    queue_object(key.py(), &cached_queue(key)?)
}

/// select_default_device()
///
/// The device used when none is named: a GPU before a CPU before an accelerator of the SYCL runtime, else the host device.
///
/// >>> import usm
/// >>> usm.select_default_device() == usm.SyclDevice()
/// True
#[pyfunction]
pub(crate) fn select_default_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    device_object(py, &runtime::default_device(py)?)
}

fn select_type(py: Python<'_>, device_type: DeviceType) -> PyResult<Bound<'_, PyAny>> {
    let runtime = runtime::get(py)?;
    device_object(py, &py.detach(|| runtime.select_type(device_type)).or_raise()?)
}

/// select_cpu_device()
///
/// The CPU to use when none is named: that of the SYCL runtime before the host device.
///
/// >>> import usm
/// >>> usm.select_cpu_device().is_cpu
/// True
#[pyfunction]
pub(crate) fn select_cpu_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    select_type(py, DeviceType::Cpu)
}

/// select_gpu_device()
///
/// The GPU to use when none is named. Raises SyclDeviceCreationError when there is none.
///
/// >>> import usm
/// >>> usm.select_gpu_device().is_gpu if usm.has_gpu_devices() else True
/// True
#[pyfunction]
pub(crate) fn select_gpu_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    select_type(py, DeviceType::Gpu)
}

/// select_accelerator_device()
///
/// The accelerator to use when none is named. Raises SyclDeviceCreationError when there is none.
///
/// >>> import usm
/// >>> usm.select_accelerator_device().is_accelerator if usm.has_accelerator_devices() else True
/// True
#[pyfunction]
pub(crate) fn select_accelerator_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    select_type(py, DeviceType::Accelerator)
}

/// select_device_with_aspects(required_aspects, excluded_aspects=None)
///
/// The device to use among those that have all required aspects and none of the excluded ones. Each argument is the name of
/// an aspect or a list of names, as in ``has_aspect_fp64``.
///
/// Raises SyclDeviceCreationError when there is none, AttributeError for a name that is no aspect.
///
/// >>> import usm
/// >>> usm.select_device_with_aspects(["fp64", "usm_shared_allocations"], "custom").has_aspect_fp64
/// True
#[pyfunction]
#[pyo3(signature = (required_aspects, excluded_aspects=None))]
pub(crate) fn select_device_with_aspects<'py>(
    py: Python<'py>,
    required_aspects: &Bound<'py, PyAny>,
    excluded_aspects: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let runtime = runtime::get(py)?;
    let required = aspects("required_aspects", required_aspects)?;
    let excluded =
        excluded_aspects.map_or(Ok(Aspects::empty()), |names| aspects("excluded_aspects", names))?;
    device_object(py, &py.detach(|| runtime.select_with_aspects(required, excluded)).or_raise()?)
}

fn aspects(name: &str, argument: &Bound<'_, PyAny>) -> PyResult<Aspects> {
    let names = match argument.is_instance_of::<PyString>() {
        true => vec![argument.clone()],
        false => sequence(name, argument)?,
    };
    names.iter().enumerate().try_fold(Aspects::empty(), |set, (i, one)| {
        let Ok(text) = one.cast::<PyString>() else {
            let found = type_name(one);
            return Err(type_error!("{name}[{i}]: found {found}, allowed is a str"));
        };
        let text = text.to_string_lossy();
        // One name, where a text of none or several would be a set.
        let aspect =
            text.parse::<Aspects>().ok().filter(|set| set.iter().count() == 1 && !text.contains(','));
        aspect.map(|aspect| set | aspect).ok_or_else(|| {
            let known = Aspects::all();
            PyAttributeError::new_err(format!("{name}[{i}]: found {text:?}, allowed are {known}"))
        })
    })
}
