//! The operating system: a module for each, with the same functions.

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use linux::{
    MemoryFile, block_signals, discard, map_pages, map_twice, transfer, unmap, unmap_pages,
};
#[cfg(windows)]
pub(crate) use windows::{
    MemoryFile, block_signals, discard, map_pages, map_twice, transfer, unmap, unmap_pages,
};
