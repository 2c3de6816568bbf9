//! Elements as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyList};
use usm_array::{Scalar, UsmArray};

use crate::errors::OrRaise;
use crate::interrupt;

/// A Python number.
pub(super) fn to_python(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => match i64::try_from(value) {
            Ok(value) => value.into_pyobject(py)?.into_any(),
            Err(_) => u64::try_from(value)?.into_pyobject(py)?.into_any(),
        },
        Scalar::Float(value) => PyFloat::new(py, value).into_any(),
        Scalar::Complex(value) => PyComplex::from_doubles(py, value.re, value.im).into_any(),
        _ => return Err(pyo3::exceptions::PyTypeError::new_err("a scalar of unknown kind")),
    })
}

/// Nested lists of Python numbers; of an array without axes the number itself.
pub(super) fn to_list<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    let source = array.clone();
    let bytes = interrupt::run(py, array.size_bytes(), move || source.to_bytes())?.or_raise()?;
    nest(py, array, array.shape(), &bytes)
}

fn nest<'py>(
    py: Python<'py>,
    array: &UsmArray,
    shape: &[usize],
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&size, inner)) = shape.split_first() else {
        let value = Scalar::from_bytes(array.dtype(), bytes);
        return value.map_or_else(|| Ok(py.None().into_bound(py)), |value| to_python(py, value));
    };
    let list = PyList::empty(py);
    let step = bytes.len().checked_div(size).unwrap_or(0);
    for i in 0..size {
        interrupt::check_now_and_then(py, i)?;
        list.append(nest(py, array, inner, &bytes[i * step..(i + 1) * step])?)?;
    }
    Ok(list.into_any())
}
