//! Functions for tests only: counters, faults, failures to come, and time. In a forked child they do nothing.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::time::{Duration, Instant};

use super::is_known;
use crate::codes::Code;
use crate::settings::is_fixed_by_init;
use crate::state::{Kind, Locked, changed, is_forked, lock, wait};

/// The state when all work so far is complete; `None` in a forked child.
fn when_idle() -> Option<Locked> {
    (!is_forked()).then(|| wait(lock(), |state| state.streams.is_idle()))
}

/// # Safety
/// 1. A zero-terminated string.
unsafe fn string<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    // SAFETY: 1.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

fn live(kind: c_int) -> Option<(usize, usize)> {
    let kind = Kind::ALL.into_iter().find(|known| *known as c_int == kind)?;
    (!is_forked()).then(|| lock().live(kind))
}

/// The live objects of a kind; `usize::MAX` for a number that is not a kind.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_live(kind: c_int) -> usize {
    live(kind).map_or(usize::MAX, |(count, _)| count)
}

/// The bytes of the live blocks of a kind.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_live_bytes(kind: c_int) -> usize {
    live(kind).map_or(0, |(_, bytes)| bytes)
}

/// The number of faults so far, when all work so far is complete.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_faults() -> usize {
    when_idle().map_or(0, |state| state.faults().len())
}

/// The text of a fault by its position, valid for ever; null beyond the last one.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_fault_text(index: usize) -> *const c_char {
    let state = when_idle();
    let text = state.as_ref().and_then(|state| state.faults().get(index));
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Makes the `count`-th call from now of a C function (`*` for any) return a code; 0 takes it back. False for an unknown name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuda_loopback_fail(function: *const c_char, count: usize, code: c_uint) -> bool {
    // SAFETY: the contract of this function.
    let function = unsafe { string(function) };
    if is_forked() || !is_known(&function) {
        return false;
    }
    lock().fail(&function, count, Code(code));
    true
}

/// How often a C function was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuda_loopback_calls(function: *const c_char) -> usize {
    // SAFETY: the contract of this function.
    let function = unsafe { string(function) };
    if is_forked() { 0 } else { lock().calls(&function) }
}

/// Sets a number by the name of its variable without `CUDA_LOOPBACK_`. False for an unknown name, a value that is not valid, and the
/// hardware after `cuInit`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuda_loopback_set(name: *const c_char, value: u64) -> bool {
    // SAFETY: the contract of this function.
    let name = unsafe { string(name) };
    if is_forked() {
        return false;
    }
    let mut state = lock();
    if state.is_initialized && is_fixed_by_init(&name) || !state.settings.set(&name, value) {
        return false;
    }
    state.streams.delay = state.settings.delay;
    if name == "SEED" {
        state.streams.seed(value);
    }
    true
}

/// Lets no operation run until a call waits for one, `cuda_loopback_release` is called, or the time is over.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_hold(milliseconds: c_uint) {
    if !is_forked() {
        lock().streams.held_until = Some(Instant::now() + Duration::from_millis(milliseconds.into()));
        changed();
    }
}

/// Lets operations run again.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_release() {
    if !is_forked() {
        lock().streams.held_until = None;
        changed();
    }
}

/// Takes back faults, failures to come, and the loss of contexts, when all work so far is complete.
#[unsafe(no_mangle)]
extern "C" fn cuda_loopback_reset() {
    if let Some(mut state) = when_idle() {
        state.reset();
    }
}
