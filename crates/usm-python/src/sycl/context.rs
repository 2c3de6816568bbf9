//! Methods of `SyclContext`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use usm_array::usm_core::{Context, Device};

use super::classes::SyclContext;
use super::resolve::{Target, device_argument, device_objects, first_device, target};
use super::{dpctl, pickle};
use crate::errors::{OrRaise, SyclContextCreationError, instead};
use crate::number::sequence;

#[pymethods]
impl SyclContext {
    #[new]
    #[allow(clippy::new_ret_no_self, reason = "beside dpctl an object of the joint class")]
    #[pyo3(signature = (arg=None))]
    fn new<'py>(py: Python<'py>, arg: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let failed = |error: usm_array::usm_core::Error| SyclContextCreationError::new_err(error.to_string());
        let devices = match arg {
            Some(list) if list.is_instance_of::<PyList>() || list.is_instance_of::<PyTuple>() => {
                devices_of(list).map_err(instead::<SyclContextCreationError>(py))?
            }
            _ => match target(py, "arg", arg).map_err(instead::<SyclContextCreationError>(py))? {
                Target::Device(device) if device.filter_selector().is_none() => vec![device],
                Target::Device(device) => {
                    let context = py.detach(|| device.default_context()).map_err(failed)?;
                    return dpctl::own_context_object(py, &context);
                }
                Target::Existing(object) => return dpctl::own_context_object(py, object.context()),
            },
        };
        let context = py.detach(|| Context::new(&devices)).map_err(failed)?;
        dpctl::own_context_object(py, &context)
    }

    /// The first device of the context.
    #[getter]
    fn sycl_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dpctl::device_object(py, &first_device(&self.context)?)
    }

    /// All devices of the context.
    fn get_devices<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        device_objects(py, self.context.devices().or_raise()?)
    }

    /// Number of devices of the context.
    #[getter]
    fn device_count(&self) -> PyResult<usize> {
        Ok(self.context.devices().or_raise()?.len())
    }

    /// A new capsule "SyclContextRef" with a `sycl::context` of its own.
    ///
    /// Raises ValueError on the host backend, which has no SYCL objects.
    fn _get_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.capsule(py)
    }

    /// True for the same SYCL context, as an object of this package or of dpctl.
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match dpctl::own_context(other)? {
            Some(other) => Ok(slf.get().context == other),
            None => dpctl::is_their_context(other, slf.hash()?),
        }
    }

    fn __hash__(&self) -> u64 {
        self.context.hash_value()
    }

    /// A pickle has the devices. The default context of a device is that again; another context is a new one.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<pickle::Reduced<'py>> {
        pickle::context(py, &self.context)
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Name of the class.
    #[getter]
    fn __name__(&self) -> &'static str {
        "SyclContext"
    }

    fn __repr__(&self) -> PyResult<String> {
        let devices = self.context.devices().or_raise()?;
        let names: Vec<_> = devices.iter().map(|device| device.filter_string()).collect();
        Ok(format!("<usm.SyclContext of {}>", names.join(", ")))
    }
}

fn devices_of(list: &Bound<'_, PyAny>) -> PyResult<Vec<Device>> {
    let items = sequence("arg", list)?;
    if items.is_empty() {
        return Err(PyTypeError::new_err("arg: found no device, allowed is at least one"));
    }
    items
        .iter()
        .enumerate()
        .map(|(i, item)| device_argument(list.py(), &format!("arg[{i}]"), Some(item)))
        .collect()
}
