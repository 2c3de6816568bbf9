//! From an array of this copy to one of the package.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use usm_array::UsmArray;

use crate::imported;
use crate::interface::export;
use crate::join::is_package;
use crate::objects::UsmNdarray;

/// What the package takes the memory of an extension from, and keeps as its owner.
#[pyclass(frozen, name = "ExtensionArray", module = "usm")]
#[derive(Debug)]
struct Handover {
    array: UsmArray,
}

#[pymethods]
impl Handover {
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        export::array(py, &self.array)
    }
}

/// A `usm.tensor.usm_ndarray` of the package over the memory of `array`.
pub(super) fn hand_over(py: Python<'_>, array: UsmArray) -> PyResult<Bound<'_, PyAny>> {
    if is_package() {
        return Ok(Bound::new(py, UsmNdarray::from_array(array))?.into_any());
    }
    let asarray = imported::import(py, intern!(py, "usm.tensor"))?.getattr(intern!(py, "asarray"))?;
    asarray.call1((Bound::new(py, Handover { array })?,))
}
