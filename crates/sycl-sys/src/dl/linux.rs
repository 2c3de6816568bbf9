//! Linux: dlopen with the flags that keep two runtimes apart.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use libloading::os::unix::Library as UnixLibrary;

use super::Kept;

/// Opens a file (for a bare name, the loader searches) with all symbols resolved now and kept local.
///
/// # Safety
///
/// 1. Running the initialisation routines of the file and of the libraries it needs is sound.
pub(crate) unsafe fn open(path: &Path) -> Result<Kept, String> {
    // SAFETY: the caller's promise 1.
    unsafe { UnixLibrary::open(Some(path), libc::RTLD_NOW | libc::RTLD_LOCAL) }
        .map(|library| Kept::new(library.into()))
        .map_err(|error| text(&error))
}

/// The library of this name if the process has it already, and its file.
pub(crate) fn resident(soname: &str) -> Option<(Kept, PathBuf)> {
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD;
    // SAFETY: RTLD_NOLOAD opens nothing new, so no initialisation routine runs; the reference that it adds is kept (KL1).
    let library = unsafe { UnixLibrary::open(Some(soname), flags) }.ok()?;
    let handle = library.into_raw();
    let path = file_of(handle).unwrap_or_else(|| PathBuf::from(soname));
    // SAFETY: KL1: `handle` came from `into_raw` above and is not used by another owner.
    let library = unsafe { UnixLibrary::from_raw(handle) };
    Some((Kept::new(library.into()), path))
}

/// The file of an opened library, from the loader's own records.
fn file_of(handle: *mut c_void) -> Option<PathBuf> {
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: KL1: `handle` is an open library's, and RTLD_DI_LINKMAP writes one pointer to where `map` lies.
    let status = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if status != 0 || map.is_null() {
        return None;
    }
    // SAFETY: KL1, LD1.
    let name = unsafe { (*map).name };
    // SAFETY: KL1, LD1.
    unsafe { path_of(name) }
}

/// The files of all the libraries that the process has.
pub(crate) fn loaded_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    // SAFETY: CO1: no one else uses the vector during the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut files).cast()) };
    files
}

/// Notes the name of one library; called by `dl_iterate_phdr`, which goes on as long as this returns 0.
///
/// Invariant CO1: `data` points to the vector of `loaded_files`, which waits until the iteration ends.
unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _bytes: usize, data: *mut c_void) -> c_int {
    let note = || {
        // SAFETY: CO1.
        let files = unsafe { &mut *data.cast::<Vec<PathBuf>>() };
        // SAFETY: LD1.
        let name = unsafe { (*info).dlpi_name };
        // SAFETY: LD1.
        files.extend(unsafe { path_of(name) });
    };
    // Nothing unwinds into the loader.
    _ = catch_unwind(AssertUnwindSafe(note));
    0
}

/// A C string as a path; `None` if there is none or it is empty (the main program).
///
/// # Safety
///
/// 1. `name` is NULL or points to a zero-terminated string.
unsafe fn path_of(name: *const c_char) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise 1, and it is not NULL.
    let name = unsafe { CStr::from_ptr(name) };
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// The public head of `struct link_map` of `<link.h>`.
///
/// Invariant LD1: an entry of the loader is valid as long as its library is open, or as the call that it is passed to. Its name is NULL
/// or a C string that is valid as long as the entry.
#[repr(C)]
struct LinkMap {
    _address: usize,
    name: *const c_char,
}

/// The loader's own words: the error type of libloading keeps them one level down.
fn text(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}
