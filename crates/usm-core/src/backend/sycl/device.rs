//! Device facts through the C interface.

use std::ffi::{CStr, c_char};

use sycl_sys::{Api, DPCTLSyclAspectType, DPCTLSyclBackendType, DPCTLSyclDeviceRef, DPCTLSyclDeviceType};

use crate::{DeviceInfo, DeviceType};

/// Reads all facts of a device.
///
/// # Safety
/// 1. `device` is live.
pub(super) unsafe fn info(api: &Api, device: DPCTLSyclDeviceRef) -> DeviceInfo {
    let text = |get: unsafe extern "C" fn(DPCTLSyclDeviceRef) -> *const c_char| {
        // SAFETY: the caller's promise 1.
        let text = unsafe { get(device) };
        // SAFETY: a string that the call just made for us.
        unsafe { take_string(api, text) }
    };
    let has = |aspect| {
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLDevice_HasAspect)(device, aspect) }
    };
    // SAFETY: the caller's promise 1.
    let backend = unsafe { (api.DPCTLDevice_GetBackend)(device) };
    // SAFETY: the caller's promise 1.
    let device_type = unsafe { (api.DPCTLDevice_GetDeviceType)(device) };
    DeviceInfo {
        name: text(api.DPCTLDevice_GetName),
        vendor: text(api.DPCTLDevice_GetVendor),
        driver_version: text(api.DPCTLDevice_GetDriverVersion),
        backend_name: match backend {
            DPCTLSyclBackendType::OPENCL => "opencl",
            DPCTLSyclBackendType::LEVEL_ZERO => "level_zero",
            DPCTLSyclBackendType::CUDA => "cuda",
            DPCTLSyclBackendType::HIP => "hip",
            _ => "unknown",
        },
        device_type: match device_type {
            DPCTLSyclDeviceType::CPU => DeviceType::Cpu,
            DPCTLSyclDeviceType::GPU => DeviceType::Gpu,
            DPCTLSyclDeviceType::ACCELERATOR => DeviceType::Accelerator,
            _ => DeviceType::Custom,
        },
        // Sub-devices have no number of their own.
        // SAFETY: the caller's promise 1.
        number: usize::try_from(unsafe { (api.DPCTLDeviceMgr_GetRelativeId)(device) }).unwrap_or(0),
        // SAFETY: the caller's promise 1.
        max_alloc_bytes: unsafe { (api.DPCTLDevice_GetMaxMemAllocSize)(device) },
        // SAFETY: the caller's promise 1.
        global_mem_bytes: unsafe { (api.DPCTLDevice_GetGlobalMemSize)(device) },
        // SAFETY: the caller's promise 1.
        local_mem_bytes: unsafe { (api.DPCTLDevice_GetLocalMemSize)(device) },
        // SAFETY: the caller's promise 1.
        compute_units: unsafe { (api.DPCTLDevice_GetMaxComputeUnits)(device) },
        // SAFETY: the caller's promise 1.
        max_work_group_size: unsafe { (api.DPCTLDevice_GetMaxWorkGroupSize)(device) },
        has_fp16: has(DPCTLSyclAspectType::FP16),
        has_fp64: has(DPCTLSyclAspectType::FP64),
        has_usm_host: has(DPCTLSyclAspectType::USM_HOST_ALLOCATIONS),
        has_usm_device: has(DPCTLSyclAspectType::USM_DEVICE_ALLOCATIONS),
        has_usm_shared: has(DPCTLSyclAspectType::USM_SHARED_ALLOCATIONS),
    }
}

/// Copies a string of the interface and deletes it.
///
/// # Safety
/// 1. `text` is null or a string that the interface made for its caller to delete.
unsafe fn take_string(api: &Api, text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise 1: a string that ends with 0.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
    // SAFETY: the caller's promise 1; it is used no more.
    unsafe { (api.DPCTLCString_Delete)(text) };
    copy
}
