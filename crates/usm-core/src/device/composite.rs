//! Composite devices, which a runtime combines from several devices: the extension `sycl_ext_oneapi_composite_device`.

use super::Device;
use crate::backend::Composites;
use crate::{Platform, Result};

impl Device {
    /// The components of a composite device; none for any other device.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn component_devices(&self) -> Result<Vec<Self>> {
        // SAFETY: the handle is live (H1).
        let found = unsafe { self.backend().composites(Composites::ComponentsOf(self.raw())) }?;
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Device::list(self.backend(), found) })
    }

    /// The composite device that this device is a component of, if it is one.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime does not report it.
    pub fn composite_device(&self) -> Result<Option<Self>> {
        // SAFETY: the handle is live (H1).
        let found = unsafe { self.backend().composites(Composites::WithComponent(self.raw())) }?;
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Device::list(self.backend(), found) }.pop())
    }
}

impl Platform {
    /// The composite devices of the platform, which are not among its [`devices`](Self::devices).
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime cannot list them.
    pub fn composite_devices(&self) -> Result<Vec<Device>> {
        // SAFETY: the handle is live (H1).
        let found = unsafe { self.backend().composites(Composites::OfPlatform(self.raw())) }?;
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Device::list(self.backend(), found) })
    }
}
