//! Facts about devices and platforms through the C interface.

use std::ffi::{CStr, c_char};
use std::ptr;

use sycl_sys::{
    Api, DPCTLGlobalMemCacheType, DPCTLSyclAspectType, DPCTLSyclBackendType, DPCTLSyclDeviceRef,
    DPCTLSyclDeviceType, DPCTLSyclPlatformRef,
};

use crate::DeviceType;
use crate::backend::{Aspects, CacheType, DeviceInfo, ImageLimits, PlatformInfo, VectorWidths};

/// The vendor of Intel's devices. PoCL's devices have the processor's: "GenuineIntel".
pub(super) const INTEL: &str = "Intel(R) Corporation";
/// The name of the backend below SYCL.
pub(super) const OPENCL: &str = "opencl";

/// Each aspect with its name in the C interface.
const ASPECTS: [(Aspects, DPCTLSyclAspectType); 23] = [
    (Aspects::HOST, DPCTLSyclAspectType::HOST),
    (Aspects::CPU, DPCTLSyclAspectType::CPU),
    (Aspects::GPU, DPCTLSyclAspectType::GPU),
    (Aspects::ACCELERATOR, DPCTLSyclAspectType::ACCELERATOR),
    (Aspects::CUSTOM, DPCTLSyclAspectType::CUSTOM),
    (Aspects::FP16, DPCTLSyclAspectType::FP16),
    (Aspects::FP64, DPCTLSyclAspectType::FP64),
    (Aspects::ATOMIC64, DPCTLSyclAspectType::ATOMIC64),
    (Aspects::IMAGE, DPCTLSyclAspectType::IMAGE),
    (Aspects::ONLINE_COMPILER, DPCTLSyclAspectType::ONLINE_COMPILER),
    (Aspects::ONLINE_LINKER, DPCTLSyclAspectType::ONLINE_LINKER),
    (Aspects::QUEUE_PROFILING, DPCTLSyclAspectType::QUEUE_PROFILING),
    (Aspects::USM_DEVICE_ALLOCATIONS, DPCTLSyclAspectType::USM_DEVICE_ALLOCATIONS),
    (Aspects::USM_HOST_ALLOCATIONS, DPCTLSyclAspectType::USM_HOST_ALLOCATIONS),
    (Aspects::USM_SHARED_ALLOCATIONS, DPCTLSyclAspectType::USM_SHARED_ALLOCATIONS),
    (Aspects::USM_SYSTEM_ALLOCATIONS, DPCTLSyclAspectType::USM_SYSTEM_ALLOCATIONS),
    (Aspects::USM_ATOMIC_HOST_ALLOCATIONS, DPCTLSyclAspectType::USM_ATOMIC_HOST_ALLOCATIONS),
    (Aspects::USM_ATOMIC_SHARED_ALLOCATIONS, DPCTLSyclAspectType::USM_ATOMIC_SHARED_ALLOCATIONS),
    (Aspects::HOST_DEBUGGABLE, DPCTLSyclAspectType::HOST_DEBUGGABLE),
    (Aspects::EMULATED, DPCTLSyclAspectType::EMULATED),
    (Aspects::IS_COMPONENT, DPCTLSyclAspectType::IS_COMPONENT),
    (Aspects::IS_COMPOSITE, DPCTLSyclAspectType::IS_COMPOSITE),
    (Aspects::EXT_ONEAPI_IPC_MEMORY, DPCTLSyclAspectType::EXT_ONEAPI_IPC_MEMORY),
];

/// A device or platform with the functions that report its facts.
///
/// Invariant F1: `object` is live as long as this value is used.
struct Asked<'a, T> {
    api: &'a Api,
    object: T,
}

impl<T: Copy> Asked<'_, T> {
    /// A number or a code. No call of this file throws for a live object, unless the driver violates its own standard. Such an
    /// exception ends the process.
    fn guarded<R>(&self, get: unsafe extern "C" fn(T) -> R) -> R {
        // SAFETY: F1.
        unsafe { get(self.object) }
    }

    fn unguarded<R>(&self, get: unsafe extern "C-unwind" fn(T) -> R) -> R {
        // SAFETY: F1; C++ does not throw for facts that a driver must report about its device.
        unsafe { get(self.object) }
    }

    /// A fact that only informs. It is 0 if the library has no function for it.
    fn told<R: Default>(&self, get: Option<unsafe extern "C" fn(T) -> R>) -> R {
        get.map_or_else(R::default, |get| self.guarded(get))
    }

    /// As [`told`](Self::told), for a function that may throw.
    fn told_unguarded<R: Default>(&self, get: Option<unsafe extern "C-unwind" fn(T) -> R>) -> R {
        get.map_or_else(R::default, |get| self.unguarded(get))
    }

    /// A text that only informs. It is empty if the library has no function for it.
    fn told_text(&self, get: Option<unsafe extern "C" fn(T) -> *const c_char>) -> String {
        get.map_or_else(String::new, |get| self.text(get))
    }

    fn text(&self, get: unsafe extern "C" fn(T) -> *const c_char) -> String {
        let text = self.guarded(get);
        // SAFETY: a string that the call just made for us (S1).
        unsafe { take_string(self.api, text) }
    }
}

/// Whether device USM is memory of this process: the OpenCL runtime of a CPU allocates it there.
///
/// # Safety
/// 1. `device` is live.
pub(super) unsafe fn is_in_process(api: &Api, device: DPCTLSyclDeviceRef) -> bool {
    // F1: the caller's promise 1.
    let asked = Asked { api, object: device };
    asked.guarded(api.DPCTLDevice_GetDeviceType) == DPCTLSyclDeviceType::CPU
        && asked.guarded(api.DPCTLDevice_GetBackend) == DPCTLSyclBackendType::OPENCL
}

/// Whether other processes can open device USM of the device.
///
/// # Safety
/// 1. `device` is live.
pub(super) unsafe fn has_ipc_memory(api: &Api, device: DPCTLSyclDeviceRef) -> bool {
    let aspect = DPCTLSyclAspectType::EXT_ONEAPI_IPC_MEMORY;
    api.form().has_aspect_number(aspect) && {
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLDevice_HasAspect)(device, aspect) }
    }
}

/// Whether the device's driver reports all facts about the sub-groups of a kernel.
///
/// The C interface throws, and so ends the process, if a driver refuses a request. No other fact says which requests a driver
/// supports: PoCL 6 has the extension `cl_intel_required_subgroup_size` and refuses the kernel's size; older releases abort. The
/// drivers of Intel, which defined the requests, support all of them.
///
/// # Safety
/// 1. `device` is live.
pub(super) unsafe fn knows_sub_groups_of_kernels(api: &Api, device: DPCTLSyclDeviceRef) -> bool {
    // F1: the caller's promise 1.
    let asked = Asked { api, object: device };
    asked.text(api.DPCTLDevice_GetVendor) == INTEL
}

/// Reads all facts of a device.
///
/// # Safety
/// 1. `device` is live.
pub(super) unsafe fn device(api: &Api, device: DPCTLSyclDeviceRef) -> DeviceInfo {
    // F1: the caller's promise 1.
    let asked = Asked { api, object: device };
    let device_type = match asked.guarded(api.DPCTLDevice_GetDeviceType) {
        DPCTLSyclDeviceType::CPU => DeviceType::Cpu,
        DPCTLSyclDeviceType::GPU => DeviceType::Gpu,
        DPCTLSyclDeviceType::ACCELERATOR => DeviceType::Accelerator,
        _ => DeviceType::Custom,
    };
    let has = |(_, aspect): &&(Aspects, DPCTLSyclAspectType)| {
        api.form().has_aspect_number(*aspect) && {
            // SAFETY: F1.
            unsafe { (api.DPCTLDevice_HasAspect)(device, *aspect) }
        }
    };
    // Negative for a sub-device.
    let number = usize::try_from(asked.guarded(api.DPCTLDeviceMgr_GetRelativeId)).ok();
    DeviceInfo {
        name: asked.text(api.DPCTLDevice_GetName),
        vendor: asked.text(api.DPCTLDevice_GetVendor),
        driver_version: asked.told_text(api.DPCTLDevice_GetDriverVersion),
        aspects: ASPECTS.iter().filter(has).map(|(aspect, _)| *aspect).collect(),
        max_alloc_bytes: asked.unguarded(api.DPCTLDevice_GetMaxMemAllocSize),
        global_mem_bytes: asked.told(api.DPCTLDevice_GetGlobalMemSize),
        global_cache_bytes: asked.told_unguarded(api.DPCTLDevice_GetGlobalMemCacheSize),
        global_cache_line_bytes: asked.told_unguarded(api.DPCTLDevice_GetGlobalMemCacheLineSize),
        global_cache_type: match api.DPCTLDevice_GetGlobalMemCacheType.map(|get| asked.unguarded(get)) {
            Some(DPCTLGlobalMemCacheType::NONE) => Some(CacheType::Absent),
            Some(DPCTLGlobalMemCacheType::READ_ONLY) => Some(CacheType::ReadOnly),
            Some(DPCTLGlobalMemCacheType::READ_WRITE) => Some(CacheType::ReadWrite),
            _ => None,
        },
        local_mem_bytes: asked.guarded(api.DPCTLDevice_GetLocalMemSize),
        compute_units: asked.guarded(api.DPCTLDevice_GetMaxComputeUnits),
        max_sub_devices: asked.guarded(api.DPCTLDevice_GetPartitionMaxSubDevices),
        max_work_group_size: asked.guarded(api.DPCTLDevice_GetMaxWorkGroupSize),
        max_work_item_sizes: {
            let get = api.DPCTLDevice_GetMaxWorkItemSizes3d;
            let sizes = get.map_or(ptr::null_mut(), |get| asked.guarded(get));
            // SAFETY: an array of three that the call just made for us (S1), or null.
            let sizes = unsafe { take_sizes(api, sizes, 3) };
            sizes.try_into().unwrap_or_default()
        },
        max_sub_groups: asked.told(api.DPCTLDevice_GetMaxNumSubGroups),
        sub_group_sizes: {
            let mut len = 0;
            let sizes = api.DPCTLDevice_GetSubGroupSizes.map_or(ptr::null_mut(), |get| {
                // SAFETY: F1; `len` is written during the call.
                unsafe { get(device, &raw mut len) }
            });
            // SAFETY: an array of that length that the call just made for us (S1), or null.
            unsafe { take_sizes(api, sizes, len) }
        },
        independent_sub_groups: asked.told(api.DPCTLDevice_GetSubGroupIndependentForwardProgress),
        images: ImageLimits {
            max_read_args: asked.told(api.DPCTLDevice_GetMaxReadImageArgs),
            max_write_args: asked.told(api.DPCTLDevice_GetMaxWriteImageArgs),
            max_2d: [
                asked.told(api.DPCTLDevice_GetImage2dMaxWidth),
                asked.told(api.DPCTLDevice_GetImage2dMaxHeight),
            ],
            max_3d: [
                asked.told(api.DPCTLDevice_GetImage3dMaxWidth),
                asked.told(api.DPCTLDevice_GetImage3dMaxHeight),
                asked.told(api.DPCTLDevice_GetImage3dMaxDepth),
            ],
        },
        // SAFETY: F1.
        default_selector_score: unsafe { default_selector_score(api, device) },
        preferred_vector_widths: VectorWidths {
            char: asked.told(api.DPCTLDevice_GetPreferredVectorWidthChar),
            short: asked.told(api.DPCTLDevice_GetPreferredVectorWidthShort),
            int: asked.told(api.DPCTLDevice_GetPreferredVectorWidthInt),
            long: asked.told(api.DPCTLDevice_GetPreferredVectorWidthLong),
            float: asked.told(api.DPCTLDevice_GetPreferredVectorWidthFloat),
            double: asked.told(api.DPCTLDevice_GetPreferredVectorWidthDouble),
            half: asked.told(api.DPCTLDevice_GetPreferredVectorWidthHalf),
        },
        native_vector_widths: VectorWidths {
            char: asked.told(api.DPCTLDevice_GetNativeVectorWidthChar),
            short: asked.told(api.DPCTLDevice_GetNativeVectorWidthShort),
            int: asked.told(api.DPCTLDevice_GetNativeVectorWidthInt),
            long: asked.told(api.DPCTLDevice_GetNativeVectorWidthLong),
            float: asked.told(api.DPCTLDevice_GetNativeVectorWidthFloat),
            double: asked.told(api.DPCTLDevice_GetNativeVectorWidthDouble),
            half: asked.told(api.DPCTLDevice_GetNativeVectorWidthHalf),
        },
        max_clock_mhz: asked.told_unguarded(api.DPCTLDevice_GetMaxClockFrequency),
        profiling_timer_resolution_ns: asked.told_unguarded(api.DPCTLDevice_GetProfilingTimerResolution),
        ..DeviceInfo::new(backend_name(asked.guarded(api.DPCTLDevice_GetBackend)), device_type, number)
    }
}

/// The score that SYCL's default selector gives to a device.
///
/// # Safety
/// 1. `device` is live.
unsafe fn default_selector_score(api: &Api, device: DPCTLSyclDeviceRef) -> i32 {
    let (Some(create), Some(score)) = (api.DPCTLDefaultSelector_Create, api.DPCTLDeviceSelector_Score) else {
        return -1;
    };
    // SAFETY: takes nothing (S1).
    let selector = unsafe { create() };
    if selector.is_null() {
        return -1;
    }
    // SAFETY: both are live: the selector as just made, the device by the caller's promise 1.
    let score = unsafe { score(selector, device) };
    // SAFETY: our own handle (S1), without a later use.
    unsafe { (api.DPCTLDeviceSelector_Delete)(selector) };
    score
}

/// Reads all facts of a platform.
///
/// # Safety
/// 1. `platform` is live.
pub(super) unsafe fn platform(api: &Api, platform: DPCTLSyclPlatformRef) -> PlatformInfo {
    // F1: the caller's promise 1.
    let asked = Asked { api, object: platform };
    PlatformInfo {
        name: asked.text(api.DPCTLPlatform_GetName),
        vendor: asked.told_text(api.DPCTLPlatform_GetVendor),
        version: asked.told_text(api.DPCTLPlatform_GetVersion),
        ..PlatformInfo::new(backend_name(asked.guarded(api.DPCTLPlatform_GetBackend)))
    }
}

/// The version of the compiler that the interface was built with.
pub(super) fn version(api: &Api) -> String {
    let Some(get) = api.DPCTLService_GetDPCPPVersion else { return String::new() };
    // SAFETY: takes nothing (S1).
    let text = unsafe { get() };
    // SAFETY: a string that the call just made for us (S1).
    unsafe { take_string(api, text) }
}

fn backend_name(backend: DPCTLSyclBackendType) -> &'static str {
    match backend {
        DPCTLSyclBackendType::OPENCL => OPENCL,
        DPCTLSyclBackendType::LEVEL_ZERO => "level_zero",
        DPCTLSyclBackendType::CUDA => "cuda",
        DPCTLSyclBackendType::HIP => "hip",
        _ => "unknown",
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

/// Copies an array of the interface and deletes it.
///
/// # Safety
/// 1. `sizes` is null or an array of `len` sizes that the interface made for its caller to delete.
unsafe fn take_sizes(api: &Api, sizes: *mut usize, len: usize) -> Vec<usize> {
    if sizes.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise 1.
    let copy = unsafe { std::slice::from_raw_parts(sizes, len) }.to_vec();
    // SAFETY: the caller's promise 1; it is used no more.
    unsafe { (api.DPCTLSize_t_Array_Delete)(sizes) };
    copy
}
