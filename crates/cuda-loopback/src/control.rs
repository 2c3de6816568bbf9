//! The shared library for tests: its counters, and failures on request.

use std::ffi::{CStr, CString, NulError, c_char, c_int, c_uint};
use std::path::Path;

use libloading::Library;

use crate::Kind;

/// The file name of the real library.
pub(crate) const FILE_NAME: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

macro_rules! control {
    ($($field:ident: fn($($ty:ty),*) $(-> $ret:ty)?, $symbol:literal;)*) => {
        /// The counters and switches of one loaded copy of the library.
        #[derive(Debug)]
        pub struct Control {
            $($field: unsafe extern "C" fn($($ty),*) $(-> $ret)?,)*
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
                Ok(Self {$(
                    $field: {
                        // SAFETY: `exports::control` defines it with this signature.
                        *unsafe { library.get::<unsafe extern "C" fn($($ty),*) $(-> $ret)?>($symbol) }?
                    },
                )*})
            }
        }
    };
}

control! {
    live: fn(c_int) -> usize, "cuda_loopback_live";
    live_bytes: fn(c_int) -> usize, "cuda_loopback_live_bytes";
    faults: fn() -> usize, "cuda_loopback_faults";
    fault_text: fn(usize) -> *const c_char, "cuda_loopback_fault_text";
    fail: fn(*const c_char, usize, c_uint) -> bool, "cuda_loopback_fail";
    calls: fn(*const c_char) -> usize, "cuda_loopback_calls";
    set: fn(*const c_char, u64) -> bool, "cuda_loopback_set";
    hold: fn(c_uint), "cuda_loopback_hold";
    release: fn(), "cuda_loopback_release";
    reset: fn(), "cuda_loopback_reset";
}

impl Control {
    /// The number of live objects of a kind.
    pub fn live(&self, kind: Kind) -> usize {
        // SAFETY: takes a number, and the library is never unloaded.
        unsafe { (self.live)(kind as c_int) }
    }

    /// The bytes of the live blocks of a kind.
    pub fn live_bytes(&self, kind: Kind) -> usize {
        // SAFETY: takes a number, and the library is never unloaded.
        unsafe { (self.live_bytes)(kind as c_int) }
    }

    /// The texts of the faults so far: handles and pointers that were misused, and operations without a needed order. All work that was
    /// submitted is complete then.
    pub fn faults(&self) -> Vec<String> {
        // SAFETY: takes nothing, and the library is never unloaded.
        let count = unsafe { (self.faults)() };
        let text = |index| {
            // SAFETY: takes a number, and the library is never unloaded.
            let text = unsafe { (self.fault_text)(index) };
            // SAFETY: a string for each index below the count, valid for ever.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        (0..count).filter_map(text).collect()
    }

    /// Makes the `count`-th call from now (1 = the next) of a C function return a code, without any effect; 0 takes it back. `*` is any
    /// function. A code after which a context is unusable makes the current context so. False if there is no such function.
    ///
    /// # Errors
    ///
    /// The name contains a zero byte.
    pub fn fail(&self, function: &str, count: usize, code: u32) -> Result<bool, NulError> {
        let function = CString::new(function)?;
        // SAFETY: a zero-terminated string, read during the call.
        Ok(unsafe { (self.fail)(function.as_ptr(), count, code) })
    }

    /// How often a C function was called.
    ///
    /// # Errors
    ///
    /// The name contains a zero byte.
    pub fn calls(&self, function: &str) -> Result<usize, NulError> {
        let function = CString::new(function)?;
        // SAFETY: a zero-terminated string, read during the call.
        Ok(unsafe { (self.calls)(function.as_ptr()) })
    }

    /// Sets a number that a variable `CUDA_LOOPBACK_…` has, too: `DEVICES` and `MEMORY_BYTES` before `cuInit`, `DELAY_US`, `SEED`
    /// and `LOAD_MS`. False if it is not valid.
    ///
    /// # Errors
    ///
    /// The name contains a zero byte.
    pub fn set(&self, name: &str, value: u64) -> Result<bool, NulError> {
        let name = CString::new(name)?;
        // SAFETY: a zero-terminated string, read during the call.
        Ok(unsafe { (self.set)(name.as_ptr(), value) })
    }

    /// Lets no operation run until a call waits for one, [`release`](Self::release) is called, or the time is over.
    pub fn hold(&self, milliseconds: u32) {
        // SAFETY: takes a number, and the library is never unloaded.
        unsafe { (self.hold)(milliseconds) };
    }

    /// Lets operations run again.
    pub fn release(&self) {
        // SAFETY: takes nothing, and the library is never unloaded.
        unsafe { (self.release)() };
    }

    /// Takes back faults, failures to come, and the loss of contexts.
    pub fn reset(&self) {
        // SAFETY: takes nothing, and the library is never unloaded.
        unsafe { (self.reset)() };
    }
}
