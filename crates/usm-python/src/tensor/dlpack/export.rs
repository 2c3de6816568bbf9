//! `__dlpack__`.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use usm_array::dlpack::{DlpackError, DlpackExport, ManagedTensor, TensorForm};
use usm_array::usm_core::{BackendId, Device, Runtime};
use usm_array::{CopyMode, Error, UsmArray, Work};

use super::capsule;
use super::device;
use crate::errors::{OrRaise, ToPyErr, wrong_type};
use crate::interrupt;
use crate::number::index;
use crate::sycl::{QueueOrContext, queue_or_context, runtime};
use crate::tensor::arguments::copy_mode;

/// A capsule with the array as a tensor.
pub(in crate::tensor) fn export<'py>(
    py: Python<'py>,
    array: &UsmArray,
    stream: Option<&Bound<'py, PyAny>>,
    max_version: Option<&Bound<'py, PyAny>>,
    dl_device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let consumer = Consumer::parse(array, stream)?;
    let options = DlpackExport {
        device: dl_device.map(|pair| device::pair("dl_device", pair)).transpose()?,
        copy: copy_mode(copy),
        form: form(max_version)?,
        runtime: runtime::get(py)?,
        in_queue_order: matches!(consumer, Consumer::Stream(_) | Consumer::Unordered),
    };
    // Only a copy takes long.
    let copies = options.copy == CopyMode::Always || dl_device.is_some() && !array.is_host_accessible();
    let is_near = array.is_host_reachable();
    let tensor = match consumer {
        Consumer::Anywhere if is_near && !copies => settled(array, &options),
        // Here, since the default stream of the thread is that of the caller.
        Consumer::Stream(stream) if !copies => py.detach(|| ordered(array, &options, stream)),
        Consumer::Unordered if !copies => py.detach(|| array.to_dlpack(&options)),
        _ => {
            let work = if copies { Work::of_elements(array) } else { Work::through(0) };
            let array = array.clone();
            interrupt::run(py, work, move || settled(&array, &options))?
        }
    };
    capsule::wrap(py, tensor.map_err(|error| export_error(&error))?)
}

/// Where the consumer uses the memory.
enum Consumer {
    /// On any queue, or by host code
    Anywhere,
    /// On a stream of CUDA, after what is pending
    Stream(usize),
    /// In an order that the consumer sees to
    Unordered,
}

impl Consumer {
    /// The argument `stream`: a queue, or a number. Streams with numbers are those of the CUDA driver. On other devices a number can only
    /// say that no stream has to be waited for, which -1 does; mpi4py gives it for all devices but the CPU.
    fn parse(array: &UsmArray, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(stream) = stream else { return Ok(Self::Anywhere) };
        if !stream.hasattr(intern!(stream.py(), "__index__"))? {
            return check_queue(stream).map(|()| Self::Anywhere);
        }
        let is_cuda = array.device().backend_id() == BackendId::Cuda;
        match index::<i64>("stream", stream)? {
            -1 if is_cuda => Ok(Self::Unordered),
            -1 => Ok(Self::Anywhere),
            number if !is_cuda => Err(value_error!(
                "stream: found {number}, allowed for memory of {} are None, -1 and a queue; other numbers are streams of CUDA",
                array.device().filter_string()
            )),
            number => match usize::try_from(number) {
                Ok(stream) if stream != 0 => Ok(Self::Stream(stream)),
                _ => Err(value_error!(
                    "stream: found {number}, allowed for CUDA memory are None, -1, 1, 2 and the handle of a stream"
                )),
            },
        }
    }
}

/// The tensor, after work that others have submitted is complete: then it does not matter which queue the consumer uses.
pub(super) fn settled(array: &UsmArray, options: &DlpackExport<'_>) -> usm_array::Result<ManagedTensor> {
    if !array.is_empty() {
        drop(array.buffer().read_access(array.byte_range())?);
    }
    array.to_dlpack(options)
}

/// The tensor for a consumer on a stream of CUDA, whose work comes after all that is pending.
fn ordered(array: &UsmArray, options: &DlpackExport<'_>, stream: usize) -> usm_array::Result<ManagedTensor> {
    order(array, stream)?;
    array.to_dlpack(&DlpackExport { in_queue_order: true, ..*options })
}

/// Lets later work of a stream of CUDA start after all that is pending on an array.
pub(super) fn order(array: &UsmArray, stream: usize) -> usm_array::Result<()> {
    // Published first: who writes from then on comes after the consumer's work.
    array.buffer().publish_in_order()?;
    array.buffer().check_unwritten(array.byte_range())?;
    // SAFETY: TB1: the stream is live.
    unsafe { array.queue().order_cuda_stream(stream) }.map_err(usm_array::Error::from)?;
    Ok(())
}

/// The stream that consumers of the C exchange API work on: that of the default queue of a CUDA device.
pub(super) fn current_stream(runtime: &Runtime, device: &Device) -> usm_array::Result<Option<usize>> {
    if device.backend_id() != BackendId::Cuda {
        return Ok(None);
    }
    let queue = runtime.default_queue(device).map_err(usm_array::Error::from)?;
    Ok(queue.native_stream())
}

/// A device that is not there is a reason why the array cannot be handed out.
pub(super) fn export_error(error: &Error) -> PyErr {
    match error {
        Error::Dlpack(DlpackError::DeviceType { .. } | DlpackError::DeviceId { .. }) => {
            PyBufferError::new_err(format!("dl_device: {error}"))
        }
        _ => error.to_py_err(),
    }
}

fn check_queue(stream: &Bound<'_, PyAny>) -> PyResult<()> {
    match queue_or_context("stream", stream)? {
        QueueOrContext::Queue(_) => Ok(()),
        QueueOrContext::Context(_) => Err(wrong_type("stream", stream, "are a queue and None")),
    }
}

/// The struct that a consumer of that version can read.
fn form(max_version: Option<&Bound<'_, PyAny>>) -> PyResult<TensorForm> {
    let Some(version) = max_version else { return Ok(TensorForm::Legacy) };
    let numbers = version.cast::<PyTuple>().ok().filter(|numbers| numbers.len() == 2);
    let numbers = numbers.ok_or_else(|| {
        wrong_type("max_version", version, "is a tuple of two integers: major and minor version")
    })?;
    let major: i64 = index("max_version[0]", &numbers.get_item(0)?)?;
    index::<i64>("max_version[1]", &numbers.get_item(1)?)?;
    Ok(if major >= 1 { TensorForm::Versioned } else { TensorForm::Legacy })
}

/// The struct for the C exchange API, always versioned.
pub(super) fn tensor_of(py: Python<'_>, array: &UsmArray) -> PyResult<ManagedTensor> {
    let options = DlpackExport { runtime: runtime::get(py)?, ..DlpackExport::default() };
    let tensor = || match current_stream(options.runtime, array.device())? {
        Some(stream) => ordered(array, &options, stream),
        None => settled(array, &options),
    };
    py.detach(tensor).or_raise()
}
