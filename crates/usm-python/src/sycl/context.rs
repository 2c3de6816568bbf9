//! `SyclContext`.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::Context;

use super::capsule;
use super::device::SyclDevice;
use super::resolve::{Target, first_device, target};
use crate::errors::{OrRaise, SyclContextCreationError};

/// SyclContext(arg=None)
///
/// A SYCL context, the scope in which USM pointers have a meaning. From a device, a filter string or nothing (the default
/// device) a new context; from a context, a queue, a capsule or an object with ``_get_capsule()`` the context of that.
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
        let context = match target(py, "arg", arg)? {
            Target::Device(device) => Context::new(&[device])
                .map_err(|error| SyclContextCreationError::new_err(error.to_string()))?,
            Target::Place(place) => place.context().clone(),
        };
        Ok(Self { context })
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

    /// A new capsule "SyclContextRef" with a `sycl::context` of its own.
    ///
    /// Raises ValueError on the host backend, which has no SYCL objects.
    fn _get_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.context.to_foreign().or_raise()?, capsule::CONTEXT)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.context == other.get().context)
    }

    // Contexts have no value that is equal for equal ones and cheap to get: their first device does.
    fn __hash__(&self) -> PyResult<u64> {
        Ok(self.sycl_device()?.hash_value())
    }

    fn __repr__(&self) -> PyResult<String> {
        let devices = self.context.devices().or_raise()?;
        let names: Vec<_> = devices.iter().map(|device| device.filter_string()).collect();
        Ok(format!("<usm.SyclContext of {}>", names.join(", ")))
    }
}
