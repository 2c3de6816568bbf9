//! Python's own numbers of lists and tuples, to any depth.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyList, PyTuple};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CreateOptions, Dtype, Error, NumberList, ReadNumbers, UsmArray, Work, unravel};

use crate::errors::{Raised, ToPyErr};
use crate::interrupt;
use crate::number::plain;

/// Lists, tuples, booleans, integers and real numbers of Python, none of them of a subclass.
struct PlainObjects;

impl<'py> ReadNumbers<Bound<'py, PyAny>> for PlainObjects {
    type Error = Raised;

    fn first(&self, item: &Bound<'py, PyAny>) -> Option<(usize, Bound<'py, PyAny>)> {
        if let Ok(list) = item.cast_exact::<PyList>() {
            return Some((list.len(), list.get_item(0).ok()?));
        }
        let tuple = item.cast_exact::<PyTuple>().ok()?;
        Some((tuple.len(), tuple.get_item(0).ok()?))
    }

    fn every(
        &self,
        item: &Bound<'py, PyAny>,
        len: usize,
        mut holds: impl FnMut(&Bound<'py, PyAny>) -> Result<bool, Raised>,
    ) -> Result<bool, Raised> {
        // Counted: a signal handler may change a list meanwhile.
        let mut count = 0;
        if let Ok(list) = item.cast_exact::<PyList>() {
            for item in list.iter() {
                if !holds(&item)? {
                    return Ok(false);
                }
                count += 1;
            }
        } else if let Ok(tuple) = item.cast_exact::<PyTuple>() {
            for item in tuple.iter_borrowed() {
                if !holds(&item)? {
                    return Ok(false);
                }
                count += 1;
            }
        }
        Ok(count == len)
    }

    fn boolean(&self, item: &Bound<'py, PyAny>) -> Option<bool> {
        item.cast_exact::<PyBool>().ok().map(|item| item.is_true())
    }

    fn integer(&self, item: &Bound<'py, PyAny>) -> Option<i64> {
        plain(item)
    }

    fn real(&self, item: &Bound<'py, PyAny>) -> Option<f64> {
        item.cast_exact::<PyFloat>().ok().map(|item| item.value())
    }

    fn check(&self, item: &Bound<'py, PyAny>, count: usize) -> Result<(), Raised> {
        Ok(interrupt::check_now_and_then(item.py(), count)?)
    }

    fn name(&self) -> &str {
        ARGUMENT
    }
}

/// How messages call the argument.
pub(super) const ARGUMENT: &str = "obj";

/// The shape and the numbers of a sequence that has nothing but plain lists, tuples and numbers. `None` for all other sequences, which
/// have to be looked at more closely.
pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<(Vec<usize>, NumberList)>> {
    Ok(NumberList::read(&PlainObjects, object)?)
}

/// A row-major array of numbers, by default of the dtype that holds all of them.
pub(super) fn array(
    py: Python<'_>,
    (shape, numbers): (Vec<usize>, NumberList),
    queue: &Queue,
    kind: UsmKind,
    dtype: Option<Dtype>,
) -> PyResult<UsmArray> {
    let work = Work::of_numbers(&CreateOptions::new(queue, kind), &numbers);
    let (queue, sizes) = (queue.clone(), shape.clone());
    let make = move || {
        super::super::arguments::of_dtype(CreateOptions::new(&queue, kind), dtype).numbers(&sizes, &numbers)
    };
    interrupt::run(py, work, make)?.map_err(|error| number_error(&error, &shape))
}

/// The refusal of a number, which the crate below knows by its place among all of them, with its index in the argument.
pub(super) fn number_error(error: &Error, shape: &[usize]) -> PyErr {
    let Error::Number { index, source } = error else { return error.to_py_err() };
    let text = format!("{}: {source}", name(&unravel(*index, shape)));
    Python::attach(|py| PyErr::from_type(error.to_py_err().get_type(py), text))
}

/// How messages call an item of the argument.
pub(super) fn name(path: &[usize]) -> String {
    path.iter().fold(ARGUMENT.to_owned(), |name, i| format!("{name}[{i}]"))
}
