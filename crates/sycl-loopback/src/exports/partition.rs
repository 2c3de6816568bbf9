//! Sub-devices and peers.
//!
//! The parts of one partitioning are distinct devices at each call, as in the real library. The GPU has two tiles, which it can
//! be partitioned into by affinity; tiles reach each other's memory, and no other device reaches another's.

use super::device::compute_units;
use super::{elements, export};
use crate::state::{Handle, Object, State};

/// The number of `not_applicable`. From 0.23 on an unknown domain comes before it.
const FIRST: u32 = if cfg!(dpctl_023) { 1 } else { 0 };
/// `numa`.
const NUMA: u32 = FIRST + 1;
/// `next_partitionable`.
const NEXT_PARTITIONABLE: u32 = FIRST + 6;

/// A vector of new sub-devices; `None` if one has no compute unit, or if they have too many together.
fn partition(state: &mut State, device: usize, counts: &[usize]) -> Option<Handle> {
    let available = usize::try_from(compute_units(state, device)?).ok()?;
    let sum = counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count))?;
    if sum > available || counts.is_empty() || counts.contains(&0) {
        return None;
    }
    let parts = counts.iter().map(|&count| Some(state.add_sub_device(device, u32::try_from(count).ok()?)));
    let parts = parts.collect::<Option<Vec<_>>>()?;
    Some(state.create(Object::DeviceVector(parts)))
}

/// The tiles of a root device that has several; `None` for another one.
fn tiles(state: &State, device: usize) -> Option<usize> {
    let tiles = usize::try_from(state.facts(device)?.tiles).ok()?;
    (tiles > 1 && state.sub_device(device).is_none()).then_some(tiles)
}

/// A device and a peer that share a root, but are not the same.
fn pair(state: &mut State, device: Handle, peer: Handle) -> Option<(usize, usize)> {
    let (device, peer) = (state.device(device)?, state.device(peer)?);
    let tiles = device != peer
        && state.root(device) == state.root(peer)
        && tiles(state, state.root(device)).is_some();
    tiles.then_some((device, peer))
}

export! {
    fn DPCTLDevice_GetParentDevice(state, device: Handle) -> Handle {
        let device = state.device(device)?;
        let parent = state.sub_device(device)?.parent;
        Some(state.create(Object::Device(parent)))
    }

    fn DPCTLDevice_GetPartitionMaxSubDevices(state, device: Handle) -> u32 {
        let device = state.device(device)?;
        // One compute unit cannot be parted.
        compute_units(state, device).filter(|&units| units > 1)
    }

    fn DPCTLDevice_CreateSubDevicesEqually(state, device: Handle, count: usize) -> Handle {
        let device = state.device(device)?;
        let parts = usize::try_from(compute_units(state, device)?).ok()?.checked_div(count)?;
        partition(state, device, &vec![count; parts])
    }

    fn DPCTLDevice_CreateSubDevicesByCounts(state, device: Handle, counts: *mut usize, len: usize) -> Handle {
        let device = state.device(device)?;
        // The real library reads the first count without asking.
        state.expect(len > 0 && !counts.is_null())?;
        // SAFETY: the header's contract: `counts` has `len` elements.
        let counts = unsafe { elements(counts, len) };
        partition(state, device, &counts)
    }

    fn DPCTLDevice_CreateSubDevicesByAffinity(state, device: Handle, domain: u32) -> Handle {
        let device = state.device(device)?;
        let tiles = tiles(state, device).filter(|_| [NUMA, NEXT_PARTITIONABLE].contains(&domain))?;
        let units = usize::try_from(compute_units(state, device)?).ok()?;
        partition(state, device, &vec![units / tiles; tiles])
    }

    fn DPCTLDevice_CanAccessPeer(state, device: Handle, peer: Handle, access: u32) -> bool {
        // Atomic operations are not supported.
        pair(state, device, peer).map(|_| access == 0)
    }

    // The real library refuses without a reason. The loopback library counts a fault.
    fn DPCTLDevice_EnablePeerAccess(state, device: Handle, peer: Handle) {
        let pair = pair(state, device, peer);
        let enabled = pair.is_some_and(|pair| state.peers.insert(pair));
        state.expect(enabled)
    }

    fn DPCTLDevice_DisablePeerAccess(state, device: Handle, peer: Handle) {
        let pair = pair(state, device, peer);
        let disabled = pair.is_some_and(|pair| state.peers.remove(&pair));
        state.expect(disabled)
    }
}
