//! The operating system: a module for each, with the same functions.

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use linux::{FILE_BYTES, MemoryFile, page_bytes, unmap};
#[cfg(windows)]
pub(crate) use windows::{FILE_BYTES, MemoryFile, page_bytes, unmap};
