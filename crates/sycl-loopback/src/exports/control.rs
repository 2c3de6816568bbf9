//! Functions for tests only: counters, failures to come, asynchronous errors.

use std::ffi::{CStr, c_char, c_int};

use crate::state::{Alignment, Kind, with};

/// The live handles of a kind; `usize::MAX` for a number that is not a kind.
#[unsafe(no_mangle)]
extern "C" fn usm_loopback_live_handles(kind: c_int) -> usize {
    let kind = Kind::ALL.iter().find(|known| **known as c_int == kind);
    kind.map_or(usize::MAX, |&kind| with(|state| state.live(kind)))
}

/// The handles and pointers that were misused so far.
#[unsafe(no_mangle)]
extern "C" fn usm_loopback_faults() -> usize {
    with(|state| state.faults())
}

/// Makes the `count`-th call from now of a C function fail; 0 takes it back. Returns how many calls the failure asked for before was away.
#[unsafe(no_mangle)]
unsafe extern "C" fn usm_loopback_fail_next(symbol: *const c_char, count: usize) -> usize {
    // SAFETY: the contract of this function: `symbol` is a zero-terminated string.
    let symbol = unsafe { CStr::from_ptr(symbol) }.to_string_lossy();
    with(|state| state.fail_next(&symbol, count))
}

/// Limits the alignments of allocations from now on: refuses larger ones, or ignores them; 0 takes it back.
#[unsafe(no_mangle)]
extern "C" fn usm_loopback_limit_alignment(most_bytes: usize, refuses: bool) {
    let alignment = match (most_bytes, refuses) {
        (0, _) => Alignment::Any,
        (most_bytes, true) => Alignment::UpTo(most_bytes),
        (most_bytes, false) => Alignment::NoMoreThan(most_bytes),
    };
    with(|state| state.alignment = alignment);
}

/// Calls the handler of the newest queue with this code at the next wait; false if there is no queue.
#[unsafe(no_mangle)]
extern "C" fn usm_loopback_raise_async(code: c_int) -> bool {
    with(|state| state.raise(code))
}

/// Holds commands from now on until somebody waits for them, or completes all.
#[unsafe(no_mangle)]
extern "C" fn usm_loopback_hold(holds: bool) {
    with(|state| state.hold(holds));
}
