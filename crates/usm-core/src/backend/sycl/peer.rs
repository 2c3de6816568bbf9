//! Peer access. The C functions report no failure, so this module records the enabled pairs.

use std::sync::{MutexGuard, PoisonError};

use sycl_sys::{Api, DPCTLPeerAccessType, DPCTLSyclDeviceRef};

use super::{SyclBackend, device, some};
use crate::Result;
use crate::backend::{Backend, PeerAccess, RawDevice, RawHandle};

impl SyclBackend {
    /// # Safety
    /// 1. Both devices are live.
    pub(super) unsafe fn supports_peer(
        api: &Api,
        device: DPCTLSyclDeviceRef,
        peer: DPCTLSyclDeviceRef,
        access: PeerAccess,
    ) -> bool {
        let access = match access {
            PeerAccess::AccessSupported => DPCTLPeerAccessType::ACCESS_SUPPORTED,
            PeerAccess::AtomicsSupported => DPCTLPeerAccessType::ATOMICS_SUPPORTED,
        };
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLDevice_CanAccessPeer)(device, peer, access) }
    }

    /// Enables or disables access; `false` when the state was the same before.
    ///
    /// # Safety
    /// 1. Both devices are live, and access is supported.
    pub(super) unsafe fn switch_peer(
        &self,
        api: &Api,
        on: RawDevice,
        peer: RawDevice,
        enabled: bool,
    ) -> Result<bool> {
        let mut pairs = self.peers();
        let same = |a: RawDevice, b: RawDevice| {
            // SAFETY: the caller's handles (promise 1) and the handles of S2 are live.
            unsafe { self.same(RawHandle::Device(a), RawHandle::Device(b)) }
        };
        let before = pairs.iter().position(|pair| same(pair[0], on) && same(pair[1], peer));
        match (before, enabled) {
            (None, true) => {
                // SAFETY: the caller's promise 1.
                let pair = unsafe { self.copy_pair(api, on, peer) }?;
                pairs.push(pair);
                // SAFETY: the caller's promise 1.
                unsafe { (api.DPCTLDevice_EnablePeerAccess)(device(on), device(peer)) };
            }
            (Some(index), false) => {
                // SAFETY: the caller's promise 1.
                unsafe { (api.DPCTLDevice_DisablePeerAccess)(device(on), device(peer)) };
                self.delete_pair(pairs.swap_remove(index));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Deletes the handles of all pairs; access stays as it is.
    pub(super) fn forget_peers(&self) {
        let pairs = std::mem::take(&mut *self.peers());
        pairs.into_iter().for_each(|pair| self.delete_pair(pair));
    }

    fn peers(&self) -> MutexGuard<'_, Vec<[RawDevice; 2]>> {
        // The list is whole wherever a panic may happen.
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// 1. Both devices are live.
    unsafe fn copy_pair(&self, api: &Api, on: RawDevice, peer: RawDevice) -> Result<[RawDevice; 2]> {
        // SAFETY: the caller's promise 1.
        let on = unsafe { (api.DPCTLDevice_Copy)(device(on)) };
        let on = some(on, "Device_Copy").map(RawDevice::new)?;
        // SAFETY: the caller's promise 1.
        let peer = unsafe { (api.DPCTLDevice_Copy)(device(peer)) };
        let peer = some(peer, "Device_Copy").map(RawDevice::new).inspect_err(|_| {
            // SAFETY: our own handle (S1), without a later use.
            unsafe { self.release(RawHandle::Device(on)) };
        })?;
        Ok([on, peer])
    }

    fn delete_pair(&self, pair: [RawDevice; 2]) {
        for handle in pair {
            // SAFETY: S2: ours, and taken out of the list.
            unsafe { self.release(RawHandle::Device(handle)) };
        }
    }
}
