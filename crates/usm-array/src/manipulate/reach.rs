//! Which code reaches the memory of an operation: what a library that computes on it must be able to do

use usm_memory::usm_core::{BackendId, Device, DeviceType, UsmKind};

/// Memory by the code that computes on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Host code, as any memory of a program: host and shared memory of the host backend.
    Host,
    /// Operations of queues alone: device memory of the host backend.
    Protected,
    /// Kernels of CUDA.
    Cuda,
    /// Host code and kernels of CUDA.
    CudaShared,
    /// Kernels of a SYCL device.
    Sycl,
    /// Kernels of a SYCL CPU device, and host code of this library, under guards.
    SyclCpu,
    /// Host code and kernels of a SYCL device.
    SyclShared,
}

impl Reach {
    /// The reach of an operation on a device, whose memory is of the kind that [follows](crate::coerced_kind) from its operands.
    /// `is_host_reachable`: of all of them.
    ///
    /// ```
    /// use usm_array::{Reach, usm_core::{Runtime, UsmKind}};
    ///
    /// let device = Runtime::global().host_device();
    /// assert_eq!(Reach::of(device, UsmKind::Shared, true), Reach::Host);
    /// assert_eq!(Reach::of(device, UsmKind::Device, false), Reach::Protected);
    /// ```
    #[must_use]
    pub fn of(device: &Device, kind: UsmKind, is_host_reachable: bool) -> Self {
        match (device.backend_id(), kind) {
            (BackendId::Host, UsmKind::Device) => Self::Protected,
            (BackendId::Cuda, UsmKind::Device) => Self::Cuda,
            (BackendId::Cuda, _) => Self::CudaShared,
            (BackendId::Sycl, UsmKind::Device) => match device.info().device_type {
                DeviceType::Cpu if is_host_reachable => Self::SyclCpu,
                _ => Self::Sycl,
            },
            (BackendId::Sycl, _) => Self::SyclShared,
            _ => Self::Host,
        }
    }
}
