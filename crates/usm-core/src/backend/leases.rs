//! Memory of devices whose runtime does not tell a process who has its memory open: CUDA, and GPUs of SYCL.
//!
//! A block that a process frees may be used again at once, and the others see it. So each shared range has a *lease*, an empty file:
//! whoever has opened the range holds it. The process asks for the lease before it uses the range for something else.

use std::collections::btree_map::Entry as TreeEntry;
use std::collections::hash_map::Entry as HashEntry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::SharedMemory;
use super::files::{self, Lease, SharedFile};
use crate::{Error, Result, UsmKind};

/// The functions of a runtime for blocks of other processes.
pub(super) trait BlockMapper {
    /// What the runtime finds a block by.
    type Form: Clone + Eq + Hash + Debug;

    /// Maps a block: its address in this process.
    fn map(&mut self, form: &Self::Form, memory: &SharedMemory) -> Result<usize>;

    /// Ends a [`map`](Self::map), which gave this address.
    ///
    /// # Safety
    /// 1. Nobody uses the block any more.
    unsafe fn unmap(&mut self, form: &Self::Form, address: usize);

    /// Checks that a mapped block has a range.
    fn check_range(&self, block: usize, offset_bytes: usize, len_bytes: usize) -> Result<()>;
}

/// What others find a range by.
pub(super) struct Exported {
    pub(super) data: Vec<u8>,
    /// The files of the runtime, behind the one of the lease.
    pub(super) files: Vec<Arc<SharedFile>>,
    /// Whether these files keep the memory after the end of this process.
    pub(super) is_kept_by_files: bool,
}

/// What a process shares, and what it has open of others.
#[derive(Debug)]
pub(super) struct Leases<F> {
    /// What this process shares, by the first address. One without data ended, and its lease may still be sent.
    shared: BTreeMap<usize, SharedMemory>,
    /// What this process has open, by the first address.
    opened: BTreeMap<usize, Opened<F>>,
    /// Invariant LS1: these blocks of other processes are mapped, and nobody but `count` openings uses each of them.
    mapped: HashMap<F, Mapped>,
}

impl<F> Default for Leases<F> {
    fn default() -> Self {
        Self { shared: BTreeMap::new(), opened: BTreeMap::new(), mapped: HashMap::new() }
    }
}

/// A range of memory that is open, as often as it has openings.
#[derive(Debug)]
struct Opened<F> {
    memory: SharedMemory,
    openings: Vec<Opening<F>>,
}

#[derive(Debug)]
struct Opening<F> {
    /// The block; `None` for memory that this process shares itself.
    form: Option<F>,
    /// Memory of other libraries has none.
    lease: Option<Lease>,
}

#[derive(Debug)]
struct Mapped {
    address: usize,
    count: usize,
}

impl<F: Clone + Eq + Hash + Debug> Leases<F> {
    /// Whether nothing is shared or open.
    #[cfg(feature = "sycl")]
    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.opened.is_empty()
    }

    /// The memory of a range in the form in which others open it, the same one each time.
    pub(super) fn share(
        &mut self,
        kind: UsmKind,
        address: usize,
        len_bytes: usize,
        export: impl FnOnce() -> Result<Exported>,
    ) -> Result<SharedMemory> {
        if let Some(opened) = self.opened.get(&address) {
            return Ok(SharedMemory { len_bytes, ..opened.memory.clone() });
        }
        let known = self.shared.get(&address);
        if let Some(known) = known.filter(|known| !known.data.is_empty()) {
            return Ok(SharedMemory { len_bytes, ..known.clone() });
        }
        let lease = known.and_then(|known| known.files.first()).cloned();
        let Exported { data, mut files, is_kept_by_files } = export()?;
        let lease = lease.map_or_else(|| files::create(0).map(Arc::new), Ok)?;
        files.insert(0, lease);
        let mut memory = SharedMemory::new(kind, address, len_bytes, data, files);
        memory.is_kept_by_files = is_kept_by_files;
        self.shared.insert(address, memory.clone());
        Ok(memory)
    }

    /// Ends a [`share`](Self::share). False as long as others have the range open.
    pub(super) fn unshare(&mut self, address: usize) -> bool {
        let TreeEntry::Occupied(mut shared) = self.shared.entry(address) else { return true };
        let lease = shared.get().files.first();
        if lease.is_some_and(|lease| files::is_held(lease)) {
            return false;
        }
        // Several buffers may share one range of another library. Its lease stays as long as somebody may send it.
        if lease.is_some_and(|lease| Arc::strong_count(lease) > 1) {
            shared.get_mut().data.clear();
        } else {
            shared.remove();
        }
        true
    }

    /// Whether others have a range open that this process shares.
    pub(super) fn is_open_elsewhere(&self, address: usize) -> bool {
        let lease = self.shared.get(&address).and_then(|memory| memory.files.first());
        lease.is_some_and(|lease| files::is_held(lease))
    }

    /// A range of a block of another process. Memory that this process shares itself keeps its address.
    pub(super) fn open<M: BlockMapper<Form = F>>(
        &mut self,
        mapper: &mut M,
        form: F,
        offset_bytes: usize,
        mut memory: SharedMemory,
    ) -> Result<NonNull<u8>> {
        // From here on its process does not use it for something else.
        let lease = memory.files.first().map(|file| Lease::new(file)).transpose()?;
        if let Some(first) = memory.files.first_mut() {
            // The one that came may hold the memory, too, and a forked child would have it.
            *first = Arc::new(files::open_anew(first, false)?);
        }
        let is_own = self.shared.get(&memory.address).is_some_and(|own| own.data == memory.data);
        let (start, form) = if is_own {
            (pointer(memory.address)?, None)
        } else {
            let block = self.map(mapper, &form, &memory)?;
            let checked = mapper.check_range(block, offset_bytes, memory.len_bytes);
            match checked.and_then(|()| pointer(block + offset_bytes)) {
                Ok(start) => (start, Some(form)),
                Err(error) => {
                    self.unmap(mapper, &form);
                    return Err(error);
                }
            }
        };
        let opened = self.opened.entry(start.addr().get());
        opened.or_insert(Opened { memory, openings: Vec::new() }).openings.push(Opening { form, lease });
        Ok(start)
    }

    /// Closes a range that [`open`](Self::open) opened. False for other memory, which is about to be freed: it is not shared any more.
    ///
    /// # Safety
    /// 1. No operation uses the range through this opening.
    pub(super) unsafe fn close<M: BlockMapper<Form = F>>(&mut self, mapper: &mut M, address: usize) -> bool {
        let TreeEntry::Occupied(mut opened) = self.opened.entry(address) else {
            self.shared.remove(&address);
            return false;
        };
        let opening = opened.get_mut().openings.pop();
        if opened.get().openings.is_empty() {
            opened.remove();
        }
        // The lease ends at the end of this function: its process may use the range for something else then.
        let Some(Opening { form, lease: _lease }) = opening else { return false };
        if let Some(form) = form {
            self.unmap(mapper, &form);
        }
        true
    }

    /// The address of a block, with one more use.
    fn map<M: BlockMapper<Form = F>>(
        &mut self,
        mapper: &mut M,
        form: &F,
        memory: &SharedMemory,
    ) -> Result<usize> {
        if let Some(known) = self.mapped.get_mut(form) {
            known.count += 1;
            return Ok(known.address);
        }
        let address = mapper.map(form, memory)?;
        self.mapped.insert(form.clone(), Mapped { address, count: 1 });
        Ok(address)
    }

    /// Ends one use of a block.
    fn unmap<M: BlockMapper<Form = F>>(&mut self, mapper: &mut M, form: &F) {
        let HashEntry::Occupied(mut mapped) = self.mapped.entry(form.clone()) else { return };
        mapped.get_mut().count -= 1;
        if mapped.get().count == 0 {
            let Mapped { address, .. } = mapped.remove();
            // SAFETY: LS1: mapped, and this was the last use.
            unsafe { mapper.unmap(form, address) };
        }
    }
}

fn pointer(address: usize) -> Result<NonNull<u8>> {
    NonNull::new(ptr::with_exposed_provenance_mut(address))
        .ok_or_else(|| Error::SharedMemory { call: "map", text: "found address 0".to_owned() })
}
