//! The host backend's platforms and devices: what they can do, their parts, and how much memory is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::NAME;
use super::simulated::HostDevice;
use crate::backend::{
    AffinityDomain, Aspects, DeviceInfo, DeviceType, Partition, PlatformInfo, VectorWidths,
};

/// A simulated device of the host backend, or a part of one.
#[derive(Debug)]
pub(super) struct SimulatedDevice {
    pub(super) facts: DeviceFacts,
    pub(super) parent: Option<Arc<SimulatedDevice>>,
    numa_domains: u32,
    used_bytes: AtomicU64,
}

/// The facts about a simulated device, in a C layout for other copies of this library (`across_copies/`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DeviceFacts {
    pub(super) device_type: DeviceType,
    /// Position among the devices of the same type; `PART` for a part.
    number: usize,
    compute_units: u32,
    /// Of all live allocations together.
    memory_bytes: u64,
    /// Of one allocation.
    max_alloc_bytes: u64,
}

#[cfg(feature = "across-copies")]
impl DeviceFacts {
    /// Those of no device.
    pub(super) const NONE: Self = Self {
        device_type: DeviceType::Custom,
        number: PART,
        compute_units: 0,
        memory_bytes: 0,
        max_alloc_bytes: 0,
    };
}

/// The number of a part of a device, which has none.
const PART: usize = usize::MAX;

impl SimulatedDevice {
    /// The device of a description, on a machine with `physical_bytes` bytes of memory.
    pub(super) fn new(described: &HostDevice, number: usize, physical_bytes: u64) -> Self {
        let memory_bytes = described.memory_bytes.unwrap_or(physical_bytes);
        let facts = DeviceFacts {
            device_type: described.device_type,
            number,
            compute_units: described.compute_units.unwrap_or_else(physical_compute_units),
            memory_bytes,
            max_alloc_bytes: described.max_alloc_bytes.unwrap_or(memory_bytes).min(memory_bytes),
        };
        Self { facts, parent: None, numa_domains: described.numa_domains, used_bytes: AtomicU64::new(0) }
    }

    /// Parts of the device, without memory of their own: what they allocate counts for the root device.
    pub(super) fn parts(self: &Arc<Self>, partition: &Partition) -> Option<Vec<Arc<Self>>> {
        let counts = self.counts(partition)?;
        let part = |compute_units| {
            let facts = DeviceFacts { number: PART, compute_units, ..self.facts };
            let parent = Some(Arc::clone(self));
            Arc::new(Self { facts, parent, numa_domains: 1, used_bytes: AtomicU64::new(0) })
        };
        Some(counts.into_iter().map(part).collect())
    }

    /// The compute units of each part; `None` for a partitioning that is not offered.
    fn counts(&self, partition: &Partition) -> Option<Vec<u32>> {
        let counts = match partition {
            Partition::Equally(units) => {
                let units = u32::try_from(*units).ok()?;
                vec![units; usize::try_from(self.facts.compute_units.checked_div(units)?).ok()?]
            }
            Partition::ByCounts(counts) => {
                counts.iter().map(|&units| u32::try_from(units).ok()).collect::<Option<_>>()?
            }
            Partition::ByAffinity(AffinityDomain::Numa | AffinityDomain::NextPartitionable) => {
                let domains = Some(self.numa_domains).filter(|&domains| domains > 1)?;
                vec![self.facts.compute_units / domains; usize::try_from(domains).ok()?]
            }
            Partition::ByAffinity(_) => return None,
        };
        (!counts.is_empty() && !counts.contains(&0)).then_some(counts)
    }

    /// Takes memory into account; false when the device has not that much left.
    pub(super) fn reserve(&self, len_bytes: u64) -> bool {
        if let Some(parent) = &self.parent {
            return parent.reserve(len_bytes);
        }
        let add = |used: u64| used.checked_add(len_bytes).filter(|&sum| sum <= self.facts.memory_bytes);
        self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Gives back what `reserve` took.
    pub(super) fn unreserve(&self, len_bytes: u64) {
        match &self.parent {
            Some(parent) => parent.unreserve(len_bytes),
            None => {
                self.used_bytes.fetch_sub(len_bytes, Ordering::Relaxed);
            }
        }
    }
}

impl DeviceFacts {
    pub(super) fn info(self) -> DeviceInfo {
        let device_type = self.device_type;
        let type_aspects = match device_type {
            DeviceType::Cpu => Aspects::CPU,
            // Whatever runs here runs on the host's CPU.
            DeviceType::Gpu => Aspects::GPU | Aspects::EMULATED,
            DeviceType::Accelerator => Aspects::ACCELERATOR | Aspects::EMULATED,
            DeviceType::Custom => Aspects::CUSTOM | Aspects::EMULATED,
        };
        let scalars = VectorWidths { char: 1, short: 1, int: 1, long: 1, float: 1, double: 1, half: 1 };
        DeviceInfo {
            name: format!("usm host {device_type}"),
            vendor: "usm".to_owned(),
            driver_version: env!("CARGO_PKG_VERSION").to_owned(),
            aspects: type_aspects
                | Aspects::FP16
                | Aspects::FP64
                | Aspects::QUEUE_PROFILING
                | Aspects::USM_DEVICE_ALLOCATIONS
                | Aspects::USM_HOST_ALLOCATIONS
                | Aspects::USM_SHARED_ALLOCATIONS,
            max_alloc_bytes: self.max_alloc_bytes,
            global_mem_bytes: self.memory_bytes,
            compute_units: self.compute_units,
            max_sub_devices: if self.compute_units > 1 { self.compute_units } else { 0 },
            max_work_group_size: 1,
            max_work_item_sizes: [1; 3],
            max_sub_groups: 1,
            sub_group_sizes: vec![1],
            preferred_vector_widths: scalars,
            native_vector_widths: scalars,
            profiling_timer_resolution_ns: 1,
            ..DeviceInfo::new(NAME, device_type, Some(self.number).filter(|&number| number != PART))
        }
    }
}

fn physical_compute_units() -> u32 {
    let threads = std::thread::available_parallelism().ok();
    threads.and_then(|threads| u32::try_from(threads.get()).ok()).unwrap_or(1)
}

/// The platform of one simulated device.
#[derive(Debug)]
pub(super) struct HostPlatform {
    pub(super) device: Arc<SimulatedDevice>,
}

impl HostPlatform {
    pub(super) fn info(&self) -> PlatformInfo {
        Self::info_of(self.device.facts.device_type)
    }

    /// Of the platform of a device of that type.
    pub(super) fn info_of(device_type: DeviceType) -> PlatformInfo {
        PlatformInfo {
            name: format!("usm host {device_type} platform"),
            vendor: "usm".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..PlatformInfo::new(NAME)
        }
    }
}

/// Which devices may reach the memory of which peers.
#[derive(Debug, Default)]
pub(super) struct Peers(Vec<[Arc<SimulatedDevice>; 2]>);

impl Peers {
    /// Switches access on or off; false when that is how it was before.
    pub(super) fn set(&mut self, device: Arc<SimulatedDevice>, peer: Arc<SimulatedDevice>, on: bool) -> bool {
        let same = |pair: &[Arc<_>; 2]| Arc::ptr_eq(&pair[0], &device) && Arc::ptr_eq(&pair[1], &peer);
        let before = self.0.iter().position(same);
        match (before, on) {
            (None, true) => self.0.push([device, peer]),
            (Some(index), false) => drop(self.0.swap_remove(index)),
            _ => return false,
        }
        true
    }
}
