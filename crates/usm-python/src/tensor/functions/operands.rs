//! Arguments of the functions: arrays, numbers, axes, shapes, memory orders.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PySequence, PyString, PyTuple};
use usm_array::{Conversion, DefaultDtypes, Dtype, Scalar, UsmArray};

use super::super::exchange::{Source, Wanted, array_from};
use super::super::operand::{NumberOrArray, index_array};
use super::super::{arguments, transfer};
use crate::errors::{reworded, text_of, wrong_type};
use crate::interface::import::{Found, array_if_usm, no_usm};
use crate::number::{index, index_sequence, is_list_or_tuple, item, sequence};
use crate::objects::UsmNdarray;

/// Any object with the interface, to work on for long. Errors start with the name of the argument.
pub(super) fn array(name: &str, object: &Bound<'_, PyAny>) -> PyResult<UsmArray> {
    found(name, object).map(Found::into_array)
}

/// As [`array`], to make views of.
pub(super) fn found<'a>(name: &str, object: &'a Bound<'_, PyAny>) -> PyResult<Found<'a>> {
    array_if_named(name, object)?.ok_or_else(|| type_error!("{name}: {}", no_usm(object)))
}

/// As [`array`], but `None` for an object without the interface.
pub(super) fn array_if_named<'a>(name: &str, object: &'a Bound<'_, PyAny>) -> PyResult<Option<Found<'a>>> {
    array_if_usm(object).map_err(|error| reworded(object.py(), error, |text| format!("{name}: {text}")))
}

/// As [`array`], as an object of ours.
pub(super) fn ours<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, UsmNdarray>> {
    match object.cast::<UsmNdarray>() {
        Ok(array) => Ok(array.clone()),
        Err(_) => Bound::new(object.py(), UsmNdarray::from_array(found(name, object)?.into_boxed())),
    }
}

/// A number as it is, or an array as an object of ours.
pub(super) fn imported<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match arguments::scalar(object)? {
        Some(_) => Ok(object.clone()),
        None => ours(name, object).map(Bound::into_any),
    }
}

/// Integers for places: an array in USM, or what indexing takes for one, in memory as that of the array that they are for.
pub(super) fn places(name: &str, object: &Bound<'_, PyAny>, beside: &UsmArray) -> PyResult<UsmArray> {
    if let Some(found) = array_if_named(name, object)? {
        return Ok(found.into_array());
    }
    if object.is_instance_of::<PyBytes>() || !Source::of(object)?.has_elements() {
        return Err(type_error!("{name}: {}", no_usm(object)));
    }
    let on_host = index_array(name, object)?;
    transfer::converted(object.py(), &on_host, &Conversion::beside(beside))
}

/// A tuple or list of arrays.
pub(super) fn arrays(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<UsmArray>> {
    numbered(name, &sequence(name, object)?)
}

/// The arrays of `*arguments`.
pub(super) fn variadic(name: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<UsmArray>> {
    numbered(name, &arguments.iter().collect::<Vec<_>>())
}

fn numbered(name: &str, objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<UsmArray>> {
    objects.iter().enumerate().map(|(i, object)| array(&item(name, i), object)).collect()
}

/// A number or an array.
pub(super) fn operand(name: &str, object: &Bound<'_, PyAny>) -> PyResult<NumberOrArray> {
    match arguments::scalar(object)? {
        Some(scalar) => Ok(NumberOrArray::Scalar(scalar)),
        None => found(name, object).map(NumberOrArray::from),
    }
}

/// A Python or NumPy number.
pub(super) fn number(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    arguments::scalar(object)?.ok_or_else(|| wrong_type(name, object, "is a number"))
}

/// A dtype, or `None` to leave it to the function.
pub(super) fn dtype(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Dtype>> {
    object.map(|object| named_dtype(name, object)).transpose()
}

/// A dtype. Python's number types are those of a device with 64-bit floats.
pub(super) fn named_dtype(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let py = object.py();
    arguments::explicit_dtype(object, &|| DefaultDtypes::WITH_FP64).map_err(|error| {
        match text_of(&error, py) {
            Ok(text) => match text.strip_prefix("dtype: ") {
                Some(rest) => reworded(py, error, |_| format!("{name}: {rest}")),
                None => error,
            },
            Err(raised) => raised,
        }
    })
}

/// Places from the main diagonal to another one, to the right of it if positive. Integers beyond every matrix count as the
/// farthest: they name a diagonal that has no elements.
#[derive(Clone, Copy)]
pub(crate) struct Diagonal(pub(super) isize);

impl Diagonal {
    pub(super) const MAIN: Self = Self(0);
}

impl<'a, 'py> FromPyObject<'a, 'py> for Diagonal {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<isize>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Self(if object.lt(0)? { isize::MIN } else { isize::MAX }))
            }
            places => places.map(Self),
        }
    }
}

/// One integer or a sequence of them.
pub(super) fn indices(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    if is_list_or_tuple(object) {
        return index_sequence(name, object);
    }
    match is_sequence(object) {
        true => index_sequence(name, object.cast::<PySequence>()?.to_list()?.as_any()),
        false => Ok(vec![index(name, object)?]),
    }
}

/// As [`indices`], or `None`.
pub(super) fn axes(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<isize>>> {
    object.map(|object| indices(name, object)).transpose()
}

/// An integer or `None`.
pub(super) fn axis(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<isize>> {
    object.map(|object| index(name, object)).transpose()
}

/// One number of at least 0, or a sequence of them.
pub(super) fn counts(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let checked = indices(name, object)?.into_iter().enumerate().map(|(i, count)| {
        usize::try_from(count).map_err(|_| {
            let name = if is_sequence(object) { item(name, i) } else { name.to_owned() };
            value_error!("{name}: found {count}, allowed are 0 and more")
        })
    });
    checked.collect()
}

/// Whether it is what Python calls a sequence, such as a `range`, but for text.
pub(super) fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    let is_one = object.is_instance_of::<PyInt>() || object.is_instance_of::<PyString>();
    is_list_or_tuple(object) || (!is_one && object.cast::<PySequence>().is_ok())
}

/// A number, an array, or what asarray makes of another object, in memory as that of another array if there is one. The numbers of a
/// sequence must fit the dtype, if there is one.
pub(super) fn value(
    name: &str,
    object: &Bound<'_, PyAny>,
    beside: Option<&UsmArray>,
    dtype: Option<Dtype>,
) -> PyResult<NumberOrArray> {
    let source =
        Source::of(object).map_err(|error| reworded(object.py(), error, |text| format!("{name}: {text}")))?;
    match source {
        Source::Number(value) => return Ok(NumberOrArray::Scalar(value)),
        Source::Array(array) => return Ok(array.into()),
        _ => {}
    }
    if let Some(value) = arguments::numpy_number(object)? {
        return Ok(NumberOrArray::Scalar(value));
    }
    let wanted = beside.map(|beside| Wanted::at(beside.queue().clone(), beside.kind())).unwrap_or_default();
    let dtype = dtype.filter(|_| matches!(source, Source::Sequence));
    array_from(object, source, wanted.of_dtype(dtype)).map(NumberOrArray::from)
}
