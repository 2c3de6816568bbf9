//! Facts about devices and the platform.

use std::ffi::{CStr, c_char};

use super::NAME;
use super::device::{CudaDevice, CudaPlatform};
use super::driver::{Attribute, Code, Driver};
use crate::backend::{Aspects, CacheType, CudaVersions, DeviceInfo, DeviceType, PlatformInfo, VectorWidths};

const VENDOR: &str = "NVIDIA Corporation";

pub(super) fn platform_info(platform: &CudaPlatform) -> PlatformInfo {
    let mut info = PlatformInfo::new(NAME);
    "NVIDIA CUDA".clone_into(&mut info.name);
    VENDOR.clone_into(&mut info.vendor);
    info.version = format!("CUDA {}", platform.version_text());
    info
}

pub(super) fn device_info(device: &CudaDevice) -> DeviceInfo {
    let mut info = DeviceInfo::new(NAME, DeviceType::Gpu, Some(device.number));
    info.cuda_ordinal = Some(device.ordinal);
    let driver = device.platform.entry.look();
    let attribute = |attribute| driver.attribute(attribute, device.ordinal);
    let number = |wanted| u32::try_from(attribute(wanted)).unwrap_or(0);
    let size = |wanted| usize::try_from(attribute(wanted)).unwrap_or(0);
    info.cuda_versions = Some(CudaVersions {
        driver: device.platform.version(),
        compute_capability: [Attribute::COMPUTE_CAPABILITY_MAJOR, Attribute::COMPUTE_CAPABILITY_MINOR]
            .map(number),
    });
    info.name = name(&driver, device);
    VENDOR.clone_into(&mut info.vendor);
    let pci_address = pci(&driver, device);
    info.driver_version = format!(
        "CUDA {}, compute capability {}.{}, PCI {pci_address}",
        device.platform.version_text(),
        number(Attribute::COMPUTE_CAPABILITY_MAJOR),
        number(Attribute::COMPUTE_CAPABILITY_MINOR),
    );
    info.pci_address = Some(pci_address).filter(|address| !address.is_empty());
    info.aspects = Aspects::GPU
        | Aspects::FP16
        | Aspects::FP64
        | Aspects::ATOMIC64
        | Aspects::QUEUE_PROFILING
        | Aspects::USM_DEVICE_ALLOCATIONS
        | Aspects::USM_HOST_ALLOCATIONS;
    // Elsewhere host code must not touch managed memory while a kernel runs.
    if attribute(Attribute::CONCURRENT_MANAGED_ACCESS) != 0 {
        info.aspects |= Aspects::USM_SHARED_ALLOCATIONS;
    }
    if attribute(Attribute::PAGEABLE_MEMORY_ACCESS) != 0 {
        info.aspects |= Aspects::USM_SYSTEM_ALLOCATIONS;
    }
    if attribute(Attribute::HOST_NATIVE_ATOMIC_SUPPORTED) != 0 {
        info.aspects |= Aspects::USM_ATOMIC_HOST_ALLOCATIONS | Aspects::USM_ATOMIC_SHARED_ALLOCATIONS;
    }
    info.global_mem_bytes = total_memory(&driver, device);
    info.max_alloc_bytes = info.global_mem_bytes;
    info.global_cache_bytes = u64::from(number(Attribute::L2_CACHE_SIZE));
    info.global_cache_line_bytes = 128;
    info.global_cache_type = Some(CacheType::ReadWrite);
    info.local_mem_bytes = u64::from(number(Attribute::MAX_SHARED_MEMORY_PER_BLOCK));
    info.compute_units = number(Attribute::MULTIPROCESSOR_COUNT);
    info.max_work_group_size = size(Attribute::MAX_THREADS_PER_BLOCK);
    info.max_work_item_sizes =
        [Attribute::MAX_BLOCK_DIM_X, Attribute::MAX_BLOCK_DIM_Y, Attribute::MAX_BLOCK_DIM_Z].map(size);
    let warp = size(Attribute::WARP_SIZE).max(1);
    info.max_sub_groups = u32::try_from(info.max_work_group_size / warp).unwrap_or(0);
    info.sub_group_sizes = vec![warp];
    // Threads of a warp go on independently from compute capability 7.0 on.
    info.independent_sub_groups = number(Attribute::COMPUTE_CAPABILITY_MAJOR) >= 7;
    // A multiprocessor executes single elements; loads and stores take up to 16 bytes.
    info.native_vector_widths =
        VectorWidths { char: 1, short: 1, int: 1, long: 1, float: 1, double: 1, half: 2 };
    info.preferred_vector_widths =
        VectorWidths { char: 16, short: 8, int: 4, long: 2, float: 4, double: 2, half: 8 };
    info.max_clock_mhz = number(Attribute::CLOCK_RATE_KHZ) / 1000;
    info.profiling_timer_resolution_ns = 500;
    info
}

fn name(driver: &Driver, device: &CudaDevice) -> String {
    // SAFETY: DR1; `text` passes a writable buffer with its length.
    text(|buffer, len| unsafe { (driver.cuDeviceGetName)(buffer, len, device.ordinal) })
}

/// Domain, bus and device.
fn pci(driver: &Driver, device: &CudaDevice) -> String {
    // SAFETY: DR1; `text` passes a writable buffer with its length.
    text(|buffer, len| unsafe { (driver.cuDeviceGetPCIBusId)(buffer, len, device.ordinal) })
}

/// A text of at most 255 bytes; empty where the driver has none.
fn text(get: impl FnOnce(*mut c_char, i32) -> Code) -> String {
    let mut buffer = [0_u8; 256];
    if get(buffer.as_mut_ptr().cast(), 256) != Code::SUCCESS {
        return String::new();
    }
    CStr::from_bytes_until_nul(&buffer)
        .map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}

fn total_memory(driver: &Driver, device: &CudaDevice) -> u64 {
    let mut bytes = 0;
    // SAFETY: DR1; the pointer is writable.
    match unsafe { (driver.cuDeviceTotalMem_v2)(&raw mut bytes, device.ordinal) } {
        Code::SUCCESS => bytes as u64,
        _ => 0,
    }
}
