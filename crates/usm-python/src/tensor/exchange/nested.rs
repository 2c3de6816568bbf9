//! Sequences of numbers, arrays and sequences, to any depth.

use pyo3::exceptions::{PyMemoryError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::PyRange;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{
    Casting, Conversion, CopyMode, CopyOrder, CreateOptions, Dtype, Error, Layout, MAX_NDIM, Order,
    PromotionOperand, Scalar, UsmArray, coerced_kind, default_dtypes,
};

use super::host::HostElements;
use super::numbers::{Numbers, name, number_error};
use super::source::{Source, no_elements};
use super::wanted::Wanted;
use crate::errors::{ExecutionPlacementError, OrRaise, ToPyErr, queues_differ};
use crate::interface::cuda;
use crate::interrupt;
use crate::number::{push, sequence};
use crate::sycl::runtime;
use crate::tensor::{arguments, dlpack};

/// A new array of the elements of a sequence.
pub(super) fn array<'py>(object: &Bound<'py, PyAny>, wanted: Wanted<'_, 'py>) -> PyResult<UsmArray> {
    let py = object.py();
    if let Some((shape, numbers)) = Numbers::of(object)? {
        let queue = wanted.queue_or_default(py)?;
        let kind = wanted.kind_or_default();
        let dtype = wanted.dtype_on(queue.device())?;
        let array = numbers.into_array(py, &shape, &queue, kind, dtype)?;
        return placed(py, array, wanted.order, &queue, kind);
    }
    let mut elements = Elements { is_cast: wanted.has_dtype(), ..Elements::default() };
    let shape = elements.collect(object, &mut Vec::new())?;
    let arrays: Vec<&UsmArray> = elements.arrays.iter().map(|(_, array)| &**array).collect();
    let queue = match (wanted.queue(), arrays.first()) {
        (Some(queue), _) => queue.clone(),
        (None, None) => wanted.queue_or_default(py)?,
        (None, Some(first)) => match elements.misplaced {
            Some(text) => {
                let text = format!("{text}, and sycl_queue or device says where the result is");
                return Err(ExecutionPlacementError::new_err(text));
            }
            None => first.queue().clone(),
        },
    };
    let kind = wanted.kind.or_else(|| coerced_kind(arrays.iter().map(|array| array.kind())));
    let kind = kind.unwrap_or(wanted.kind_or_default());
    let dtype = match wanted.dtype_on(queue.device())? {
        Some(dtype) => dtype,
        None => elements.dtype(&queue, kind),
    };
    let array = elements.into_array(py, &shape, &queue, kind, dtype)?;
    placed(py, array, wanted.order, &queue, kind)
}

/// The array in that order and memory.
fn placed(
    py: Python<'_>,
    array: UsmArray,
    order: CopyOrder,
    queue: &Queue,
    kind: UsmKind,
) -> PyResult<UsmArray> {
    let wanted = Conversion { kind: Some(kind), queue: Some(queue), order, ..Conversion::default() };
    if array.is_as(&wanted) {
        return Ok(array);
    }
    let is_near = array.is_host_reachable() && queue.device().host_reachable(kind);
    let convert = || array.converted(&wanted);
    interrupt::detach_unless_small(py, array.size_bytes(), is_near, convert).or_raise()
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

/// The elements in row-major order: each with its place, counted in elements.
#[derive(Default)]
struct Elements {
    numbers: Vec<Scalar>,
    number_places: Vec<usize>,
    buffers: Vec<(usize, HostElements)>,
    arrays: Vec<(usize, Box<UsmArray>)>,
    /// Name of the first array.
    first_array: String,
    /// What is wrong with the first array whose queue does not compute with that of the first one.
    misplaced: Option<String>,
    len: usize,
    /// Whether a dtype was asked for, to which numbers of NumPy are converted as those of Python.
    is_cast: bool,
}

impl Elements {
    /// Adds what is in a sequence, and tells its shape. `path` is where it is in the outermost one.
    fn collect(&mut self, object: &Bound<'_, PyAny>, path: &mut Vec<usize>) -> PyResult<Vec<usize>> {
        if path.len() >= MAX_NDIM {
            return Err(value_error!("obj: found more than {MAX_NDIM} sequences in each other"));
        }
        let items = match object.is_instance_of::<PyRange>() {
            true => numbers_of(object)?,
            false => sequence("obj", object)?,
        };
        let mut first: Option<Vec<usize>> = None;
        for (i, item) in items.iter().enumerate() {
            interrupt::check_now_and_then(object.py(), self.len)?;
            path.push(i);
            let source = Source::of(item).map_err(|error| beyond_floats(item.py(), error, path))?;
            let shape = match source {
                Source::Sequence => self.collect(item, path)?,
                source => self.add(item, source, path)?,
            };
            match &first {
                None => first = Some(shape),
                Some(expected) if *expected != shape => {
                    return Err(value_error!(
                        "{}: found shape {shape:?}, allowed is {expected:?} as of the first item",
                        name(path)
                    ));
                }
                Some(_) => {}
            }
            path.pop();
        }
        let mut shape = vec![items.len()];
        shape.extend(first.into_iter().flatten());
        Ok(shape)
    }

    /// Adds what is no sequence, and tells its shape.
    fn add(
        &mut self,
        item: &Bound<'_, PyAny>,
        source: Source<'_, '_>,
        path: &[usize],
    ) -> PyResult<Vec<usize>> {
        let place = self.len;
        let shape = match source {
            Source::Number(number) => {
                push("obj", &mut self.numbers, number)?;
                push("obj", &mut self.number_places, place)?;
                Vec::new()
            }
            Source::Host(host) => {
                if self.is_cast
                    && let Some(number) = arguments::numpy_number(item)?
                {
                    return self.add(item, Source::Number(number), path);
                }
                let elements = host.elements(&name(path), item)?;
                let shape = elements.shape().to_vec();
                push("obj", &mut self.buffers, (place, elements))?;
                shape
            }
            Source::Array(array) => self.add_array(array.into_boxed(), path)?,
            Source::Cuda(dict) => self.add_array(Box::new(cuda::import(item, &dict)?), path)?,
            Source::Dlpack(method) => {
                let array = dlpack::import(item, method, None, UsmKind::Device, CopyMode::IfNeeded)?;
                self.add_array(Box::new(array), path)?
            }
            Source::Sequence | Source::Other => return Err(no_elements(&name(path), item)),
        };
        self.len += shape.iter().product::<usize>();
        Ok(shape)
    }

    fn add_array(&mut self, array: Box<UsmArray>, path: &[usize]) -> PyResult<Vec<usize>> {
        let shape = array.shape().to_vec();
        match self.arrays.first() {
            None => self.first_array = name(path),
            Some((_, first)) if self.misplaced.is_none() && !array.queue().computes_with(first.queue()) => {
                let (found, expected) = (array.queue(), first.queue());
                self.misplaced = Some(queues_differ(&name(path), &self.first_array, found, expected));
            }
            Some(_) => {}
        }
        push("obj", &mut self.arrays, (self.len, array))?;
        Ok(shape)
    }

    /// The dtype that holds all elements.
    fn dtype(&self, queue: &Queue, kind: UsmKind) -> Dtype {
        let numbers = CreateOptions::new(queue, kind).dtype_of(&self.numbers);
        let mut dtypes: Vec<Dtype> = self.buffers.iter().map(|(_, elements)| elements.dtype).collect();
        dtypes.extend(self.arrays.iter().map(|(_, array)| array.dtype()));
        if !self.numbers.is_empty() || dtypes.is_empty() {
            dtypes.push(numbers);
        }
        match dtypes.iter().all(|dtype| *dtype == dtypes[0]) {
            true => dtypes[0],
            false => {
                let operands: Vec<PromotionOperand> = dtypes.iter().map(|&dtype| dtype.into()).collect();
                default_dtypes(queue.device()).result_type(&operands).unwrap_or(numbers)
            }
        }
    }

    fn into_array(
        self,
        py: Python<'_>,
        shape: &[usize],
        queue: &Queue,
        kind: UsmKind,
        dtype: Dtype,
    ) -> PyResult<UsmArray> {
        if self.buffers.is_empty() && self.arrays.is_empty() {
            return Numbers::Any(self.numbers).into_array(py, shape, queue, kind, Some(dtype));
        }
        // Many small pieces go to their places in host memory first, arrays by the queue where they are.
        let staging = runtime::host_queue(py)?;
        let (first_queue, first_kind) =
            if self.arrays.is_empty() { (&staging, UsmKind::Host) } else { (queue, kind) };
        let array = py.detach(|| UsmArray::empty(first_queue, first_kind, shape, dtype)).or_raise()?;
        let part = |place: usize, shape: &[usize]| {
            let layout = Layout::new(shape, None, place.cast_signed(), Order::C).or_raise()?;
            UsmArray::from_parts(array.buffer().clone(), dtype, layout, 0).or_raise()
        };
        for (place, elements) in &self.buffers {
            elements.copy_to(py, &part(*place, elements.shape())?)?;
        }
        for (place, source) in &self.arrays {
            let target = part(*place, source.shape())?;
            py.detach(|| target.assign_cast(source, Casting::Unsafe)).or_raise()?;
        }
        let new = CreateOptions::new(first_queue, first_kind).dtype(Some(dtype));
        for (&place, &number) in self.number_places.iter().zip(&self.numbers) {
            let target = part(place, &[])?;
            py.detach(|| target.assign(&new.numbers(&[], &[number])?)).map_err(|error| match error {
                Error::Number { source, .. } => number_error(&Error::Number { index: place, source }, shape),
                error => error.to_py_err(),
            })?;
        }
        Ok(array)
    }
}
