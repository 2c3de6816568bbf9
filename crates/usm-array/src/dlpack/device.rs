//! Which device an array is on, in the numbers of DLPack

use usm_memory::usm_core::{BackendId, Device, Runtime, UsmKind};

use crate::abi::{DLDevice, DLDeviceType};
use crate::array::{UsmArray, cuda_device_of};
use crate::error::{DlpackError, Error, Result};

/// The backend whose root devices a kind of device numbers: their places in the list of the runtime are their numbers, and those of
/// CUDA have the numbers of their driver.
///
/// DLPack has no kind for the host backend, whose device memory no other library can use. kDLExtDev is the one for what a program
/// adds.
fn backend_of(kind: DLDeviceType) -> Option<BackendId> {
    match kind {
        DLDeviceType::ONE_API => Some(BackendId::Sycl),
        DLDeviceType::EXT_DEV => Some(BackendId::Host),
        DLDeviceType::CUDA | DLDeviceType::CUDA_HOST | DLDeviceType::CUDA_MANAGED => Some(BackendId::Cuda),
        _ => None,
    }
}

/// The kind of new memory for a kind of device.
pub(super) fn kind_for(kind: DLDeviceType) -> UsmKind {
    match kind {
        DLDeviceType::CPU | DLDeviceType::CUDA_HOST => UsmKind::Host,
        DLDeviceType::CUDA_MANAGED => UsmKind::Shared,
        _ => UsmKind::Device,
    }
}

/// Whether memory of that kind can be handed to, or come from, that kind of device. CUDA alone has a kind of device for each kind of
/// memory; its GPUs take managed memory as their own, too.
pub(super) fn takes(device_type: DLDeviceType, kind: UsmKind) -> bool {
    match device_type {
        DLDeviceType::CUDA => kind != UsmKind::Host,
        DLDeviceType::CUDA_HOST | DLDeviceType::CUDA_MANAGED => kind == kind_for(device_type),
        _ => true,
    }
}

/// The device that a number of kDLOneAPI stands for, its place among the root devices of the SYCL runtime, or one of kDLExtDev, its
/// place among those of the host backend, or one of kDLCUDA, kDLCUDAHost and kDLCUDAManaged, its number in the CUDA driver.
///
/// # Errors
/// - [`Error::Dlpack`] with [`DlpackError::DeviceType`]: another kind of device; [`DlpackError::DeviceId`]: there are not so many
pub fn device_with_number(runtime: &Runtime, wanted: DLDevice) -> Result<Device> {
    let backend =
        backend_of(wanted.device_type).ok_or(DlpackError::DeviceType { found: wanted.device_type })?;
    let index = usize::try_from(wanted.device_id).ok();
    let mut devices = runtime.devices_of(backend);
    let found = match backend {
        BackendId::Cuda => devices.find(|device| device.info().cuda_ordinal == Some(wanted.device_id)),
        _ => index.and_then(|index| devices.nth(index)),
    };
    let missing = || DlpackError::device_id(wanted, runtime.devices_of(backend).count()).into();
    found.cloned().ok_or_else(missing)
}

/// The device that has the memory of a tensor: of kDLCUDAHost and kDLCUDAManaged, whose number is always 0 in DLPack, the one that the driver
/// names for the address; of others the one with the number.
pub(super) fn device_of_memory(runtime: &Runtime, named: DLDevice, address: usize) -> Result<Device> {
    let numbered = device_with_number(runtime, named)?;
    let has_number = !matches!(named.device_type, DLDeviceType::CUDA_HOST | DLDeviceType::CUDA_MANAGED);
    let owner = if has_number { None } else { cuda_device_of(runtime, address) };
    Ok(owner.cloned().unwrap_or(numbered))
}

/// The number of a root device: of kDLOneAPI for one of the SYCL runtime, of kDLExtDev for one of the host backend, of kDLCUDA for one
/// of the CUDA backend.
///
/// ```
/// use usm_array::dlpack::{DLDevice, DLDeviceType, number_of_device};
/// use usm_array::usm_core::Runtime;
///
/// let runtime = Runtime::global();
/// let number = DLDevice { device_type: DLDeviceType::EXT_DEV, device_id: 0 };
/// assert_eq!(number_of_device(runtime, runtime.host_device()), Some(number));
/// ```
#[must_use]
pub fn number_of_device(runtime: &Runtime, device: &Device) -> Option<DLDevice> {
    let device_type = match device.backend_id() {
        BackendId::Sycl => DLDeviceType::ONE_API,
        BackendId::Host => DLDeviceType::EXT_DEV,
        BackendId::Cuda => {
            let device_type = DLDeviceType::CUDA;
            return device.info().cuda_ordinal.map(|device_id| DLDevice { device_type, device_id });
        }
        _ => return None,
    };
    let index = runtime.devices_of(device.backend_id()).position(|root| root == device)?;
    // There are not more devices than that.
    Some(DLDevice { device_type, device_id: index as i32 })
}

impl UsmArray {
    /// The DLPack device of this array. SYCL memory in the default context of its platform is on kDLOneAPI, with the
    /// place of the device among the root devices of the SYCL runtime. Other memory that host code can touch is on kDLCPU 0.
    /// Device memory of the host backend is on kDLExtDev, which other libraries refuse. Memory of the CUDA backend is on kDLCUDA,
    /// kDLCUDAHost or kDLCUDAManaged, by its kind; the number is that of the GPU in the driver for kDLCUDA, and 0 for the others.
    ///
    /// # Errors
    /// - [`Error::Dlpack`] with [`DlpackError::NoDevice`]: device memory of another context or of a sub-device
    /// - [`Error::Memory`]: the runtime does not report its default contexts
    pub fn dlpack_device(&self, runtime: &Runtime) -> Result<DLDevice> {
        let is_accessible = self.is_host_accessible();
        if is_accessible && self.device().backend_id() == BackendId::Host {
            return Ok(DLDevice::CPU);
        }
        match self.numbered_device(runtime) {
            Err(Error::Dlpack(DlpackError::NoDevice { .. })) if is_accessible => Ok(DLDevice::CPU),
            other => other,
        }
    }

    /// The number of the array's device, which goes with the default context.
    pub(super) fn numbered_device(&self, runtime: &Runtime) -> Result<DLDevice> {
        let device = self.device();
        let refused = |why: &str| {
            Err(DlpackError::NoDevice {
                kind: self.kind(),
                device: format!("{} ({why})", device.filter_string()),
            }
            .into())
        };
        let Some(number) = number_of_device(runtime, device) else {
            return refused("not a root device");
        };
        let default = runtime.default_queue(device)?;
        if default.context() != self.context() {
            return refused("not in the default context");
        }
        // "For vanilla CPU memory, pinned memory, or managed memory, this is set to 0" (`DLDevice` in dlpack.h)
        let zero = |device_type| DLDevice { device_type, device_id: 0 };
        Ok(match (number.device_type, self.kind()) {
            (DLDeviceType::CUDA, UsmKind::Host) => zero(DLDeviceType::CUDA_HOST),
            (DLDeviceType::CUDA, UsmKind::Shared) => zero(DLDeviceType::CUDA_MANAGED),
            _ => number,
        })
    }
}
