//! `from_cuda_stream`: queues on streams of other libraries.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::usm_core::Queue;

use crate::called;
use crate::errors::{OrValueError, wrong_type};
use crate::interface::import::Producer;
use crate::number::{index, sequence};
use crate::sycl::resolve::device_argument;
use crate::sycl::{queue_object, runtime};

/// from_cuda_stream(stream, device=None)
///
/// A queue on a stream of CUDA: what is submitted to the queue, and the kernels of other libraries on the stream, run in one order.
///
/// `stream` is an object with ``__cuda_stream__`` (cuda.core, CuPy 14), an attribute ``cuda_stream`` (PyTorch) or ``ptr`` (CuPy), which
/// the queue keeps alive; or the handle as an integer, of a stream that has to live as long as the queue and all its memory. 0 and 1
/// stand for the legacy default stream. `device` is a device of the CUDA backend, by default the one that has the stream.
///
/// Raises TypeError for other objects, ValueError for a stream of another device, for the default stream of a thread (2), which is
/// another one in each thread, and where there is no device of CUDA.
///
/// >>> import usm
/// >>> usm.from_cuda_stream(2)
/// Traceback (most recent call last):
///     ...
/// ValueError: stream: found 2, the default stream of a thread, allowed are streams that all threads share
#[pyfunction]
#[pyo3(signature = (stream, device=None))]
pub(crate) fn from_cuda_stream<'py>(
    stream: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = stream.py();
    let handle = handle(stream)?;
    let queue = match device {
        Some(_) => {
            let device = device_argument(py, "device", device)?;
            // SAFETY: TB2: that an object's stream lives as long as the object, and an integer's as long as the queue, is what the function
            // asks for; the object is attached to the queue.
            py.detach(|| unsafe { Queue::from_shared_cuda_stream(&device, handle) }.map(Some))
        }
        None => {
            let (runtime, default) = (runtime::get(py)?, runtime::default_device(py)?);
            // SAFETY: TB2, as with a device.
            py.detach(|| unsafe { runtime.queue_on_cuda_stream(&default, handle) })
        }
    };
    let Some(queue) = queue.or_value_error("stream")? else {
        return Err(value_error!("stream: there is no device of the CUDA backend; usm.backends() tells why"));
    };
    queue.attach(Producer::of(stream));
    queue_object(py, &queue)
}

/// The number of a stream.
fn handle(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = stream.py();
    if let Some(method) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let answer = called::python(py, || method.call0())?;
        let parts =
            answer.cast::<PyTuple>().ok().map(|_| sequence("__cuda_stream__", &answer)).transpose()?;
        return match parts.as_deref() {
            Some([_version, handle]) => index("__cuda_stream__[1]", handle),
            _ => Err(wrong_type("__cuda_stream__", &answer, "is a tuple of a version and a handle")),
        };
    }
    if stream.hasattr(intern!(py, "__index__"))? {
        return index("stream", stream);
    }
    for name in ["cuda_stream", "ptr"] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return index(name, &handle);
        }
    }
    Err(wrong_type(
        "stream",
        stream,
        "are the handle of a stream, and objects with __cuda_stream__, cuda_stream or ptr",
    ))
}
