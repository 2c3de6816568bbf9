//! From an array or a memory object to the dictionary that others read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use usm_array::usm_core::fork::ForkOnce;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, INTERFACE_VERSION, UsmArray};

use crate::errors::OrRaise;
use crate::sycl::queue_object;

/// The dictionary of an array. What [`UsmArray::interface`] says, without its copies.
///
/// The interpreter is kept: where work is pending on memory of a pool, the wait for it gives it up.
pub(crate) fn array<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    let shape = PyTuple::new(py, array.shape())?;
    let data = (array.published_address(), !array.is_writable());
    let dict = entries(py, array.buffer(), data, shape, array.dtype())?;
    if !array.is_c_contiguous() {
        dict.set_item(intern!(py, "strides"), PyTuple::new(py, array.strides())?)?;
    }
    dict.set_item(intern!(py, "offset"), array.published_offset())?;
    Ok(dict)
}

/// The dictionary of a memory object: one axis of bytes, and no offset.
pub(crate) fn memory<'py>(py: Python<'py>, buffer: &UsmBuffer) -> PyResult<Bound<'py, PyDict>> {
    let shape = PyTuple::new(py, [buffer.len_bytes()])?;
    entries(py, buffer, (buffer.address(), !buffer.is_writable()), shape, Dtype::U8)
}

/// The entries of both, after which others may know the memory.
fn entries<'py>(
    py: Python<'py>,
    buffer: &UsmBuffer,
    data: (usize, bool),
    shape: Bound<'py, PyTuple>,
    dtype: Dtype,
) -> PyResult<Bound<'py, PyDict>> {
    buffer.publish().or_raise()?;
    let dict = template(py)?;
    dict.set_item(intern!(py, "data"), data)?;
    dict.set_item(intern!(py, "shape"), shape)?;
    dict.set_item(intern!(py, "typestr"), typestr(py, dtype))?;
    dict.set_item(intern!(py, "syclobj"), queue_object(py, buffer.queue())?)?;
    Ok(dict)
}

/// A dictionary with the entries that are the same for nearly all, and room for the others: a copy takes less than as many insertions.
fn template(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    static TEMPLATE: ForkOnce<Py<PyDict>> = ForkOnce::new();
    let make = || {
        let dict = PyDict::new(py);
        for key in ["data", "shape", "strides", "typestr"] {
            dict.set_item(PyString::intern(py, key), py.None())?;
        }
        dict.set_item(intern!(py, "version"), INTERFACE_VERSION)?;
        dict.set_item(intern!(py, "syclobj"), py.None())?;
        Ok::<_, PyErr>(dict.unbind())
    };
    TEMPLATE.get_or_try_init(make)?.bind(py).copy()
}

/// The typestr of a dtype, which is made once.
fn typestr<'py>(py: Python<'py>, dtype: Dtype) -> Bound<'py, PyString> {
    static TYPESTRS: ForkOnce<Vec<(Dtype, Py<PyString>)>> = ForkOnce::new();
    let make = || Dtype::ALL.map(|dtype| (dtype, PyString::new(py, dtype.typestr()).unbind())).into();
    let known = TYPESTRS.get_or_init(make).iter().find(|(known, _)| *known == dtype);
    known.map_or_else(|| PyString::new(py, dtype.typestr()), |(_, typestr)| typestr.bind(py).clone())
}
