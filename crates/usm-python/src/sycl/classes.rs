//! Platforms, devices, contexts and queues: what these objects hold. Their methods are elsewhere, since those of queues take arrays.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::{Context, Device, Platform, Queue};

use super::capsule;
use crate::errors::OrRaise;

/// A class around a handle of the same name, with its documentation.
macro_rules! class_of_handle {
    ($(#[$doc:meta])* $class:ident, $handle:ident: $ty:ty, $from_handle:ident) => {
        $(#[$doc])*
        #[pyclass(frozen, weakref, module = "usm")]
        #[derive(Debug)]
        pub struct $class {
            pub(crate) $handle: $ty,
        }

        impl $class {
            #[doc = concat!("Wraps a ", stringify!($handle), ".")]
            #[must_use]
            pub fn $from_handle($handle: $ty) -> Self {
                Self { $handle }
            }

            #[doc = concat!("The ", stringify!($handle), ".")]
            #[must_use]
            pub fn $handle(&self) -> &$ty {
                &self.$handle
            }
        }
    };
}

class_of_handle! {
    /// SyclPlatform(arg=None)
    ///
    /// A SYCL platform: the devices that one driver brings; or the platform of an embedded host device. Without an argument that
    /// of the default device; from a filter string, or a device, that of the device; from a platform the same platform.
    ///
    /// Raises ValueError when there is no such device.
    ///
    /// >>> import usm
    /// >>> usm.SyclPlatform("host").get_devices() == usm.get_devices("host")
    /// True
    SyclPlatform, platform: Platform, from_platform
}

class_of_handle! {
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
    SyclDevice, device: Device, from_device
}

class_of_handle! {
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
    SyclContext, context: Context, from_context
}

impl SyclContext {
    pub(crate) fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.context.to_external().or_raise()?, capsule::CONTEXT)
    }
}

class_of_handle! {
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
    SyclQueue, queue: Queue, from_queue
}

impl SyclQueue {
    pub(crate) fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export(py, self.queue.to_external().or_raise()?, capsule::QUEUE)
    }
}
