//! How a copy of this library in an extension joins the one in the package: a capsule with tables of C functions.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::backend::host::HostTable;
use usm_array::usm_core::fork::ForkOnce;
use usm_array::usm_core::{Runtime, RuntimeOptions};
use usm_array::usm_memory::BorrowFunctions;

use crate::imported;

const NAME: &CStr = c"usm._usm._c_api";
/// Version of [`CApi`] itself. The tables have versions of their own.
const VERSION: u32 = 1;

/// What the capsule points to. The first field stays what it is in every version.
///
/// Invariant CA1: the tables live as long as the process, since no copy of this library is ever unloaded.
#[repr(C)]
struct CApi {
    version: u32,
    host: *const HostTable,
    borrows: *const BorrowFunctions,
}

// SAFETY: CA1: any thread may use the tables.
unsafe impl Send for CApi {}
// SAFETY: CA1, as for Send.
unsafe impl Sync for CApi {}

/// Set when the module `usm._usm` of this copy is imported.
static IS_PACKAGE: AtomicBool = AtomicBool::new(false);

/// This copy is the one in the package.
pub(crate) fn set_package() {
    IS_PACKAGE.store(true, Ordering::Relaxed);
}

pub(crate) fn is_package() -> bool {
    IS_PACKAGE.load(Ordering::Relaxed)
}

/// The capsule with the tables of the package, whose runtime it is.
pub(crate) fn capsule<'py>(py: Python<'py>, runtime: &Runtime) -> PyResult<Bound<'py, PyCapsule>> {
    static API: ForkOnce<CApi> = ForkOnce::new();
    let api = API.get_or_try_init(|| {
        let table = runtime.host_table();
        let table = table.ok_or_else(|| PyImportError::new_err("this copy of usm is not the package"))?;
        let host: &'static HostTable = Box::leak(Box::new(table));
        Ok::<_, PyErr>(CApi { version: VERSION, host, borrows: BorrowFunctions::of_this_copy() })
    })?;
    // SAFETY: CA1: a static, which lives as long as any capsule.
    unsafe { PyCapsule::new_with_pointer(py, std::ptr::NonNull::from(api).cast(), NAME) }
}

/// The runtime of this copy, on the host backend and the table of borrows of the package.
pub(crate) fn join(py: Python<'_>, options: RuntimeOptions) -> PyResult<&'static Runtime> {
    let made = imported::import(py, intern!(py, "usm._usm"))?.call_method0("_c_api")?;
    let capsule = made.cast::<PyCapsule>()?;
    let api = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: CA1: a capsule of that name points to a `CApi`, which starts with its version.
    let version = unsafe { api.cast::<u32>().read() };
    if version != VERSION {
        return Err(PyImportError::new_err(format!(
            "the installed package usm has extension interface {version}, this extension needs {VERSION}; build both from \
             the same release of usm"
        )));
    }
    // SAFETY: CA1: a table of this very version.
    let api = unsafe { api.cast::<CApi>().as_ref() };
    let refused = |text: String| PyImportError::new_err(text);
    // SAFETY: CA1: the tables of the package.
    let joined = unsafe { BorrowFunctions::use_of_copy(api.borrows) };
    let in_time = joined.map_err(|error| refused(error.to_string()))?;
    // SAFETY: CA1: the tables of the package.
    let make = || unsafe { Runtime::with_host_table(options, api.host) };
    let runtime = Runtime::init_global_with(make).map_err(|error| refused(error.to_string()))?;
    if in_time && runtime.has_host_of_other_copy() {
        return Ok(runtime);
    }
    Err(refused(
        "this extension used usm memory of its own before it joined the package usm; call usm_python::runtime(py) in its \
         module's initialisation, before anything else"
            .to_owned(),
    ))
}
