//! `array[key]` and `array[key] = value`.

use pyo3::exceptions::{PyException, PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyEllipsis, PyInt, PySlice, PyTuple};
use usm_array::{Casting, Cost, Error, IndexItem, SliceItem, UsmArray, Work};

use super::arguments;
use super::exchange::Source;
use super::numbers;
use super::operand::{self, NumberOrArray};
use super::slice;
use crate::errors::{OrRaise, in_place_of, type_name};
use crate::interface::import::array_if_usm;
use crate::interrupt;
use crate::number::{index, is_plain_sequence};
use crate::objects::UsmNdarray;

/// One item between the brackets, with the array that it names.
enum Item {
    Basic(SliceItem),
    Mask(bool),
    Array(Box<UsmArray>),
}

impl Item {
    fn as_index(&self) -> IndexItem<'_> {
        match self {
            Self::Basic(item) => (*item).into(),
            Self::Mask(value) => (*value).into(),
            Self::Array(array) => (&**array).into(),
        }
    }
}

/// The elements of a key: a view where it has neither arrays nor lists, otherwise a copy.
pub(super) fn get(array: &UsmArray, key: &Bound<'_, PyAny>) -> PyResult<Box<UsmArray>> {
    if key.is_exact_instance_of::<PyInt>()
        && let Ok(index) = key.extract()
    {
        return array.slice_boxed(&[SliceItem::Index(index)]).or_raise();
    }
    if let Some(view) = basic(key, |items| array.slice_boxed(items).or_raise())? {
        return Ok(view);
    }
    let items = items(key)?;
    let array = array.clone();
    interrupt::run(key.py(), work(&array, &items), move || {
        let indices: Vec<IndexItem<'_>> = items.iter().map(Item::as_index).collect();
        array.get_index(&indices).map(Box::new)
    })?
    .or_raise()
}

/// Changes the elements of a key.
pub(super) fn set(array: &UsmArray, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if !array.is_writable() {
        return Err(Error::ReadOnly).or_raise();
    }
    if basic(key, |items| set_view(array, items, value))?.is_some() {
        return Ok(());
    }
    let items = items(key)?;
    let value = NumberOrArray::assigned(value, array.dtype())?;
    let array = array.clone();
    interrupt::run(key.py(), work(&array, &items), move || {
        let indices: Vec<IndexItem<'_>> = items.iter().map(Item::as_index).collect();
        array.set_index(&indices, &value)
    })?
    .or_raise()
}

fn set_view(array: &UsmArray, items: &[SliceItem], value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let view;
    let target = match items {
        [SliceItem::Ellipsis] => array,
        _ => match array.slice(items) {
            Ok(slice) => {
                view = slice;
                &view
            }
            Err(error) => return Err(error).or_raise(),
        },
    };
    let value = match arguments::python_number(value)? {
        Some(number) => NumberOrArray::Scalar(number.for_dtype(array.dtype()).or_raise()?),
        None => {
            // Nobody has to own what no other thread works on: arrays are large.
            if let Ok(source) = value.cast::<UsmNdarray>() {
                let source = source.get().array();
                let work = Work::of_assignment(target, source);
                if work.cost() != Cost::Long {
                    let assign = || target.assign_cast(source, Casting::Unsafe);
                    return interrupt::run_here(py, work, assign).or_raise();
                }
            }
            NumberOrArray::assigned(value, array.dtype())?
        }
    };
    let work = Work::of_assignment(target, &value);
    if work.cost() != Cost::Long {
        return interrupt::run_here(py, work, || target.assign_any(&value, Casting::Unsafe)).or_raise();
    }
    let target = target.clone();
    interrupt::run(py, work, move || target.assign_any(&value, Casting::Unsafe))?.or_raise()
}

fn work(array: &UsmArray, items: &[Item]) -> Work {
    Work::of_index(array, items.iter().map(Item::as_index))
}

fn items(key: &Bound<'_, PyAny>) -> PyResult<Vec<Item>> {
    match key.cast::<PyTuple>() {
        Ok(items) => items.iter().map(|item| one(&item)).collect(),
        Err(_) => Ok(vec![one(key)?]),
    }
}

/// Does something with the items of a key without arrays and lists; `None` for other keys.
fn basic<T>(key: &Bound<'_, PyAny>, job: impl FnOnce(&[SliceItem]) -> PyResult<T>) -> PyResult<Option<T>> {
    // Few keys have more items. They are written where they stay, since to move one takes as long as to look at it.
    const INLINE: usize = 6;
    let (mut inline, mut heap) = ([SliceItem::Ellipsis; INLINE], Vec::new());
    let Ok(tuple) = key.cast::<PyTuple>() else {
        return if basic_item(key, &mut inline[0])? { job(&inline[..1]).map(Some) } else { Ok(None) };
    };
    let count = tuple.len();
    if count > INLINE {
        heap.resize(count, SliceItem::Ellipsis);
    }
    let items = if count > INLINE { &mut heap[..] } else { &mut inline[..count] };
    for (item, object) in items.iter_mut().zip(tuple.iter_borrowed()) {
        if !basic_item(&object, item)? {
            return Ok(None);
        }
    }
    job(items).map(Some)
}

/// Whether an object is an item that is no array or list, which is then written to its place.
fn basic_item(object: &Bound<'_, PyAny>, item: &mut SliceItem) -> PyResult<bool> {
    if object.is_exact_instance_of::<PyInt>() {
        *item = match object.extract() {
            Ok(index) => SliceItem::Index(index),
            Err(_) => integer(object)?,
        };
    } else if let Ok(slice) = object.cast::<PySlice>() {
        *item = slice_item(slice)?;
    } else if object.is_none() {
        *item = SliceItem::NewAxis;
    } else if object.is_instance_of::<PyEllipsis>() {
        *item = SliceItem::Ellipsis;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn one(object: &Bound<'_, PyAny>) -> PyResult<Item> {
    let mut item = SliceItem::Ellipsis;
    if basic_item(object, &mut item)? {
        return Ok(Item::Basic(item));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Item::Mask(value.is_true()));
    }
    // A tuple here is one item of the key: NumPy takes it for an array, too.
    if is_plain_sequence(object) {
        return operand::index_array("index", object).map(Item::Array);
    }
    if let Some(array) = array_if_usm(object)? {
        return one_or_several(object.py(), array.into_boxed());
    }
    if object.hasattr("__index__")? {
        match integer(object) {
            // NumPy's arrays have the method, and most of them refuse it.
            Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {}
            other => return other.map(Item::Basic),
        }
    }
    // Text is no array, though bytes have a buffer.
    let has_elements = !object.is_instance_of::<PyBytes>() && Source::beside_usm(object)?.has_elements();
    match has_elements {
        true => operand::index_array("index", object).map(Item::Array),
        false => Err(PyIndexError::new_err(format!(
            "index: found {}, allowed are integers, slices, ..., None, booleans, and arrays and sequences of integers or booleans",
            type_name(object)
        ))),
    }
}

/// An integer without axes is an integer, and its element a view.
fn one_or_several(py: Python<'_>, array: Box<UsmArray>) -> PyResult<Item> {
    if array.ndim() == 0 && array.dtype().is_integer() {
        return integer(&numbers::item(py, &array)?).map(Item::Basic);
    }
    Ok(Item::Array(array))
}

fn slice_item(slice: &Bound<'_, PySlice>) -> PyResult<SliceItem> {
    match slice::unpack(slice) {
        Ok((start, stop, step)) => {
            return Ok(SliceItem::Slice { start: Some(start), stop: Some(stop), step });
        }
        // What is wrong, in words that name it.
        Err(error) if error.is_instance_of::<PyException>(slice.py()) => {}
        // Of a signal handler, in code of the object.
        Err(error) => return Err(error),
    }
    let bound = |name: &str| {
        let bound = slice.getattr(name)?;
        if bound.is_none() { Ok(None) } else { slice_bound(name, &bound).map(Some) }
    };
    let step = bound("step")?.unwrap_or(1);
    Ok(SliceItem::Slice { start: bound("start")?, stop: bound("stop")?, step })
}

/// Bounds of slices beyond any size stop at the ends, so a huge one is as good as the largest.
fn slice_bound(name: &str, object: &Bound<'_, PyAny>) -> PyResult<isize> {
    match index::<isize>(name, object) {
        Err(error) if error.is_instance_of::<PyValueError>(object.py()) => {
            Ok(if object.lt(0)? { isize::MIN } else { isize::MAX })
        }
        other => other,
    }
}

/// Python says IndexError for an integer that no axis can have.
fn integer(object: &Bound<'_, PyAny>) -> PyResult<SliceItem> {
    let beyond = in_place_of::<PyValueError>(object.py(), PyIndexError::new_err);
    index::<isize>("index", object).map(SliceItem::Index).map_err(beyond)
}
