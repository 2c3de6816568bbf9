//! From an array or a memory object to the dictionary that others read.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::{INTERFACE_VERSION, UsmArray};

use crate::errors::OrRaise;
use crate::sycl::queue_object;

/// The dictionary of an array.
pub(crate) fn array<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    let dict = memory(py, array)?;
    dict.set_item(intern!(py, "offset"), array.published_offset())?;
    Ok(dict)
}

/// The dictionary of a memory object: one axis of bytes, and no offset. What [`UsmArray::interface`] says, without its copies.
///
/// The interpreter is kept: where work is pending on memory of a pool, the wait for it gives it up.
pub(crate) fn memory<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    array.buffer().publish().or_raise()?;
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "data"), (array.published_address(), !array.is_writable()))?;
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, array.shape())?)?;
    let strides = match array.is_c_contiguous() {
        true => None,
        false => Some(PyTuple::new(py, array.strides())?),
    };
    dict.set_item(intern!(py, "strides"), strides)?;
    dict.set_item(intern!(py, "typestr"), array.dtype().typestr())?;
    dict.set_item(intern!(py, "version"), INTERFACE_VERSION)?;
    dict.set_item(intern!(py, "syclobj"), queue_object(py, array.queue())?)?;
    Ok(dict)
}
