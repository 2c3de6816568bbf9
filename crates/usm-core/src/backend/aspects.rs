//! Aspects: the capabilities of a device, as a set.

use std::fmt;
use std::str::FromStr;

use crate::{Error, UsmKind};

bitflags::bitflags! {
    /// A set of aspects of a device, SYCL 2020 §4.6.4.3 and extensions of DPC++.
    ///
    /// `Display` and parsing use the SYCL names, separated by commas.
    ///
    /// ```
    /// use usm_core::Aspects;
    ///
    /// let wanted: Aspects = "fp64, usm_device_allocations".parse()?;
    /// assert_eq!(wanted, Aspects::FP64 | Aspects::USM_DEVICE_ALLOCATIONS);
    /// assert_eq!(wanted.to_string(), "fp64, usm_device_allocations");
    /// assert!("fp128".parse::<Aspects>().is_err());
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Aspects: u32 {
        /// The host device of SYCL 1.2.1.
        const HOST = 1 << 0;
        /// A CPU.
        const CPU = 1 << 1;
        /// A GPU.
        const GPU = 1 << 2;
        /// An accelerator.
        const ACCELERATOR = 1 << 3;
        /// A device of another type.
        const CUSTOM = 1 << 4;
        /// Half-precision arithmetic.
        const FP16 = 1 << 5;
        /// Double-precision arithmetic.
        const FP64 = 1 << 6;
        /// 64-bit atomic operations.
        const ATOMIC64 = 1 << 7;
        /// Images.
        const IMAGE = 1 << 8;
        /// Kernels can be compiled at run time.
        const ONLINE_COMPILER = 1 << 9;
        /// Kernels can be linked at run time.
        const ONLINE_LINKER = 1 << 10;
        /// Queues can record times.
        const QUEUE_PROFILING = 1 << 11;
        /// Device USM.
        const USM_DEVICE_ALLOCATIONS = 1 << 12;
        /// Host USM.
        const USM_HOST_ALLOCATIONS = 1 << 13;
        /// Shared USM.
        const USM_SHARED_ALLOCATIONS = 1 << 14;
        /// Any memory of the process works as shared USM.
        const USM_SYSTEM_ALLOCATIONS = 1 << 15;
        /// Atomic operations on host USM, concurrent with the host.
        const USM_ATOMIC_HOST_ALLOCATIONS = 1 << 16;
        /// Atomic operations on shared USM, concurrent with the host.
        const USM_ATOMIC_SHARED_ALLOCATIONS = 1 << 17;
        /// Kernels can be debugged from the host.
        const HOST_DEBUGGABLE = 1 << 18;
        /// The device is emulated: for development, not for speed.
        const EMULATED = 1 << 19;
        /// A component of a composite device.
        const IS_COMPONENT = 1 << 20;
        /// A composite device.
        const IS_COMPOSITE = 1 << 21;
        /// Other processes can map the device's memory. Known from dpctl 0.23 on.
        const EXT_ONEAPI_IPC_MEMORY = 1 << 22;
    }
}

impl Aspects {
    /// The aspect of devices that support USM of `kind`.
    #[must_use]
    pub const fn of_kind(kind: UsmKind) -> Self {
        match kind {
            UsmKind::Host => Self::USM_HOST_ALLOCATIONS,
            UsmKind::Device => Self::USM_DEVICE_ALLOCATIONS,
            UsmKind::Shared => Self::USM_SHARED_ALLOCATIONS,
        }
    }

    /// The SYCL names of the aspects in the set.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.iter_names().map(|(name, _)| name.to_ascii_lowercase())
    }
}

impl fmt::Display for Aspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.names().collect::<Vec<_>>().join(", "))
    }
}

impl FromStr for Aspects {
    type Err = Error;

    /// The empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        let one = |name: &str| {
            let known = Self::all().iter_names().find(|(known, _)| known.to_ascii_lowercase() == name);
            known.map(|(_, aspect)| aspect).ok_or_else(|| Error::UnknownAspect { found: name.to_owned() })
        };
        text.split(',').map(|name| one(name.trim())).try_fold(Self::empty(), |set, aspect| Ok(set | aspect?))
    }
}

#[cfg(test)]
mod tests {
    use super::Aspects;

    #[test]
    fn every_aspect_has_a_name_that_names_it() {
        assert_eq!(Aspects::all().iter().count(), 23);
        for aspect in Aspects::all().iter() {
            assert_eq!(aspect.to_string().parse::<Aspects>().unwrap(), aspect);
        }
        assert_eq!(Aspects::all().to_string().parse::<Aspects>().unwrap(), Aspects::all());
        assert_eq!("".parse::<Aspects>().unwrap(), Aspects::empty());
    }

    #[test]
    fn an_unknown_name_is_told_with_the_known_ones() {
        for (text, found) in [("fp64,,gpu", "\"\""), ("FP64", "\"FP64\""), ("fp64|gpu", "\"fp64|gpu\"")] {
            let error = text.parse::<Aspects>().unwrap_err().to_string();
            assert!(error.contains(found) && error.contains("usm_system_allocations"), "{error}");
        }
    }
}
