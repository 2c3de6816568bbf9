//! Where a device is, in words by which another process finds it.

use super::Device;
use crate::backend::Partition;
use crate::{Error, FilterSelector, Result, Runtime};

/// A device as another process finds it: [`Device::location`] gives it, [`Runtime::device_at`] takes it.
///
/// ```
/// use usm_core::{DeviceType, HostDevice, Partition, Runtime, RuntimeOptions};
///
/// # fn main() -> usm_core::Result<()> {
/// let gpu = HostDevice::new(DeviceType::Gpu).compute_units(8);
/// let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu]));
/// let part = runtime.host_device().create_sub_devices(&Partition::Equally(4))?.remove(1);
///
/// let location = part.location()?;
/// assert_eq!((&*location.root, &*location.parts), ("host:gpu:0", &[(Partition::Equally(4), 1)][..]));
/// let found = runtime.device_at(&location)?;
/// assert_eq!(found.parent()?.as_ref(), Some(runtime.host_device()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceLocation {
    /// Filter string of the root device.
    pub root: String,
    /// PCI address of the root device, where the driver reports it. A process that does not see all devices numbers them otherwise.
    pub pci_address: Option<String>,
    /// The way from the root device to a sub-device: how each device is partitioned, and the position among its parts.
    pub parts: Vec<(Partition, usize)>,
}

impl Device {
    /// The words by which another process finds the device.
    ///
    /// # Errors
    /// [`Error::NoLocation`] for a sub-device that [`create_sub_devices`](Self::create_sub_devices) did not make; [`Error::Backend`] when
    /// the runtime does not report its parents.
    pub fn location(&self) -> Result<DeviceLocation> {
        let (mut root, mut parts) = (self.clone(), Vec::new());
        while let Some(parent) = root.parent()? {
            let part = root.inner.part.get().cloned();
            parts.push(part.ok_or_else(|| Error::NoLocation { device: self.filter_string() })?);
            root = parent;
        }
        parts.reverse();
        Ok(DeviceLocation { root: root.filter_string(), pci_address: root.info().pci_address.clone(), parts })
    }
}

impl Runtime {
    /// The device at a location. A PCI address goes before the number of the filter string. Sub-devices are new at each call.
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] and the other errors of [`select`](Self::select), and those of
    /// [`create_sub_devices`](Device::create_sub_devices).
    pub fn device_at(&self, location: &DeviceLocation) -> Result<Device> {
        let DeviceLocation { root, pci_address, parts } = location;
        let missing = |wanted| {
            let available = self.devices().iter().map(Device::filter_string).collect::<Vec<_>>().join(", ");
            Error::NoSuchDevice { wanted, available }
        };
        let mut device = match pci_address {
            None => self.select(&root.parse::<FilterSelector>()?)?,
            Some(_) => {
                let mut devices = self.devices().into_iter();
                let found = devices.find(|device| device.info().pci_address == *pci_address);
                let wanted = || format!("{root} at the PCI address {}", pci_address.as_deref().unwrap_or(""));
                found.ok_or_else(|| missing(wanted()))?
            }
        };
        for (partition, position) in parts {
            let name = device.filter_string();
            let part = device.create_sub_devices(partition)?.into_iter().nth(*position);
            device = part.ok_or_else(|| missing(format!("part {position} of {name}, parted {partition}")))?;
        }
        Ok(device)
    }
}
