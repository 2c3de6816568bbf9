//! What an object that is no sequence consists of: a number, elements of the host, or an array.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use usm_array::usm_core::UsmKind;
use usm_array::{Scalar, UsmArray};

use super::host::HostElements;
use crate::errors::type_name;
use crate::imported;
use crate::interface::import::{Found, array_if_usm};
use crate::tensor::UsmNdarray;
use crate::tensor::arguments;
use crate::tensor::dlpack;

/// What an object that is no sequence consists of.
pub(super) enum Source {
    Number(Scalar),
    Host(HostElements),
    Array(Box<UsmArray>),
}

/// The elements of an object that is no sequence. `name` is what messages call it.
pub(super) fn source(name: &dyn Fn() -> String, object: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Some(number) = arguments::python_number(object)? {
        return Ok(Source::Number(number));
    }
    if let Some(array) = usm_array_of(object)? {
        return Ok(Source::Array(array.into_boxed()));
    }
    if has_buffer(object) {
        return HostElements::of(&name(), object).map(Source::Host);
    }
    if is_dlpack_only(object)? {
        return dlpack::import(object, None, UsmKind::Device, usm_array::CopyMode::IfNeeded)
            .map(|array| Source::Array(Box::new(array)));
    }
    let py = object.py();
    for attribute in [intern!(py, "__array__"), intern!(py, "__array_interface__")] {
        if object.hasattr(attribute)? {
            let array = imported::import(py, intern!(py, "numpy"))?
                .call_method1(intern!(py, "asarray"), (object,))?;
            return HostElements::of(&name(), &array).map(Source::Host);
        }
    }
    Err(PyTypeError::new_err(format!(
        "{}: found {}, allowed are numbers, sequences, and objects with {}, the buffer protocol or DLPack",
        name(),
        type_name(object),
        crate::interface::import::INTERFACE
    )))
}

/// The array over the memory of an object, when it is USM and says so.
pub(super) fn usm_array_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Found<'a>>> {
    let array = array_if_usm(object)?;
    if array.is_some() {
        return Ok(array);
    }
    match object.getattr_opt(intern!(object.py(), "__usm_ndarray__"))? {
        Some(array) if array.is_instance_of::<UsmNdarray>() => {
            Ok(array_if_usm(&array)?.map(|array| Found::Imported(array.into_boxed())))
        }
        _ => Ok(None),
    }
}

fn has_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an object of this interpreter.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// The buffer protocol comes first: it tells byte orders, and NumPy's read-only arrays.
pub(super) fn is_dlpack_only(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_text = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyDict>();
    Ok(!is_text && !has_buffer(object) && object.hasattr(intern!(object.py(), "__dlpack__"))?)
}
