//! What the array API's namespace can do and has.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::usm_core::Device;
use usm_array::{MAX_NDIM, default_dtypes, standard_dtypes};

use super::dtype_object;
use super::dtypes::kinds;
use super::new_memory;
use crate::errors::OrRaise;
use crate::sycl::{device_object, device_objects, runtime};

/// What the namespace can do and has, made by ``__array_namespace_info__``.
///
/// >>> import usm.tensor as ut
/// >>> ut.__array_namespace_info__().capabilities()["max dimensions"]
/// 64
#[pyclass(frozen, name = "Info", module = "usm.tensor")]
#[derive(Debug)]
pub(crate) struct NamespaceInfo;

#[pymethods]
#[allow(clippy::unused_self, reason = "methods of the standard")]
impl NamespaceInfo {
    /// A dict: ``"boolean indexing"``, ``"data-dependent shapes"``, and the largest number of axes, ``"max dimensions"``.
    fn capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("boolean indexing", true)?;
        dict.set_item("data-dependent shapes", true)?;
        dict.set_item("max dimensions", MAX_NDIM)?;
        Ok(dict)
    }

    /// The device used when none is named.
    fn default_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let runtime = runtime::get(py)?;
        device_object(py, &py.detach(|| runtime.default_device()).or_raise()?)
    }

    /// The dtypes that a device gives to what has none, by ``"real floating"``, ``"complex floating"``, ``"integral"`` and
    /// ``"indexing"``.
    #[pyo3(signature = (*, device=None))]
    fn default_dtypes<'py>(
        &self,
        py: Python<'py>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let defaults = default_dtypes(&device_of(py, device)?);
        let dict = PyDict::new(py);
        for (kind, dtype) in [
            ("real floating", defaults.real_floating),
            ("complex floating", defaults.complex_floating),
            ("integral", defaults.integral),
            ("indexing", defaults.indexing),
        ] {
            dict.set_item(kind, dtype_object(py, dtype)?)?;
        }
        Ok(dict)
    }

    /// The standard's dtypes that a device computes with, by their names: all, or those of a kind or of a tuple of kinds, as for
    /// isdtype.
    #[pyo3(signature = (*, device=None, kind=None))]
    fn dtypes<'py>(
        &self,
        py: Python<'py>,
        device: Option<&Bound<'py, PyAny>>,
        kind: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let device = device_of(py, device)?;
        let kinds = kind.map(kinds).transpose()?;
        let dict = PyDict::new(py);
        for dtype in standard_dtypes(&device) {
            if kinds.as_ref().is_none_or(|kinds| usm_array::isdtype(dtype, kinds)) {
                dict.set_item(dtype.to_string(), dtype_object(py, dtype)?)?;
            }
        }
        Ok(dict)
    }

    /// All devices, in a tuple.
    fn devices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, device_objects(py, runtime::devices(py)?)?)
    }

    fn __repr__(&self) -> &'static str {
        "<usm.tensor namespace of the array API 2025.12>"
    }
}

fn device_of(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    new_memory::device_queue(py, "device", device).map(|queue| queue.device().clone())
}

/// __array_namespace_info__()
///
/// What the namespace can do and has: `capabilities`, `default_device`, `default_dtypes`, `dtypes` and `devices`.
///
/// >>> import usm.tensor as ut
/// >>> sorted(ut.__array_namespace_info__().dtypes(device="host", kind="signed integer"))
/// ['int16', 'int32', 'int64', 'int8']
#[pyfunction]
pub(crate) fn __array_namespace_info__() -> NamespaceInfo {
    NamespaceInfo
}
