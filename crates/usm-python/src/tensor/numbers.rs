//! Elements as Python numbers: the one of an array without axes, or all in nested lists.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use usm_array::{Scalar, SliceItem, UsmArray, Work, unravel};

use crate::errors::OrRaise;
use crate::imported;
use crate::interrupt;
use crate::number::index_sequence;
use crate::objects::UsmNdarray;

/// The one element of the array.
pub(super) fn item<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    let value = interrupt::run_here(py, Work::of_element(array), || array.item());
    to_python(py, value.or_raise()?)
}

/// The element of an index: nothing, an integer among all elements in row-major order, or a tuple or integers for the axes.
pub(super) fn item_at<'py>(
    py: Python<'py>,
    array: &UsmArray,
    index: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    if index.is_empty() {
        return item(py, array);
    }
    let mut axes: Vec<isize> = match index.len() {
        1 if index.get_item(0)?.is_instance_of::<PyTuple>() => index_sequence("index", &index.get_item(0)?)?,
        _ => index_sequence("index", index.as_any())?,
    };
    if let (&[place], true) = (&axes[..], array.ndim() != 1) {
        let size = array.size();
        let from_end = if place < 0 { size.checked_add_signed(place) } else { usize::try_from(place).ok() };
        let place = from_end.filter(|&place| place < size).ok_or_else(|| {
            PyIndexError::new_err(format!("index: found {place} for an array of {size} elements"))
        })?;
        axes = unravel(place, array.shape()).iter().map(|&index| index.cast_signed()).collect();
    }
    if axes.len() != array.ndim() {
        let (found, ndim) = (axes.len(), array.ndim());
        return Err(PyIndexError::new_err(format!(
            "index: found {found} integers for {ndim} axes, allowed is one for each, or one for all elements"
        )));
    }
    let items: Vec<SliceItem> = axes.into_iter().map(SliceItem::Index).collect();
    item(py, &array.slice(&items).or_raise()?)
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
    class: &Bound<'py, PyType>,
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

/// The element as it is, if it is an integer without axes. Python asks several functions for an index first, such as `bytes`, and
/// goes on to the buffer of the object after a `TypeError`.
pub(super) fn index<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    if !array.dtype().is_integer() || array.ndim() > 0 {
        return Err(type_error!(
            "an array of {} with {} axes is no index, allowed are integers without axes",
            array.dtype(),
            array.ndim()
        ));
    }
    scalar(py, array, &py.get_type::<PyInt>())
}

/// The element of an array without axes in a format of Python's numbers. Without a format any array as its text.
pub(super) fn format<'py>(
    array: &Bound<'py, UsmNdarray>,
    spec: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if spec.is_empty()? {
        return array.str().map(Bound::into_any);
    }
    match array.get().array().ndim() {
        0 => imported::import(py, intern!(py, "builtins"))?
            .getattr("format")?
            .call1((item(py, array.get().array())?, spec)),
        ndim => Err(type_error!(
            "format: found {:?} for an array of {ndim} axes, allowed is an empty one; numbers and arrays without axes take others",
            spec.to_string_lossy()
        )),
    }
}

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
        _ => return Err(PyTypeError::new_err("a scalar of unknown kind")),
    })
}

/// Nested lists of Python numbers; of an array without axes the number itself.
pub(super) fn to_list<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    let source = array.clone();
    let bytes = interrupt::run(py, Work::of_elements(array), move || source.to_bytes())?.or_raise()?;
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
