//! The shared library for tests: its counters, and failures on request.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;

use libloading::Library;

use crate::{Alignment, Kind};

/// The file name of the real library.
pub(crate) const FILE_NAME: &str =
    if cfg!(windows) { "DPCTLSyclInterface.dll" } else { "libDPCTLSyclInterface.so" };

/// The counters and switches of one loaded copy of the library.
#[derive(Debug)]
pub struct Control {
    live: unsafe extern "C" fn(c_int) -> usize,
    faults: unsafe extern "C" fn() -> usize,
    fail_next: unsafe extern "C" fn(*const c_char, usize) -> usize,
    raise_async: unsafe extern "C" fn(c_int) -> bool,
    limit_alignment: unsafe extern "C" fn(usize, bool),
    hold: unsafe extern "C" fn(bool),
}

impl Control {
    /// Opens a copy of the library; a copy that the process has already is the same one, with the same counters.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or is not a loopback library.
    pub fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: the loopback library has no initialisation routines. It is leaked, so it is never unloaded.
        let library = std::mem::ManuallyDrop::new(unsafe { Library::new(path) }?);
        Ok(Self {
            // SAFETY: `exports::control` defines it with the signature of the field.
            live: *unsafe { library.get("usm_loopback_live_handles") }?,
            // SAFETY: `exports::control` defines it with the signature of the field.
            faults: *unsafe { library.get("usm_loopback_faults") }?,
            // SAFETY: `exports::control` defines it with the signature of the field.
            fail_next: *unsafe { library.get("usm_loopback_fail_next") }?,
            // SAFETY: `exports::control` defines it with the signature of the field.
            raise_async: *unsafe { library.get("usm_loopback_raise_async") }?,
            // SAFETY: `exports::control` defines it with the signature of the field.
            limit_alignment: *unsafe { library.get("usm_loopback_limit_alignment") }?,
            // SAFETY: `exports::control` defines it with the signature of the field.
            hold: *unsafe { library.get("usm_loopback_hold") }?,
        })
    }

    /// The number of live handles (or strings, or allocations) of a kind.
    pub fn live(&self, kind: Kind) -> usize {
        // SAFETY: takes a number, and the library is never unloaded.
        unsafe { (self.live)(kind as c_int) }
    }

    /// The kinds with live objects, each with their number; empty without leaks.
    pub fn leaks(&self) -> Vec<(Kind, usize)> {
        Kind::ALL.iter().map(|&kind| (kind, self.live(kind))).filter(|(_, count)| *count > 0).collect()
    }

    /// How often a handle or pointer was misused: deleted twice, used after deletion, of the wrong type, out of range,
    /// or deleted under a command that is [held](Self::hold).
    pub fn faults(&self) -> usize {
        // SAFETY: takes nothing, and the library is never unloaded.
        unsafe { (self.faults)() }
    }

    /// Makes the `count`-th call from now (1 = the next) of a C function fail the way it fails in C: NULL, false, 0
    /// or -1. 0 takes it back. Returns how many calls the failure asked for before was away: 0 if it has come.
    ///
    /// # Errors
    ///
    /// The name contains a zero byte.
    pub fn fail_next(&self, symbol: &str, count: usize) -> Result<usize, std::ffi::NulError> {
        let symbol = CString::new(symbol)?;
        // SAFETY: a zero-terminated string, read during the call.
        Ok(unsafe { (self.fail_next)(symbol.as_ptr(), count) })
    }

    /// Which alignments allocations have from now on.
    pub fn set_alignment(&self, alignment: Alignment) {
        let (most_bytes, refuses) = match alignment {
            Alignment::Any => (0, false),
            Alignment::UpTo(most_bytes) => (most_bytes, true),
            Alignment::NoMoreThan(most_bytes) => (most_bytes, false),
        };
        // SAFETY: takes numbers, and the library is never unloaded.
        unsafe { (self.limit_alignment)(most_bytes, refuses) };
    }

    /// Holds commands from now on: their events report them as submitted until somebody waits for the command, or for a later one of its
    /// queue. The last handle of a queue, or a handle of a kernel or bundle, that is deleted under a held command is a fault.
    /// `false` completes all.
    pub fn hold(&self, holds: bool) {
        // SAFETY: takes a truth value, and the library is never unloaded.
        unsafe { (self.hold)(holds) };
    }

    /// Gives the newest queue an asynchronous error; the next `DPCTLQueue_Wait` or `DPCTLEvent_WaitAndThrow` calls its
    /// handler with the code. False if there was never a queue.
    pub fn raise_async(&self, code: i32) -> bool {
        // SAFETY: takes a number, and the library is never unloaded.
        unsafe { (self.raise_async)(code) }
    }
}
