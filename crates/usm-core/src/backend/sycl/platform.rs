//! Platforms: the list of them, and their devices.

use sycl_sys::{Api, DPCTLSyclDeviceType, DPCTLSyclPlatformRef};

use super::SyclBackend;
use super::vector::{Vectors, take_devices};
use crate::Result;
use crate::backend::{RawDevice, RawPlatform};

impl SyclBackend {
    pub(super) fn list_platforms(api: &Api) -> Result<Vec<RawPlatform>> {
        // SAFETY: S1; takes nothing.
        let vector = unsafe { (api.DPCTLPlatform_GetPlatforms)() };
        let vectors = Vectors {
            element_call: "PlatformVector_GetAt",
            len: api.DPCTLPlatformVector_Size,
            element: api.DPCTLPlatformVector_GetAt,
            delete: api.DPCTLPlatformVector_Delete,
            delete_element: api.DPCTLPlatform_Delete,
        };
        // SAFETY: 1. The functions for platforms. 2. The vector was made for us (S1).
        let platforms = unsafe { vectors.take(vector, "Platform_GetPlatforms") }?;
        Ok(platforms.into_iter().map(RawPlatform::new).collect())
    }

    /// # Safety
    /// 1. `platform` is live.
    pub(super) unsafe fn devices_of_platform(
        api: &Api,
        platform: DPCTLSyclPlatformRef,
    ) -> Result<Vec<RawDevice>> {
        // SAFETY: the caller's promise 1.
        let vector = unsafe { (api.DPCTLPlatform_GetDevices)(platform, DPCTLSyclDeviceType::ALL) };
        // SAFETY: the vector was made for us (S1).
        unsafe { take_devices(api, vector, "Platform_GetDevices") }
    }
}
