//! Python objects beside an array: numbers, arrays of any library, nested lists.

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use usm_array::{ArrayOrScalar, Dtype, Scalar, UsmArray, check_queues};

use super::arguments;
use super::exchange::{Source, has_own_operators, is_numpy, on_host};
use crate::errors::{OrRaise, text_of};
use crate::interface::import::Found;
use crate::number::is_plain_sequence;

/// A number or an array.
#[derive(Debug)]
pub(super) enum NumberOrArray {
    Scalar(Scalar),
    // In a box, so that numbers are not as large as arrays.
    Array(Box<UsmArray>),
}

impl From<Box<UsmArray>> for NumberOrArray {
    fn from(array: Box<UsmArray>) -> Self {
        Self::Array(array)
    }
}

impl From<Found<'_>> for NumberOrArray {
    fn from(array: Found<'_>) -> Self {
        Self::Array(array.into_boxed())
    }
}

impl<'a> From<&'a NumberOrArray> for ArrayOrScalar<'a> {
    fn from(operand: &'a NumberOrArray) -> Self {
        match operand {
            NumberOrArray::Scalar(value) => Self::Scalar(*value),
            NumberOrArray::Array(array) => Self::Array(array),
        }
    }
}

impl NumberOrArray {
    /// The array, unless it is a number.
    pub(super) fn array(&self) -> Option<&UsmArray> {
        match self {
            Self::Array(array) => Some(array),
            Self::Scalar(_) => None,
        }
    }

    /// The same for elements of a dtype, to which a number is cast as Python casts.
    pub(super) fn for_dtype(self, dtype: Dtype) -> PyResult<Self> {
        match self {
            Self::Scalar(value) => value.for_dtype(dtype).map(Self::Scalar).or_raise(),
            array => Ok(array),
        }
    }

    /// A number, an object with the interface, or a plain array of NumPy, of which a copy is made; for anything else the source again.
    fn from_source<'a, 'py>(
        object: &Bound<'py, PyAny>,
        source: Source<'a, 'py>,
    ) -> PyResult<Result<Self, Source<'a, 'py>>> {
        match source {
            Source::Number(number) => return Ok(Ok(Self::Scalar(number))),
            Source::Array(array) => return Ok(Ok(array.into())),
            Source::Sequence | Source::Other => return Ok(Err(source)),
            Source::Host(_) | Source::Dlpack(_) | Source::Cuda(_) => {}
        }
        if let Some(number) = arguments::numpy_number(object)? {
            return Ok(Ok(Self::Scalar(number)));
        }
        match is_numpy(object)? && !has_own_operators(object)? {
            true => on_host(object, source, None).map(|array| Ok(array.into())),
            false => Ok(Err(source)),
        }
    }

    /// A number, an object with the interface, or an array of NumPy, of which a copy is made; `None` for anything else.
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Self::from_source(object, Source::of_operand(object)?).map(Result::ok)
    }

    /// As [`NumberOrArray::of`], to compute with an array: one in USM must be on its queue.
    pub(super) fn beside(array: &UsmArray, object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let source = Source::of_operand(object)?;
        // Copies of host memory are not where the caller put them.
        if let Source::Array(other) = &source {
            check_queues([("x1", array.into()), ("x2", (&**other).into())]).or_raise()?;
        }
        Self::from_source(object, source).map(Result::ok)
    }

    /// What is assigned to elements of a dtype: an operand, or any other object of which `asarray` makes an array.
    pub(super) fn assigned(object: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Self> {
        match Self::from_source(object, Source::of(object)?)? {
            Ok(operand) => operand.for_dtype(dtype),
            Err(source) => on_host(object, source, Some(dtype))
                .map(Self::from)
                .map_err(|error| renamed(object.py(), error, "value", None)),
        }
    }
}

/// As an index: an array of integers or booleans from nested lists, or from an array of NumPy; not USM.
pub(super) fn index_array(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Box<UsmArray>> {
    let py = object.py();
    let class = py.get_type::<PyIndexError>();
    let array = on_host(object, Source::beside_usm(object)?, None)
        .map_err(|error| renamed(py, error, name, Some(class)))?;
    // A sequence of nothing picks nothing, though its dtype is that of real numbers.
    if array.is_empty() && is_plain_sequence(object) {
        return UsmArray::from_slice::<i64>(array.queue(), array.kind(), array.shape(), &[])
            .map(Box::new)
            .or_raise();
    }
    Ok(array)
}

/// A refusal by `on_host`, which knows its argument as `obj`, as one about an argument of another name: of a class, or its own.
fn renamed(py: Python<'_>, error: PyErr, name: &str, class: Option<Bound<'_, PyType>>) -> PyErr {
    let is_refusal = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py);
    if !is_refusal {
        return error;
    }
    let text = match text_of(&error, py) {
        Ok(text) => text,
        Err(raised) => return raised,
    };
    let text = match text.strip_prefix("obj") {
        Some(rest) => format!("{name}{rest}"),
        None => format!("{name}: {text}"),
    };
    PyErr::from_type(class.unwrap_or_else(|| error.get_type(py)), text)
}
