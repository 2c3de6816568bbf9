//! Python's own numbers of lists and tuples, to any depth.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CreateOptions, Dtype, Error, MAX_NDIM, Scalar, UsmArray};

use crate::errors::ToPyErr;
use crate::interrupt::{self, Pass};
use crate::number::{plain, push};

/// Numbers of any types, or all of one type as nearly always: then they need a quarter of the memory.
pub(super) enum Numbers {
    Any(Vec<Scalar>),
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    /// The shape and the numbers of a sequence that has nothing but lists, tuples, booleans, integers of 64 bits and real numbers, none
    /// of them of a subclass. `None` for all other sequences, which have to be looked at more closely.
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<(Vec<usize>, Self)>> {
        let mut shape = Vec::new();
        let mut first = object.clone();
        while let Some((len, item)) = first_item(&first) {
            shape.push(len);
            first = item;
            if shape.len() > MAX_NDIM {
                return Ok(None);
            }
        }
        let numbers = if first.is_exact_instance_of::<PyFloat>() {
            let value = |item: &Bound<'_, PyAny>| item.cast_exact::<PyFloat>().ok().map(|item| item.value());
            all(object, &shape, value)?.map(Self::Floats)
        } else if first.is_exact_instance_of::<PyInt>() {
            all(object, &shape, plain::<i64>)?.map(Self::Ints)
        } else if first.is_exact_instance_of::<PyBool>() {
            let value = |item: &Bound<'_, PyAny>| item.cast_exact::<PyBool>().ok().map(|item| item.is_true());
            all(object, &shape, value)?.map(Self::Bools)
        } else {
            return Ok(None);
        };
        let numbers = match numbers {
            Some(numbers) => Some(numbers),
            None => all(object, &shape, number)?.map(Self::Any),
        };
        Ok(numbers.map(|numbers| (shape, numbers)))
    }

    /// A row-major array of them, by default of the dtype that holds all of them.
    pub(super) fn into_array(
        self,
        py: Python<'_>,
        shape: &[usize],
        queue: &Queue,
        kind: UsmKind,
        dtype: Option<Dtype>,
    ) -> PyResult<UsmArray> {
        let (len, itemsize) = match &self {
            Self::Any(numbers) => (numbers.len(), size_of::<Scalar>()),
            Self::Bools(numbers) => (numbers.len(), size_of::<bool>()),
            Self::Ints(numbers) => (numbers.len(), size_of::<i64>()),
            Self::Floats(numbers) => (numbers.len(), size_of::<f64>()),
        };
        let pass = Pass { len, bytes: len.saturating_mul(itemsize) };
        let (queue, sizes, is_near) = (queue.clone(), shape.to_vec(), queue.device().host_reachable(kind));
        let make = move || {
            let new = CreateOptions::new(&queue, kind);
            let new = dtype.map_or(new, |dtype| new.dtype(dtype));
            match &self {
                Self::Any(numbers) => new.numbers(&sizes, numbers),
                Self::Bools(numbers) => new.numbers(&sizes, numbers),
                Self::Ints(numbers) => new.numbers(&sizes, numbers),
                Self::Floats(numbers) => new.numbers(&sizes, numbers),
            }
        };
        interrupt::run_at(py, pass, is_near, make)?.map_err(|error| number_error(&error, shape))
    }
}

/// The value of a number of any of these types.
fn number(object: &Bound<'_, PyAny>) -> Option<Scalar> {
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Some(Scalar::Float(value.value()));
    }
    if let Ok(value) = object.cast_exact::<PyBool>() {
        return Some(Scalar::Bool(value.is_true()));
    }
    plain::<i64>(object).map(|value| Scalar::Int(value.into()))
}

/// The length and the first item of a list or tuple that has one.
fn first_item<'py>(object: &Bound<'py, PyAny>) -> Option<(usize, Bound<'py, PyAny>)> {
    if let Ok(list) = object.cast_exact::<PyList>() {
        return Some((list.len(), list.get_item(0).ok()?));
    }
    let tuple = object.cast_exact::<PyTuple>().ok()?;
    Some((tuple.len(), tuple.get_item(0).ok()?))
}

/// The values of all numbers of a sequence of that shape; `None` if it has another shape, or an item has no value.
fn all<'py, T>(
    object: &Bound<'py, PyAny>,
    shape: &[usize],
    value: impl Fn(&Bound<'py, PyAny>) -> Option<T> + Copy,
) -> PyResult<Option<Vec<T>>> {
    let mut values = Vec::new();
    Ok(collect(object, shape, &mut values, value)?.then_some(values))
}

fn collect<'py, T>(
    object: &Bound<'py, PyAny>,
    shape: &[usize],
    values: &mut Vec<T>,
    value: impl Fn(&Bound<'py, PyAny>) -> Option<T> + Copy,
) -> PyResult<bool> {
    match shape {
        [] => Ok(false),
        &[len] => every(object, len, |item| {
            interrupt::check_now_and_then(item.py(), values.len())?;
            value(item).map(|value| push("obj", values, value)).transpose().map(|added| added.is_some())
        }),
        &[len, ref inner @ ..] => every(object, len, |item| collect(item, inner, values, value)),
    }
}

/// Whether the object is a list or tuple of so many items, and `holds` for each of them.
fn every<'py>(
    object: &Bound<'py, PyAny>,
    len: usize,
    mut holds: impl FnMut(&Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<bool> {
    // Counted: a signal handler may change a list meanwhile.
    let mut count = 0;
    if let Ok(list) = object.cast_exact::<PyList>() {
        for item in list.iter() {
            if !holds(&item)? {
                return Ok(false);
            }
            count += 1;
        }
    } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        for item in tuple.iter_borrowed() {
            if !holds(&item)? {
                return Ok(false);
            }
            count += 1;
        }
    }
    Ok(count == len)
}

/// The refusal of a number, which the crate below knows by its place among all of them, with its index in the argument.
pub(super) fn number_error(error: &Error, shape: &[usize]) -> PyErr {
    let Error::Number { index, source } = error else { return error.to_py_err() };
    let (mut place, mut path) = (*index, vec![0; shape.len()]);
    for (axis, &size) in shape.iter().enumerate().rev() {
        (path[axis], place) = (place % size.max(1), place / size.max(1));
    }
    let text = format!("{}: {source}", name(&path));
    Python::attach(|py| PyErr::from_type(error.to_py_err().get_type(py), text))
}

/// How messages call an item of the argument.
pub(super) fn name(path: &[usize]) -> String {
    path.iter().fold("obj".to_owned(), |name, i| format!("{name}[{i}]"))
}
