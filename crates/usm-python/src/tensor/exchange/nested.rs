//! Sequences of numbers, arrays and sequences, to any depth.

use pyo3::exceptions::{PyMemoryError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::PyRange;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{
    Conversion, CopyMode, CopyOrder, CreateOptions, NestedElements, NestedItem, ReadNested, UsmArray, Work,
};

use super::host::HostElements;
use super::numbers::{self, ARGUMENT, name, number_error};
use super::source::{Source, no_elements};
use super::wanted::Wanted;
use crate::errors::{ExecutionPlacementError, OrRaise, Raised, in_place_of};
use crate::interface::cuda;
use crate::interrupt;
use crate::number::sequence;
use crate::sycl::runtime;
use crate::tensor::{arguments, dlpack, transfer};

/// A new array of the elements of a sequence.
pub(super) fn array<'py>(object: &Bound<'py, PyAny>, wanted: Wanted<'_, 'py>) -> PyResult<UsmArray> {
    let py = object.py();
    if let Some(numbers) = numbers::of(object)? {
        let queue = wanted.queue_or_default(py)?;
        let kind = wanted.kind_or_default();
        let dtype = wanted.dtype_on(queue.device())?;
        let array = numbers::array(py, numbers, &queue, kind, dtype)?;
        return placed(py, &array, wanted.order, &queue, kind);
    }
    let elements = NestedElements::read(&Objects { is_cast: wanted.has_dtype() }, object)?;
    let queue = match wanted.queue() {
        Some(queue) => queue.clone(),
        None => {
            match elements.queue().or_raise().map_err(in_place_of::<ExecutionPlacementError>(py, no_place))? {
                Some(queue) => queue.clone(),
                None => wanted.queue_or_default(py)?,
            }
        }
    };
    let kind = wanted.kind.or_else(|| elements.kind()).unwrap_or(wanted.kind_or_default());
    let dtype = wanted.dtype_on(queue.device())?;
    let (shape, host) = (elements.shape().to_vec(), runtime::host_queue(py)?);
    let (on, work) = (
        queue.clone(),
        Work::of_nested(&arguments::of_dtype(CreateOptions::new(&queue, kind), dtype), &elements),
    );
    let make = move |elements: &NestedElements<HostElements>| {
        elements.to_array(&arguments::of_dtype(CreateOptions::new(&on, kind), dtype), &host)
    };
    let array = interrupt::run_on(py, work, elements, make)?;
    let array = array.map_err(|error| number_error(&error, &shape))?;
    placed(py, &array, wanted.order, &queue, kind)
}

fn no_place(text: String) -> PyErr {
    ExecutionPlacementError::new_err(format!("{text}, and sycl_queue or device says where the result is"))
}

/// The array in that order and memory.
fn placed(
    py: Python<'_>,
    array: &UsmArray,
    order: CopyOrder,
    queue: &Queue,
    kind: UsmKind,
) -> PyResult<UsmArray> {
    let wanted = Conversion { kind: Some(kind), queue: Some(queue), order, ..Conversion::default() };
    transfer::converted(py, array, &wanted)
}

/// Sequences of Python, and whatever else has elements.
struct Objects {
    /// Whether a dtype was asked for, to which numbers of NumPy are converted as those of Python.
    is_cast: bool,
}

impl<'py> ReadNested<Bound<'py, PyAny>> for Objects {
    type Elements = HostElements;
    type Error = Raised;

    fn read(&self, item: &Bound<'py, PyAny>, path: &[usize]) -> Result<NestedItem<HostElements>, Raised> {
        let source = Source::of(item).map_err(|error| beyond_floats(item.py(), error, path))?;
        Ok(match source {
            Source::Sequence => NestedItem::Sequence,
            Source::Number(number) => NestedItem::Number(number),
            Source::Host(host) => match self.is_cast.then(|| arguments::numpy_number(item)).transpose()? {
                Some(Some(number)) => NestedItem::Number(number),
                _ => NestedItem::Host(host.elements(&name(path), item)?),
            },
            Source::Array(array) => NestedItem::Array(array.into_boxed()),
            Source::Cuda(dict) => NestedItem::Array(Box::new(cuda::import(item, &dict)?)),
            Source::Dlpack(method) => {
                let array = dlpack::import(item, method, None, UsmKind::Device, CopyMode::IfNeeded)?;
                NestedItem::Array(Box::new(array))
            }
            Source::Other => return Err(no_elements(&name(path), item).into()),
        })
    }

    fn items(&self, object: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>, Raised> {
        Ok(match object.is_instance_of::<PyRange>() {
            true => numbers_of(object)?,
            false => sequence(ARGUMENT, object)?,
        })
    }

    fn check(&self, item: &Bound<'py, PyAny>, count: usize) -> Result<(), Raised> {
        Ok(interrupt::check_now_and_then(item.py(), count)?)
    }

    fn name(&self) -> &str {
        ARGUMENT
    }
}

fn numbers_of<'py>(range: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let none = || PyMemoryError::new_err(format!("obj: no host memory for the numbers of {range}"));
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(range.len().map_err(|_| none())?).map_err(|_| none())?;
    for number in range.try_iter()? {
        interrupt::check_now_and_then(range.py(), numbers.len())?;
        numbers.push(number?);
    }
    Ok(numbers)
}

/// The error of an integer that not even a float holds, with its index.
fn beyond_floats(py: Python<'_>, error: PyErr, path: &[usize]) -> PyErr {
    match error.get_type(py).is(py.get_type::<PyOverflowError>()) {
        true => PyOverflowError::new_err(format!("{}: {}", name(path), error.value(py))),
        false => error,
    }
}
