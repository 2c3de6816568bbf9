//! What dpnp has for the same things: its class `Device`, and arrays that its import of the dictionary refuses.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::UsmArray;
use usm_array::usm_core::BackendId;

use crate::errors::OrRaise;
use crate::{imported, memory};

/// `dpnp.tensor`, if the program has imported it.
fn module(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    imported::module(py, intern!(py, "dpnp.tensor"))
}

/// The class `Device`, if the program has imported `dpnp.tensor`. An import may be half done.
pub(super) fn device_class(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    module(py)?.map_or(Ok(None), |module| module.getattr_opt(intern!(py, "Device")))
}

/// An array of dpnp over the memory of one with negative strides; `None` for other arrays, and without dpnp.
pub(super) fn usm_ndarray<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Option<Bound<'py, PyAny>>> {
    match array.strides().iter().all(|&stride| stride >= 0) {
        true => Ok(None),
        false => over_memory(py, array),
    }
}

/// An array of dpnp over the memory of an array of ours, which it does not keep; `None` for an array that dpnp cannot have, and where the
/// program has not imported `dpnp.tensor`.
pub(super) fn over_memory<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Option<Bound<'py, PyAny>>> {
    // dpnp has no narrow dtypes.
    let Some(typestr) = array.dtype().typestr() else { return Ok(None) };
    if array.buffer().queue().backend_id() != BackendId::Sycl {
        return Ok(None);
    }
    let Some(class) =
        module(py)?.map_or(Ok(None), |module| module.getattr_opt(intern!(py, "usm_ndarray")))?
    else {
        return Ok(None);
    };
    let (bytes, offset) = array.span().or_raise()?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "dtype"), typestr)?;
    // dpnp takes memory of dpctl's classes only.
    let memory = imported::import(py, intern!(py, "dpctl.memory"))?;
    let bytes = memory.call_method1(intern!(py, "as_usm_memory"), (memory::wrap(py, bytes)?,))?;
    keywords.set_item(intern!(py, "buffer"), bytes)?;
    keywords.set_item(intern!(py, "strides"), PyTuple::new(py, array.strides())?)?;
    keywords.set_item(intern!(py, "offset"), offset)?;
    let theirs = class.call((PyTuple::new(py, array.shape())?,), Some(&keywords))?;
    if !array.is_writable() {
        theirs.getattr(intern!(py, "flags"))?.set_item("W", false)?;
    }
    Ok(Some(theirs))
}
