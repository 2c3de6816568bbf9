//! Linux: files in memory, which other processes open, and mappings of them.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// A file in memory.
#[derive(Debug)]
pub(crate) struct MemoryFile(OwnedFd);

impl MemoryFile {
    pub(crate) fn new(len_bytes: usize) -> io::Result<Self> {
        // SAFETY: a name with a final 0.
        let file = unsafe { libc::memfd_create(c"cuda-loopback".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        File::from(file.try_clone()?).set_len(len_bytes as u64)?;
        Ok(Self(file))
    }

    /// A file of another process.
    pub(crate) fn of_other(process: u32, number: u64) -> io::Result<Self> {
        let path = format!("/proc/{process}/fd/{number}");
        Ok(Self(File::options().read(true).write(true).open(path)?.into()))
    }

    /// Another descriptor of a file of the program.
    ///
    /// # Safety
    /// 1. The descriptor is open.
    pub(crate) unsafe fn of_program(number: c_int) -> io::Result<Self> {
        // SAFETY: the caller's promise 1.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        file.try_clone_to_owned().map(Self)
    }

    /// A descriptor for the program, which closes it.
    pub(crate) fn for_program(&self) -> io::Result<c_int> {
        self.0.as_fd().try_clone_to_owned().map(IntoRawFd::into_raw_fd)
    }

    /// Number of its bytes.
    pub(crate) fn len_bytes(&self) -> io::Result<usize> {
        usize::try_from(File::from(self.0.try_clone()?).metadata()?.len()).map_err(io::Error::other)
    }

    /// What other processes find the file by.
    pub(crate) fn number(&self) -> u64 {
        u64::from(self.0.as_raw_fd().unsigned_abs())
    }

    /// Whether two descriptors are of one file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let number = |file: &Self| {
            let facts = file.0.try_clone().and_then(|file| File::from(file).metadata());
            facts.ok().map(|facts| (facts.dev(), facts.ino()))
        };
        number(self).is_some() && number(self) == number(other)
    }
}

/// A mapping of twice that many bytes: first an inaccessible half, then the bytes of the file. Returns its address.
pub(crate) fn map_twice(file: &MemoryFile, half: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice affects no existing memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), 2 * half, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let backing = start.wrapping_byte_add(half);
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
    // SAFETY: the second half of our own mapping, which nobody has a reference to.
    let mapped = unsafe { libc::mmap(backing, half, access, flags, file.0.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(start.expose_provenance())
}

/// Gives back a mapping of [`map_twice`].
///
/// # Safety
/// 1. Nobody uses it.
pub(crate) unsafe fn unmap(start: usize, half: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), 2 * half) };
}

/// Gives the memory of whole pages back to the system.
///
/// # Safety
/// 1. The pages are of the second half of [`map_twice`], and nobody uses them.
pub(crate) unsafe fn discard(start: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { libc::madvise(start.cast(), len_bytes, libc::MADV_REMOVE) };
}

/// The address of new pages; `None` without memory.
pub(crate) fn map_pages(len_bytes: usize) -> Option<usize> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the kernel's choice affects no existing memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len_bytes, access, flags, -1, 0) };
    (start != libc::MAP_FAILED).then(|| start.expose_provenance())
}

/// Gives back pages of [`map_pages`].
///
/// # Safety
/// 1. Nobody uses them.
pub(crate) unsafe fn unmap_pages(start: usize, len_bytes: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), len_bytes) };
}

/// Leaves signals to the threads of the program.
pub(crate) fn block_signals() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is writable.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: the set was just filled; null for the old one is allowed.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut()) };
}

type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Copies bytes from or to memory of the program. The number that was copied; `None` where the system does not offer this.
///
/// # Safety
/// 1. `local` has that many bytes, which are the caller's.
pub(crate) unsafe fn transfer(
    local: *mut u8,
    address: usize,
    len_bytes: usize,
    is_read: bool,
) -> Option<usize> {
    let call: Transfer = if is_read { libc::process_vm_readv } else { libc::process_vm_writev };
    let process = libc::pid_t::try_from(std::process::id()).unwrap_or_default();
    let side = |start: *mut c_void| libc::iovec { iov_base: start, iov_len: len_bytes };
    let (ours, theirs) = (side(local.cast()), side(std::ptr::with_exposed_provenance_mut(address)));
    loop {
        // SAFETY: the caller's promise 1. The kernel refuses what it cannot access of the other side, which no
        // Rust value owns: it is memory of the program that calls this driver.
        let count = unsafe { call(process, &raw const ours, 1, &raw const theirs, 1, 0) };
        if let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) {
            return Some(count);
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ENOSYS | libc::EPERM) => return None,
            _ => return Some(0),
        }
    }
}
