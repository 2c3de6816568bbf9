//! `__dlpack__`.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use usm_array::dlpack::{
    Consumer, CudaStream, DlpackError, DlpackExport, ManagedTensor, TensorForm, UsableDevices,
};
use usm_array::usm_core::BackendId;
use usm_array::{Cost, Error, UsmArray, Work};

use super::caller;
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
    let runtime = runtime::get(py)?;
    let device = match (dl_device, caller::usable_devices(py, array)?) {
        (Some(pair), _) => Some(device::pair("dl_device", pair)?),
        (None, UsableDevices::All) => None,
        (None, usable) => Some(py.detach(|| array.dlpack_device_for(usable, runtime)).or_raise()?),
    };
    let options = DlpackExport {
        device,
        copy: copy_mode(copy),
        form: form(max_version)?,
        runtime,
        consumer: consumer(array, stream)?,
    };
    let work = Work::of_dlpack(array, &options);
    let tensor = match work.cost() {
        // A stream is ordered here: it is live during the call only, and may be the default stream of this thread.
        Cost::Long if !matches!(options.consumer, Consumer::Stream(_)) => {
            let array = array.clone();
            interrupt::run(py, work, move || array.to_dlpack(&options))?
        }
        _ => interrupt::run_here(py, work, || array.to_dlpack(&options)),
    };
    capsule::wrap(py, tensor.map_err(|error| export_error(&error))?)
}

/// The argument `stream`: a queue, or a number. Streams with numbers are those of the CUDA driver. On other devices a number can only
/// say that no stream has to be waited for, which -1 does; mpi4py gives it for all devices but the CPU.
fn consumer(array: &UsmArray, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Consumer> {
    let Some(stream) = stream else { return Ok(Consumer::Anywhere) };
    if !stream.hasattr(intern!(stream.py(), "__index__"))? {
        return check_queue(stream).map(|()| Consumer::Anywhere);
    }
    let is_cuda = array.device().backend_id() == BackendId::Cuda;
    match index::<i64>("stream", stream)? {
        -1 if is_cuda => Ok(Consumer::Unordered),
        -1 => Ok(Consumer::Anywhere),
        number if !is_cuda => Err(value_error!(
            "stream: found {number}, allowed for memory of {} are None, -1 and a queue; other numbers are streams of CUDA",
            array.device().filter_string()
        )),
        number => match usize::try_from(number) {
            // SAFETY: TB1: the stream is live during the call.
            Ok(stream) if stream != 0 => Ok(Consumer::Stream(unsafe { CudaStream::new(stream) })),
            _ => Err(value_error!(
                "stream: found {number}, allowed for CUDA memory are None, -1, 1, 2 and the handle of a stream"
            )),
        },
    }
}

/// A device that is not there is a reason why the array cannot be handed out.
fn export_error(error: &Error) -> PyErr {
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
    let runtime = runtime::get(py)?;
    let tensor = || {
        let consumer = Consumer::of_exchange(runtime, array.device())?;
        array.to_dlpack(&DlpackExport { runtime, consumer, ..DlpackExport::default() })
    };
    py.detach(tensor).or_raise()
}
