//! New arrays.

use std::ffi::CString;

use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Axes, BufferSource, UsmArray, UsmArrayBuilder, Work};

use super::arguments;
use crate::errors::{OrRaise, in_place_of, type_name, wrong_type};
use crate::interface::import;
use crate::interrupt;
use crate::memory::kind_argument;
use crate::number::{index, index_sequence};
use crate::objects::Memory;
use crate::sycl::queue_argument;

/// The arguments of `usm_ndarray(...)`.
pub(super) struct Arguments<'a, 'py> {
    pub(super) shape: &'a Bound<'py, PyAny>,
    pub(super) dtype: Option<&'a Bound<'py, PyAny>>,
    pub(super) strides: Option<&'a Bound<'py, PyAny>>,
    pub(super) buffer: Option<&'a Bound<'py, PyAny>>,
    pub(super) offset: Option<&'a Bound<'py, PyAny>>,
    pub(super) order: &'a str,
    pub(super) buffer_ctor_kwargs: Option<&'a Bound<'py, PyDict>>,
}

/// Refuses every namespace: arrays belong to `usm.tensor`.
pub(super) fn check_namespace(array_namespace: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    array_namespace.map_or(Ok(()), |other| {
        Err(wrong_type("array_namespace", other, "is None: arrays belong to usm.tensor"))
    })
}

/// The array that the constructor's arguments describe.
pub(super) fn construct(py: Python<'_>, arguments: &Arguments<'_, '_>) -> PyResult<Box<UsmArray>> {
    let mut shape = Axes::new();
    arguments::read_shape(arguments.shape, &mut shape)?;
    let strides: Option<Vec<isize>> =
        arguments.strides.map(|strides| index_sequence("strides", strides)).transpose()?;
    let offset: Option<isize> = arguments.offset.map(|offset| index("offset", offset)).transpose()?;
    let order = arguments::order(arguments.order)?;
    let builder = |dtype, offset: Option<isize>| {
        let mut builder = UsmArray::builder(&shape, dtype).order(order);
        if let Some(strides) = &strides {
            builder = builder.strides(strides);
        }
        if let Some(offset) = offset {
            builder = builder.offset(offset);
        }
        builder
    };
    // First, since it is given most where calls are short.
    if let Some(Ok(memory)) = arguments.buffer.map(|buffer| buffer.cast::<Memory>()) {
        no_keywords(arguments)?;
        let memory = memory.get().buffer();
        let dtype = arguments::dtype(arguments.dtype, || memory.device())?;
        return builder(dtype, offset).build_boxed(BufferSource::Existing(memory.clone())).or_raise();
    }
    if let Some(buffer) = arguments.buffer
        && !buffer.is_instance_of::<PyString>()
    {
        no_keywords(arguments)?;
        let array = array_argument(buffer)?;
        let dtype = arguments::dtype(arguments.dtype, || array.device())?;
        return builder(dtype, offset).build_boxed(BufferSource::SharedWith(&array)).or_raise();
    }
    let kind = match arguments.buffer {
        None => UsmKind::Device,
        Some(text) => kind_argument("buffer", &text.cast::<PyString>()?.to_string_lossy())?,
    };
    let Options { queue, align_bytes } = Options::parse(py, arguments.buffer_ctor_kwargs)?;
    let dtype = arguments::dtype(arguments.dtype, || queue.device())?;
    // 0 is the default of dpctl: new memory then starts at the lowest element, as the specification wants.
    let mut builder = builder(dtype, offset.filter(|&offset| offset != 0));
    if let Some(align_bytes) = align_bytes {
        builder = builder.align_bytes(align_bytes);
    }
    if let Some(hint) = builder.hint_at_byte_strides() {
        let hint = CString::new(hint)?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &hint, 1)?;
    }
    in_new_memory(py, builder, kind, &queue)
}

/// An array whose elements have no particular value.
pub(super) fn in_new_memory(
    py: Python<'_>,
    builder: UsmArrayBuilder<'_>,
    kind: UsmKind,
    queue: &Queue,
) -> PyResult<Box<UsmArray>> {
    if let Some(array) = builder.build_at_once(kind, queue) {
        return Ok(array);
    }
    let build = || builder.build_boxed(BufferSource::Allocate { kind, queue });
    interrupt::run_here(py, Work::of_allocation(queue, kind), build).or_raise()
}

/// Existing memory is as it is.
fn no_keywords(arguments: &Arguments<'_, '_>) -> PyResult<()> {
    match arguments.buffer_ctor_kwargs {
        Some(kwargs) if !kwargs.is_empty() => Err(PyTypeError::new_err(
            "buffer_ctor_kwargs: allowed for new memory only, but buffer is an object",
        )),
        _ => Ok(()),
    }
}

/// The array whose memory is used.
fn array_argument<'a>(buffer: &'a Bound<'_, PyAny>) -> PyResult<import::Found<'a>> {
    import::array_of(buffer).map_err(in_place_of::<PyTypeError>(buffer.py(), |text| {
        let found = type_name(buffer);
        type_error!(
            "buffer: found {found}; allowed are \"device\", \"shared\", \"host\", memory and arrays ({text})"
        )
    }))
}

/// The keywords that are passed to the constructor of new memory.
struct Options {
    queue: Queue,
    align_bytes: Option<usize>,
}

impl Options {
    fn parse(py: Python<'_>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut queue, mut align_bytes) = (None, None);
        // A copy first: converting a value may run code that changes the dict.
        let items: Vec<_> = kwargs.into_iter().flat_map(|kwargs| kwargs.iter()).collect();
        for (key, value) in items {
            match key.extract::<String>()?.as_str() {
                "queue" => queue = Some(value),
                "alignment" => {
                    align_bytes = Some(index::<usize>("alignment", &value)?).filter(|&align| align != 0)
                }
                // New memory has nothing to copy.
                "copy" => {}
                other => {
                    return Err(type_error!(
                        "buffer_ctor_kwargs: found {other:?}, allowed are \"queue\", \"alignment\" and \"copy\""
                    ));
                }
            }
        }
        Ok(Self { queue: queue_argument(py, "queue", queue.as_ref())?, align_bytes })
    }
}
