//! Addresses of device memory, which host code cannot touch, and the bytes behind them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Addresses of blocks are multiples of this, as the real driver's are.
const ALIGN_BYTES: usize = 512;
/// Pages behind larger freed ranges go back to the system.
pub(crate) const KEPT_BYTES: usize = 16 << 20;
const PAGE_BYTES: usize = 4096;

/// The memory of a device.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Invariant A1: a mapping of `2 * half` bytes, kept until [`unmap`](Self::unmap). The first half, whose addresses are public, stays
    /// inaccessible; the second half holds the bytes. `backing = public + half`.
    base: usize,
    half: usize,
    /// The bytes, which other processes map, too.
    file: OwnedFd,
    /// Lengths of free ranges by their start.
    free: BTreeMap<usize, usize>,
}

/// The bytes that a block of this length takes.
pub(crate) fn block_bytes(len_bytes: usize) -> Option<usize> {
    len_bytes.checked_next_multiple_of(ALIGN_BYTES)
}

impl Arena {
    /// Twice as many addresses as memory, so that the gaps between blocks cost no memory.
    pub(crate) fn reserve(memory_bytes: usize) -> io::Result<Self> {
        let half = (2 * memory_bytes).next_multiple_of(2 << 20);
        // SAFETY: a name with a final 0.
        let file = unsafe { libc::memfd_create(c"cuda-loopback".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        std::fs::File::from(file.try_clone()?).set_len(half as u64)?;
        let mut arena = Self::map(file, half)?;
        arena.free.insert(arena.base, half);
        Ok(arena)
    }

    /// The memory of another process, without free ranges of ours.
    pub(crate) fn import(file: OwnedFd) -> io::Result<Self> {
        let len_bytes = std::fs::File::from(file.try_clone()?).metadata()?.len();
        let half = usize::try_from(len_bytes).map_err(io::Error::other)?;
        Self::map(file, half)
    }

    fn map(file: OwnedFd, half: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice affects no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 2 * half, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let backing = start.wrapping_byte_add(half);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: A1: the second half of our own mapping, which nobody has a reference to.
        let mapped = unsafe { libc::mmap(backing, half, access, flags, file.as_raw_fd(), 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: start.expose_provenance(), half, file, free: BTreeMap::new() })
    }

    /// Takes the memory of another process away.
    pub(crate) fn unmap(self) {
        // SAFETY: A1: the whole mapping, whose blocks are gone.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.base), 2 * self.half) };
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Where a public address is in the file.
    pub(crate) fn offset(&self, address: usize) -> usize {
        address - self.base
    }

    /// The public address of a range of the file; `None` for one that it does not have.
    pub(crate) fn address(&self, offset: usize, len_bytes: usize) -> Option<usize> {
        offset.checked_add(len_bytes).filter(|&end| end <= self.half).map(|_| self.base + offset)
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.base..self.base + self.half).contains(&address)
    }

    /// Where the bytes of a public address are.
    pub(crate) fn backing(&self, address: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(address + self.half)
    }

    /// The first free range of that length, in whole blocks.
    pub(crate) fn take(&mut self, len_bytes: usize) -> Option<usize> {
        let (&start, &free_bytes) = self.free.iter().find(|(_, free_bytes)| **free_bytes >= len_bytes)?;
        self.free.remove(&start);
        if free_bytes > len_bytes {
            self.free.insert(start + len_bytes, free_bytes - len_bytes);
        }
        Some(start)
    }

    /// Takes a range back.
    pub(crate) fn give_back(&mut self, mut start: usize, mut len_bytes: usize) {
        if len_bytes > KEPT_BYTES {
            let first = start.next_multiple_of(PAGE_BYTES);
            let pages_bytes = (start + len_bytes - first) / PAGE_BYTES * PAGE_BYTES;
            // SAFETY: A1; whole pages of a range that no block has.
            unsafe { libc::madvise(self.backing(first).cast(), pages_bytes, libc::MADV_REMOVE) };
        }
        if let Some((&before, &before_bytes)) = self.free.range(..start).next_back()
            && before + before_bytes == start
        {
            self.free.remove(&before);
            (start, len_bytes) = (before, before_bytes + len_bytes);
        }
        if let Some(after_bytes) = self.free.remove(&(start + len_bytes)) {
            len_bytes += after_bytes;
        }
        self.free.insert(start, len_bytes);
    }
}
