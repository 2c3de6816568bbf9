//! What a simulated device of the host backend is like.

use crate::DeviceType;

/// Describes a device of a [`HostBackend`](super::HostBackend).
///
/// All simulated devices run on the host's CPU; type and limits only matter to the program under test. Each device has a
/// platform, and so a default context, of its own.
///
/// ```
/// use usm_core::{DeviceType, HostDevice, Runtime, RuntimeOptions, UsmKind};
///
/// # fn main() -> usm_core::Result<()> {
/// let small_gpu = HostDevice::new(DeviceType::Gpu).memory_bytes(1 << 20).max_alloc_bytes(1 << 16);
/// let devices = [HostDevice::new(DeviceType::Cpu), small_gpu.clone(), small_gpu];
/// let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices(devices));
///
/// let second = runtime.select("host:gpu:1")?;
/// let queue = runtime.default_queue(&second)?;
/// assert!(queue.allocate(UsmKind::Device, 1 << 16).is_ok());
/// assert!(queue.allocate(UsmKind::Device, (1 << 16) + 1).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct HostDevice {
    pub(super) device_type: DeviceType,
    pub(super) memory_bytes: Option<u64>,
    pub(super) max_alloc_bytes: Option<u64>,
    pub(super) compute_units: Option<u32>,
    pub(super) numa_domains: u32,
}

impl HostDevice {
    /// A device of that type with the memory and the compute units of the machine.
    pub const fn new(device_type: DeviceType) -> Self {
        Self { device_type, memory_bytes: None, max_alloc_bytes: None, compute_units: None, numa_domains: 1 }
    }

    /// Limits what all live allocations for the device may have together.
    pub const fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Limits a single allocation.
    pub const fn max_alloc_bytes(mut self, bytes: u64) -> Self {
        self.max_alloc_bytes = Some(bytes);
        self
    }

    /// Sets the number of compute units, at least 1: what the device can be partitioned into.
    pub const fn compute_units(mut self, units: u32) -> Self {
        self.compute_units = Some(if units == 0 { 1 } else { units });
        self
    }

    /// Sets the number of NUMA domains (tiles, on a GPU), each with an equal share of the compute units: what the device can
    /// be partitioned into by affinity. With 1, as without this, it cannot.
    pub const fn numa_domains(mut self, domains: u32) -> Self {
        self.numa_domains = domains;
        self
    }
}
