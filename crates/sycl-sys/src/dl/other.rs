//! Other systems: opening a file works, and a look-up of loaded libraries does not.

use std::path::{Path, PathBuf};

use libloading::Library;

use super::Kept;

/// Opens a file.
///
/// # Safety
///
/// 1. Running the initialisation routines of the file and of the libraries it needs is sound.
pub(crate) unsafe fn open(path: &Path) -> Result<Kept, String> {
    // SAFETY: the caller's promise 1.
    unsafe { Library::new(path) }.map(Kept::new).map_err(|error| error.to_string())
}

/// This system has no look-up of loaded libraries.
pub(crate) fn loaded_files() -> Vec<PathBuf> {
    Vec::new()
}

/// This system has no look-up of loaded libraries.
pub(crate) fn resident(_soname: &str) -> Option<(Kept, PathBuf)> {
    None
}
