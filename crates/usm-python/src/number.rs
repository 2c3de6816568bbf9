//! Python integers as Rust ones, sequences and words, with errors that name what they are about.

use std::str::FromStr;

use pyo3::exceptions::{PyException, PyMemoryError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyRange, PyTuple};

use usm_array::usm_core::Error as CoreError;

use crate::called;
use crate::errors::{type_name, wrong_type};

/// Characters of an object that a message shows.
const MAX_SHOWN: usize = 40;

/// An integer, or an object with `__index__` such as a NumPy integer; not a bool.
pub(crate) fn index<'py, T>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let py = object.py();
    if object.is_instance_of::<PyBool>() {
        return Err(wrong_type(name, object, "is an integer"));
    }
    called::python(py, || object.extract()).map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(py) {
            return wrong_type(name, object, "is an integer");
        }
        if !error.is_instance_of::<PyOverflowError>(py) {
            return error; // raised by the object's own code
        }
        match shown(object) {
            Ok(shown) => value_error!("{name}: found {shown}, which is out of range for {}", range_of::<T>()),
            Err(error) => error,
        }
    })
}

/// An object in a message: the beginning of its text, which may be of any length, or its type where it has none. An error is that of a signal
/// handler.
#[cold]
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = match called::python(object.py(), || object.str()) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(error) if error.is_instance_of::<PyException>(object.py()) => return Ok(type_name(object)),
        Err(error) => return Err(error),
    };
    let mut short: String = text.chars().take(MAX_SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Ok(short)
}

fn range_of<T>() -> &'static str {
    match (size_of::<T>(), std::any::type_name::<T>().starts_with('u')) {
        (8, true) => "an unsigned 64-bit integer",
        (8, false) => "a signed 64-bit integer",
        _ => "this machine",
    }
}

#[cold]
fn no_memory(name: &str, len: usize) -> PyErr {
    PyMemoryError::new_err(format!("{name}: no host memory for more than {len} of its items"))
}

/// The items of a tuple or list.
pub(crate) fn sequence<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut items = Vec::new();
    if let Ok(tuple) = object.cast::<PyTuple>() {
        items.try_reserve_exact(tuple.len()).map_err(|_| no_memory(name, 0))?;
        items.extend(tuple.iter());
    } else if let Ok(list) = object.cast::<PyList>() {
        items.try_reserve_exact(list.len()).map_err(|_| no_memory(name, 0))?;
        items.extend(list.iter());
    } else {
        return Err(wrong_type(name, object, "is a tuple or list"));
    }
    Ok(items)
}

/// A tuple or list of integers.
pub(crate) fn index_sequence<'py, T>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    // Python's own integers in a tuple, as nearly always: none of them runs code that could change anything.
    if let Ok(tuple) = object.cast::<PyTuple>() {
        let values: Option<Vec<T>> = tuple.iter_borrowed().map(|item| plain(&item)).collect();
        if let Some(values) = values {
            return Ok(values);
        }
    }
    let items = sequence(name, object)?;
    let one = |(i, item): (usize, &Bound<'py, PyAny>)| match plain(item) {
        Some(value) => Ok(value),
        None => index(&self::item(name, i), item),
    };
    items.iter().enumerate().map(one).collect()
}

/// Whether it is a list or tuple.
pub(crate) fn is_list_or_tuple(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

/// Whether it is a list, tuple or range, whose items are taken for elements.
pub(crate) fn is_plain_sequence(object: &Bound<'_, PyAny>) -> bool {
    is_list_or_tuple(object) || object.is_instance_of::<PyRange>()
}

/// The value of an integer of Python's own that is in range.
pub(crate) fn plain<'py, T>(object: &Bound<'py, PyAny>) -> Option<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    if object.is_exact_instance_of::<PyInt>() { object.extract().ok() } else { None }
}

/// How messages call an item of a sequence.
pub(crate) fn item(name: &str, i: usize) -> String {
    format!("{name}[{i}]")
}

/// What one of several words means.
pub(crate) fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> PyResult<T> {
    let meaning = words.iter().find(|(word, _)| *word == text).map(|&(_, meaning)| meaning);
    meaning.ok_or_else(|| unknown(name, text, words.iter().map(|(word, _)| *word)))
}

/// The value that a text stands for.
pub(crate) fn of_text<T: FromStr<Err = CoreError>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| match error {
        CoreError::UnknownText { allowed, .. } => unknown(name, text, allowed.iter().copied()),
        other => value_error!("{name}: {other}"),
    })
}

fn unknown<'a>(name: &str, text: &str, allowed: impl Iterator<Item = &'a str>) -> PyErr {
    let words = allowed.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let words = words.rsplit_once(", ").map_or(words.clone(), |(first, last)| format!("{first} and {last}"));
    value_error!("{name}: found {text:?}, allowed are {words}")
}
