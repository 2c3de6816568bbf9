//! Device memory that other processes can open: ranges of a file in memory.
//!
//! A page in front of each range has a number, which no other range of the file ever gets: 0 after the free. So whoever opens a range by an
//! old handle notices.

use std::collections::BTreeMap;
use std::io;

use crate::os::{FILE_BYTES, MemoryFile, page_bytes, unmap};

/// What tells handles from other bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"sycl ipc");

/// Shared pages of a file, which stay until they are unmapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    start: usize,
    len_bytes: usize,
}

impl Mapping {
    fn new(file: &MemoryFile, offset: usize, len_bytes: usize) -> io::Result<Self> {
        Ok(Self { start: file.map(offset, len_bytes)?, len_bytes })
    }

    pub(crate) fn unmap(self) {
        unmap(self.start, self.len_bytes);
    }
}

/// The memory of this process.
#[derive(Debug)]
pub(crate) struct Arena {
    file: MemoryFile,
    memory: Mapping,
    /// Lengths of free ranges by their start.
    free: BTreeMap<usize, usize>,
    /// The number of the newest range.
    newest: u64,
}

/// A range of an arena: its bytes, and the page and the padding in front of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaRange {
    start: usize,
    len_bytes: usize,
    number: u64,
}

/// What other processes find an address by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandleData {
    process: u32,
    /// The number of the file in the process.
    file: u64,
    /// Where the block begins in the file, and its length.
    start: usize,
    size_bytes: usize,
    /// Where the address is in the block.
    at: usize,
    number: u64,
}

impl HandleData {
    const WORDS: usize = 7;

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let Self { process, file, start, size_bytes, at, number } = self;
        let words: [u64; Self::WORDS] =
            [MAGIC, process.into(), file, start as u64, size_bytes as u64, at as u64, number];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// `None` for bytes that are no handle.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks() else { return None };
        let words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let words: [u64; Self::WORDS] = words.try_into().ok()?;
        let [MAGIC, process, file, start, size_bytes, at, number] = words else { return None };
        let [start, size_bytes, at] = [start, size_bytes, at].map(|word| usize::try_from(word).ok());
        let (start, size_bytes, at) = (start?, size_bytes?, at?);
        let is_range = start.checked_add(size_bytes).is_some_and(|end| end <= FILE_BYTES) && at < size_bytes;
        let process = u32::try_from(process).ok()?;
        (is_range && start >= page_bytes()).then_some(Self { process, file, start, size_bytes, at, number })
    }
}

/// A block of a process that is open in this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedRange {
    mapping: Mapping,
    pub(crate) start: usize,
    pub(crate) size_bytes: usize,
    /// The address of the handle.
    pub(crate) address: usize,
    /// Whether the block was live.
    pub(crate) is_live: bool,
}

impl OpenedRange {
    /// `None` where there is no such file.
    pub(crate) fn new(handle: HandleData) -> Option<Self> {
        let file = MemoryFile::of_other(handle.process, handle.file, FILE_BYTES)?;
        let first = page_in_front(handle.start);
        let len_bytes = handle.start + handle.size_bytes - first;
        let mapping = Mapping::new(&file, first, len_bytes).ok()?;
        let start = mapping.start + (handle.start - first);
        // SAFETY: the page in front of the block, which its process may change at any time.
        let number = unsafe { std::ptr::with_exposed_provenance::<u64>(mapping.start).read_volatile() };
        let (size_bytes, address) = (handle.size_bytes, start + handle.at);
        Some(Self { mapping, start, size_bytes, address, is_live: number == handle.number })
    }

    pub(crate) fn unmap(self) {
        self.mapping.unmap();
    }
}

impl Arena {
    pub(crate) fn new() -> io::Result<Self> {
        let file = MemoryFile::new(FILE_BYTES)?;
        let memory = Mapping::new(&file, 0, FILE_BYTES)?;
        let free = BTreeMap::from([(memory.start, FILE_BYTES)]);
        Ok(Self { file, memory, free, newest: 0 })
    }

    /// The first bytes that are free, so many bytes behind an address of that alignment.
    pub(crate) fn take(
        &mut self,
        size_bytes: usize,
        alignment_bytes: usize,
        lead_bytes: usize,
    ) -> Option<(usize, ArenaRange)> {
        let page_bytes = page_bytes();
        let alignment_bytes = alignment_bytes.max(page_bytes);
        let fitting = |(&start, &free_bytes): (&usize, &usize)| {
            let block = (start + page_bytes).checked_next_multiple_of(alignment_bytes)? + lead_bytes;
            let end = block.checked_add(size_bytes)?.checked_next_multiple_of(page_bytes)?;
            (end <= start + free_bytes).then_some((start, free_bytes, block, end))
        };
        let (start, free_bytes, block, end) = self.free.iter().find_map(fitting)?;
        self.free.remove(&start);
        if end < start + free_bytes {
            self.free.insert(end, start + free_bytes - end);
        }
        self.newest += 1;
        set_number(block, self.newest);
        Some((block, ArenaRange { start, len_bytes: end - start, number: self.newest }))
    }

    pub(crate) fn give_back(&mut self, block: usize, range: ArenaRange) {
        set_number(block, 0);
        let ArenaRange { mut start, mut len_bytes, .. } = range;
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

    /// What others find an address of a block by.
    pub(crate) fn handle(&self, block: usize, size_bytes: usize, at: usize, range: ArenaRange) -> HandleData {
        HandleData {
            process: std::process::id(),
            file: self.file.number(),
            start: block - self.memory.start,
            size_bytes,
            at,
            number: range.number,
        }
    }
}

/// The page in front of the one where a block begins, by its offset in the file or by its address.
fn page_in_front(block: usize) -> usize {
    let page_bytes = page_bytes();
    block / page_bytes * page_bytes - page_bytes
}

/// Writes the number of a range, in the page in front of the one where its block begins.
fn set_number(block: usize, number: u64) {
    let page = page_in_front(block);
    // SAFETY: a page of the mapping of the arena, which belongs to the range.
    unsafe { std::ptr::with_exposed_provenance_mut::<u64>(page).write_volatile(number) };
}
