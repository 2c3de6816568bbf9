//! Which code reaches the memory of an operation: what a library that computes on it must be able to do

use usm_memory::usm_core::{BackendId, Device, DeviceType, UsmKind};

use crate::array::{UsmArray, coerced_kind};

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

/// The memory of all operands of an operation, and of its result where that is given.
///
/// ```
/// use usm_array::{Dtype, OperandMemory, Reach, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let device = Runtime::global().host_device();
/// let queue = Runtime::global().default_queue(device)?;
/// let of = |kind, dtype| UsmArray::zeros(&queue, kind, &[2], dtype);
/// let host = OperandMemory::NONE.with(&of(UsmKind::Host, Dtype::F32)?);
/// assert_eq!((host.reach(device), host.is_narrow()), (Reach::Host, false));
/// let both = host.with(&of(UsmKind::Device, Dtype::BF16)?);
/// assert_eq!((both.reach(device), both.is_narrow()), (Reach::Protected, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OperandMemory {
    kind: Option<UsmKind>,
    is_host_reachable: bool,
    is_narrow: bool,
}

impl OperandMemory {
    /// Of no operand.
    pub const NONE: Self = Self { kind: None, is_host_reachable: true, is_narrow: false };

    /// Of one more operand.
    #[must_use]
    pub fn with(self, array: &UsmArray) -> Self {
        Self {
            kind: coerced_kind(self.kind.into_iter().chain([array.kind()])),
            is_host_reachable: self.is_host_reachable && array.is_host_reachable(),
            is_narrow: self.is_narrow || array.dtype().is_narrow(),
        }
    }

    /// Which code reaches the memory of an operation on all of them, on the device that they are on.
    #[must_use]
    pub fn reach(&self, device: &Device) -> Reach {
        Reach::of(device, self.kind.unwrap_or(UsmKind::Device), self.is_host_reachable)
    }

    /// Whether some have narrow floating-point numbers, with which few libraries compute.
    #[must_use]
    pub const fn is_narrow(&self) -> bool {
        self.is_narrow
    }
}
