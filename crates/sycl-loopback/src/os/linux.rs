//! Linux: a file in memory, which other processes open by its number.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes of the file of an arena, most of which nobody ever touches.
pub(crate) const FILE_BYTES: usize = 4 << 30;

/// A file in memory.
#[derive(Debug)]
pub(crate) struct MemoryFile(OwnedFd);

impl MemoryFile {
    pub(crate) fn new(len_bytes: usize) -> io::Result<Self> {
        // SAFETY: a name with a final 0.
        let file = unsafe { libc::memfd_create(c"sycl-loopback".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        File::from(file.try_clone()?).set_len(len_bytes as u64)?;
        Ok(Self(file))
    }

    /// A file of another process, of that length.
    pub(crate) fn of_other(process: u32, number: u64, len_bytes: usize) -> Option<Self> {
        let path = format!("/proc/{process}/fd/{number}");
        let file = File::options().read(true).write(true).open(path).ok()?;
        (file.metadata().ok()?.len() == len_bytes as u64).then(|| Self(file.into()))
    }

    /// What other processes find the file by.
    pub(crate) fn number(&self) -> u64 {
        u64::from(self.0.as_raw_fd().unsigned_abs())
    }

    /// The address of shared pages of the file, which stay until they are [unmapped](unmap).
    pub(crate) fn map(&self, offset: usize, len_bytes: usize) -> io::Result<usize> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let number = self.0.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice affects no existing memory.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len_bytes, access, libc::MAP_SHARED, number, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(start.expose_provenance())
    }
}

/// Unmaps a whole mapping, which the caller knows to be unused.
pub(crate) fn unmap(start: usize, len_bytes: usize) {
    // SAFETY: the whole mapping, which the caller knows to be unused.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), len_bytes) };
}

/// Bytes of a page of the system: a file is mapped from multiples of it.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: it reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
