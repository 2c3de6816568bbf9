//! Device memory without a pool, managed and pinned memory, and what an address is.

use std::ffi::{c_int, c_uint, c_void};

use super::{export, give, handle};
use crate::codes::{Code, Outcome};
use crate::devices::NO_DEVICE;
use crate::memory::BlockKind;
use crate::state::{Locked, wait};

/// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
const MEMORYTYPE: [c_uint; 2] = [1, 2];
/// `CU_MEM_ATTACH_GLOBAL` and `CU_MEM_ATTACH_HOST`.
const ATTACH: [c_uint; 2] = [1, 2];
/// All flags of pinned memory.
const HOSTALLOC_FLAGS: c_uint = 7;

/// Frees a block after all work of all streams.
fn free(mut state: Locked, call: &str, start: usize, kinds: &[BlockKind]) -> Outcome {
    let block = state.memory.starting_at(call, start)?;
    if !kinds.contains(&block.kind) {
        return Err(Code::INVALID_VALUE.fault(format!("{call}: {start:#x} is {:?} memory", block.kind)));
    }
    state = wait(state, |state| state.streams.is_idle());
    // The real driver does not wait before it frees memory of a pool.
    if let Some(point) = state.memory.unknown_use(&state.streams, start) {
        state.fault(format!("{call}: {start:#x} is freed, but its use by {point:?} may be under way"));
    }
    state.memory.remove(start);
    Ok(())
}

/// Waits for frees under way, which may give what a request needs.
pub(super) fn retry<R>(
    mut state: Locked,
    allocate: impl Fn(&mut Locked) -> Outcome<R>,
) -> (Locked, Outcome<R>) {
    let mut allocated = allocate(&mut state);
    if allocated.as_ref().is_err_and(|refusal| refusal.code == Code::OUT_OF_MEMORY)
        && !state.streams.is_idle()
    {
        state = wait(state, |state| state.streams.is_idle());
        allocated = allocate(&mut state);
    }
    (state, allocated)
}

export! {
    fn cuMemAlloc_v2(call, state, address: *mut u64, len_bytes: usize) {
        let device = state.current_device(call)?;
        if len_bytes == 0 || address.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let (mut state, start) = retry(state, |state| state.memory.allocate_device(device, len_bytes, None));
        let start = start?;
        state.memory.soil(start);
        // SAFETY: the header's contract: writable.
        unsafe { give(address, start as u64) }
    }

    fn cuMemFree_v2(call, state, address: u64) {
        state.current_device(call)?;
        let start = usize::try_from(address).unwrap_or_default();
        if start == 0 {
            return Ok(());
        }
        free(state, call, start, &[BlockKind::Device, BlockKind::Managed])
    }

    fn cuMemAllocManaged(call, state, address: *mut u64, len_bytes: usize, flags: c_uint) {
        let device = state.current_device(call)?;
        if len_bytes == 0 || address.is_null() || !ATTACH.contains(&flags) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let start = state.memory.allocate_mapped(BlockKind::Managed, device, len_bytes)?;
        // SAFETY: the header's contract: writable.
        unsafe { give(address, start as u64) }
    }

    fn cuMemHostAlloc(call, state, pointer: *mut *mut c_void, len_bytes: usize, flags: c_uint) {
        let device = state.current_device(call)?;
        if pointer.is_null() || flags & !HOSTALLOC_FLAGS != 0 {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // The real driver, too, gives a null pointer for no bytes.
        let start = match len_bytes {
            0 => 0,
            _ => state.memory.allocate_mapped(BlockKind::Pinned, device, len_bytes)?,
        };
        // SAFETY: the header's contract: writable.
        unsafe { give(pointer, std::ptr::with_exposed_provenance_mut(start)) }
    }

    fn cuMemFreeHost(call, state, pointer: *mut c_void) {
        state.current_device(call)?;
        if pointer.is_null() {
            return Ok(());
        }
        free(state, call, pointer.addr(), &[BlockKind::Pinned])
    }

    fn cuMemGetInfo_v2(call, state, free_bytes: *mut usize, total_bytes: *mut usize) {
        let device = state.current_device(call)?;
        let (free, total) = (state.memory.free_bytes(device), state.settings.memory_bytes);
        // SAFETY: the header's contract: writable.
        unsafe { give(free_bytes, free) }?;
        // SAFETY: the header's contract: writable.
        unsafe { give(total_bytes, total) }
    }

    // The real driver leaves the range of an unknown address as it was, and gives 0, 0 and `NO_DEVICE` for the other values.
    fn cuPointerGetAttributes(
        call, state, count: c_uint, attributes: *const c_int, values: *const *mut c_void, address: u64,
    ) {
        state.current_device(call)?;
        if count == 0 || attributes.is_null() || values.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let found = state.memory.find(usize::try_from(address).unwrap_or_default());
        for index in 0..count as usize {
            // SAFETY: the header's contract: `count` attributes.
            let attribute = unsafe { attributes.wrapping_add(index).read() };
            // SAFETY: the header's contract: `count` pointers, each to a value of the attribute's type.
            let value = unsafe { values.wrapping_add(index).read() };
            match attribute {
                2 => {
                    let kind = |(_, block): (usize, &crate::memory::Block)| MEMORYTYPE[usize::from(block.kind != BlockKind::Pinned)];
                    // SAFETY: the header's contract: an `unsigned int`.
                    unsafe { give(value.cast(), found.map_or(0, kind)) }
                }
                8 => {
                    let is_managed = found.is_some_and(|(_, block)| block.kind == BlockKind::Managed);
                    // SAFETY: the header's contract; the real driver writes four bytes.
                    unsafe { give(value.cast(), c_uint::from(is_managed)) }
                }
                9 => {
                    let device = found.and_then(|(_, block)| c_int::try_from(block.device).ok());
                    // SAFETY: the header's contract: an `int`.
                    unsafe { give(value.cast(), device.unwrap_or(NO_DEVICE)) }
                }
                17 => {
                    let pool = found.and_then(|(_, block)| block.pool);
                    // SAFETY: the header's contract: a handle.
                    unsafe { give(value.cast(), handle(pool.unwrap_or_default())) }
                }
                11 | 12 => match found {
                    None => Ok(()),
                    Some((start, block)) => {
                        let number = if attribute == 11 { start } else { block.len_bytes };
                        // SAFETY: the header's contract: 8 bytes.
                        unsafe { give(value.cast(), number as u64) }
                    }
                },
                _ => Err(Code::NOT_SUPPORTED.refusal()),
            }?;
        }
        Ok(())
    }
}
