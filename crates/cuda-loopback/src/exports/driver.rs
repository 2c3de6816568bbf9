//! The driver itself: initialisation, version, names of codes.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::{export, give};
use crate::codes::{Code, Outcome};
use crate::devices::DRIVER_VERSION;
use crate::memory::Memory;
use crate::state::initialized_here;

export! {
    fn cuInit(call, state, flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.refusal());
        }
        if state.settings.devices == 0 {
            return Err(Code::NO_DEVICE.refusal());
        }
        if !state.is_initialized {
            state.memory = Memory::new(state.settings.memory_bytes);
            state.is_initialized = true;
            initialized_here();
        }
        Ok(())
    }
}

// These three need no initialisation, and work in a forked child, too.

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the header's contract: writable.
    code(unsafe { give(version, DRIVER_VERSION) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(of: Code, name: *mut *const c_char) -> Code {
    // SAFETY: the header's contract: writable.
    unsafe { text(of.describe().map(|(name, _)| name), name) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(of: Code, string: *mut *const c_char) -> Code {
    // SAFETY: the header's contract: writable.
    unsafe { text(of.describe().map(|(_, text)| text), string) }
}

/// # Safety
/// 1. `to` is null or writable.
unsafe fn text(found: Option<&'static CStr>, to: *mut *const c_char) -> Code {
    // SAFETY: 1.
    let given = unsafe { give(to, found.map_or(std::ptr::null(), CStr::as_ptr)) };
    if found.is_none() { Code::INVALID_VALUE } else { code(given) }
}

fn code(outcome: Outcome) -> Code {
    outcome.map_or_else(|refusal| refusal.code, |()| Code::SUCCESS)
}
