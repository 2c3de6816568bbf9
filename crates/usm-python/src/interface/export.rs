//! From an array or a memory object to the dictionary that others read.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::usm_core::Queue;
use usm_array::{UsmArray, UsmArrayInterface};

use crate::errors::OrRaise;
use crate::sycl::queue_object;

/// The dictionary of an array.
pub(crate) fn array<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    let interface = published(py, array)?;
    let dict = common(py, &interface, array.queue())?;
    dict.set_item(intern!(py, "offset"), interface.offset)?;
    Ok(dict)
}

/// The dictionary of a memory object: one axis of bytes, and no offset.
pub(crate) fn memory<'py>(py: Python<'py>, bytes: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    common(py, &published(py, bytes)?, bytes.queue())
}

/// Detached, since memory of a pool may have to be waited for.
fn published(py: Python<'_>, array: &UsmArray) -> PyResult<UsmArrayInterface> {
    py.detach(|| array.interface()).or_raise()
}

fn common<'py>(
    py: Python<'py>,
    interface: &UsmArrayInterface,
    queue: &Queue,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "data"), (interface.address, interface.read_only))?;
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, &interface.shape)?)?;
    let strides = interface.strides.as_ref().map(|strides| PyTuple::new(py, strides)).transpose()?;
    dict.set_item(intern!(py, "strides"), strides)?;
    dict.set_item(intern!(py, "typestr"), &interface.typestr)?;
    dict.set_item(intern!(py, "version"), interface.version)?;
    dict.set_item(intern!(py, "syclobj"), queue_object(py, queue)?)?;
    Ok(dict)
}
