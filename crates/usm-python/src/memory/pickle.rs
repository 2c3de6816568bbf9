//! Memory objects as pickles, which keep their kind, device and content.

use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::{Device, Queue, UsmKind};
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
    let (data, function) = match is_beside(buffer, protocol) {
        true => (memory.clone().into_any(), "_memory_over_buffer"),
        false => (memory.get().tobytes(py)?.into_any(), "_memory_from_pickle"),
    };
    let data = content(data, protocol)?;
    let state = (buffer.kind().as_str(), device, !buffer.is_writable(), data, buffer.len_bytes());
    Ok((imported::import(py, intern!(py, "usm._usm"))?.getattr(function)?, state))
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
    let content = MemoryContent::of(usm_type, device, data, nbytes)?;
    content.wrap_copy(py, readonly)
}

/// _memory_over_buffer(usm_type, device, readonly, data, nbytes)
///
/// Memory over the bytes of `data`, read-only where these are, on the host backend and where they are memory of that kind; elsewhere as
/// _memory_from_pickle. How pickles with buffers beside them are read.
///
/// >>> from usm._usm import _memory_over_buffer
/// >>> data = bytearray(b"usm")
/// >>> memory = _memory_over_buffer("shared", "host:cpu:0", False, data, 3)
/// >>> data[0] = ord("U")
/// >>> memory.tobytes()
/// b'Usm'
#[pyfunction]
#[pyo3(name = "_memory_over_buffer")]
pub(crate) fn over_buffer<'py>(
    py: Python<'py>,
    usm_type: &str,
    device: &Bound<'py, PyString>,
    readonly: bool,
    data: &Bound<'py, PyAny>,
    nbytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let MemoryContent { kind, queue, bytes } = MemoryContent::of(usm_type, device, data, Some(nbytes))?;
    match bytes.into_usm(&queue, kind) {
        Ok(buffer) => wrap(py, if readonly { buffer.read_only() } else { buffer }),
        Err(bytes) => MemoryContent { kind, queue, bytes }.wrap_copy(py, readonly),
    }
}

/// What a pickle of memory says.
struct MemoryContent {
    kind: UsmKind,
    queue: Queue,
    bytes: HostBytes,
}

impl MemoryContent {
    fn of(
        usm_type: &str,
        device: &Bound<'_, PyString>,
        data: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
    ) -> PyResult<Self> {
        let kind = kind_argument("usm_type", usm_type)?;
        let queue = pickled_queue(device, "memory.tobytes()")?;
        let bytes = HostBytes::readable("data", data)?;
        match nbytes.filter(|&nbytes| nbytes != bytes.len()) {
            Some(nbytes) => Err(value_error!("data: found {} bytes, allowed are {nbytes}", bytes.len())),
            None => Ok(Self { kind, queue, bytes }),
        }
    }

    fn wrap_copy(self, py: Python<'_>, readonly: bool) -> PyResult<Bound<'_, PyAny>> {
        let (kind, queue, len_bytes) = (self.kind, &self.queue, self.bytes.len());
        let buffer = py.detach(|| UsmBuffer::allocate_or_empty(queue, kind, len_bytes)).or_raise()?;
        self.bytes.copy_to_buffer(py, &buffer, len_bytes)?;
        wrap(py, if readonly { buffer.read_only() } else { buffer })
    }
}
