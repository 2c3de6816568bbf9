//! Devices as pairs of numbers: the kind and the number among those of its kind.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use usm_array::UsmArray;
use usm_array::dlpack::{DLDevice, DLDeviceType, device_with_number, number_of_device};

use super::caller;
use crate::errors::{OrRaise, SyclDeviceCreationError, in_place_of, wrong_type};
use crate::imported;
use crate::number::{index, sequence};
use crate::sycl::{Target, plain_device_object, runtime, target};

/// What `__dlpack_device__` of an array gives: a `DLDeviceType` and a number.
pub(in crate::tensor) fn device_of<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
    let (runtime, usable) = (runtime::get(py)?, caller::usable_devices(py, array)?);
    let device = py.detach(|| array.dlpack_device_for(usable, runtime)).or_raise()?;
    as_python(py, device)
}

fn as_python(py: Python<'_>, device: DLDevice) -> PyResult<Bound<'_, PyTuple>> {
    let kinds = imported::import(py, intern!(py, "usm.tensor"))?.getattr(intern!(py, "DLDeviceType"))?;
    let kind = kinds.call1((device.device_type.0,))?;
    PyTuple::new(py, [kind, device.device_id.into_pyobject(py)?.into_any()])
}

/// A pair of numbers; members of any enumeration of integers will do.
pub(super) fn pair(name: &str, object: &Bound<'_, PyAny>) -> PyResult<DLDevice> {
    let wrong = || wrong_type(name, object, "is a tuple of a device type and a number");
    let items = sequence(name, object).map_err(in_place_of::<PyTypeError>(object.py(), |_| wrong()))?;
    let [kind, number] = items.as_slice() else {
        return Err(value_error!(
            "{name}: found {} items, allowed are a device type and a number",
            items.len()
        ));
    };
    // Members of plain enumerations have their number as `value`.
    let kind = match kind.hasattr(intern!(kind.py(), "__index__"))? {
        true => kind.clone(),
        false => kind.getattr_opt(intern!(kind.py(), "value"))?.ok_or_else(wrong)?,
    };
    Ok(DLDevice {
        device_type: DLDeviceType(index(&format!("{name}[0]"), &kind)?),
        device_id: index(&format!("{name}[1]"), number)?,
    })
}

/// dldevice_to_sycl_device(dl_dev)
///
/// The root device that a pair of numbers of DLPack stands for: ``kDLOneAPI`` and the number of the device among those of the SYCL
/// runtime, ``kDLExtDev`` and its number among those of the host backend, or ``kDLCUDA`` and its number in the CUDA driver.
///
/// Raises TypeError for what is no tuple, ValueError for another kind of device, SyclDeviceCreationError for a number that none has.
///
/// >>> import usm, usm.tensor as ut
/// >>> device = usm.select_default_device()
/// >>> ut.dldevice_to_sycl_device(ut.sycl_device_to_dldevice(device)) == device
/// True
#[pyfunction]
pub(crate) fn dldevice_to_sycl_device<'py>(dl_dev: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = dl_dev.py();
    if !dl_dev.is_instance_of::<PyTuple>() {
        return Err(wrong_type("dl_dev", dl_dev, "is a tuple of a device type and a number"));
    }
    let (wanted, runtime) = (pair("dl_dev", dl_dev)?, runtime::get(py)?);
    let found = py.detach(|| device_with_number(runtime, wanted));
    let found = found.map_err(|error| {
        let message = format!("dl_dev: {error}");
        match wanted.device_type {
            kind if kind.is_cuda() => SyclDeviceCreationError::new_err(message),
            DLDeviceType::ONE_API | DLDeviceType::EXT_DEV => SyclDeviceCreationError::new_err(message),
            _ => PyValueError::new_err(message),
        }
    })?;
    plain_device_object(py, &found)
}

/// sycl_device_to_dldevice(dev)
///
/// The pair of numbers that stands for a device in DLPack: ``kDLOneAPI``, and the number of the device, or of the root device that
/// it is a part of, among those of the SYCL runtime; ``kDLExtDev`` and such a number for devices of the host backend, ``kDLCUDA`` and
/// the number in the driver for those of the CUDA backend.
///
/// Raises TypeError for what is no device.
///
/// >>> import usm, usm.tensor as ut
/// >>> ut.sycl_device_to_dldevice(usm.SyclDevice("host:cpu:0"))
/// (<DLDeviceType.kDLExtDev: 12>, 0)
#[pyfunction]
pub(crate) fn sycl_device_to_dldevice<'py>(dev: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let py = dev.py();
    let device = match dev.is_instance_of::<PyString>() {
        true => None,
        false => match target(py, "dev", Some(dev)) {
            Ok(Target::Device(device)) => Some(device),
            _ => None,
        },
    };
    let device = device.ok_or_else(|| wrong_type("dev", dev, "is a SyclDevice"))?.root().or_raise()?;
    let runtime = runtime::get(py)?;
    let number = py.detach(|| number_of_device(runtime, &device)).ok_or_else(|| {
        value_error!(
            "dev: found {}, allowed are devices of the SYCL runtime, the CUDA driver and the host backend",
            device.filter_string()
        )
    })?;
    as_python(py, number)
}
