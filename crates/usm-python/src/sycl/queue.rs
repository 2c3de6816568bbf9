//! `SyclQueue`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};
use usm_array::usm_core::{Queue, QueueProperties};

use super::capsule;
use super::context::SyclContext;
use super::device::SyclDevice;
use super::resolve::{Place, Target, first_device, target};
use crate::errors::{OrRaise, SyclQueueCreationError};
use crate::interface::sequence;
use crate::memory::copy_bytes;

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
    let names = if property.is_instance_of::<PyString>() {
        vec![property.clone()]
    } else {
        sequence("property", property)?
    };
    for name in names {
        let name = name.str()?;
        match &*name.to_string_lossy() {
            "in_order" => properties.in_order = true,
            "enable_profiling" => properties = properties.with_profiling(true),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "property: found {name}, allowed are \"in_order\" and \"enable_profiling\""
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
        let (context, device) = match target(py, "arg", arg)? {
            Target::Device(device) => (device.default_context().or_raise()?, device),
            Target::Place(Place::Context(context)) => {
                let device = first_device(&context)?;
                (context, device)
            }
            Target::Place(Place::Queue(queue)) if property.is_none() => return Ok(Self { queue }),
            Target::Place(Place::Queue(_)) => {
                return Err(PyTypeError::new_err(
                    "property: a queue that exists keeps its properties, allowed is None; make a new one from its device",
                ));
            }
        };
        let queue = context.create_queue(&device, wanted);
        queue.map(Self::from_queue).map_err(|error| SyclQueueCreationError::new_err(error.to_string()))
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
