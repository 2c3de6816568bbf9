//! The simulated hardware: two root devices, each on a platform of its own, as OpenCL runtimes have it; their sub-devices.

use std::ffi::{CStr, c_uint};

/// `DPCTL_OPENCL`.
pub(crate) const OPENCL: c_uint = 1 << 18;

/// The facts of a device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) name: &'static CStr,
    pub(crate) vendor: &'static CStr,
    pub(crate) platform_name: &'static CStr,
    /// `DPCTLSyclDeviceType`.
    pub(crate) device_type: c_uint,
    /// How the type is written in a filter selector.
    pub(crate) type_name: &'static str,
    pub(crate) compute_units: u32,
    pub(crate) global_mem_bytes: u64,
    pub(crate) local_mem_bytes: u64,
    pub(crate) max_alloc_bytes: u64,
    pub(crate) max_work_group: usize,
    /// Bits by number of `DPCTLSyclAspectType`.
    pub(crate) aspects: u32,
    /// Parts that each affinity domain of the device has; 1 is a device that cannot be partitioned so.
    pub(crate) tiles: u32,
    pub(crate) sub_group_sizes: &'static [usize],
    /// The score of the default selector.
    pub(crate) score: i32,
}

impl Device {
    /// Whether other processes can open its device memory.
    pub(crate) fn has_ipc_memory(&self) -> bool {
        self.aspects >> 22 & 1 == 1
    }
}

/// A part of a device. Its number comes after the numbers of the root devices.
#[derive(Clone, Debug)]
pub(crate) struct SubDevice {
    /// The device that was partitioned.
    pub(crate) parent: usize,
    /// The root device it is a part of.
    pub(crate) root: usize,
    pub(crate) compute_units: u32,
}

const FP16: u32 = 1 << 5;
const FP64: u32 = 1 << 6;
const ONLINE_COMPILER: u32 = 1 << 9;
const QUEUE_PROFILING: u32 = 1 << 11;
const USM: u32 = 1 << 12 | 1 << 13 | 1 << 14;

/// From 0.23 on.
const IPC_MEMORY: u32 = if cfg!(dpctl_023) { 1 << 22 } else { 0 };
/// How many aspects have a number.
pub(crate) const ASPECTS: u32 = if cfg!(dpctl_023) { 23 } else { 22 };

/// Only drivers of this vendor know the sub-groups of kernels.
pub(crate) const INTEL: &CStr = c"Intel(R) Corporation";

/// The root devices; the position is the device's number, and its platform's.
pub(crate) static DEVICES: [Device; 2] = [
    Device {
        name: c"Loopback CPU",
        vendor: c"usm",
        platform_name: c"Loopback CPU platform",
        device_type: 1 << 2,
        type_name: "cpu",
        compute_units: 8,
        global_mem_bytes: 1 << 30,
        local_mem_bytes: 32 << 10,
        max_alloc_bytes: 256 << 20,
        max_work_group: 8192,
        aspects: 1 << 1 | FP64 | ONLINE_COMPILER | QUEUE_PROFILING | USM,
        tiles: 1,
        sub_group_sizes: &[4, 8, 16],
        score: 300,
    },
    Device {
        name: c"Loopback GPU",
        vendor: INTEL,
        platform_name: c"Loopback GPU platform",
        device_type: 1 << 4,
        type_name: "gpu",
        compute_units: 64,
        global_mem_bytes: 512 << 20,
        local_mem_bytes: 64 << 10,
        max_alloc_bytes: 128 << 20,
        max_work_group: 1024,
        // No FP64, as on many integrated GPUs.
        aspects: 1 << 2 | FP16 | ONLINE_COMPILER | QUEUE_PROFILING | USM | IPC_MEMORY,
        tiles: 2,
        sub_group_sizes: &[16, 32],
        score: 500,
    },
];

/// The positions of the devices that a combination of backend and type bits names.
pub(crate) fn matching(identifier: i32) -> Vec<usize> {
    let identifier = identifier.cast_unsigned();
    let (backends, types) = (identifier & 0x1f_0000, identifier & 0x3f);
    // Like the real library: no bits of one sort select all of that sort, no bits at all select no device.
    if backends == 0 && types == 0 {
        return Vec::new();
    }
    let backends = if backends == 0 { OPENCL } else { backends };
    let types = if types == 0 { 0x3f } else { types };
    let hit = |device: &Device| backends & OPENCL != 0 && types & device.device_type != 0;
    (0..DEVICES.len()).filter(|&index| DEVICES.get(index).is_some_and(hit)).collect()
}

/// The devices that a filter selector string names; `None` if it is not one.
pub(crate) fn filtered(filter: &str) -> Option<Vec<usize>> {
    let mut devices: Vec<usize> = (0..DEVICES.len()).collect();
    for word in filter.split(':') {
        match word {
            "opencl" => {}
            "level_zero" | "cuda" | "hip" => devices.clear(),
            "cpu" | "gpu" | "accelerator" => {
                devices.retain(|&index| DEVICES.get(index).is_some_and(|device| device.type_name == word));
            }
            number => {
                let number: usize = number.parse().ok()?;
                devices = devices.get(number).copied().into_iter().collect();
            }
        }
    }
    Some(devices)
}

#[cfg(test)]
mod tests {
    use super::{OPENCL, filtered, matching};

    #[test]
    fn identifiers_select_as_in_the_real_library() {
        let opencl = OPENCL.cast_signed();
        assert_eq!(matching(0), []);
        assert_eq!(matching(opencl), [0, 1]);
        assert_eq!(matching(1 << 4), [1]);
        assert_eq!(matching(opencl | 1 << 2), [0]);
        assert_eq!(matching(1 << 17), []);
    }

    #[test]
    fn filters_select_as_in_the_real_library() {
        assert_eq!(filtered("gpu").unwrap(), [1]);
        assert_eq!(filtered("opencl:cpu:0").unwrap(), [0]);
        assert_eq!(filtered("opencl:cpu:1").unwrap(), []);
        assert_eq!(filtered("1").unwrap(), [1]);
        assert_eq!(filtered("level_zero").unwrap(), []);
        assert_eq!(filtered("nonsense"), None);
        assert_eq!(filtered("*"), None);
    }
}
