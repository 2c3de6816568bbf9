//! Memory of each kind.

use std::ptr::NonNull;

use super::context::CudaContext;
use super::device::{CudaDevice, Current};
use super::driver::{ATTACH_GLOBAL, Address, Code};
use super::processes;
use crate::UsmKind;
use crate::backend::MemoryFigures;

/// New memory; `None` when the driver has none.
pub(super) fn allocate(device: &CudaDevice, kind: UsmKind, len_bytes: usize) -> Option<NonNull<u8>> {
    let current = device.enter().ok()?;
    match kind {
        UsmKind::Host => device.platform.pinned.allocate(&current, len_bytes),
        UsmKind::Shared => pointer(allocate_managed(&current, len_bytes)?),
        UsmKind::Device => pointer(allocate_on_device(&current, len_bytes)?),
    }
}

fn pointer(address: Address) -> Option<NonNull<u8>> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?))
}

fn allocate_managed(current: &Current<'_>, len_bytes: usize) -> Option<Address> {
    let mut address = 0;
    // SAFETY: DR1; the pointer is writable, and the context is current.
    let code = unsafe { (current.cuMemAllocManaged)(&raw mut address, len_bytes, ATTACH_GLOBAL) };
    current.check("cuMemAllocManaged", code).ok()?;
    Some(address)
}

/// A block of the device's pool.
fn allocate_on_device(current: &Current<'_>, len_bytes: usize) -> Option<Address> {
    let mut address = 0;
    let Some(pool) = current.pool() else {
        // SAFETY: DR1; the pointer is writable, and the context is current.
        let code = unsafe { (current.cuMemAlloc_v2)(&raw mut address, len_bytes) };
        current.check("cuMemAlloc", code).ok()?;
        return Some(address);
    };
    let stream = current.allocations();
    // SAFETY: DR1; the pointer is writable; pool and stream live as long as the process.
    let code = unsafe { (current.cuMemAllocFromPoolAsync)(&raw mut address, len_bytes, pool, stream) };
    current.check("cuMemAllocFromPoolAsync", code).ok()?;
    // Any queue may use the memory at once, so the allocation must be complete.
    // SAFETY: DR1; the stream lives as long as the process.
    let code = unsafe { (current.cuStreamSynchronize)(stream) };
    if current.check("cuStreamSynchronize", code).is_err() {
        // SAFETY: DR1; the block that was just allocated, which nobody knows.
        let _ = unsafe { (current.cuMemFreeAsync)(address, stream) };
        return None;
    }
    Some(address)
}

/// Gives the memory of freed blocks of some kinds back to the system: pinned blocks, and those of the device's pool, whose sizes may not
/// suit a request. False when there are none.
pub(super) fn trim(device: &CudaDevice, kinds: &[UsmKind]) -> bool {
    let Ok(current) = device.enter() else { return false };
    let unpinned = kinds.contains(&UsmKind::Host) && device.platform.pinned.release(&current, 0);
    let trimmed = kinds.contains(&UsmKind::Device) && trim_pool(&current);
    unpinned || trimmed
}

fn trim_pool(current: &Current<'_>) -> bool {
    let Some(pool) = current.pool() else { return false };
    // Blocks whose free is not complete would stay.
    // SAFETY: DR1; the stream lives as long as the process.
    let _ = unsafe { (current.cuStreamSynchronize)(current.allocations()) };
    // SAFETY: DR1; the pool lives as long as the process.
    let code = unsafe { (current.cuMemPoolTrimTo)(pool, 0) };
    code == Code::SUCCESS
}

/// Frees memory of a context. Nothing happens in a forked child, at the end of the process, and on a lost device: the memory is not
/// this process's any more.
///
/// # Safety
/// 1. `block` came from [`allocate`] or [`processes::open`] on a device of the context, and was not freed before.
/// 2. No pending operation uses it.
pub(super) unsafe fn free(context: &CudaContext, block: NonNull<u8>) {
    let Some(first) = context.devices.first() else { return };
    let address = block.addr().get();
    let Ok(current) = first.enter() else { return };
    let found = current.find(address);
    drop(current);
    let device = found.and_then(|found| context.device(found.ordinal)).unwrap_or(first);
    let Ok(current) = device.enter() else { return };
    // SAFETY: the caller's promise 2.
    if unsafe { processes::close(&current, device, block) } {
        return;
    }
    // SAFETY: the caller's promises 1 and 2.
    if unsafe { device.platform.pinned.free(&current, block) } {
        return;
    }
    let kind = found.map(|found| found.kind);
    let (call, code) = match current.pool() {
        Some(_) if kind == Some(UsmKind::Device) => {
            // SAFETY: DR1; a block of the pool (1), which no operation uses (2), so that the next allocation on this stream may have it.
            ("cuMemFreeAsync", unsafe { (current.cuMemFreeAsync)(address as Address, current.allocations()) })
        }
        // SAFETY: DR1; from `cuMemAlloc` or `cuMemAllocManaged` (1).
        _ => ("cuMemFree", unsafe { (current.cuMemFree_v2)(address as Address) }),
    };
    // The caller cannot do anything about a failure; a lost device is remembered.
    let _ = current.check(call, code);
}

/// Free and total memory of a device.
pub(super) fn figures(device: &CudaDevice) -> Option<MemoryFigures> {
    let current = device.enter().ok()?;
    let (mut free_bytes, mut total_bytes) = (0, 0);
    // SAFETY: DR1; the pointers are writable, and the context is current.
    let code = unsafe { (current.cuMemGetInfo_v2)(&raw mut free_bytes, &raw mut total_bytes) };
    (code == Code::SUCCESS)
        .then_some(MemoryFigures { free_bytes: free_bytes as u64, total_bytes: total_bytes as u64 })
}
