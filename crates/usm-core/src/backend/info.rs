//! Plain facts that backends report.

use std::fmt;

use crate::UsmKind;

/// A backend by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendId {
    /// The embedded host backend.
    Host,
    /// The SYCL runtime.
    Sycl,
    /// A backend of somebody else, by its name.
    Other(&'static str),
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Sycl => "sycl",
            Self::Other(name) => name,
        })
    }
}

/// Type of a device, `sycl::info::device_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceType {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
    /// An accelerator.
    Accelerator,
    /// Anything else.
    Custom,
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Accelerator => "accelerator",
            Self::Custom => "custom",
        })
    }
}

/// What is known about a device; read once, when the device is listed.
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
    /// Third part of the filter string: position among the devices of that backend and type.
    pub number: usize,
    /// Largest single allocation, in bytes.
    pub max_alloc_bytes: u64,
    /// Memory of the device, in bytes.
    pub global_mem_bytes: u64,
    /// Local memory of a work-group, in bytes.
    pub local_mem_bytes: u64,
    /// Parallel compute units.
    pub compute_units: u32,
    /// Largest work-group, in work-items.
    pub max_work_group_size: usize,
    /// Has half-precision arithmetic.
    pub has_fp16: bool,
    /// Has double-precision arithmetic.
    pub has_fp64: bool,
    /// Supports host USM.
    pub has_usm_host: bool,
    /// Supports device USM.
    pub has_usm_device: bool,
    /// Supports shared USM.
    pub has_usm_shared: bool,
}

impl DeviceInfo {
    /// A device of that name in filter strings, of which nothing else is known: no memory, no support for anything. A backend
    /// sets what it knows.
    #[must_use]
    pub const fn new(backend_name: &'static str, device_type: DeviceType, number: usize) -> Self {
        Self {
            name: String::new(),
            vendor: String::new(),
            driver_version: String::new(),
            backend_name,
            device_type,
            number,
            max_alloc_bytes: 0,
            global_mem_bytes: 0,
            local_mem_bytes: 0,
            compute_units: 0,
            max_work_group_size: 0,
            has_fp16: false,
            has_fp64: false,
            has_usm_host: false,
            has_usm_device: false,
            has_usm_shared: false,
        }
    }

    /// `backend:device_type:number`.
    #[must_use]
    pub fn filter_string(&self) -> String {
        format!("{}:{}:{}", self.backend_name, self.device_type, self.number)
    }

    /// Whether the device supports USM of `kind`.
    #[must_use]
    pub const fn supports(&self, kind: UsmKind) -> bool {
        match kind {
            UsmKind::Host => self.has_usm_host,
            UsmKind::Device => self.has_usm_device,
            UsmKind::Shared => self.has_usm_shared,
        }
    }
}

/// What a runtime knows about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerInfo {
    /// Kind of the allocation the address lies in.
    pub kind: UsmKind,
    /// First address and length in bytes of that allocation, where the runtime tells.
    pub block: Option<(usize, usize)>,
}

impl PointerInfo {
    /// Memory of that kind, in an allocation of which first address and length in bytes may be known.
    #[must_use]
    pub const fn new(kind: UsmKind, block: Option<(usize, usize)>) -> Self {
        Self { kind, block }
    }
}

/// Properties of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct QueueProperties {
    /// Operations run in the order of their submission.
    pub in_order: bool,
    /// Events carry profiling times.
    pub profiling: bool,
}

impl QueueProperties {
    /// In order, without profiling: what the library uses for itself.
    pub const IN_ORDER: Self = Self { in_order: true, profiling: false };
    /// Out of order, without profiling: SYCL's default.
    pub const OUT_OF_ORDER: Self = Self { in_order: false, profiling: false };

    /// The same with profiling on or off.
    #[must_use]
    pub const fn with_profiling(mut self, profiling: bool) -> Self {
        self.profiling = profiling;
        self
    }
}
