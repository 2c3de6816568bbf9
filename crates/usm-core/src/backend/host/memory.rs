//! USM of the host backend: where each live block is, of which kind and context.

use std::collections::BTreeMap;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::arena::{Arena, Extent};
use super::objects::SimulatedDevice;
use crate::{PointerInfo, UsmKind};

/// Alignment when none is asked for: a cache line, which suits every element type and vector load.
const DEFAULT_ALIGN_BYTES: usize = 64;
const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug)]
enum Place {
    Heap,
    Arena(Extent),
}

#[derive(Debug)]
struct Block {
    len_bytes: usize,
    kind: UsmKind,
    context: u64,
    device: Arc<SimulatedDevice>,
    place: Place,
}

/// All live blocks of a host backend.
#[derive(Debug)]
pub(super) struct Memory {
    /// Invariant B1: the key is the address of a live block from the place that the value names.
    blocks: BTreeMap<usize, Block>,
    /// Reserved at the first device allocation.
    arena: Option<Arena>,
    arena_bytes: usize,
}

impl Memory {
    /// Device memory may grow to `arena_bytes` bytes.
    pub(super) fn new(arena_bytes: usize) -> Self {
        Self { blocks: BTreeMap::new(), arena: None, arena_bytes }
    }

    pub(super) fn allocate(
        &mut self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
        context: u64,
        device: &Arc<SimulatedDevice>,
    ) -> Option<NonNull<u8>> {
        let len = u64::try_from(len_bytes).ok()?;
        if !device.reserve(len) {
            return None;
        }
        let block = self.place(kind, len_bytes, align_bytes);
        let Some((address, place)) = block else {
            device.unreserve(len);
            return None;
        };
        let device = Arc::clone(device);
        let block = Block { len_bytes, kind, context, device, place };
        self.blocks.insert(address.expose_provenance().get(), block);
        Some(address)
    }

    fn place(&mut self, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Option<(NonNull<u8>, Place)> {
        if kind.is_host_accessible() {
            return Some((allocate_heap(len_bytes, align_bytes)?, Place::Heap));
        }
        if self.arena.is_none() {
            self.arena = Some(Arena::new(self.arena_bytes).ok()?);
        }
        let (address, extent) = self.arena.as_mut()?.allocate(len_bytes, align_bytes)?;
        Some((address, Place::Arena(extent)))
    }

    /// Frees a block. An address that is no block is left alone.
    pub(super) fn free(&mut self, address: NonNull<u8>) {
        let Some(block) = self.blocks.remove(&address.addr().get()) else { return };
        block.device.unreserve(block.len_bytes as u64);
        match (block.place, &mut self.arena) {
            // SAFETY: B1: from the C allocator, and now out of the table.
            (Place::Heap, _) => unsafe { libc::free(address.as_ptr().cast()) },
            (Place::Arena(extent), Some(arena)) => arena.free(address.addr().get(), extent),
            (Place::Arena(_), None) => {}
        }
    }

    /// What is known of an address of a context.
    pub(super) fn find(&self, address: usize, context: u64) -> Option<PointerInfo> {
        let (start, block) = self.block_at(address, context)?;
        Some(PointerInfo { kind: block.kind, block: Some((start, block.len_bytes)) })
    }

    /// The device that the memory at an address of a context was allocated for.
    pub(super) fn device_of(&self, address: usize, context: u64) -> Option<Arc<SimulatedDevice>> {
        self.block_at(address, context).map(|(_, block)| Arc::clone(&block.device))
    }

    fn block_at(&self, address: usize, context: u64) -> Option<(usize, &Block)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (block.context == context && address - start < block.len_bytes).then_some((start, block))
    }

    /// Where a queue operation finds `len_bytes` bytes at an address: device memory behind its public address, anything else
    /// where it is. `None` for device addresses that hold no memory.
    pub(super) fn reach(&self, address: *mut u8, len_bytes: usize) -> Option<*mut u8> {
        match &self.arena {
            Some(arena) if arena.contains(address.addr()) => {
                arena.backing(address.addr(), len_bytes).map(NonNull::as_ptr)
            }
            _ => Some(address),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        while let Some((&address, _)) = self.blocks.first_key_value() {
            if let Some(address) = NonNull::new(ptr::with_exposed_provenance_mut(address)) {
                self.free(address);
            }
        }
    }
}

fn allocate_heap(len_bytes: usize, align_bytes: usize) -> Option<NonNull<u8>> {
    // Large blocks start at a huge page, so that the system can use them from the first byte.
    let huge = len_bytes >= 2 * HUGE_PAGE_BYTES;
    let natural = if huge { HUGE_PAGE_BYTES } else { DEFAULT_ALIGN_BYTES };
    let mut block = ptr::null_mut();
    // SAFETY: writes an address into `block`; the alignment is a power of two of at least a word.
    let status = unsafe { libc::posix_memalign(&raw mut block, natural.max(align_bytes), len_bytes) };
    let block = NonNull::new(block.cast::<u8>()).filter(|_| status == 0)?;
    if huge {
        let whole_pages = len_bytes & !(HUGE_PAGE_BYTES - 1);
        // SAFETY: whole pages of a block that is ours alone; a refused hint does no harm.
        unsafe { libc::madvise(block.as_ptr().cast(), whole_pages, libc::MADV_HUGEPAGE) };
    }
    // USM has arbitrary content before it is written, but Rust and its optimizer hold fresh memory of an allocator for
    // uninitialised, which must not be read. Code that they cannot look into may have written it.
    // SAFETY: no instruction at all; whatever the bytes are, they are bytes that this code could have written.
    unsafe { core::arch::asm!("/* {0} */", in(reg) block.as_ptr(), options(nostack, preserves_flags)) };
    Some(block)
}
