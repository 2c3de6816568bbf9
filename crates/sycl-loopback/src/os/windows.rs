//! Windows: memory of this process alone.

use std::io;
use std::ptr;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

/// Bytes of the memory of an arena, all of which the system sets aside.
pub(crate) const FILE_BYTES: usize = 256 << 20;

/// Stands for the memory.
#[derive(Debug)]
pub(crate) struct MemoryFile;

impl MemoryFile {
    pub(crate) fn new(_len_bytes: usize) -> io::Result<Self> {
        Ok(Self)
    }

    /// Memory of another process: there is none.
    pub(crate) fn of_other(_process: u32, _number: u64, _len_bytes: usize) -> Option<Self> {
        None
    }

    /// What other processes would find the memory by.
    pub(crate) fn number(&self) -> u64 {
        0
    }

    /// The address of new pages, which stay until they are [unmapped](unmap).
    pub(crate) fn map(&self, _offset: usize, len_bytes: usize) -> io::Result<usize> {
        // SAFETY: new memory at an address of the system's choice affects no existing memory.
        let start = unsafe { VirtualAlloc(ptr::null(), len_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
        if start.is_null() { Err(io::Error::last_os_error()) } else { Ok(start.expose_provenance()) }
    }
}

/// Gives back a whole mapping, which the caller knows to be unused.
pub(crate) fn unmap(start: usize, _len_bytes: usize) {
    // SAFETY: the whole mapping, which the caller knows to be unused. The length 0 stands for all of it.
    unsafe { VirtualFree(ptr::with_exposed_provenance_mut(start), 0, MEM_RELEASE) };
}

/// Bytes between the numbers of two ranges. Nothing maps a part of the memory, so no page of the system counts.
pub(crate) fn page_bytes() -> usize {
    4096
}
