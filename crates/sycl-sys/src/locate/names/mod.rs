//! The names of files and folders in installations, a module for each system.

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

pub use system::LIBRARY;
pub(crate) use system::{DRIVER, FINDS_OWN_RUNTIME, SEPARATOR, SUPPORT, is_runtime};
pub(super) use system::{HAS_DIRECT_PACKAGES, LIB_FOLDERS, RUNTIME, RUNTIME_END, runtime_folder_above};
