//! Peer access: a device that reaches the memory of another one.

use std::sync::Arc;

use super::Device;
use crate::backend::PeerAccess;
use crate::{Error, Result};

impl Device {
    /// Whether this device can access the memory of `peer` in that way. False for devices of two backends, and for the device
    /// itself, which needs no such access.
    #[must_use]
    pub fn can_access_peer(&self, peer: &Self, access: PeerAccess) -> bool {
        if !Arc::ptr_eq(self.backend(), peer.backend()) || self == peer {
            return false;
        }
        // SAFETY: both handles are live on this backend (H1).
        unsafe { self.backend().can_access_peer(self.raw(), peer.raw(), access) }
    }

    /// Lets kernels and copies on this device reach device memory of `peer`, until access is disabled. The other direction is
    /// separate. Returns whether this call changed anything: access that is enabled already is no error, since another library, or
    /// another part of the program, may have enabled it.
    ///
    /// ```
    /// use usm_core::{DeviceType, HostDevice, PeerAccess, Runtime, RuntimeOptions};
    ///
    /// # fn main() -> usm_core::Result<()> {
    /// let gpus = [HostDevice::new(DeviceType::Gpu), HostDevice::new(DeviceType::Gpu)];
    /// let devices = Runtime::new(RuntimeOptions::new().host_only().host_devices(gpus)).devices();
    /// assert!(devices[0].can_access_peer(&devices[1], PeerAccess::AccessSupported));
    /// assert!(devices[0].enable_peer_access(&devices[1])?);
    /// assert!(!devices[0].enable_peer_access(&devices[1])?, "it was enabled already");
    /// devices[0].disable_peer_access(&devices[1])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::PeerAccess`] when the device cannot access that peer.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<bool> {
        self.set_peer_access(peer, true)
    }

    /// Disables the access that [`enable_peer_access`](Self::enable_peer_access) enabled. On CUDA, queues of this device in a context over both
    /// devices do not copy between host memory and device memory of `peer` from then on, until the access is enabled again. Returns
    /// whether this call changed anything: access that is not enabled is no error.
    ///
    /// # Errors
    /// [`Error::PeerAccess`] when the device cannot access that peer.
    pub fn disable_peer_access(&self, peer: &Self) -> Result<bool> {
        self.set_peer_access(peer, false)
    }

    fn set_peer_access(&self, peer: &Self, enabled: bool) -> Result<bool> {
        let refused = |reason| {
            Err(Error::PeerAccess { device: self.filter_string(), peer: peer.filter_string(), reason })
        };
        // The runtime's own functions report no failure.
        if self == peer {
            return refused("a device reaches its own memory without it");
        }
        if !Arc::ptr_eq(self.backend(), peer.backend()) {
            return refused("the devices are of different backends");
        }
        if !self.can_access_peer(peer, PeerAccess::AccessSupported) {
            return refused("the runtime does not support it between these two");
        }
        // SAFETY: both handles are live on this backend (H1), and access is possible.
        unsafe { self.backend().set_peer_access(self.raw(), peer.raw(), enabled) }
    }
}
