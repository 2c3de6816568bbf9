//! Platforms: the list of them, and their devices.

use std::ptr::NonNull;

use sycl_sys::{Api, DPCTLSyclDeviceType, DPCTLSyclPlatformRef};

use super::SyclBackend;
use crate::Result;
use crate::backend::{Backend, RawDevice, RawHandle, RawPlatform};

impl SyclBackend {
    pub(super) fn list_platforms(&self, api: &Api) -> Result<Vec<RawPlatform>> {
        // SAFETY: S1; takes nothing.
        let vector = unsafe { (api.DPCTLPlatform_GetPlatforms)() };
        if vector.is_null() {
            return Err(Self::failed("Platform_GetPlatforms"));
        }
        // SAFETY: the vector is live.
        let len = unsafe { (api.DPCTLPlatformVector_Size)(vector) };
        let platforms = (0..len).filter_map(|index| {
            // SAFETY: the vector is live and the index in range.
            let platform = unsafe { (api.DPCTLPlatformVector_GetAt)(vector, index) };
            NonNull::new(platform.cast()).map(RawPlatform::new)
        });
        let platforms: Vec<_> = platforms.collect();
        // SAFETY: our own handle, without a later use; the platforms taken out are copies.
        unsafe { (api.DPCTLPlatformVector_Delete)(vector) };
        if platforms.len() == len {
            return Ok(platforms);
        }
        // An incomplete list would look like a complete one.
        for platform in platforms {
            // SAFETY: our own handle, without a later use.
            unsafe { self.release(RawHandle::Platform(platform)) };
        }
        Err(Self::failed("PlatformVector_GetAt"))
    }

    /// # Safety
    /// 1. `platform` is live.
    pub(super) unsafe fn devices_of_platform(
        &self,
        api: &Api,
        platform: DPCTLSyclPlatformRef,
    ) -> Result<Vec<RawDevice>> {
        // SAFETY: the caller's promise 1.
        let vector = unsafe { (api.DPCTLPlatform_GetDevices)(platform, DPCTLSyclDeviceType::ALL) };
        // SAFETY: the vector was made for us.
        unsafe { self.take_devices(api, vector, "Platform_GetDevices") }
    }
}
