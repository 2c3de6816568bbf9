//! Python integers as Rust ones, with errors that name what they are about.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};

use crate::errors::type_name;

/// An integer, or an object with `__index__` such as a NumPy integer; not a bool.
pub(crate) fn index<'py, T>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let wrong_type =
        || PyTypeError::new_err(format!("{name}: found {}, allowed is an integer", type_name(object)));
    if object.is_instance_of::<PyBool>() {
        return Err(wrong_type());
    }
    let integer = if object.is_instance_of::<PyInt>() {
        object.clone()
    } else {
        let method = object.getattr_opt(pyo3::intern!(object.py(), "__index__"))?.ok_or_else(wrong_type)?;
        method.call0()?
    };
    integer.extract().map_err(|_| {
        let shown = integer.str().map_or_else(|_| "an integer".to_owned(), |text| text.to_string());
        let (start, rest) = shown.split_at(shown.len().min(40));
        let shown = if rest.is_empty() { shown.clone() } else { format!("{start}…") };
        PyValueError::new_err(format!("{name}: found {shown}, which is out of range for {}", range_of::<T>()))
    })
}

fn range_of<T>() -> &'static str {
    match (size_of::<T>(), std::any::type_name::<T>().starts_with('u')) {
        (8, true) => "an unsigned 64-bit integer",
        (8, false) => "a signed 64-bit integer",
        _ => "this machine",
    }
}

/// The items of a tuple or list.
pub(crate) fn sequence<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    match object.cast::<PyList>() {
        Ok(list) => Ok(list.iter().collect()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{name}: found {}, allowed is a tuple or list",
            type_name(object)
        ))),
    }
}

/// A tuple or list of integers.
pub(crate) fn index_sequence<'py, T>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let items = sequence(name, object)?;
    items.iter().enumerate().map(|(i, item)| index(&self::item(name, i), item)).collect()
}

/// How messages call an item of a sequence.
pub(crate) fn item(name: &str, i: usize) -> String {
    format!("{name}[{i}]")
}
