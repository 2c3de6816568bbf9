//! The allocator of protected device memory: slabs of small blocks and coalesced ranges of pages.

use std::ptr::NonNull;

use super::classes::{self, CLASSES, SLAB_BYTES};
use super::fault::KnownRange;
use super::mapping::Mapping;
use super::spans::SpanSet;
use crate::backend::pages::page_bytes;

const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Freed pages kept for the next allocation, in bytes; what is freed beyond goes back to the system at once.
const RETAINED_BYTES: usize = 256 * 1024 * 1024;

/// What `free` must know about a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum BlockExtent {
    /// A block of a slab.
    Small {
        /// Its size class.
        class: usize,
    },
    /// A range of pages.
    Pages {
        /// Their length.
        len_bytes: usize,
    },
}

/// Device memory whose public addresses fault when host code touches them.
#[derive(Debug)]
pub(super) struct Arena {
    /// Forgotten before the addresses go back to the system: fields drop in this order.
    _known: KnownRange,
    mapping: Mapping,
    /// Bytes of a page of the system. Ranges of pages are multiples of it: the system takes only whole pages back.
    page_bytes: usize,
    /// Free small blocks, by class.
    small: [Vec<usize>; CLASSES],
    /// Free pages that still hold memory of the system.
    retained: SpanSet,
    /// Free pages that hold none.
    empty: SpanSet,
}

impl Arena {
    pub(super) fn new(half_bytes: usize) -> std::io::Result<Self> {
        Self::of_pages(half_bytes, page_bytes())
    }

    /// An arena on a system with pages of this length.
    fn of_pages(half_bytes: usize, page_bytes: usize) -> std::io::Result<Self> {
        let mapping = Mapping::reserve(half_bytes)?;
        let mut empty = SpanSet::default();
        let addresses = mapping.addresses();
        empty.insert(addresses.start, addresses.len());
        let known = KnownRange::new(&addresses);
        Ok(Self {
            _known: known,
            mapping,
            page_bytes,
            small: [const { Vec::new() }; CLASSES],
            retained: SpanSet::default(),
            empty,
        })
    }

    /// A block of at least `len_bytes` at a multiple of `align_bytes`, a power of two or 0.
    pub(super) fn allocate(
        &mut self,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<(NonNull<u8>, BlockExtent)> {
        let (address, extent) = match classes::for_request(len_bytes, align_bytes) {
            Some(class) => (self.small_block(class)?, BlockExtent::Small { class }),
            None => {
                let len_bytes = len_bytes.checked_next_multiple_of(self.page_bytes)?;
                let natural = if len_bytes < HUGE_PAGE_BYTES { self.page_bytes } else { HUGE_PAGE_BYTES };
                (self.pages(len_bytes, natural.max(align_bytes))?, BlockExtent::Pages { len_bytes })
            }
        };
        Some((self.mapping.public(address), extent))
    }

    /// Takes a block back.
    pub(super) fn free(&mut self, address: usize, extent: BlockExtent) {
        match extent {
            BlockExtent::Small { class } => self.small[class].push(address),
            BlockExtent::Pages { len_bytes } if self.retained.total() + len_bytes <= RETAINED_BYTES => {
                self.retained.insert(address, len_bytes);
            }
            BlockExtent::Pages { len_bytes } => {
                self.mapping.discard(address, len_bytes);
                self.empty.insert(address, len_bytes);
            }
        }
    }

    /// Gives the memory of all freed pages back to the system. False when they hold none.
    pub(super) fn trim(&mut self) -> bool {
        let holds_any = self.retained.total() > 0;
        for (start, len) in self.retained.drain() {
            self.mapping.discard(start, len);
            self.empty.insert(start, len);
        }
        holds_any
    }

    /// Whether an address is one of the public addresses.
    pub(super) fn contains(&self, address: usize) -> bool {
        self.mapping.addresses().contains(&address)
    }

    /// Where the bytes at public addresses are for queue operations.
    pub(super) fn backing(&self, address: usize, len_bytes: usize) -> Option<NonNull<u8>> {
        self.mapping.backing(address, len_bytes)
    }

    fn small_block(&mut self, class: usize) -> Option<usize> {
        if let Some(address) = self.small[class].pop() {
            return Some(address);
        }
        let slab = self.pages(SLAB_BYTES, SLAB_BYTES)?;
        let block_bytes = classes::block_bytes(class);
        // Reversed, so that blocks are handed out in order of address.
        let blocks = (0..SLAB_BYTES / block_bytes).rev().map(|i| slab + i * block_bytes);
        self.small[class].extend(blocks);
        self.small[class].pop()
    }

    fn pages(&mut self, len_bytes: usize, align_bytes: usize) -> Option<usize> {
        if let Some(address) = self.retained.take(len_bytes, align_bytes) {
            return Some(address);
        }
        let address = match self.empty.take(len_bytes, align_bytes) {
            Some(address) => address,
            None => {
                // Both sets may hold parts of one large enough range.
                self.trim();
                self.empty.take(len_bytes, align_bytes)?
            }
        };
        if self.mapping.commit(address + len_bytes).is_err() {
            self.empty.insert(address, len_bytes);
            return None;
        }
        if len_bytes >= HUGE_PAGE_BYTES {
            self.mapping.prefer_huge_pages(address, len_bytes);
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(arena: &Arena, address: NonNull<u8>, len: usize, value: u8) {
        let backing = arena.backing(address.addr().get(), len).unwrap();
        // SAFETY: the backing of a block that the test owns.
        unsafe { backing.write_bytes(value, len) };
    }

    fn read(arena: &Arena, address: NonNull<u8>, len: usize) -> Vec<u8> {
        let backing = arena.backing(address.addr().get(), len).unwrap();
        // SAFETY: the backing of a block that the test owns and has written.
        unsafe { std::slice::from_raw_parts(backing.as_ptr(), len) }.to_vec()
    }

    #[test]
    fn live_blocks_never_overlap() {
        let mut arena = Arena::new(256 * 1024 * 1024).unwrap();
        let mut live: Vec<(NonNull<u8>, BlockExtent, usize, u8)> = Vec::new();
        let mut state = 12345_u64;
        for round in 0..4000_u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let random = (state >> 33) as usize;
            if random.is_multiple_of(3) && !live.is_empty() {
                let (address, extent, len, value) = live.swap_remove(random / 3 % live.len());
                assert!(read(&arena, address, len).iter().all(|&b| b == value));
                arena.free(address.addr().get(), extent);
            } else {
                let len = if random.is_multiple_of(17) { random % 300_000 } else { random % 3000 } + 1;
                let align = 1 << (random / 7 % 14);
                let (address, extent) = arena.allocate(len, align).unwrap();
                assert!(address.addr().get().is_multiple_of(align));
                let value = (round % 251) as u8;
                write(&arena, address, len, value);
                live.push((address, extent, len, value));
            }
        }
        for (address, extent, len, value) in live {
            assert!(read(&arena, address, len).iter().all(|&b| b == value));
            arena.free(address.addr().get(), extent);
        }
    }

    #[test]
    fn freed_pages_are_used_again_and_merge() {
        let mut arena = Arena::new(64 * 1024 * 1024).unwrap();
        let half = arena.mapping.addresses().len();
        let blocks: Vec<_> = (0..8).map(|_| arena.allocate(half / 8, 0).unwrap()).collect();
        assert!(arena.allocate(arena.page_bytes * 16, 0).is_none(), "the arena is full");
        for (address, extent) in blocks {
            arena.free(address.addr().get(), extent);
        }
        let (whole, _) = arena.allocate(half, 0).unwrap();
        write(&arena, whole, half, 1);
    }

    #[test]
    fn blocks_are_whole_pages_of_the_system() {
        for page_bytes in [4096, 16 * 1024, 64 * 1024] {
            let mut arena = Arena::of_pages(64 * 1024 * 1024, page_bytes).unwrap();
            for len in [classes::MAX_SMALL_BYTES + 1, 100_000, HUGE_PAGE_BYTES + 1] {
                let (address, extent) = arena.allocate(len, 0).unwrap();
                let BlockExtent::Pages { len_bytes } = extent else {
                    panic!("{len} bytes are no small block")
                };
                assert!(len_bytes >= len && len_bytes.is_multiple_of(page_bytes), "{len_bytes}");
                assert!(address.addr().get().is_multiple_of(page_bytes), "{address:?}");
                arena.free(address.addr().get(), extent);
            }
        }
    }

    #[test]
    fn impossible_requests_are_refused() {
        let mut arena = Arena::new(64 * 1024 * 1024).unwrap();
        assert!(arena.allocate(usize::MAX, 0).is_none());
        assert!(arena.allocate(usize::MAX - 4096, 1).is_none());
        assert!(arena.allocate(1, 1 << 50).is_none());
        assert!(arena.allocate(1, 1 << 63).is_none());
        assert!(arena.backing(arena.mapping.addresses().start, 1).is_none(), "nothing committed");
    }
}
