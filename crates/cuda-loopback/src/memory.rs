//! Blocks of memory of each kind, the pools, and who may access what when.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::{Arena, KEPT_BYTES, block_bytes};
use crate::clock::{Clock, Point};
use crate::codes::{Code, Outcome};
use crate::exported::HandleData;
use crate::os::{self, MemoryFile};
use crate::streams::Streams;

/// What freed memory is overwritten with, and the first [`SOILED_BYTES`] of new memory.
const GARBAGE: u8 = 0xCB;
const SOILED_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Device,
    Managed,
    Pinned,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    /// The device of the context it was allocated in.
    pub(crate) device: usize,
    /// As requested.
    pub(crate) len_bytes: usize,
    /// Handle of the pool.
    pub(crate) pool: Option<usize>,
    /// Another process allocated it.
    pub(crate) is_imported: bool,
    /// When it exists; `None` for at once.
    allocated: Option<Point>,
    /// When it is freed, and the operations before that; `None` without a request.
    freed: Option<(Point, Clock)>,
    /// The last access of each stream.
    accesses: Clock,
}

impl Block {
    /// Invariant K1: managed and pinned blocks are mappings of this many bytes, unmapped when the block is removed.
    fn mapped_bytes(len_bytes: usize) -> Option<usize> {
        len_bytes.checked_next_multiple_of(PAGE_BYTES)
    }

    /// Whether the program has it.
    fn is_live(&self) -> bool {
        self.freed.is_none()
    }
}

/// A pool: memory of a device that frees keep.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    /// What it keeps at a synchronisation.
    pub(crate) threshold: u64,
    in_use_bytes: usize,
    kept_bytes: usize,
    /// Peers that may access its memory.
    pub(crate) peers: BTreeSet<usize>,
    /// Other processes may import it.
    pub(crate) is_exportable: bool,
    /// The memory, where it is that of another process.
    imported: Option<Arena>,
}

/// A block of another process without a pool.
#[derive(Debug)]
struct External {
    data: HandleData,
    arena: Arena,
    count: usize,
}

/// An operation that accesses memory.
#[derive(Debug)]
pub(crate) struct Access<'a> {
    pub(crate) at: Point,
    pub(crate) clock: &'a Clock,
    pub(crate) device: usize,
    /// The devices whose memory kernels of this device may access; `None` for a copy, which may access all.
    pub(crate) peers: Option<&'a BTreeSet<usize>>,
}

/// The memory of the process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    limit_bytes: usize,
    /// By device.
    arenas: BTreeMap<usize, Arena>,
    /// By their first address, freed ones too until the free has run.
    blocks: BTreeMap<usize, Block>,
    /// By their handle.
    pools: BTreeMap<usize, Pool>,
    /// By their first address.
    externals: BTreeMap<usize, External>,
}

impl Memory {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, ..Self::default() }
    }

    /// Makes the memory of a device, at its first use.
    pub(crate) fn open(&mut self, device: usize) -> Outcome {
        if !self.arenas.contains_key(&device) {
            let arena = Arena::reserve(self.limit_bytes).map_err(|_| Code::OUT_OF_MEMORY.refusal())?;
            self.arenas.insert(device, arena);
        }
        Ok(())
    }

    /// Free bytes of a device.
    pub(crate) fn free_bytes(&self, device: usize) -> usize {
        let direct = self.blocks.values().filter(|block| {
            block.kind == BlockKind::Device
                && block.device == device
                && block.pool.is_none()
                && !block.is_imported
        });
        let direct: usize = direct.filter_map(|block| block_bytes(block.len_bytes)).sum();
        let pools = self.pools.values().filter(|pool| pool.device == device);
        let pools: usize = pools.map(|pool| pool.in_use_bytes + pool.kept_bytes).sum();
        self.limit_bytes.saturating_sub(direct + pools)
    }

    /// Blocks of a kind that the program has, and their bytes.
    pub(crate) fn live(&self, kind: BlockKind) -> (usize, usize) {
        let live = self.blocks.values().filter(|block| block.kind == kind && block.is_live());
        live.fold((0, 0), |(count, bytes), block| (count + 1, bytes + block.len_bytes))
    }

    // Allocation.

    /// New device memory, of a pool that is given by its handle or of none.
    pub(crate) fn allocate_device(
        &mut self,
        device: usize,
        len_bytes: usize,
        pool: Option<usize>,
    ) -> Outcome<usize> {
        let out_of_memory = || Code::OUT_OF_MEMORY.refusal();
        let bytes = block_bytes(len_bytes).ok_or_else(out_of_memory)?;
        let kept = pool.and_then(|pool| self.pools.get(&pool)).map_or(0, |pool| pool.kept_bytes);
        if bytes > self.free_bytes(device).saturating_add(kept) {
            return Err(out_of_memory());
        }
        let start =
            self.arenas.get_mut(&device).and_then(|arena| arena.take(bytes)).ok_or_else(out_of_memory)?;
        if let Some(pool) = pool.and_then(|pool| self.pools.get_mut(&pool)) {
            pool.in_use_bytes += bytes;
            pool.kept_bytes = pool.kept_bytes.saturating_sub(bytes);
        }
        self.insert(start, BlockKind::Device, device, len_bytes, pool);
        Ok(start)
    }

    /// New managed or pinned memory.
    pub(crate) fn allocate_mapped(
        &mut self,
        kind: BlockKind,
        device: usize,
        len_bytes: usize,
    ) -> Outcome<usize> {
        let mapped_bytes = Block::mapped_bytes(len_bytes).ok_or_else(|| Code::OUT_OF_MEMORY.refusal())?;
        if self.live(kind).1.saturating_add(mapped_bytes) > self.limit_bytes {
            return Err(Code::OUT_OF_MEMORY.refusal());
        }
        let start = os::map_pages(mapped_bytes).ok_or_else(|| Code::OUT_OF_MEMORY.refusal())?; // K1
        self.insert(start, kind, device, len_bytes, None);
        self.soil(start);
        Ok(start)
    }

    fn insert(
        &mut self,
        start: usize,
        kind: BlockKind,
        device: usize,
        len_bytes: usize,
        pool: Option<usize>,
    ) {
        let accesses = Clock::default();
        let block = Block {
            kind,
            device,
            len_bytes,
            pool,
            is_imported: false,
            allocated: None,
            freed: None,
            accesses,
        };
        self.blocks.insert(start, block);
    }

    /// Lets a block of a pool exist from an operation on.
    pub(crate) fn set_allocated(&mut self, start: usize, at: Point) {
        if let Some(block) = self.blocks.get_mut(&start) {
            block.allocated = Some(at);
        }
    }

    /// New memory has no known contents.
    pub(crate) fn soil(&mut self, start: usize) {
        if let Some(block) = self.blocks.get(&start) {
            self.overwrite(start, block.len_bytes.min(SOILED_BYTES));
        }
    }

    fn overwrite(&self, start: usize, len_bytes: usize) {
        // SAFETY: bytes of a block: of an arena (A1) or of a mapping (K1).
        unsafe { self.bytes(start).write_bytes(GARBAGE, len_bytes) };
    }

    // Release.

    /// The block that begins at an address and is live, else a fault.
    pub(crate) fn starting_at(&self, call: &str, start: usize) -> Outcome<&Block> {
        let block = self.blocks.get(&start).filter(|block| block.is_live());
        block.ok_or_else(|| {
            Code::INVALID_VALUE.fault(format!("{call}: no live allocation begins at {start:#x}"))
        })
    }

    /// Plans the free of a block; a fault's text for each access that may come later.
    pub(crate) fn set_freed(
        &mut self,
        streams: &Streams,
        start: usize,
        at: Point,
        clock: Clock,
    ) -> Vec<String> {
        let Some(block) = self.blocks.get_mut(&start) else { return Vec::new() };
        let points = block.accesses.points().chain(block.allocated);
        let unordered = points.filter(|point| !streams.is_before(*point, &clock));
        let text = |point| {
            format!("cuMemFreeAsync: {start:#x} is freed without an order after its use by {point:?}")
        };
        let faults = unordered.map(text).collect();
        block.freed = Some((at, clock));
        faults
    }

    /// A use of a block of a pool that host code does not know to be complete.
    pub(crate) fn unknown_use(&self, streams: &Streams, start: usize) -> Option<Point> {
        let block = self.blocks.get(&start).filter(|block| block.pool.is_some())?;
        block.accesses.points().chain(block.allocated).find(|point| !streams.host_knows(*point))
    }

    /// Gives a block back: overwrites it, or unmaps it. The arena discards large device memory instead.
    pub(crate) fn remove(&mut self, start: usize) {
        let Some(block) = self.blocks.get(&start) else { return };
        let (kind, len_bytes) = (block.kind, block.len_bytes);
        if block.is_imported {
            self.blocks.remove(&start);
            return;
        }
        if kind == BlockKind::Device && len_bytes <= KEPT_BYTES {
            self.overwrite(start, len_bytes);
        }
        let Some(block) = self.blocks.remove(&start) else { return };
        if kind != BlockKind::Device {
            let mapped_bytes = Block::mapped_bytes(len_bytes).unwrap_or(len_bytes);
            // SAFETY: K1: the mapping of a block that is gone now.
            unsafe { os::unmap_pages(start, mapped_bytes) };
            return;
        }
        let bytes = block_bytes(len_bytes).unwrap_or(len_bytes);
        if let Some(arena) = self.arenas.get_mut(&block.device) {
            arena.give_back(start, bytes);
        }
        if let Some(pool) = block.pool.and_then(|pool| self.pools.get_mut(&pool)) {
            pool.in_use_bytes = pool.in_use_bytes.saturating_sub(bytes);
            pool.kept_bytes += bytes;
        }
    }

    // Pools.

    pub(crate) fn create_pool(&mut self, handle: usize, device: usize, is_exportable: bool) {
        self.add_pool(handle, device, is_exportable, None);
    }

    fn add_pool(&mut self, handle: usize, device: usize, is_exportable: bool, imported: Option<Arena>) {
        let (peers, is_imported) = (BTreeSet::new(), imported);
        let pool = Pool {
            device,
            threshold: 0,
            in_use_bytes: 0,
            kept_bytes: 0,
            peers,
            is_exportable,
            imported: is_imported,
        };
        self.pools.insert(handle, pool);
    }

    /// Ends a pool; false while it has blocks.
    pub(crate) fn destroy_pool(&mut self, handle: usize) -> bool {
        if self.blocks.values().any(|block| block.pool == Some(handle)) {
            return false;
        }
        if let Some(arena) = self.pools.remove(&handle).and_then(|pool| pool.imported) {
            arena.unmap();
        }
        true
    }

    pub(crate) fn pool(&mut self, handle: usize) -> Option<&mut Pool> {
        self.pools.get_mut(&handle)
    }

    /// Gives kept memory of a pool back to the device, so that the pool holds at most so many bytes or what is in use.
    pub(crate) fn trim(&mut self, handle: usize, hold_bytes: u64) {
        if let Some(pool) = self.pools.get_mut(&handle) {
            let hold_bytes = usize::try_from(hold_bytes).unwrap_or(usize::MAX);
            pool.kept_bytes = pool.kept_bytes.min(hold_bytes.saturating_sub(pool.in_use_bytes));
        }
    }

    /// What pools do at a synchronisation.
    pub(crate) fn trim_all(&mut self) {
        let pools: Vec<_> = self.pools.iter().map(|(&handle, pool)| (handle, pool.threshold)).collect();
        for (handle, threshold) in pools {
            self.trim(handle, threshold);
        }
    }

    // Other processes.

    /// The file behind the memory of a device, for a pool that others may import.
    pub(crate) fn file_of_pool(&self, handle: usize) -> Option<&MemoryFile> {
        let pool = self.pools.get(&handle).filter(|pool| pool.is_exportable)?;
        Some(self.arenas.get(&pool.device)?.file())
    }

    /// The pool that was imported from a file before.
    pub(crate) fn imported_pool(&self, file: &MemoryFile) -> Option<usize> {
        let is_same = |pool: &Pool| pool.imported.as_ref().is_some_and(|arena| arena.file().is_same(file));
        self.pools.iter().find(|(_, pool)| is_same(pool)).map(|(&handle, _)| handle)
    }

    pub(crate) fn import_pool(&mut self, handle: usize, device: usize, file: MemoryFile) -> Outcome {
        let arena = Arena::import(file).map_err(|_| Code::OUT_OF_MEMORY.refusal())?;
        self.add_pool(handle, device, false, Some(arena));
        Ok(())
    }

    /// What another process finds a block by: of an exportable pool, or of none.
    pub(crate) fn handle_data(&self, start: usize, is_of_pool: bool) -> Option<HandleData> {
        let block = self.blocks.get(&start).filter(|block| block.is_live() && !block.is_imported)?;
        let is_right = match block.pool.and_then(|pool| self.pools.get(&pool)) {
            Some(pool) => is_of_pool && pool.is_exportable,
            None => !is_of_pool && block.kind == BlockKind::Device,
        };
        let arena = self.arenas.get(&block.device).filter(|_| is_right)?;
        Some(HandleData::new(arena.file(), arena.offset(start), block.len_bytes))
    }

    /// A block of an imported pool. One that is there already is the same.
    pub(crate) fn import_block(&mut self, pool: usize, data: &HandleData) -> Option<usize> {
        let known = self.pools.get(&pool)?;
        let (_, _, offset, len_bytes) = data.parts()?;
        let start = known.imported.as_ref()?.address(offset, len_bytes)?;
        let device = known.device;
        self.insert_imported(start, device, len_bytes, Some(pool));
        Some(start)
    }

    fn insert_imported(&mut self, start: usize, device: usize, len_bytes: usize, pool: Option<usize>) {
        if !self.blocks.contains_key(&start) {
            self.insert(start, BlockKind::Device, device, len_bytes, pool);
        }
        if let Some(block) = self.blocks.get_mut(&start) {
            block.is_imported = true;
        }
    }

    /// Opens a block of another process that has no pool. The same block again is counted.
    pub(crate) fn open_external(&mut self, device: usize, data: &HandleData) -> Outcome<usize> {
        if let Some((&start, known)) = self.externals.iter_mut().find(|(_, known)| known.data == *data) {
            known.count += 1;
            return Ok(start);
        }
        let (process, number, offset, len_bytes) =
            data.parts().ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        if process == std::process::id() {
            return Err(Code::INVALID_CONTEXT.refusal());
        }
        let gone = || Code::INVALID_HANDLE.refusal();
        let file = MemoryFile::of_other(process, number).map_err(|_| gone())?;
        let arena = Arena::import(file).map_err(|_| gone())?;
        let Some(start) = arena.address(offset, len_bytes) else {
            arena.unmap();
            return Err(gone());
        };
        self.insert_imported(start, device, len_bytes, None);
        self.externals.insert(start, External { data: *data, arena, count: 1 });
        Ok(start)
    }

    /// Closes a block once. False for another address.
    pub(crate) fn close_external(&mut self, start: usize) -> bool {
        let Some(known) = self.externals.get_mut(&start) else { return false };
        known.count -= 1;
        if known.count == 0 {
            self.blocks.remove(&start);
            if let Some(External { arena, .. }) = self.externals.remove(&start) {
                arena.unmap();
            }
        }
        true
    }

    // Access.

    /// The live block around an address, with its start.
    pub(crate) fn find(&self, address: usize) -> Option<(usize, &Block)> {
        self.around(address).filter(|(_, block)| block.is_live())
    }

    /// Whether an address is of a pool of another device, without access for this one.
    pub(crate) fn is_closed_to(&self, address: usize, device: usize) -> bool {
        let pool = self.find(address).and_then(|(_, block)| self.pools.get(&block.pool?));
        pool.is_some_and(|pool| pool.device != device && !pool.peers.contains(&device))
    }

    fn around(&self, address: usize) -> Option<(usize, &Block)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.len_bytes).then_some((start, block))
    }

    /// First address and length of the block around an address.
    pub(crate) fn range(&self, address: usize) -> Option<(usize, usize)> {
        self.around(address).map(|(start, block)| (start, block.len_bytes))
    }

    /// Whether an address is of device memory, of a live block or not.
    pub(crate) fn is_of_device(&self, address: usize) -> bool {
        self.arena(address).is_some()
    }

    fn arena(&self, address: usize) -> Option<&Arena> {
        let imported = self.pools.values().filter_map(|pool| pool.imported.as_ref());
        let external = self.externals.values().map(|external| &external.arena);
        self.arenas.values().chain(imported).chain(external).find(|arena| arena.contains(address))
    }

    /// Where the bytes of a block's address are for operations.
    fn bytes(&self, address: usize) -> *mut u8 {
        let arena = self.arena(address);
        let host = || std::ptr::with_exposed_provenance_mut(address);
        arena.map_or_else(host, |arena| arena.backing(address))
    }

    /// Where the bytes of a range are for an operation that runs now; a fault's text if it may not access them.
    pub(crate) fn access(
        &mut self,
        streams: &Streams,
        access: &Access<'_>,
        address: usize,
        len_bytes: usize,
    ) -> Result<*mut u8, String> {
        let range = format!("{address:#x} + {len_bytes}");
        let Some((start, block)) = self.around(address) else {
            return Err(format!("{range} is in no allocation, or in a freed one"));
        };
        if len_bytes > block.len_bytes - (address - start) {
            return Err(format!("{range} leaves the allocation {start:#x} + {}", block.len_bytes));
        }
        if block.allocated.is_some_and(|point| !streams.is_before(point, access.clock)) {
            return Err(format!("{range} is used without an order after its allocation"));
        }
        if block.freed.as_ref().is_some_and(|(_, before)| !streams.is_before(access.at, before)) {
            return Err(format!("{range} is used without an order before its free"));
        }
        if let Some(peers) = access.peers
            && block.kind == BlockKind::Device
            && block.device != access.device
        {
            let peers_of_pool = block.pool.and_then(|pool| self.pools.get(&pool)).map(|pool| &pool.peers);
            let is_peer = match peers_of_pool {
                Some(peers_of_pool) => peers_of_pool.contains(&access.device),
                None => peers.contains(&block.device),
            };
            if !is_peer {
                return Err(format!(
                    "{range} is of device {}, which is no peer of device {}",
                    block.device, access.device
                ));
            }
        }
        if let Some(block) = self.blocks.get_mut(&start) {
            block.accesses.add(access.at);
        }
        Ok(self.bytes(address))
    }
}
