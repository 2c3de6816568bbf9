//! USM of the host backend: where each live block is, of which kind and context, and whether jobs use it.

use std::collections::BTreeMap;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::arena::{Arena, BlockExtent};
use super::device::SimulatedDevice;
use super::job::JobMemory;
use super::queue::HostQueue;
use crate::backend::pages;
use crate::{Error, PointerInfo, Result, UsmKind, os};

/// Alignment when none is asked for: a cache line, which suits every element type and vector load.
const DEFAULT_ALIGN_BYTES: usize = 64;
const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug)]
enum Storage {
    Heap,
    Arena(BlockExtent),
    /// Memory of other code, which so many calls have registered.
    External(usize),
}

#[derive(Debug)]
struct LiveBlock {
    len_bytes: usize,
    kind: UsmKind,
    context: u64,
    device: Arc<SimulatedDevice>,
    storage: Storage,
    /// Shared with the jobs that use the block, from the first one on.
    in_use: Option<Arc<()>>,
}

/// All live blocks of a host backend.
#[derive(Debug)]
pub(super) struct Memory {
    /// Invariant B1: the key is the address of a live block in the storage that the value names.
    blocks: BTreeMap<usize, LiveBlock>,
    /// Blocks that were freed while jobs used them. Their memory goes back when those are complete: until then nobody else gets it.
    freed_in_use: Vec<(usize, LiveBlock)>,
    /// Reserved at the first device allocation.
    arena: Option<Arena>,
    arena_bytes: usize,
}

impl Memory {
    /// Device memory may grow to `arena_bytes` bytes.
    pub(super) fn new(arena_bytes: usize) -> Self {
        Self { blocks: BTreeMap::new(), freed_in_use: Vec::new(), arena: None, arena_bytes }
    }

    pub(super) fn allocate(
        &mut self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
        context: u64,
        device: &Arc<SimulatedDevice>,
    ) -> Option<NonNull<u8>> {
        self.collect();
        let len = u64::try_from(len_bytes).ok()?;
        if !device.reserve(len) {
            return None;
        }
        let block = self.allocate_storage(kind, len_bytes, align_bytes);
        let Some((address, storage)) = block else {
            device.unreserve(len);
            return None;
        };
        let device = Arc::clone(device);
        let block = LiveBlock { len_bytes, kind, context, device, storage, in_use: None };
        self.blocks.insert(address.expose_provenance().get(), block);
        Some(address)
    }

    /// Makes host memory of other code a block, unless it overlaps another one. Within a registered block it counts for that.
    pub(super) fn register(
        &mut self,
        kind: UsmKind,
        start: usize,
        len_bytes: usize,
        context: u64,
        device: &Arc<SimulatedDevice>,
    ) -> bool {
        let end = start.checked_add(len_bytes).filter(|_| len_bytes > 0 && kind.is_host_accessible());
        let is_protected = self.arena.as_ref().is_some_and(|arena| arena.contains(start));
        let Some(end) = end.filter(|_| !is_protected) else { return false };
        let last = self.blocks.range_mut(..end).next_back();
        if let Some((first, block)) = last.filter(|(first, block)| *first + block.len_bytes > start) {
            let is_within = *first <= start && end - first <= block.len_bytes;
            return match &mut block.storage {
                Storage::External(count) if is_within && (block.kind, block.context) == (kind, context) => {
                    *count += 1;
                    true
                }
                _ => false,
            };
        }
        let (device, storage) = (Arc::clone(device), Storage::External(1));
        self.blocks.insert(start, LiveBlock { len_bytes, kind, context, device, storage, in_use: None });
        true
    }

    /// Gives freed pages back to the system. False when none were kept.
    pub(super) fn trim(&mut self) -> bool {
        self.collect();
        self.arena.as_mut().is_some_and(Arena::trim)
    }

    fn allocate_storage(
        &mut self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<(NonNull<u8>, Storage)> {
        // Other processes may get the pages, and nothing else in them.
        let (len_bytes, align_bytes) = pages::in_pages(len_bytes, align_bytes);
        if kind.is_host_accessible() {
            return Some((allocate_heap(len_bytes, align_bytes)?, Storage::Heap));
        }
        if self.arena.is_none() {
            self.arena = Some(Arena::new(self.arena_bytes).ok()?);
        }
        let (address, extent) = self.arena.as_mut()?.allocate(len_bytes, align_bytes)?;
        Some((address, Storage::Arena(extent)))
    }

    /// Frees a block. An address that is no block is left alone. Freeing does not wait: for jobs that still use the block, its
    /// bytes stay where they are until a later call finds those jobs ended.
    pub(super) fn free(&mut self, address: usize) {
        self.collect();
        let Some(mut block) = self.blocks.remove(&address) else { return self.end_part(address) };
        if let Storage::External(count) = &mut block.storage
            && *count > 1
        {
            *count -= 1;
            self.blocks.insert(address, block);
        } else if block.is_in_use() {
            self.freed_in_use.push((address, block));
        } else {
            self.give_back(address, block);
        }
    }

    /// Ends a registration within a registered block.
    fn end_part(&mut self, address: usize) {
        let last = self.blocks.range_mut(..=address).next_back();
        let Some((&first, block)) = last.filter(|(first, block)| address - *first < block.len_bytes) else {
            return;
        };
        if let Storage::External(count) = &mut block.storage {
            *count -= 1;
            if *count == 0 {
                self.blocks.remove(&first);
            }
        }
    }

    /// Gives back what was freed in use and is no longer used. Done here and not by workers, which so never need this lock.
    fn collect(&mut self) {
        for i in (0..self.freed_in_use.len()).rev() {
            if !self.freed_in_use[i].1.is_in_use() {
                let (address, block) = self.freed_in_use.swap_remove(i);
                self.give_back(address, block);
            }
        }
    }

    fn give_back(&mut self, address: usize, block: LiveBlock) {
        if let Storage::External(_) = block.storage {
            return;
        }
        block.device.unreserve(block.len_bytes as u64);
        // SAFETY: B1: pages of a block that is out of the table, and no job uses it any more.
        let are_private = |bytes: NonNull<u8>| unsafe { pages::unshare(bytes.as_ptr()) };
        if !self.bytes_of(address, &block).is_none_or(are_private) {
            // Nobody gets pages that stay shared.
            return;
        }
        match (block.storage, &mut self.arena) {
            // SAFETY: B1: from the C allocator, out of the table, and no job uses it any more.
            (Storage::Heap, _) => unsafe { os::free_aligned(ptr::with_exposed_provenance_mut(address)) },
            (Storage::Arena(extent), Some(arena)) => arena.free(address, extent),
            (Storage::Arena(_), None) | (Storage::External(_), _) => {}
        }
    }

    /// Where the bytes of a block are.
    fn bytes_of(&self, address: usize, block: &LiveBlock) -> Option<NonNull<u8>> {
        match (&block.storage, &self.arena) {
            (Storage::Arena(_), Some(arena)) => arena.backing(address, 1),
            (Storage::Arena(_), None) => None,
            (Storage::Heap | Storage::External(_), _) => {
                NonNull::new(ptr::with_exposed_provenance_mut(address))
            }
        }
    }

    /// Where the bytes at an address of a context are.
    pub(super) fn bytes_at(&self, address: usize, context: u64) -> Option<NonNull<u8>> {
        let (start, block) = self.block_at(address, context)?;
        let bytes = self.bytes_of(start, block)?;
        // SAFETY: B1: an address within the block.
        Some(unsafe { bytes.add(address - start) })
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

    fn block_at(&self, address: usize, context: u64) -> Option<(usize, &LiveBlock)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (block.context == context && address - start < block.len_bytes).then_some((start, block))
    }

    /// Where the jobs of a queue find `len_bytes` bytes at an address: device memory behind its public address, anything else
    /// where it is. What is no USM is host memory, which only its owner knows; `allows_host` says whether that will do.
    pub(super) fn operand(
        &mut self,
        operation: &'static str,
        address: *mut u8,
        len_bytes: usize,
        allows_host: bool,
        queue: &HostQueue,
    ) -> Result<JobMemory> {
        let start = address.addr();
        let unreachable = || Error::Unreachable { operation, address: start, len_bytes };
        if len_bytes == 0 {
            return Ok(JobMemory { bytes: address, _in_use: None });
        }
        let block = self.blocks.range_mut(..=start).next_back();
        let Some((offset, block)) = block
            .map(|(first, block)| (start - first, block))
            .filter(|(offset, block)| *offset < block.len_bytes)
        else {
            let is_protected = self.arena.as_ref().is_some_and(|arena| arena.contains(start));
            let host = JobMemory { bytes: address, _in_use: None };
            return if allows_host && !is_protected { Ok(host) } else { Err(unreachable()) };
        };
        // Host code reaches the memory: for another context it is host memory, as it is for a SYCL runtime.
        let is_host_memory = allows_host && block.kind.is_host_accessible();
        if block.context != queue.context.id && !is_host_memory {
            return Err(Error::OtherContext {
                operation,
                address: start,
                memory_context: context_name(block.context, &block.device),
                queue_context: context_name(queue.context.id, &queue.device),
            });
        }
        if len_bytes > block.len_bytes - offset {
            return Err(unreachable());
        }
        let bytes = match (&block.storage, &self.arena) {
            (Storage::Arena(_), Some(arena)) => arena.backing(start, len_bytes).map(NonNull::as_ptr),
            _ => Some(address),
        };
        let in_use = Some(Arc::clone(block.in_use.get_or_insert_default()));
        Ok(JobMemory { bytes: bytes.ok_or_else(unreachable)?, _in_use: in_use })
    }
}

impl LiveBlock {
    fn is_in_use(&mut self) -> bool {
        // `get_mut` also makes what the jobs wrote happen before what comes next.
        self.in_use.as_mut().is_some_and(|sign| Arc::get_mut(sign).is_none())
    }
}

fn context_name(number: u64, device: &SimulatedDevice) -> String {
    format!("{number:#x} of {}", device.facts.info().filter_string())
}

impl Drop for Memory {
    fn drop(&mut self) {
        while let Some((&address, _)) = self.blocks.first_key_value() {
            self.free(address);
        }
        // Whoever drops this has waited for the jobs.
        self.collect();
    }
}

/// A block of the C allocator.
///
/// Invariant LC3: the allocator gives aligned memory of the asked length, which is this caller's alone.
fn allocate_heap(len_bytes: usize, align_bytes: usize) -> Option<NonNull<u8>> {
    // Large blocks start at a huge page, so that the system can use them from the first byte.
    let huge = len_bytes >= 2 * HUGE_PAGE_BYTES;
    let natural = if huge { HUGE_PAGE_BYTES } else { DEFAULT_ALIGN_BYTES };
    let block = NonNull::new(os::allocate_aligned(len_bytes, natural.max(align_bytes)))?;
    if huge && !cfg!(miri) {
        let whole_pages = len_bytes & !(HUGE_PAGE_BYTES - 1);
        // SAFETY: LC3: whole pages of a block that is ours alone; a refused hint does no harm.
        unsafe { os::prefer_huge_pages(block.as_ptr(), whole_pages) };
    }
    // USM has arbitrary content before it is written, but Rust and its optimizer hold fresh memory of an allocator for
    // uninitialised, which must not be read. Code that they cannot look into may have written it.
    #[cfg(miri)] // which looks into everything
    // SAFETY: LC3: a new block of that length.
    unsafe {
        block.write_bytes(0xA5, len_bytes);
    };
    #[cfg(not(miri))]
    // SAFETY: LC3: no instruction at all; whatever the bytes are, they are bytes that this code could have written.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) block.as_ptr(), options(nostack, preserves_flags))
    };
    Some(block)
}
