//! `__dlpack__`.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use usm_array::dlpack::{DlpackError, DlpackExport, ManagedTensor, TensorForm};
use usm_array::{CopyMode, Error, UsmArray};

use super::capsule;
use super::device;
use crate::errors::{OrRaise, ToPyErr, wrong_type};
use crate::interrupt::{self, Pass};
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
    if let Some(stream) = stream {
        check_queue(stream)?;
    }
    let options = DlpackExport {
        device: dl_device.map(|pair| device::pair("dl_device", pair)).transpose()?,
        copy: copy_mode(copy),
        form: form(max_version)?,
        runtime: runtime::get(py)?,
    };
    // Only a copy takes long.
    let copies = options.copy == CopyMode::Always || dl_device.is_some() && !array.is_host_accessible();
    let is_near = array.is_host_reachable();
    let tensor = if is_near && !copies {
        settled(array, &options)
    } else {
        let (array, pass) = (array.clone(), if copies { Pass::over(array) } else { Pass::NONE });
        interrupt::run_at(py, pass, is_near, move || settled(&array, &options))?
    };
    capsule::wrap(py, tensor.map_err(|error| export_error(&error))?)
}

/// The tensor, after work that others have submitted is complete: then it does not matter which queue the consumer uses.
pub(super) fn settled(array: &UsmArray, options: &DlpackExport<'_>) -> usm_array::Result<ManagedTensor> {
    if !array.is_empty() {
        drop(array.buffer().read_range(array.byte_range())?);
    }
    array.to_dlpack(options)
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
    py.detach(|| settled(array, &options)).or_raise()
}
