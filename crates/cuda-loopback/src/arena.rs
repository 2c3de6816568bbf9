//! Addresses of device memory, which host code cannot touch, and the bytes behind them.

use std::collections::BTreeMap;
use std::io;

use crate::os::{self, MemoryFile};

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
    file: MemoryFile,
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
        let mut arena = Self::map(MemoryFile::new(half)?, half)?;
        arena.free.insert(arena.base, half);
        Ok(arena)
    }

    /// The memory of another process, without free ranges of ours.
    pub(crate) fn import(file: MemoryFile) -> io::Result<Self> {
        let half = file.len_bytes()?;
        Self::map(file, half)
    }

    fn map(file: MemoryFile, half: usize) -> io::Result<Self> {
        Ok(Self { base: os::map_twice(&file, half)?, half, file, free: BTreeMap::new() })
    }

    /// Takes the memory of another process away.
    pub(crate) fn unmap(self) {
        // SAFETY: A1: the whole mapping, whose blocks are gone.
        unsafe { os::unmap(self.base, self.half) };
    }

    pub(crate) fn file(&self) -> &MemoryFile {
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
            unsafe { os::discard(self.backing(first), pages_bytes) };
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
