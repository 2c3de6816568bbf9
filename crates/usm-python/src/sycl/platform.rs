//! Methods of `SyclPlatform`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::classes::SyclPlatform;
use super::dpctl;
use super::enums::{self, Selection};
use super::resolve::{device_argument, device_objects};
use super::{listing, pickle};
use crate::errors::{OrRaise, SyclContextCreationError, instead};

#[pymethods]
impl SyclPlatform {
    #[new]
    #[pyo3(signature = (arg=None))]
    fn new(py: Python<'_>, arg: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(platform) = arg.and_then(|arg| arg.cast::<Self>().ok()) {
            return Ok(Self { platform: platform.get().platform.clone() });
        }
        let device = device_argument(py, "arg", arg).map_err(instead::<PyValueError>(py))?;
        device.platform().or_raise().map(Self::from_platform)
    }

    /// Name of the platform.
    #[getter]
    fn name(&self) -> &str {
        &self.platform.info().name
    }

    /// Vendor of the platform.
    #[getter]
    fn vendor(&self) -> &str {
        &self.platform.info().vendor
    }

    /// Version of the platform, in the form of its backend.
    #[getter]
    fn version(&self) -> &str {
        &self.platform.info().version
    }

    /// Backend of the platform, a `backend_type`.
    #[getter]
    fn backend<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        enums::backend_type(py, self.platform.info().backend_name)
    }

    /// The context over all root devices of the platform that their queues use by default.
    ///
    /// Raises SyclContextCreationError when there is none.
    #[getter]
    fn default_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let context = py.detach(|| self.platform.default_context());
        let failed = |error: usm_array::usm_core::Error| SyclContextCreationError::new_err(error.to_string());
        dpctl::own_context_object(py, &context.map_err(failed)?)
    }

    /// The root devices of the platform, of one type if `device_type` names one.
    #[pyo3(signature = (device_type=None))]
    fn get_devices<'py>(
        &self,
        py: Python<'py>,
        device_type: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let selection = Selection::parse(None, device_type)?;
        let devices = py.detach(|| self.platform.devices()).or_raise()?;
        device_objects(py, devices.into_iter().filter(|device| selection.has(device)))
    }

    /// The composite devices of the platform.
    fn get_composite_devices<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        device_objects(py, py.detach(|| self.platform.composite_devices()).or_raise()?)
    }

    /// Print name and version; with `verbosity` 1 more about the platform, with 2 about its devices, too. For another verbosity
    /// a UserWarning, and it is 0.
    #[pyo3(signature = (verbosity=None), text_signature = "($self, /, verbosity=0)")]
    fn print_platform_info(&self, py: Python<'_>, verbosity: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let verbosity = listing::verbosity(py, verbosity)?;
        listing::print(py, &listing::platform(&self.platform, verbosity)?)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.platform == other.get().platform)
    }

    fn __hash__(&self) -> u64 {
        self.platform.hash_value()
    }

    /// A pickle has the first device of the platform.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<pickle::Reduced<'py>> {
        pickle::platform(py, &self.platform)
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
        "SyclPlatform"
    }

    fn __repr__(&self) -> String {
        let info = self.platform.info();
        format!("<usm.SyclPlatform {} ({}, {}, {})>", info.backend_name, info.name, info.vendor, info.version)
    }
}
