//! From any object with the interface to an array over its memory.

use std::ops::Deref;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use usm_array::usm_core::Queue;
use usm_array::usm_memory::{Ownership, UsmBuffer};
use usm_array::{UsmArray, UsmArrayInterface, ValidInterface, queue_of_cuda_syclobj};

use super::keys;
use crate::attribute;
use crate::buffer_import::HostBuffer;
use crate::builtin::is_builtin;
use crate::called;
use crate::errors::{OrRaise, in_place_of, type_name};
use crate::held::Kept;
use crate::imported;
use crate::objects::{Memory, UsmNdarray};
use crate::sycl::{QueueOrContext, queue_for, queue_or_context, runtime};

/// What keeps imported memory alive: the producer, and its buffer where the address came from that.
///
/// Python's collector is not shown the producer. Guards, snapshots and operations hold the memory, too, from threads that do not
/// hold the interpreter, and a collector that counts references while their number changes finalises live objects. A cycle
/// through a producer is therefore kept, as one through the base of a NumPy array is.
pub(crate) struct Producer {
    object: Kept,
    _buffer: Option<HostBuffer>,
}

impl Producer {
    /// The object alone.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Self {
        Self { object: Kept::of(object), _buffer: None }
    }
}

/// The array of an object: its own, or one that was made of its interface.
pub(crate) enum Found<'a> {
    Ours(&'a UsmArray),
    Imported(Box<UsmArray>),
}

impl Deref for Found<'_> {
    type Target = UsmArray;

    fn deref(&self) -> &UsmArray {
        match self {
            Self::Ours(array) => array,
            Self::Imported(array) => array,
        }
    }
}

impl Found<'_> {
    pub(crate) fn into_array(self) -> UsmArray {
        match self {
            Self::Ours(array) => array.clone(),
            Self::Imported(array) => *array,
        }
    }

    pub(crate) fn into_boxed(self) -> Box<UsmArray> {
        match self {
            Self::Ours(array) => Box::new(array.clone()),
            Self::Imported(array) => array,
        }
    }
}

/// The array that an object is, or one over the memory of an object with `__sycl_usm_array_interface__`, without a copy.
///
/// The errors are `TypeError` or `ValueError` that starts with the key that is wrong. Nothing is kept then, and the producer is as it was.
pub(crate) fn array_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Found<'a>> {
    array_if_usm(object)?.ok_or_else(|| PyTypeError::new_err(no_usm(object)))
}

/// What is wrong with an object without the interface.
pub(crate) fn no_usm(object: &Bound<'_, PyAny>) -> String {
    format!("found {}, allowed is an object with {INTERFACE}", type_name(object))
}

/// As [`array_of`], but `None` for an object without the interface, which is looked at once.
///
/// Our own objects are not asked for it: memory that others know is waited for at each use.
pub(crate) fn array_if_usm<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Found<'a>>> {
    if let Ok(array) = object.cast::<UsmNdarray>() {
        return Ok(Some(Found::Ours(array.get().array())));
    }
    let imported = match object.cast::<Memory>() {
        Ok(memory) => Some(Box::new(memory.get().as_bytes_array()?)),
        Err(_) => interface_of(object)?.map(|dict| import_dict(object, &dict)).transpose()?,
    };
    Ok(imported.map(Found::Imported))
}

pub(crate) const INTERFACE: &str = "__sycl_usm_array_interface__";

/// The object's interface, or `None` when it has none.
fn interface_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if is_builtin(object) {
        return Ok(None);
    }
    let py = object.py();
    let found = called::python(py, || attribute::optional(object, intern!(py, INTERFACE)))?;
    let Some(found) = found else { return Ok(None) };
    match found.cast_into::<PyDict>() {
        Ok(dict) => Ok(Some(dict)),
        Err(error) => {
            Err(type_error!("{INTERFACE}: found {}, allowed is a dict", type_name(&error.into_inner())))
        }
    }
}

fn import_dict(object: &Bound<'_, PyAny>, dict: &Bound<'_, PyDict>) -> PyResult<Box<UsmArray>> {
    let py = object.py();
    let mut entries = keys::parse(dict)?;
    let mut buffer = None;
    if !entries.has_data {
        buffer = Some(address_from_buffer(object, &mut entries.interface)?);
    }
    if entries.interface.read_only && is_dpctl_memory(object)? {
        entries.interface.read_only = false;
    }
    let valid = entries.interface.validate().map_err(usm_array::Error::from).or_raise()?;
    if let Some(buffer) = &buffer {
        check_span(&valid, buffer)?;
    }
    let start = valid.span().start_address;
    let place = match cuda_queue(&entries.syclobj)? {
        Some(queue) => QueueOrContext::Queue(queue),
        None => queue_or_context("syclobj", &entries.syclobj)?,
    };
    let queue = queue_for(py, place, start)?
        .ok_or_else(|| value_error!("data: {start:#x} is not USM of the context that syclobj names"))?;
    let producer = Producer { object: Kept::of(object), _buffer: buffer };
    // SAFETY: TB1: the producer keeps the memory as long as it lives, and nobody can check the rest.
    unsafe { UsmArray::import(&valid, &queue, Arc::new(producer)) }.map(Box::new).or_raise()
}

/// The default queue of the CUDA device that exports of CUDA memory name.
fn cuda_queue(syclobj: &Bound<'_, PyAny>) -> PyResult<Option<Queue>> {
    let Ok(text) = syclobj.cast::<PyString>() else { return Ok(None) };
    // What is no text is no device either, as the other look-up tells.
    let Ok(text) = text.to_str() else { return Ok(None) };
    queue_of_cuda_syclobj(runtime::get(syclobj.py())?, text).or_raise()
}

/// Without an entry `data` the memory is that of the object's buffer.
fn address_from_buffer(object: &Bound<'_, PyAny>, interface: &mut UsmArrayInterface) -> PyResult<HostBuffer> {
    let missing = |_| {
        value_error!(
            "data: the entry is missing, and {} has no buffer of host-accessible memory to take its place",
            type_name(object)
        )
    };
    let buffer = HostBuffer::get("data", object).map_err(in_place_of::<PyTypeError>(object.py(), missing))?;
    interface.address = buffer.address() as u64;
    interface.read_only = buffer.is_read_only();
    Ok(buffer)
}

/// The elements must lie within the buffer that stands for `data`.
fn check_span(valid: &ValidInterface, buffer: &HostBuffer) -> PyResult<()> {
    if buffer.is_c_contiguous() && valid.lies_within(buffer.address(), buffer.len_bytes()) {
        return Ok(());
    }
    Err(value_error!(
        "data: the entry is missing, and the elements do not lie within the contiguous buffer of {} bytes that takes its place",
        buffer.len_bytes()
    ))
}

/// `dpctl.memory` publishes its objects as read-only although they are writable. They, and only they, are taken as writable.
fn is_dpctl_memory(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let Some(module) = imported::module(py, intern!(py, "dpctl.memory"))? else { return Ok(false) };
    for class in ["MemoryUSMDevice", "MemoryUSMShared", "MemoryUSMHost"] {
        let class = module.getattr(class)?;
        // A subclass that publishes a dictionary of its own means what it says.
        if object.is_instance(&class)? && object.get_type().getattr(INTERFACE)?.is(&class.getattr(INTERFACE)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The producer of imported memory, if that is what the buffer is.
pub(crate) fn producer(buffer: &UsmBuffer) -> Option<&Py<PyAny>> {
    match buffer.ownership() {
        Ownership::Borrowed(owner) => {
            owner.downcast_ref::<Producer>().and_then(|producer| producer.object.object())
        }
        _ => None,
    }
}
