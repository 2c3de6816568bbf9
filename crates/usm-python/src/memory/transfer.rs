//! Copies between memory objects and whatever Python has.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, Work};

use super::construct::usm_argument;
use crate::buffer_import::HostBytes;
use crate::errors::OrRaise;
use crate::imported;
use crate::interrupt;
use crate::new_numpy;

fn too_long(found: usize, allowed: usize) -> PyErr {
    value_error!("obj: found {found} bytes, allowed are at most {allowed}")
}

pub(super) fn to_host<'py>(
    py: Python<'py>,
    buffer: &UsmBuffer,
    target: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let target = match target {
        Some(target) => target,
        None => match imported::import(py, intern!(py, "numpy")) {
            Ok(numpy) => {
                let shape = [buffer.len_bytes()];
                let copy = |bytes: &mut [u8]| buffer.copy_to_host(bytes, 0);
                let work = Work::of_bytes(buffer.len_bytes(), &[buffer]);
                if let Some(result) = new_numpy::filled(py, (Dtype::U8, &shape), work, copy)? {
                    return Ok(result);
                }
                numpy.call_method1(intern!(py, "empty"), (buffer.len_bytes(), "u1"))?
            }
            Err(_) => PyByteArray::new_with(py, buffer.len_bytes(), |_| Ok(()))?.into_any(),
        },
    };
    let bytes = HostBytes::writable("obj", &target)?;
    bytes.check_len("obj", buffer.len_bytes())?;
    bytes.copy_from_buffer(py, buffer, buffer.len_bytes())?;
    Ok(target)
}

pub(super) fn from_host(buffer: &UsmBuffer, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let bytes = HostBytes::readable("obj", source)?;
    if bytes.len() > buffer.len_bytes() {
        return Err(too_long(bytes.len(), buffer.len_bytes()));
    }
    let len_bytes = bytes.len();
    bytes.copy_to_buffer(source.py(), buffer, len_bytes)
}

pub(super) fn from_usm(buffer: &UsmBuffer, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let array = usm_argument(source)?;
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("obj: found a strided array, allowed is contiguous USM"));
    }
    let (from, _) = array.span().or_raise()?;
    if from.len_bytes() > buffer.len_bytes() {
        return Err(too_long(from.len_bytes(), buffer.len_bytes()));
    }
    copy(source.py(), buffer.sub_buffer(0, from.len_bytes()).or_raise()?, from)
}

/// Copies all of one buffer to another one of the same length.
pub(crate) fn copy(py: Python<'_>, to: UsmBuffer, from: UsmBuffer) -> PyResult<()> {
    let work = Work::of_bytes(to.len_bytes(), &[&to, &from]);
    interrupt::run(py, work, move || to.copy_from(&from))?.or_raise()
}
