//! An array without axes, or with one element, as a Python number.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use usm_array::UsmArray;

use super::convert;
use crate::errors::OrRaise;

/// The one element of the array.
pub(super) fn item<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    // Host code reads one element sooner than it gives the interpreter up.
    let value =
        if array.is_host_reachable() { array.item() } else { py.detach(|| array.item()) }.or_raise()?;
    convert::to_python(py, value)
}

/// Whether the one element is true.
pub(super) fn truth(py: Python<'_>, array: &UsmArray) -> PyResult<bool> {
    match array.size() {
        1 => item(py, array)?.is_truthy(),
        0 => Err(PyValueError::new_err("the truth value of an array without elements is ambiguous")),
        found => Err(value_error!(
            "the truth value of an array of {found} elements is ambiguous: use usm.tensor.any() or usm.tensor.all()"
        )),
    }
}

/// The element of an array without axes, made a number by a Python type: ValueError for several elements, TypeError for axes.
pub(super) fn scalar<'py>(
    py: Python<'py>,
    array: &UsmArray,
    class: &Bound<'py, pyo3::types::PyType>,
) -> PyResult<Bound<'py, PyAny>> {
    let element = item(py, array)?;
    if array.ndim() > 0 {
        return Err(type_error!(
            "found an array of {} axes, allowed is one without axes: use array.item()",
            array.ndim()
        ));
    }
    if element.is_exact_instance(class) {
        return Ok(element);
    }
    class.call1((element,))
}

/// The element as it is, if it is an integer.
pub(super) fn index<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    if !matches!(array.dtype().kind(), 'i' | 'u') {
        let message = format!("an array of {} is no index, allowed are integers", array.dtype());
        return Err(PyTypeError::new_err(message));
    }
    scalar(py, array, &py.get_type::<pyo3::types::PyInt>())
}
