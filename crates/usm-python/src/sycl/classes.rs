//! Devices, contexts and queues: what these objects hold. Their methods are elsewhere, since those of queues take arrays.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::{Context, Device, Queue};

use super::capsule;
use crate::errors::OrRaise;

/// SyclDevice(arg=None)
///
/// A SYCL device, or an embedded host device. Without an argument the default device; with a filter string
/// ``backend:device_type:number``, any part of which may be left out, the device it selects; with a device, ours or a root
/// device of dpctl, the same device.
///
/// Raises SyclDeviceCreationError when there is no such device.
///
/// >>> import usm
/// >>> device = usm.SyclDevice("host:cpu:0")
/// >>> device.has_aspect_usm_device_allocations, device.filter_string
/// (True, 'host:cpu:0')
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclDevice {
    pub(super) device: Device,
}

impl SyclDevice {
    /// Wraps a device.
    #[must_use]
    pub fn from_device(device: Device) -> Self {
        Self { device }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
}

/// SyclContext(arg=None)
///
/// A SYCL context, the scope in which USM pointers have a meaning. From a root device, a filter string or nothing (the default
/// device) the default context of its platform; from a sub-device, or a list of devices of one platform, a new context over
/// these; from a context, a queue, a capsule or an object with ``_get_capsule()`` the context of that.
///
/// Raises SyclContextCreationError when there is no such device, or when the devices do not belong together.
///
/// >>> import usm
/// >>> usm.SyclContext("host").device_count
/// 1
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclContext {
    pub(super) context: Context,
}

impl SyclContext {
    /// Wraps a context.
    #[must_use]
    pub fn from_context(context: Context) -> Self {
        Self { context }
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.context.to_external().or_raise()?, capsule::CONTEXT)
    }
}

/// SyclQueue(arg=None, device=None, *, property=None)
///
/// A SYCL queue. From nothing, a filter string or a device a new queue in the default context of the device's platform; from
/// a context a new queue on `device`, or on its first one; from a queue, a capsule or an object with ``_get_capsule()`` that
/// queue. `property` is ``"in_order"`` (or 2), ``"enable_profiling"`` (1), ``"default"`` (0), 3 for both, or a sequence of these.
///
/// Raises SyclQueueCreationError when there is no such device, or when it is not of the context.
///
/// >>> import usm
/// >>> queue = usm.SyclQueue("host", property=["in_order", "enable_profiling"])
/// >>> queue.is_in_order, queue.has_enable_profiling
/// (True, True)
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclQueue {
    pub(crate) queue: Queue,
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

    pub(crate) fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.queue.to_external().or_raise()?, capsule::QUEUE)
    }
}
