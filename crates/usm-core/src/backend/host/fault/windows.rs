//! Windows: a filter of exceptions that nobody handles.
//!
//! It passes each exception on to the filter that it found, or to the system, which ends the process. Python's `faulthandler` and Rust's
//! report of stack overflows come first: they see all exceptions.

use std::ptr;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::EXCEPTION_ACCESS_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::WriteFile;
use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE};
use windows_sys::Win32::System::Diagnostics::Debug::{
    EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS, LPTOP_LEVEL_EXCEPTION_FILTER, SetUnhandledExceptionFilter,
};

use super::report;

/// The filter that was there before.
///
/// Invariant WN2: what the system reported as the filter, which others keep valid as long as it could be called.
static PREVIOUS: OnceLock<LPTOP_LEVEL_EXCEPTION_FILTER> = OnceLock::new();

/// The parameters of an access violation: the kind of the access, and the address.
const PARAMETERS: usize = 2;

/// Installs the filter.
pub(super) fn install() {
    // SAFETY: WN3: a function of this signature.
    PREVIOUS.get_or_init(|| unsafe { SetUnhandledExceptionFilter(Some(on_exception)) });
}

/// The filter.
///
/// Invariant WN3: the system alone calls it, with the facts of an exception, and it allocates nothing.
unsafe extern "system" fn on_exception(exception: *const EXCEPTION_POINTERS) -> i32 {
    // SAFETY: WN3.
    let record = unsafe { (*exception).ExceptionRecord };
    // SAFETY: WN3.
    let record = unsafe { &*record };
    if record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters as usize >= PARAMETERS {
        report(record.ExceptionInformation[PARAMETERS - 1]);
    }
    match PREVIOUS.get() {
        // SAFETY: WN2.
        Some(Some(previous)) => unsafe { previous(exception) },
        _ => EXCEPTION_CONTINUE_SEARCH,
    }
}

/// Writes bytes to the standard error.
pub(super) fn write(text: &[u8]) {
    // SAFETY: WN1: a query without pointers.
    let stderr = unsafe { GetStdHandle(STD_ERROR_HANDLE) };
    let (len_bytes, mut written) = (u32::try_from(text.len()).unwrap_or(u32::MAX), 0);
    // SAFETY: WN1: the bytes live through the call. If it fails, there is nobody to tell.
    unsafe { WriteFile(stderr, text.as_ptr(), len_bytes, &raw mut written, ptr::null_mut()) };
}
