//! From an array or a memory object to the dictionary that others read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use usm_array::usm_core::Queue;
use usm_array::usm_core::fork::ForkOnce;
use usm_array::{Dtype, INTERFACE_VERSION, InterfaceRef, UsmArray, cuda_syclobj};

use crate::errors::OrRaise;
use crate::objects::Memory;
use crate::sycl::queue_object;

/// The dictionary of an array: what [`UsmArray::interface_ref`] says.
pub(crate) fn array<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    let found = published(py, array)?;
    let dict = entries(py, &found, array.queue())?;
    if let Some(strides) = found.strides {
        dict.set_item(intern!(py, "strides"), PyTuple::new(py, strides)?)?;
    }
    dict.set_item(intern!(py, "offset"), found.offset)?;
    Ok(dict)
}

/// The dictionary of a memory object: one axis of bytes, and no offset.
pub(crate) fn memory<'py>(py: Python<'py>, memory: &Memory) -> PyResult<Bound<'py, PyDict>> {
    let array = memory.as_bytes_array()?;
    entries(py, &published(py, &array)?, array.queue())
}

fn published<'a>(py: Python<'_>, array: &'a UsmArray) -> PyResult<InterfaceRef<'a>> {
    match array.interface_at_once().or_raise()? {
        Some(found) => Ok(found),
        // What is under way may need the interpreter to complete.
        None => py.detach(|| array.interface_ref()).or_raise(),
    }
}

/// The entries of both.
fn entries<'py>(py: Python<'py>, found: &InterfaceRef<'_>, queue: &Queue) -> PyResult<Bound<'py, PyDict>> {
    let dict = template(py)?;
    dict.set_item(intern!(py, "data"), (found.address, found.read_only))?;
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, found.shape)?)?;
    dict.set_item(intern!(py, "typestr"), typestr(py, found))?;
    match cuda_syclobj(queue) {
        Some(text) => dict.set_item(intern!(py, "syclobj"), text)?,
        None => dict.set_item(intern!(py, "syclobj"), queue_object(py, queue)?)?,
    }
    Ok(dict)
}

/// A dictionary with the entries that are the same for nearly all, and capacity for the others: a copy takes less than as many insertions.
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
fn typestr<'py>(py: Python<'py>, found: &InterfaceRef<'_>) -> Bound<'py, PyString> {
    static TYPESTRS: ForkOnce<Vec<(Dtype, Py<PyString>)>> = ForkOnce::new();
    let text = |dtype: Dtype| dtype.typestr().map(|typestr| (dtype, PyString::new(py, typestr).unbind()));
    let known = TYPESTRS.get_or_init(|| Dtype::ALL.into_iter().filter_map(text).collect());
    let known = known.iter().find(|(known, _)| *known == found.dtype);
    known.map_or_else(|| PyString::new(py, found.typestr), |(_, typestr)| typestr.bind(py).clone())
}
