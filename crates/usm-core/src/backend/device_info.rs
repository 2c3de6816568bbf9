//! Plain facts about devices and platforms.

use super::{Aspects, DeviceType};
use crate::UsmKind;

/// Use of the cache of global memory, `info::global_mem_cache_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheType {
    /// There is no cache.
    Absent,
    /// It caches reads.
    ReadOnly,
    /// It caches reads and writes.
    ReadWrite,
}

texts!(CacheType, "type of cache": Absent = "none", ReadOnly = "read only", ReadWrite = "read and write");

/// Elements of a vector, for each type of element; 0 where the device has no support for the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields have the names of the types")]
pub struct VectorWidths {
    pub char: u32,
    pub short: u32,
    pub int: u32,
    pub long: u32,
    pub float: u32,
    pub double: u32,
    pub half: u32,
}

/// Images that kernels can use; all 0 without [`Aspects::IMAGE`], even if a runtime reports other numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageLimits {
    /// Most images that a kernel can read.
    pub max_read_args: u32,
    /// Most images that a kernel can write.
    pub max_write_args: u32,
    /// Largest width and height of a 2-D image, in pixels.
    pub max_2d: [usize; 2],
    /// Largest width, height and depth of a 3-D image, in pixels.
    pub max_3d: [usize; 3],
}

/// Versions of CUDA, each a number before and one behind the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaVersions {
    /// The newest version that the driver supports.
    pub driver: [u32; 2],
    /// What the GPU can do: its compute capability.
    pub compute_capability: [u32; 2],
}

/// Facts about a device, read once for each [`Device`](crate::Device), on first request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Marketing name.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// Version of the driver.
    pub driver_version: String,
    /// First part of the filter string: `host`, `opencl`, `level_zero`, `cuda`, `hip`.
    pub backend_name: &'static str,
    /// Second part of the filter string.
    pub device_type: DeviceType,
    /// Third part of the filter string: position among the root devices of that backend and type. Sub-devices have none.
    pub number: Option<usize>,
    /// The number of the device in the CUDA driver, which CUDA's libraries use. It differs from `number` where devices of another
    /// backend come first. `None` outside of the CUDA backend.
    pub cuda_ordinal: Option<i32>,
    /// Domain, bus and device of the PCI bus, as the CUDA driver writes them. `None` outside of the CUDA backend.
    pub pci_address: Option<String>,
    /// Versions of CUDA. `None` outside of the CUDA backend.
    pub cuda_versions: Option<CudaVersions>,
    /// The capabilities of the device.
    pub aspects: Aspects,
    /// Largest single allocation, in bytes.
    pub max_alloc_bytes: u64,
    /// Memory of the device, in bytes.
    pub global_mem_bytes: u64,
    /// Cache of the device's memory, in bytes.
    pub global_cache_bytes: u64,
    /// Line of that cache, in bytes.
    pub global_cache_line_bytes: u32,
    /// Use of that cache; `None` when the runtime does not report it.
    pub global_cache_type: Option<CacheType>,
    /// Local memory of a work-group, in bytes.
    pub local_mem_bytes: u64,
    /// Parallel compute units.
    pub compute_units: u32,
    /// Most sub-devices that one partitioning gives; 0 for a device that cannot be partitioned.
    pub max_sub_devices: u32,
    /// Largest work-group, in work-items.
    pub max_work_group_size: usize,
    /// Most work-items of a work-group along each of three dimensions.
    pub max_work_item_sizes: [usize; 3],
    /// Most sub-groups of a work-group.
    pub max_sub_groups: u32,
    /// Sizes that a sub-group can have, in work-items.
    pub sub_group_sizes: Vec<usize>,
    /// Whether the sub-groups of a work-group go on independently of each other.
    pub independent_sub_groups: bool,
    /// Images that kernels can use.
    pub images: ImageLimits,
    /// Score of SYCL's default selector. The device with the highest score is the default device; a device with a negative score
    /// never is. A host device has a low positive score: a GPU a higher one than a CPU, a CPU a higher one than an accelerator.
    pub default_selector_score: i32,
    /// Vectors that the device prefers.
    pub preferred_vector_widths: VectorWidths,
    /// Vectors of the device's instructions.
    pub native_vector_widths: VectorWidths,
    /// Highest clock frequency, in MHz; 0 when the runtime does not report it.
    pub max_clock_mhz: u32,
    /// A tick of the clock of profiling times, in nanoseconds.
    pub profiling_timer_resolution_ns: usize,
}

impl DeviceInfo {
    /// Facts with the parts of the filter string only: no memory, no aspects. A backend sets the others.
    #[must_use]
    pub const fn new(backend_name: &'static str, device_type: DeviceType, number: Option<usize>) -> Self {
        const NO_VECTORS: VectorWidths =
            VectorWidths { char: 0, short: 0, int: 0, long: 0, float: 0, double: 0, half: 0 };
        Self {
            name: String::new(),
            vendor: String::new(),
            driver_version: String::new(),
            backend_name,
            device_type,
            number,
            cuda_ordinal: None,
            pci_address: None,
            cuda_versions: None,
            aspects: Aspects::empty(),
            max_alloc_bytes: 0,
            global_mem_bytes: 0,
            global_cache_bytes: 0,
            global_cache_line_bytes: 0,
            global_cache_type: None,
            local_mem_bytes: 0,
            compute_units: 0,
            max_sub_devices: 0,
            max_work_group_size: 0,
            max_work_item_sizes: [0; 3],
            max_sub_groups: 0,
            sub_group_sizes: Vec::new(),
            independent_sub_groups: false,
            images: ImageLimits { max_read_args: 0, max_write_args: 0, max_2d: [0; 2], max_3d: [0; 3] },
            default_selector_score: match device_type {
                DeviceType::Gpu => 4,
                DeviceType::Cpu => 3,
                DeviceType::Accelerator => 2,
                DeviceType::Custom => 1,
            },
            preferred_vector_widths: NO_VECTORS,
            native_vector_widths: NO_VECTORS,
            max_clock_mhz: 0,
            profiling_timer_resolution_ns: 0,
        }
    }

    /// `backend:device_type:number`, with `?` for the number that a sub-device does not have.
    /// [`Device::filter_string`](crate::Device::filter_string) also names the parent of a sub-device.
    #[must_use]
    pub fn filter_string(&self) -> String {
        let number = self.number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        format!("{}:{}:{number}", self.backend_name, self.device_type)
    }

    /// Whether the device has all these aspects.
    #[must_use]
    pub const fn has(&self, aspects: Aspects) -> bool {
        self.aspects.contains(aspects)
    }

    /// Whether the device supports USM of `kind`.
    #[must_use]
    pub const fn supports(&self, kind: UsmKind) -> bool {
        self.has(Aspects::of_kind(kind))
    }
}

/// Facts about a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlatformInfo {
    /// Name.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// Version, in the form of the platform's backend.
    pub version: String,
    /// Name of the backend, as in filter strings.
    pub backend_name: &'static str,
}

impl PlatformInfo {
    /// Facts with the name of the backend only. A backend sets the others.
    #[must_use]
    pub const fn new(backend_name: &'static str) -> Self {
        Self { name: String::new(), vendor: String::new(), version: String::new(), backend_name }
    }
}
