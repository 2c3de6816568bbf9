//! Contexts: the default one of a platform, new ones, and their devices.

use sycl_sys::{Api, DPCTLSyclContextRef, DPCTLSyclDeviceRef};

use super::vector::take_devices;
use super::{HANDLER, SyclBackend, device, some};
use crate::Result;
use crate::backend::{RawContext, RawDevice};

impl SyclBackend {
    /// # Safety
    /// 1. `device` is live.
    pub(super) unsafe fn cached_context(api: &Api, device: DPCTLSyclDeviceRef) -> Result<RawContext> {
        // SAFETY: the caller's promise 1.
        let context = unsafe { (api.DPCTLDeviceMgr_GetCachedContext)(device) };
        some(context, "DeviceMgr_GetCachedContext").map(RawContext::new)
    }

    /// # Safety
    /// 1. All `devices` are live.
    pub(super) unsafe fn new_context(api: &Api, devices: &[RawDevice]) -> Result<RawContext> {
        if let [one] = devices {
            // SAFETY: the handle is live (promise 1); the handler is a function that does not unwind.
            let context = unsafe { (api.DPCTLContext_Create)(device(*one), HANDLER, 0) };
            return some(context, "Context_Create").map(RawContext::new);
        }
        let mut handles: Vec<_> = devices.iter().map(|&raw| device(raw)).collect();
        // SAFETY: the array holds live handles (promise 1), of which copies are made.
        let vector = unsafe { (api.DPCTLDeviceVector_CreateFromArray)(handles.len(), handles.as_mut_ptr()) };
        some(vector, "DeviceVector_CreateFromArray")?;
        // SAFETY: a live vector (S1); the handler is a function that does not unwind.
        let context = unsafe { (api.DPCTLContext_CreateFromDevices)(vector, HANDLER, 0) };
        // SAFETY: our own handle (S1), without a later use.
        unsafe { (api.DPCTLDeviceVector_Delete)(vector) };
        some(context, "Context_CreateFromDevices").map(RawContext::new)
    }

    /// # Safety
    /// 1. `context` is live.
    pub(super) unsafe fn devices_of_context(
        api: &Api,
        context: DPCTLSyclContextRef,
    ) -> Result<Vec<RawDevice>> {
        // SAFETY: the caller's promise 1.
        let vector = unsafe { (api.DPCTLContext_GetDevices)(context) };
        // SAFETY: the vector was made for us (S1).
        unsafe { take_devices(api, vector, "Context_GetDevices") }
    }
}
