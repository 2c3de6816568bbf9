//! From an array or a memory object to the dictionary that others read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use usm_array::usm_core::Queue;
use usm_array::usm_core::fork::ForkOnce;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, INTERFACE_VERSION, InterfaceRef, UsmArray};

use super::import::CUDA_GPU;
use crate::errors::OrRaise;
use crate::sycl::queue_object;

/// The dictionary of an array: what [`UsmArray::interface_ref`] says.
///
/// The interpreter is kept, except while work on memory that only devices reach is waited for.
pub(crate) fn array<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDict>> {
    if !array.is_host_reachable() {
        // What is under way may need the interpreter to complete.
        py.detach(|| array.wait()).or_raise()?;
    }
    let found = array.interface_ref().or_raise()?;
    let dict = entries(py, &found, array.queue())?;
    if let Some(strides) = found.strides {
        dict.set_item(intern!(py, "strides"), PyTuple::new(py, strides)?)?;
    }
    dict.set_item(intern!(py, "offset"), found.offset)?;
    Ok(dict)
}

/// The dictionary of a memory object: one axis of bytes, and no offset.
pub(crate) fn memory<'py>(py: Python<'py>, buffer: &UsmBuffer) -> PyResult<Bound<'py, PyDict>> {
    if !buffer.is_host_reachable() {
        py.detach(|| buffer.wait()).or_raise()?;
    }
    buffer.publish().or_raise()?;
    let (address, read_only) = (buffer.address(), !buffer.is_writable());
    let shape = &[buffer.len_bytes()];
    let (dtype, typestr) = (Dtype::U8, "|u1");
    let bytes = InterfaceRef { shape, dtype, typestr, address, read_only, strides: None, offset: 0 };
    entries(py, &bytes, buffer.queue())
}

/// The entries of both.
fn entries<'py>(py: Python<'py>, found: &InterfaceRef<'_>, queue: &Queue) -> PyResult<Bound<'py, PyDict>> {
    let dict = template(py)?;
    dict.set_item(intern!(py, "data"), (found.address, found.read_only))?;
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, found.shape)?)?;
    dict.set_item(intern!(py, "typestr"), typestr(py, found))?;
    match queue.device().info().cuda_ordinal {
        // There is no object of SYCL. A SYCL runtime numbers the devices of CUDA like the driver.
        Some(ordinal) => {
            if !queue.is_surely_idle() {
                py.detach(|| queue.wait()).or_raise()?;
            }
            dict.set_item(intern!(py, "syclobj"), format!("{CUDA_GPU}{ordinal}"))?;
        }
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
