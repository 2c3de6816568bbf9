//! `Device`: where arrays are, in the words of the array API.

use pyo3::prelude::*;
use pyo3::types::PyType;
use usm_array::usm_core::Queue;

use super::functions::device_queue;
use crate::sycl::{SyclContext, SyclDevice, SyclQueue};

/// Where an array is, as the array API understands it: a queue. Devices are equal when their queues are.
///
/// There is no constructor; arrays have a device, and `create_device` makes one.
///
/// >>> import usm.tensor as ut
/// >>> device = ut.Device.create_device("host:cpu:0")
/// >>> device, device == ut.zeros(3, device=device).device, device.sycl_device.is_cpu
/// (Device(host:cpu:0), True, True)
#[pyclass(frozen, weakref, name = "Device", module = "usm.tensor")]
#[derive(Debug)]
pub struct PyDevice {
    queue: Queue,
}

impl PyDevice {
    pub(super) fn of(queue: &Queue) -> Self {
        Self { queue: queue.clone() }
    }
}

#[pymethods]
impl PyDevice {
    /// The device of an argument `device`: a queue, a device, a filter string, or None for the default device. Devices stand for
    /// their cached queue.
    ///
    /// Raises ValueError for a device that is a part of another one, SyclDeviceCreationError when there is no such device.
    ///
    /// >>> import usm, usm.tensor as ut
    /// >>> ut.Device.create_device(usm.SyclDevice("host")).sycl_queue == usm.get_device_cached_queue("host")
    /// True
    #[classmethod]
    #[pyo3(signature = (device=None))]
    fn create_device(class: &Bound<'_, PyType>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        device_queue(class.py(), "device", device).map(|queue| Self { queue })
    }

    /// The queue used for what is computed and copied there.
    #[getter]
    fn sycl_queue(&self) -> SyclQueue {
        SyclQueue::from_queue(self.queue.clone())
    }

    /// The context of the queue.
    #[getter]
    fn sycl_context(&self) -> SyclContext {
        SyclContext::from_context(self.queue.context().clone())
    }

    /// The device of the queue.
    #[getter]
    fn sycl_device(&self) -> SyclDevice {
        SyclDevice::from_device(self.queue.device().clone())
    }

    /// Print name, driver version, vendor and filter string of the device.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.Device.create_device("host").print_device_info()  # doctest: +ELLIPSIS
    ///     Name   ...
    fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
        Bound::new(py, self.sycl_queue())?.call_method0("print_device_info").map(drop)
    }

    /// Wait for all that was submitted to the queue.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros(3).device.wait()
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Bound::new(py, self.sycl_queue())?.call_method0("wait").map(drop)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match (other.cast::<Self>(), other.cast::<SyclQueue>()) {
            (Ok(other), _) => self.queue == other.get().queue,
            (_, Ok(queue)) => self.queue == *queue.get().queue(),
            _ => false,
        }
    }

    /// That of the queue, to which it is equal.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        Bound::new(py, self.sycl_queue())?.hash()
    }

    fn __repr__(&self) -> String {
        format!("Device({})", self.queue.device().filter_string())
    }
}
