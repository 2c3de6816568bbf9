//! Windows: the folder of a library comes first in the search for the libraries that it needs.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library as WindowsLibrary};
use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::GetModuleFileNameW;
use windows_sys::Win32::System::ProcessStatus::K32EnumProcessModules;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::Kept;

/// No path is longer, in UTF-16.
const LONGEST_PATH: usize = 1 << 15;
/// Modules that are asked for at first.
const FIRST_COUNT: usize = 256;

/// Opens a file. The system searches for a bare name, also in `PATH`.
///
/// # Safety
///
/// 1. Running the initialisation routines of the file and of the libraries it needs is sound.
pub(crate) unsafe fn open(path: &Path) -> Result<Kept, String> {
    let flags = if path.is_absolute() { LOAD_WITH_ALTERED_SEARCH_PATH } else { 0 };
    // SAFETY: the caller's promise 1.
    unsafe { WindowsLibrary::load_with_flags(path, flags) }
        .map(|library| Kept::new(library.into()))
        .map_err(|error| text(&error))
}

/// The library of this name if the process has it already, and its file.
pub(crate) fn resident(name: &str) -> Option<(Kept, PathBuf)> {
    let library = WindowsLibrary::open_already_loaded(name).ok()?;
    let handle = library.into_raw();
    let path = file_of(handle as HMODULE).unwrap_or_else(|| PathBuf::from(name));
    // SAFETY: KL1: `handle` came from `into_raw` above and is not used by another owner.
    let library = unsafe { WindowsLibrary::from_raw(handle) };
    Some((Kept::new(library.into()), path))
}

/// The files of all the libraries that the process has.
pub(crate) fn loaded_files() -> Vec<PathBuf> {
    let mut modules: Vec<HMODULE> = vec![ptr::null_mut(); FIRST_COUNT];
    loop {
        let capacity_bytes = size_of::<HMODULE>() * modules.len();
        let mut needed_bytes = 0;
        // Invariant WM1: the system gets pointers to values that outlive its call, with their lengths.
        // SAFETY: WM1: takes nothing, and returns a number that stands for this process.
        let process = unsafe { GetCurrentProcess() };
        // SAFETY: WM1.
        let is_known = unsafe {
            K32EnumProcessModules(
                process,
                modules.as_mut_ptr(),
                u32::try_from(capacity_bytes).unwrap_or(u32::MAX),
                &raw mut needed_bytes,
            )
        } != 0;
        let needed = if is_known { needed_bytes as usize / size_of::<HMODULE>() } else { 0 };
        if needed <= modules.len() {
            return modules[..needed].iter().filter_map(|&module| file_of(module)).collect();
        }
        // Other threads may load more meanwhile.
        modules.resize(2 * needed, ptr::null_mut());
    }
}

/// The file of a library; `None` for one that the process does not have any more.
fn file_of(module: HMODULE) -> Option<PathBuf> {
    let mut name = vec![0_u16; LONGEST_PATH];
    let capacity = u32::try_from(name.len()).unwrap_or(u32::MAX);
    // SAFETY: WM1; the system refuses what is no library.
    let len = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), capacity) };
    let name = name.get(..len as usize).filter(|name| !name.is_empty())?;
    Some(PathBuf::from(OsString::from_wide(name)))
}

/// The words of the system: the error type of libloading keeps them one level down.
fn text(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}
