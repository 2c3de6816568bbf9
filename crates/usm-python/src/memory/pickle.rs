//! Memory objects as pickles, which keep their kind, device and content.

use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::Device;
use usm_array::usm_memory::UsmBuffer;

use super::construct::wrap;
use super::kind_argument;
use crate::buffer_import::HostBytes;
use crate::errors::OrRaise;
use crate::imported;
use crate::objects::Memory;
use crate::sycl::pickled_queue;

/// The first protocol with buffers beside the pickle.
const OUT_OF_BAND: i32 = 5;

/// Whether a pickle of a protocol can have the content of memory beside it without a copy.
pub(crate) fn is_beside(buffer: &UsmBuffer, protocol: i32) -> bool {
    protocol >= OUT_OF_BAND && buffer.is_host_accessible()
}

/// The content as an item of a pickle: beside it where the protocol knows that.
pub(crate) fn content(data: Bound<'_, PyAny>, protocol: i32) -> PyResult<Bound<'_, PyAny>> {
    let py = data.py();
    match protocol >= OUT_OF_BAND {
        true => imported::import(py, intern!(py, "pickle"))?.getattr("PickleBuffer")?.call1((data,)),
        false => Ok(data),
    }
}

/// The name of the device in a pickle of `what`.
pub(crate) fn device_name(what: &str, device: &Device) -> PyResult<String> {
    let name = device.filter_selector().map(|selector| selector.to_string());
    name.ok_or_else(|| {
        let found = device.filter_string();
        type_error!("cannot pickle {what} {found}: only root devices have a name elsewhere")
    })
}

type PickledState<'py> = (&'static str, String, bool, Bound<'py, PyAny>, usize);

/// What makes the object again, and its arguments. Memory that host code reaches goes beside the pickle without a copy.
pub(super) fn reduce<'py>(
    memory: &Bound<'py, Memory>,
    protocol: i32,
) -> PyResult<(Bound<'py, PyAny>, PickledState<'py>)> {
    let (py, buffer) = (memory.py(), &memory.get().buffer);
    let device = device_name("memory of", buffer.device())?;
    let data = match is_beside(buffer, protocol) {
        true => memory.clone().into_any(),
        false => memory.get().tobytes(py)?.into_any(),
    };
    let data = content(data, protocol)?;
    let state = (buffer.kind().as_str(), device, !buffer.is_writable(), data, buffer.len_bytes());
    Ok((py.import("usm._usm")?.getattr("_memory_from_pickle")?, state))
}

/// _memory_from_pickle(usm_type, device, readonly, data, nbytes=None)
///
/// New memory of that kind on the default queue of that device, with the bytes of `data`, of which there must be `nbytes`: how
/// pickles are read.
///
/// >>> from usm._usm import _memory_from_pickle
/// >>> _memory_from_pickle("shared", "host:cpu:0", False, b"usm").tobytes()
/// b'usm'
#[pyfunction]
#[pyo3(name = "_memory_from_pickle", signature = (usm_type, device, readonly, data, nbytes=None))]
pub(crate) fn from_pickle<'py>(
    py: Python<'py>,
    usm_type: &str,
    device: &Bound<'py, PyString>,
    readonly: bool,
    data: &Bound<'py, PyAny>,
    nbytes: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = kind_argument("usm_type", usm_type)?;
    let queue = pickled_queue(device, "memory.tobytes()")?;
    let bytes = HostBytes::readable("data", data)?;
    if let Some(nbytes) = nbytes.filter(|&nbytes| nbytes != bytes.len()) {
        return Err(value_error!("data: found {} bytes, allowed are {nbytes}", bytes.len()));
    }
    let len_bytes = bytes.len();
    let buffer = py.detach(|| UsmBuffer::allocate_or_empty(&queue, kind, len_bytes)).or_raise()?;
    bytes.copy_to_buffer(py, &buffer, len_bytes)?;
    wrap(py, if readonly { buffer.read_only() } else { buffer })
}
