//! Devices as pairs of numbers: the kind and the number among those of its kind.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::UsmArray;
use usm_array::dlpack::{DLDevice, DLDeviceType};

use crate::errors::{OrRaise, type_name};
use crate::interface::{index, sequence};
use crate::runtime;

/// The host.
pub(super) const CPU: DLDevice = DLDevice { device_type: DLDeviceType::CPU, device_id: 0 };

/// What `__dlpack_device__` of an array gives: a `DLDeviceType` and a number.
pub(in crate::tensor) fn device_of<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
    let runtime = runtime::get(py)?;
    let device = py.detach(|| array.dlpack_device(runtime)).or_raise()?;
    let kinds = py.import(intern!(py, "usm.tensor"))?.getattr(intern!(py, "DLDeviceType"))?;
    let kind = kinds.call1((device.device_type.0,))?;
    PyTuple::new(py, [kind, device.device_id.into_pyobject(py)?.into_any()])
}

/// A pair of numbers; members of any enumeration of integers will do.
pub(super) fn pair(name: &str, object: &Bound<'_, PyAny>) -> PyResult<DLDevice> {
    let wrong = || {
        PyTypeError::new_err(format!(
            "{name}: found {}, allowed is a tuple of a device type and a number",
            type_name(object)
        ))
    };
    let items = sequence(name, object).map_err(|_| wrong())?;
    let [kind, number] = items.as_slice() else {
        return Err(PyValueError::new_err(format!(
            "{name}: found {} items, allowed are a device type and a number",
            items.len()
        )));
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
