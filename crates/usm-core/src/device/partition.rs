//! Sub-devices. Requests are checked here, since runtimes refuse without a reason.

use std::sync::Arc;

use super::Device;
use crate::backend::{DeviceInfo, Partition};
use crate::{Error, Result};

/// Longest chain of sub-devices. Each keeps its parent, so dropping the last one drops the chain recursively, on the stack.
const MAX_DEPTH: usize = 32;

impl Device {
    /// Partitions the device into sub-devices, which are new at each call. A sub-device has no number. It has a default context of its
    /// own, and the memory of the root device. Sub-devices can be partitioned again, down to 32 levels.
    ///
    /// ```
    /// use usm_core::{DeviceType, HostDevice, Partition, Runtime, RuntimeOptions};
    ///
    /// # fn main() -> usm_core::Result<()> {
    /// let gpu = HostDevice::new(DeviceType::Gpu).compute_units(10);
    /// let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu]));
    /// let gpu = runtime.default_device()?;
    ///
    /// let parts = gpu.create_sub_devices(&Partition::Equally(4))?;
    /// assert_eq!(parts.len(), 2, "two compute units are left over");
    /// assert_eq!(parts[0].parent()?.as_ref(), Some(&gpu));
    /// assert_eq!(parts[0].filter_string(), "sub-device of host:gpu:0");
    /// let error = gpu.create_sub_devices(&Partition::ByCounts(vec![8, 4])).unwrap_err();
    /// assert!(error.to_string().contains("it has 10 compute units"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::CannotPartition`] names the device, the request and the limits of the device; [`Error::Backend`] when the runtime does
    /// not report its parents.
    pub fn create_sub_devices(&self, partition: &Partition) -> Result<Vec<Self>> {
        let info = self.info();
        let refused = |reason| Error::CannotPartition {
            device: self.filter_string(),
            partition: partition.clone(),
            reason,
            compute_units: info.compute_units,
            max_sub_devices: info.max_sub_devices,
        };
        check(info, partition).map_err(refused)?;
        let (mut depth, mut parent) = (0, self.parent()?);
        while let Some(device) = parent {
            (depth, parent) = (depth + 1, device.parent()?);
        }
        if depth >= MAX_DEPTH {
            return Err(refused("it is a part of a part, 32 times"));
        }
        // SAFETY: the handle is live (H1).
        let parts = unsafe { self.backend().sub_devices(self.raw(), partition) }
            .map_err(|_| refused("the runtime does not offer this partitioning of it"))?;
        let wrap = |(position, raw)| {
            // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
            let part = unsafe { Self::from_raw(Arc::clone(self.backend()), raw) };
            part.inner.parent.get_or_init(|| Some(self.clone()));
            part.inner.part.set((partition.clone(), position));
            part
        };
        Ok(parts.into_iter().enumerate().map(wrap).collect())
    }
}

/// Checks that need the numbers only.
fn check(info: &DeviceInfo, partition: &Partition) -> Result<(), &'static str> {
    let units = usize::try_from(info.compute_units).unwrap_or(usize::MAX);
    let most = usize::try_from(info.max_sub_devices).unwrap_or(usize::MAX);
    if most == 0 {
        return Err("it cannot be partitioned at all");
    }
    let (parts, used) = match partition {
        Partition::Equally(0) => return Err("a part needs at least 1 compute unit"),
        Partition::Equally(each) => (units / each, Some(*each)),
        Partition::ByCounts(counts) if counts.is_empty() => return Err("there is no part"),
        Partition::ByCounts(counts) if counts.contains(&0) => {
            return Err("each part needs at least 1 compute unit");
        }
        Partition::ByCounts(counts) => {
            (counts.len(), counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count)))
        }
        // The runtime decides on the number of parts.
        Partition::ByAffinity(_) => return Ok(()),
    };
    if used.is_none_or(|used| used > units) {
        return Err("it has not so many compute units");
    }
    if parts > most {
        return Err("these are too many parts");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::backend::{DeviceInfo, DeviceType, Partition};

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let mut info = DeviceInfo::new("host", DeviceType::Gpu, Some(0));
        info.compute_units = 8;
        info.max_sub_devices = 4;
        let refused = |partition: Partition| check(&info, &partition).err();
        assert_eq!(refused(Partition::Equally(2)), None);
        assert_eq!(refused(Partition::Equally(8)), None);
        assert_eq!(refused(Partition::ByCounts(vec![5, 3])), None);
        for (partition, reason) in [
            (Partition::Equally(0), "at least 1"),
            (Partition::Equally(9), "not so many compute units"),
            (Partition::Equally(1), "too many parts"),
            (Partition::ByCounts(vec![]), "no part"),
            (Partition::ByCounts(vec![1, 0]), "at least 1"),
            (Partition::ByCounts(vec![5, 4]), "not so many compute units"),
            (Partition::ByCounts(vec![usize::MAX, 2]), "not so many compute units"),
            (Partition::ByCounts(vec![1; 5]), "too many parts"),
        ] {
            assert!(refused(partition.clone()).is_some_and(|text| text.contains(reason)), "{partition}");
        }
        info.max_sub_devices = 0;
        assert_eq!(check(&info, &Partition::Equally(2)), Err("it cannot be partitioned at all"));
    }
}
