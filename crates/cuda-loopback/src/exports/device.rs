//! Devices: their number and facts.

use std::ffi::{c_char, c_int};

use super::{export, give};
use crate::codes::{Code, Outcome};
use crate::devices::{NAME, attribute, pci_bus_id};

/// Writes a text with its zero byte, cut to a length.
///
/// # Safety
/// 1. `to` is null or has `len` writable bytes.
unsafe fn give_text(to: *mut c_char, len: c_int, text: &str) -> Outcome {
    let len = usize::try_from(len).unwrap_or_default();
    if to.is_null() || len == 0 {
        return Err(Code::INVALID_VALUE.refusal());
    }
    let count = text.len().min(len - 1);
    // SAFETY: `count` is less than the writable bytes (1), and at most the text's length.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, count) };
    // SAFETY: 1.
    unsafe { give(to.wrapping_add(count), 0) }
}

export! {
    fn cuDeviceGetCount(call, state, count: *mut c_int) {
        let devices = c_int::try_from(state.settings.devices).unwrap_or_default();
        // SAFETY: the header's contract: writable.
        unsafe { give(count, devices) }
    }

    fn cuDeviceGet(call, state, device: *mut c_int, ordinal: c_int) {
        state.device(ordinal)?;
        // SAFETY: the header's contract: writable.
        unsafe { give(device, ordinal) }
    }

    fn cuDeviceGetName(call, state, name: *mut c_char, len: c_int, device: c_int) {
        state.device(device)?;
        // SAFETY: the header's contract: `len` bytes.
        unsafe { give_text(name, len, NAME) }
    }

    fn cuDeviceGetPCIBusId(call, state, text: *mut c_char, len: c_int, device: c_int) {
        let id = pci_bus_id(state.device(device)?);
        if usize::try_from(len).unwrap_or_default() <= id.len() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: `len` bytes.
        unsafe { give_text(text, len, &id) }
    }

    fn cuDeviceTotalMem_v2(call, state, bytes: *mut usize, device: c_int) {
        state.device(device)?;
        // SAFETY: the header's contract: writable.
        unsafe { give(bytes, state.settings.memory_bytes) }
    }

    fn cuDeviceGetAttribute(call, state, value: *mut c_int, number: c_int, device: c_int) {
        let found = attribute(state.device(device)?, number);
        let found = found.ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        // SAFETY: the header's contract: writable.
        unsafe { give(value, found) }
    }

    fn cuDeviceCanAccessPeer(call, state, can: *mut c_int, device: c_int, peer: c_int) {
        let is_other = state.device(device)? != state.device(peer)?;
        // SAFETY: the header's contract: writable.
        unsafe { give(can, c_int::from(is_other)) }
    }
}
