//! Attributes that an object may not have.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::fork::ForkOnce;

/// Writes an attribute, as a new reference: 1 when it is there, 0 when not, −1 with an exception set.
type Lookup = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut *mut ffi::PyObject) -> c_int;

/// The names of Python's function: from 3.13 on, where it belongs to the stable interface, and in the releases before it.
const NAMES: [&CStr; 2] = [c"PyObject_GetOptionalAttr", c"_PyObject_LookupAttr"];

unsafe extern "C" {
    // POSIX; each program is linked with it. A null handle stands for all libraries of the program (RTLD_DEFAULT).
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Python's function, if the program shows it. The limited interface that this module is built for has none before 3.13: there a missing
/// attribute costs an exception, which takes longer than all the rest of an import.
fn lookup() -> Option<Lookup> {
    static FOUND: ForkOnce<Option<Lookup>> = ForkOnce::new();
    *FOUND.get_or_init(|| {
        // On other systems the handle has another value.
        if !cfg!(target_os = "linux") {
            return None;
        }
        NAMES.iter().find_map(|name| {
            // SAFETY: PY2: a name that ends with a null byte.
            let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
            // SAFETY: PY2: Python has had both functions with this signature, since 3.7 and 3.13; null is `None`.
            unsafe { std::mem::transmute::<*mut c_void, Option<Lookup>>(found) }
        })
    })
}

/// An attribute, or `None` where there is none.
pub(crate) fn optional<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(lookup) = lookup() else { return object.getattr_opt(name) };
    let mut found = ptr::null_mut();
    // SAFETY: PY1: two objects, and a pointer that is written.
    match unsafe { lookup(object.as_ptr(), name.as_ptr(), &raw mut found) } {
        0 => Ok(None),
        // SAFETY: PY2: a new reference, or null with an exception set.
        _ => unsafe { Bound::from_owned_ptr_or_err(object.py(), found) }.map(Some),
    }
}
