//! Linux: a handler of `SIGSEGV`.
//!
//! It passes each signal on to the action that it found: of Rust's standard library, which reports
//! stack overflows, of Python's `faulthandler`, or the default, by which the process dies of the same signal.
//!
//! The handler does only what is async-signal-safe: it reads atomics, calls `write`, `sigaction` and `raise`, and allocates nothing.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;

use super::report;

/// The action that was there before.
///
/// Invariant S3: what the system reported as the action of `SIGSEGV`, which others keep valid as long as it could be called.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler.
///
/// Invariant FH1: an action has integers and pointers alone, and is the default action where all of them are zero.
pub(super) fn install() {
    // SAFETY: FH1: a struct of integers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: FH1: reads the action into a valid place.
    if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut action) } != 0 {
        return;
    }
    // Before the handler, which reads it.
    PREVIOUS.get_or_init(|| action);
    // The mask and the flags of the action found hold for its call from ours, too. Its thread may have overflowed its stack.
    action.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
    action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
    // SAFETY: FH2: a function with the signature that `SA_SIGINFO` demands, which does what is async-signal-safe only.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut()) };
}

type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
type Plain = extern "C" fn(c_int);

/// The handler.
///
/// Invariant FH2: the system alone calls it, with what `SA_SIGINFO` promises, and all that it does is async-signal-safe.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: FH2: the system passes a pointer to what it knows of the signal (`SA_SIGINFO`).
    let known = unsafe { &*info };
    // Others are sent by `kill`, and have no address.
    let is_fault = known.si_code > 0;
    if is_fault {
        // SAFETY: FH2: the system has set the address of a fault.
        report(unsafe { known.si_addr() }.addr());
    }
    match PREVIOUS.get().map(|previous| (previous.sa_sigaction, previous.sa_flags)) {
        None | Some((libc::SIG_DFL, _)) => end_by(signal, is_fault),
        // A fault cannot be ignored.
        Some((libc::SIG_IGN, _)) if is_fault => end_by(signal, is_fault),
        Some((libc::SIG_IGN, _)) => {}
        Some((handler, flags)) if flags & libc::SA_SIGINFO != 0 => {
            let handler = ptr::with_exposed_provenance::<()>(handler);
            // SAFETY: S3: a handler with the signature that the flag demands.
            let handler = unsafe { mem::transmute::<*const (), WithInfo>(handler) };
            handler(signal, info, context);
        }
        Some((handler, _)) => {
            let handler = ptr::with_exposed_provenance::<()>(handler);
            // SAFETY: S3: a handler with the signature of actions without the flag.
            let handler = unsafe { mem::transmute::<*const (), Plain>(handler) };
            handler(signal);
        }
    }
}

/// Lets the signal end the process: a fault comes again when the handler returns, a signal that was sent is sent again.
fn end_by(signal: c_int, is_fault: bool) {
    // SAFETY: FH1: a struct of integers and pointers, for which zeros are values: `SIG_DFL` and no flags.
    let default: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: FH1: the default action is always allowed.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    if !is_fault {
        // SAFETY: LC1: has no conditions.
        unsafe { libc::raise(signal) };
    }
}

/// Writes bytes to the standard error.
pub(super) fn write(text: &[u8]) {
    // SAFETY: FH2: the bytes live through the call, which is async-signal-safe. If it fails, there is nobody to tell.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
