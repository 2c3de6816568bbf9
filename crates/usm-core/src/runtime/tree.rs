//! The device tree: platforms, their devices, and the facts of each device, as data and as text.

use std::fmt::{self, Write as _};

use super::Runtime;
use crate::{ByteCount, Device, DeviceInfo, Platform, Result};

/// All platforms with their root devices. `Display` draws them in the style of `tree`.
///
/// ```
/// use usm_core::{DeviceType, HostDevice, Runtime, RuntimeOptions};
///
/// # fn main() -> usm_core::Result<()> {
/// let gpu = HostDevice::new(DeviceType::Gpu).memory_bytes(3 << 30).compute_units(8).numa_domains(2);
/// let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu]));
/// println!("{}", runtime.tree()?);
/// # assert!(runtime.tree()?.to_string().contains("└── host:gpu:0 (default): usm host gpu\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTree {
    /// The platforms, in the order of [`Runtime::platforms`].
    pub platforms: Vec<PlatformBranch>,
    /// The device for code that requests none; `None` where `USM_DEFAULT_DEVICE` selects no device.
    pub default: Option<Device>,
}

/// A platform with its root devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlatformBranch {
    /// The platform.
    pub platform: Platform,
    /// Its root devices.
    pub devices: Vec<Device>,
}

impl Runtime {
    /// All platforms: those of the SYCL runtime, of CUDA, and of the host devices, in this order.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn platforms(&self) -> Result<Vec<Platform>> {
        let (sycl, cuda) = (self.sycl().backend.as_ref(), self.cuda().backend.as_ref());
        let backends = sycl.into_iter().chain(cuda).chain([self.host_device().backend()]);
        let platforms = backends.map(Platform::all).collect::<Result<Vec<_>>>()?;
        Ok(platforms.into_iter().flatten().collect())
    }

    /// All platforms with their root devices.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn tree(&self) -> Result<DeviceTree> {
        let branch = |platform: Platform| Ok(PlatformBranch { devices: platform.devices()?, platform });
        let platforms = self.platforms()?.into_iter().map(branch).collect::<Result<_>>()?;
        Ok(DeviceTree { platforms, default: self.default_device().ok() })
    }
}

impl fmt::Display for DeviceTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for branch in &self.platforms {
            let info = branch.platform.info();
            writeln!(f, "{} ({}, {}, {})", info.name, info.backend_name, info.version, info.vendor)?;
            for (index, device) in branch.devices.iter().enumerate() {
                let is_last = index + 1 == branch.devices.len();
                let (branch, stem) = if is_last { ("└──", "    ") } else { ("├──", "│   ") };
                let default = if self.default.as_ref() == Some(device) { " (default)" } else { "" };
                let info = device.info();
                writeln!(f, "{branch} {}{default}: {}", device.filter_string(), info.name)?;
                let facts = facts(info);
                for (index, fact) in facts.iter().enumerate() {
                    let branch = if index + 1 == facts.len() { "└──" } else { "├──" };
                    writeln!(f, "{stem}{branch} {fact}")?;
                }
            }
        }
        Ok(())
    }
}

/// The facts of a device, one per line.
pub(super) fn facts(info: &DeviceInfo) -> Vec<String> {
    let mut memory = format!(
        "memory: {} global, {} in one allocation, {} local",
        ByteCount(info.global_mem_bytes).rounded(),
        ByteCount(info.max_alloc_bytes).rounded(),
        ByteCount(info.local_mem_bytes).rounded()
    );
    if info.global_cache_bytes > 0 {
        // Writing to a string cannot fail.
        let _ = write!(memory, ", {} cache", ByteCount(info.global_cache_bytes).rounded());
    }
    let [x, y, z] = info.max_work_item_sizes;
    let sub_devices = match info.max_sub_devices {
        0 => "sub-devices: none".to_owned(),
        most => format!("sub-devices: at most {most}"),
    };
    vec![
        format!("driver: {}, {}", info.driver_version, info.vendor),
        memory,
        format!(
            "compute: {} units, work-groups of at most {} ({x} × {y} × {z}), sub-groups of {}",
            info.compute_units,
            info.max_work_group_size,
            numbers(&info.sub_group_sizes)
        ),
        format!("aspects: {}", info.aspects),
        sub_devices,
    ]
}

/// Numbers in one line: PoCL has 4,096 sizes of sub-groups.
fn numbers(all: &[usize]) -> String {
    const MOST: usize = 8;
    let text = |part: &[usize]| part.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match all {
        [first @ .., last] if all.len() > MOST => {
            format!("{} … {last} ({} sizes)", text(&first[..3]), all.len())
        }
        _ => text(all),
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn many_numbers_are_cut() {
        assert_eq!(numbers(&[]), "");
        assert_eq!(numbers(&[1, 2, 4, 8, 16, 32, 64, 128]), "1, 2, 4, 8, 16, 32, 64, 128");
        let many: Vec<usize> = (1..=4096).collect();
        assert_eq!(numbers(&many), "1, 2, 3 … 4096 (4096 sizes)");
    }
}
