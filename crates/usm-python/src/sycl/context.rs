//! `SyclContext`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use usm_array::usm_core::{Context, Device};

use super::capsule;
use super::device::{SyclDevice, device_argument};
use super::resolve::{Target, first_device, target};
use crate::errors::{OrRaise, SyclContextCreationError, instead};
use crate::interface::sequence;

/// SyclContext(arg=None)
///
/// A SYCL context, the scope in which USM pointers have a meaning. From a root device, a filter string or nothing (the default
/// device) the default context of its platform; from a sub-device, or a list of devices of one platform, a new context over
/// these; from a context, a queue, a capsule or an object with ``_get_capsule()`` the context of that.
///
/// Raises SyclContextCreationError when there is no such device, or when the devices do not belong together.
///
/// >>> import usm
/// >>> usm.SyclContext("host").device_count
/// 1
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclContext {
    context: Context,
}

impl SyclContext {
    /// Wraps a context.
    #[must_use]
    pub fn from_context(context: Context) -> Self {
        Self { context }
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }
}

#[pymethods]
impl SyclContext {
    #[new]
    #[pyo3(signature = (arg=None))]
    fn new(py: Python<'_>, arg: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let failed = |error: usm_array::usm_core::Error| SyclContextCreationError::new_err(error.to_string());
        let devices = match arg {
            Some(list) if list.is_instance_of::<PyList>() || list.is_instance_of::<PyTuple>() => {
                devices_of(list).map_err(instead::<SyclContextCreationError>(py))?
            }
            _ => match target(py, "arg", arg).map_err(instead::<SyclContextCreationError>(py))? {
                Target::Device(device) if device.filter_selector().is_none() => vec![device],
                Target::Device(device) => {
                    return py.detach(|| device.default_context()).map_err(failed).map(Self::from_context);
                }
                Target::Place(place) => return Ok(Self { context: place.context().clone() }),
            },
        };
        py.detach(|| Context::new(&devices)).map(Self::from_context).map_err(failed)
    }

    /// The first device of the context.
    #[getter]
    fn sycl_device(&self) -> PyResult<SyclDevice> {
        first_device(&self.context).map(SyclDevice::from_device)
    }

    /// All devices of the context.
    fn get_devices(&self) -> PyResult<Vec<SyclDevice>> {
        Ok(self.context.devices().or_raise()?.into_iter().map(SyclDevice::from_device).collect())
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
        capsule::export(py, self.context.to_foreign().or_raise()?, capsule::CONTEXT)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.context == other.get().context)
    }

    fn __hash__(&self) -> u64 {
        super::hash_of(&self.context.id())
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
