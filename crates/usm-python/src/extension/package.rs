//! What an extension takes from the package `usm`: its runtime and its exceptions.

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use usm_array::usm_core::Runtime;

use crate::errors::{ToPyErr, text_of};
use crate::imported;
use crate::join::{self, is_package};

/// A capsule by which extensions in Rust that link this library work on the memory of this package.
#[pyfunction]
pub(crate) fn _c_api(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    join::capsule(py, runtime(py)?)
}

/// The runtime that the package `usm` uses, with its devices and default queues: where an extension allocates.
///
/// The first call imports `usm` and joins it, unless an argument of the extension did that before. Call it before anything else of
/// `usm_array` is used without Python's objects.
///
/// ```no_run
/// use pyo3::prelude::*;
/// use usm_python::usm_array::usm_core::UsmKind;
/// use usm_python::usm_array::{Dtype, UsmArray};
/// use usm_python::{PyUsmArray, runtime, to_py_err};
///
/// #[pyfunction]
/// fn zeros(py: Python<'_>, size: usize) -> PyResult<PyUsmArray> {
///     let runtime = runtime(py)?;
///     let made = py.detach(|| {
///         let queue = runtime.default_queue(&runtime.default_device()?)?;
///         UsmArray::zeros(&queue, UsmKind::Shared, &[size], Dtype::F64)
///     });
///     made.map(PyUsmArray::from).map_err(|error| to_py_err(py, error))
/// }
/// ```
///
/// # Errors
/// `ImportError` when the package `usm` is not installed, or was built from a release too different from this one.
pub fn runtime(py: Python<'_>) -> PyResult<&'static Runtime> {
    crate::sycl::runtime::get(py)
}

/// The exception that the package raises for an error: `usm.USMAllocationError`, `ValueError`, `TypeError`, `BufferError` and so on.
#[must_use]
pub fn to_py_err(py: Python<'_>, error: impl Into<usm_array::Error>) -> PyErr {
    error_of_package(py, error.into().to_py_err())
}

/// The same exception of the package's class where its class is one of this copy.
pub(crate) fn error_of_package(py: Python<'_>, error: PyErr) -> PyErr {
    if is_package() {
        return error;
    }
    let class = error.get_type(py);
    let theirs = || -> PyResult<_> {
        let module = class.module()?;
        let is_ours = module == "usm" || module.to_str()?.starts_with("usm.");
        let theirs = is_ours.then(|| imported::import(py, &module)?.getattr(class.name()?)).transpose()?;
        Ok(theirs.map(|theirs| theirs.cast_into::<PyType>()).transpose()?)
    };
    match theirs() {
        Ok(Some(theirs)) if !theirs.is(&class) => {
            text_of(&error, py).map_or_else(|raised| raised, |text| PyErr::from_type(theirs, text))
        }
        _ => error,
    }
}
