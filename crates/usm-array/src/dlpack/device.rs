//! Which device an array is on, in the numbers of DLPack

use usm_memory::usm_core::{BackendId, Device, Runtime};

use super::abi::DLDevice;
use super::codes::DLDeviceType;
use super::error::DlpackError;
use crate::array::UsmArray;
use crate::error::{Error, Result};

/// The host.
pub(super) const CPU: DLDevice = DLDevice { device_type: DLDeviceType::CPU, device_id: 0 };

/// The root devices of the SYCL runtime: their places in this list are their numbers in DLPack.
fn one_api_devices(runtime: &Runtime) -> impl Iterator<Item = Device> {
    runtime.devices().into_iter().filter(|device| device.backend_id() == BackendId::Sycl)
}

/// The SYCL device that a kDLOneAPI number stands for: its place among the root devices of the runtime.
///
/// # Errors
/// - [`Error::Dlpack`] with [`DlpackError::DeviceType`]: another kind of device; [`DlpackError::DeviceId`]: there are not so many
pub fn device_with_number(runtime: &Runtime, wanted: DLDevice) -> Result<Device> {
    match wanted.device_type {
        DLDeviceType::ONE_API => one_api_device(runtime, wanted),
        found => Err(DlpackError::DeviceType { found }.into()),
    }
}

/// The kDLOneAPI number of a root device of the SYCL runtime.
///
/// ```
/// use usm_array::dlpack::number_of_device;
/// use usm_array::usm_core::Runtime;
///
/// let runtime = Runtime::global();
/// assert_eq!(number_of_device(runtime, runtime.host_device()), None);
/// ```
#[must_use]
pub fn number_of_device(runtime: &Runtime, device: &Device) -> Option<DLDevice> {
    let index = one_api_devices(runtime).position(|root| root == *device)?;
    // There are not more devices than that.
    Some(DLDevice { device_type: DLDeviceType::ONE_API, device_id: index as i32 })
}

/// The device with a number.
pub(super) fn one_api_device(runtime: &Runtime, wanted: DLDevice) -> Result<Device> {
    let index = usize::try_from(wanted.device_id).ok();
    index
        .and_then(|index| one_api_devices(runtime).nth(index))
        .ok_or_else(|| DlpackError::device_id(wanted, one_api_devices(runtime).count()).into())
}

impl UsmArray {
    /// The device that DLPack says this array is on: kDLOneAPI with the position among the root devices of the SYCL runtime, if the
    /// memory is in the default context of its platform; kDLCPU for other memory that host code can touch.
    ///
    /// # Errors
    /// - [`Error::Dlpack`] with [`DlpackError::NoDevice`]: device memory of another context, of a sub-device or without SYCL
    /// - [`Error::Memory`]: the runtime cannot tell its default contexts
    pub fn dlpack_device(&self, runtime: &Runtime) -> Result<DLDevice> {
        match self.one_api_device(runtime) {
            Err(Error::Dlpack(DlpackError::NoDevice { .. })) if self.is_host_accessible() => Ok(CPU),
            other => other,
        }
    }

    /// The number of the array's device, which the default context of the platform goes with.
    pub(super) fn one_api_device(&self, runtime: &Runtime) -> Result<DLDevice> {
        let device = self.device();
        let refused = |why: &str| {
            Err(DlpackError::NoDevice {
                kind: self.kind(),
                device: format!("{} ({why})", device.filter_string()),
            }
            .into())
        };
        if device.backend_id() != BackendId::Sycl {
            return refused("not a SYCL device");
        }
        let Some(number) = number_of_device(runtime, device) else {
            return refused("not a root device");
        };
        let default = runtime.default_queue(device).map_err(usm_memory::Error::from)?;
        if default.context() != self.context() {
            return refused("not in the default context");
        }
        Ok(number)
    }
}
