//! Windows: memory of this process alone.

use std::ffi::c_int;
use std::io;
use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::{ReadProcessMemory, WriteProcessMemory};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MEM_RESET, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Stands for the memory of a device.
#[derive(Debug)]
pub(crate) struct MemoryFile;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl MemoryFile {
    pub(crate) fn new(_len_bytes: usize) -> io::Result<Self> {
        Ok(Self)
    }

    /// A file of another process: there is none.
    pub(crate) fn of_other(_process: u32, _number: u64) -> io::Result<Self> {
        unsupported()
    }

    /// A file of the program: there is none.
    ///
    /// # Safety
    /// 1. The descriptor is open.
    pub(crate) unsafe fn of_program(_number: c_int) -> io::Result<Self> {
        unsupported()
    }

    /// A file for the program: there is none.
    pub(crate) fn for_program(&self) -> io::Result<c_int> {
        unsupported()
    }

    /// Number of its bytes, which nobody asks for.
    pub(crate) fn len_bytes(&self) -> io::Result<usize> {
        unsupported()
    }

    /// What other processes would find the memory by.
    pub(crate) fn number(&self) -> u64 {
        0
    }

    /// Whether both are of one file.
    pub(crate) fn is_same(&self, _other: &Self) -> bool {
        false
    }
}

/// Address space of twice that many bytes: first an inaccessible half, then memory. Returns its address.
pub(crate) fn map_twice(_file: &MemoryFile, half: usize) -> io::Result<usize> {
    // SAFETY: new address space at an address of the system's choice affects no existing memory.
    let start = unsafe { VirtualAlloc(ptr::null(), 2 * half, MEM_RESERVE, PAGE_NOACCESS) };
    if start.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the second half of our own address space, which nobody has a reference to.
    let memory = unsafe { VirtualAlloc(start.wrapping_byte_add(half), half, MEM_COMMIT, PAGE_READWRITE) };
    if memory.is_null() { Err(io::Error::last_os_error()) } else { Ok(start.expose_provenance()) }
}

/// Gives back what [`map_twice`] reserved.
///
/// # Safety
/// 1. Nobody uses it.
pub(crate) unsafe fn unmap(start: usize, _half: usize) {
    // SAFETY: the caller's promise 1. The length 0 stands for all of it.
    unsafe { VirtualFree(ptr::with_exposed_provenance_mut(start), 0, MEM_RELEASE) };
}

/// Gives the memory of whole pages back to the system.
///
/// # Safety
/// 1. The pages are of the second half of [`map_twice`], and nobody uses them.
pub(crate) unsafe fn discard(start: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { VirtualAlloc(start.cast(), len_bytes, MEM_RESET, PAGE_READWRITE) };
}

/// The address of new pages; `None` without memory.
pub(crate) fn map_pages(len_bytes: usize) -> Option<usize> {
    // SAFETY: new memory at an address of the system's choice affects no existing memory.
    let start = unsafe { VirtualAlloc(ptr::null(), len_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    (!start.is_null()).then(|| start.expose_provenance())
}

/// Gives back pages of [`map_pages`].
///
/// # Safety
/// 1. Nobody uses them.
pub(crate) unsafe fn unmap_pages(start: usize, _len_bytes: usize) {
    // SAFETY: the caller's promise 1. The length 0 stands for all of them.
    unsafe { VirtualFree(ptr::with_exposed_provenance_mut(start), 0, MEM_RELEASE) };
}

/// Nothing: threads get no signals here.
pub(crate) fn block_signals() {}

/// Copies bytes from or to memory of the program. The number that was copied.
///
/// # Safety
/// 1. `local` has that many bytes, which are the caller's.
pub(crate) unsafe fn transfer(
    local: *mut u8,
    address: usize,
    len_bytes: usize,
    is_read: bool,
) -> Option<usize> {
    // SAFETY: takes nothing, and returns a number that stands for this process.
    let process = unsafe { GetCurrentProcess() };
    let (local, theirs, mut done) = (local.cast(), ptr::with_exposed_provenance_mut(address), 0);
    let is_done = if is_read {
        // SAFETY: the caller's promise 1. The system refuses what it cannot access of the other side.
        unsafe { ReadProcessMemory(process, theirs, local, len_bytes, &raw mut done) }
    } else {
        // SAFETY: the caller's promise 1. The system refuses what it cannot access of the other side, which no Rust value owns.
        unsafe { WriteProcessMemory(process, theirs, local, len_bytes, &raw mut done) }
    };
    Some(if is_done == 0 { 0 } else { done })
}
