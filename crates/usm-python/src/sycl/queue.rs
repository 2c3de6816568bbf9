//! `SyclQueue`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::{Queue, QueueProperties};

use super::capsule;
use super::context::SyclContext;
use super::device::SyclDevice;
use super::resolve::{Place, device_argument, place_of};
use crate::errors::{OrRaise, SyclQueueCreationError, type_name};
use crate::memory::copy_bytes;
use crate::runtime;

/// SyclQueue(arg=None, *, property=None)
///
/// A SYCL queue. From nothing, a filter string or a device a new queue in the default context of the device's platform; from
/// a context a new queue on its first device; from a queue, a capsule or an object with ``_get_capsule()`` that queue.
/// `property` is ``"in_order"``, ``"enable_profiling"`` or a sequence of these.
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclQueue {
    queue: Queue,
}

impl SyclQueue {
    /// Wraps a queue.
    #[must_use]
    pub fn from_queue(queue: Queue) -> Self {
        Self { queue }
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
}

fn properties(property: Option<&Bound<'_, PyAny>>) -> PyResult<QueueProperties> {
    let mut properties = QueueProperties::OUT_OF_ORDER;
    let Some(property) = property else { return Ok(properties) };
    let names: Vec<String> = match property.extract::<String>() {
        Ok(name) => vec![name],
        Err(_) => property.extract()?,
    };
    for name in names {
        match name.as_str() {
            "in_order" => properties.in_order = true,
            "enable_profiling" => properties = properties.with_profiling(true),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "property: found {name:?}, allowed are \"in_order\" and \"enable_profiling\""
                )));
            }
        }
    }
    Ok(properties)
}

#[pymethods]
impl SyclQueue {
    #[new]
    #[pyo3(signature = (arg=None, *, property=None))]
    fn new(
        py: Python<'_>,
        arg: Option<&Bound<'_, PyAny>>,
        property: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let wanted = properties(property)?;
        if let Some(device) = device_argument(py, arg)? {
            let queue = device.default_context().and_then(|context| context.create_queue(&device, wanted));
            return Ok(Self { queue: queue.or_raise()? });
        }
        let Some(arg) = arg else { return Err(SyclQueueCreationError::new_err("no device")) };
        match place_of(arg)? {
            Place::Queue(queue) if property.is_none() => Ok(Self { queue }),
            Place::Queue(_) => Err(PyTypeError::new_err(format!(
                "property: a queue that exists ({}) keeps its properties; make a new one from its device",
                type_name(arg)
            ))),
            Place::Context(context) => {
                let devices = context.devices().or_raise()?;
                let first = devices.first();
                let first =
                    first.ok_or_else(|| SyclQueueCreationError::new_err("the context has no device"))?;
                Ok(Self { queue: context.create_queue(first, wanted).or_raise()? })
            }
        }
    }

    /// Device of the queue.
    #[getter]
    fn sycl_device(&self) -> SyclDevice {
        SyclDevice::from_device(self.queue.device().clone())
    }

    /// Context of the queue.
    #[getter]
    fn sycl_context(&self) -> SyclContext {
        SyclContext::from_context(self.queue.context().clone())
    }

    /// True when operations run in the order of their submission.
    #[getter]
    fn is_in_order(&self) -> bool {
        self.queue.properties().in_order
    }

    /// Wait for all that was submitted.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.queue.wait()).or_raise()
    }

    /// Copy `count` bytes from `src` to `dest`, each USM memory or an object with the buffer protocol, and wait.
    fn memcpy(&self, dest: &Bound<'_, PyAny>, src: &Bound<'_, PyAny>, count: usize) -> PyResult<()> {
        copy_bytes(dest, src, count)
    }

    /// A new capsule "SyclQueueRef" with a `sycl::queue` of its own.
    ///
    /// Raises ValueError on the host backend, which has no SYCL objects.
    fn _get_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.queue.to_foreign().or_raise()?, capsule::QUEUE)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.queue == other.get().queue)
    }

    fn __hash__(&self) -> u64 {
        self.sycl_device().hash_value()
    }

    fn __repr__(&self) -> String {
        let order = if self.is_in_order() { "in order" } else { "out of order" };
        format!("<usm.SyclQueue on {}, {order}>", self.queue.device().filter_string())
    }
}

/// The default queue of the default device.
pub(super) fn default_queue(py: Python<'_>) -> PyResult<Queue> {
    let runtime = runtime::get(py)?;
    py.detach(|| runtime.default_queue(&runtime.default_device())).or_raise()
}
