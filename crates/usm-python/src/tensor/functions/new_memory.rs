//! Where new arrays are made: `device=`, `sycl_queue=`, `usm_type=`.

use pyo3::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};

use crate::errors::OrRaise;
use crate::memory::kind_argument;
use crate::objects::PyDevice;
use crate::sycl::{own_device, queue_argument};

/// The queue that `sycl_queue` or `device` name, or the default one.
pub(super) fn queue(
    py: Python<'_>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Queue> {
    match named_queue(py, sycl_queue, device)? {
        Some(queue) => Ok(queue),
        None => queue_argument(py, "sycl_queue", None),
    }
}

/// The queue that `sycl_queue` or `device` name. Both are allowed if they name the same.
pub(super) fn named_queue(
    py: Python<'_>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Queue>> {
    let asked = sycl_queue.map(|queue| queue_argument(py, "sycl_queue", Some(queue))).transpose()?;
    let on_device = device.map(|device| device_queue(py, "device", Some(device))).transpose()?;
    match (asked, on_device) {
        (Some(asked), Some(on_device)) if asked != on_device => Err(type_error!(
            "sycl_queue, device: found {asked} and another one, {on_device}; allowed is one of the two arguments, or the same queue twice"
        )),
        (asked, on_device) => Ok(asked.or(on_device)),
    }
}

/// What [`queue_argument`] takes, but no devices that are parts of others: for those a queue says which context is meant.
pub(in crate::tensor) fn device_queue(
    py: Python<'_>,
    name: &str,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Queue> {
    let Some(device) = device else { return queue_argument(py, name, None) };
    if let Some(part) = own_device(device)?
        && part.parent().or_raise()?.is_some()
    {
        return Err(value_error!(
            "{name}: found a {}, allowed are root devices, and queues on parts of them",
            part.filter_string()
        ));
    }
    queue_argument(py, name, Some(device))
}

/// The kind of new memory: by its word, else that of the array whose device is named, else device memory.
pub(super) fn new_kind(usm_type: Option<&str>, device: Option<&Bound<'_, PyAny>>) -> PyResult<UsmKind> {
    match usm_type {
        Some(text) => kind_argument("usm_type", text),
        None => Ok(device.map_or(UsmKind::Device, PyDevice::kind_beside)),
    }
}

/// A kind of memory by its word, or `None`.
pub(super) fn kind(usm_type: Option<&str>) -> PyResult<Option<UsmKind>> {
    usm_type.map(|text| kind_argument("usm_type", text)).transpose()
}
