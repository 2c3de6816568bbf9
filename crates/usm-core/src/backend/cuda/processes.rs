//! Memory of a GPU that several processes have.
//!
//! A block of this backend's pool crosses as the file of the pool and 64 bytes of the driver. A block of other libraries, which the
//! driver allocated without a pool, crosses as 64 bytes alone (`cuIpcGetMemHandle`).
//!
//! The driver does not tell a process who has its memory mapped. A block that this process frees may be used again at once, and the
//! others see it. So each shared range has a *lease*, an empty file: whoever has opened the range holds it.
//!
//! The file of a pool keeps the memory of the pool after the end of its process. So does an import: a block that is open keeps all
//! memory of the pool of a process that has ended.

use std::collections::btree_map::Entry as TreeEntry;
use std::collections::hash_map::Entry as HashEntry;
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::context::CudaContext;
use super::device::{CudaDevice, Current};
use super::driver::{Address, Code, FILE_DESCRIPTOR, HandleData, LAZY_ENABLE_PEER_ACCESS, MemoryPool};
use super::queue::CudaQueue;
use crate::backend::files::{self, Lease};
use crate::{Error, Result, SharedMemory, UsmKind};

/// What a device shares with other processes, and what it has open of them.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The pool of this backend for other processes, from the first share on.
    pool: Option<(PoolName, Arc<OwnedFd>)>,
    /// What this process shares, by the first address. One without data ended, and its lease may still be sent.
    shared: BTreeMap<usize, SharedMemory>,
    /// What this process has open, by the first address.
    opened: BTreeMap<usize, Opened>,
    /// Invariant SM1: these blocks of other processes are mapped, each as often as `count` says at least once.
    mapped: HashMap<Form, Mapped>,
    /// Invariant SM2: these pools are imported, and each is in use by `count` mapped blocks.
    pools: HashMap<PoolName, Imported>,
}

/// What tells the pools of all processes apart: random bytes.
type PoolName = [u8; 16];

/// What the driver of another process finds a block by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    OfPool(PoolName, HandleData),
    Legacy(HandleData),
}

/// A range of memory that is open, and its lease. Memory of other libraries has none.
#[derive(Debug)]
struct Opened {
    memory: SharedMemory,
    /// The block; `None` for memory that this process shares itself.
    form: Option<Form>,
    leases: Vec<Option<Lease>>,
}

#[derive(Debug)]
struct Mapped {
    address: Address,
    count: usize,
}

#[derive(Debug)]
struct Imported {
    pool: MemoryPool,
    count: usize,
}

impl Form {
    /// The form, and where the range begins in the block.
    fn to_data(self, offset_bytes: usize) -> Vec<u8> {
        let (HandleData(bytes), pool) = match &self {
            Self::OfPool(pool, data) => (data, &pool[..]),
            Self::Legacy(data) => (data, &[][..]),
        };
        [&(offset_bytes as u64).to_le_bytes(), &bytes[..], pool].concat()
    }

    fn from_data(data: &[u8]) -> Option<(Self, usize)> {
        let (offset_bytes, data) = data.split_first_chunk()?;
        let (bytes, pool) = data.split_first_chunk()?;
        let form = match pool.try_into() {
            Ok(pool) => Self::OfPool(pool, HandleData(*bytes)),
            Err(_) if pool.is_empty() => Self::Legacy(HandleData(*bytes)),
            Err(_) => return None,
        };
        Some((form, usize::try_from(u64::from_le_bytes(*offset_bytes)).ok()?))
    }
}

/// Memory by the handle of `cuIpcGetMemHandle` (`cudaIpcGetMemHandle`) of another library, without a lease.
pub(crate) fn of_handle(handle: [u8; 64], offset_bytes: usize, len_bytes: usize) -> SharedMemory {
    let data = Form::Legacy(HandleData(handle)).to_data(offset_bytes);
    SharedMemory::new(UsmKind::Device, 0, len_bytes, data, Vec::new())
}

fn not_shareable<T>(reason: &str) -> Result<T> {
    Err(Error::NotShareable { reason: format!("{reason}; a copy works, as by usm.tensor.copy or a pickle") })
}

/// The memory of a range in the form in which others open it.
pub(super) fn share(
    device: &CudaDevice,
    kind: UsmKind,
    start: NonNull<u8>,
    len_bytes: usize,
) -> Result<SharedMemory> {
    if kind != UsmKind::Device {
        return not_shareable("CUDA shares device memory alone, not host and shared memory");
    }
    let current = device.enter()?;
    let mut shares = device.shares();
    let address = start.addr().get();
    if let Some(opened) = shares.opened.get(&address) {
        return Ok(opened.memory.clone());
    }
    let known = shares.shared.get(&address);
    if let Some(known) = known.filter(|known| !known.data.is_empty()) {
        return Ok(SharedMemory { len_bytes, ..known.clone() });
    }
    let lease = known.and_then(|known| known.files.first()).cloned();
    let Some((block, _)) = current.find(address).and_then(|found| found.block) else {
        return not_shareable("the driver does not know its block");
    };
    let lease = lease.map_or_else(|| files::create(0).map(Arc::new), Ok)?;
    let (form, mut files) = shares.form(&current, block as Address)?;
    files.insert(0, lease);
    let data = form.to_data(address - block);
    let mut memory = SharedMemory::new(kind, address, len_bytes, data, files);
    memory.is_kept_by_files = matches!(form, Form::OfPool(..));
    shares.shared.insert(address, memory.clone());
    Ok(memory)
}

/// Ends a [`share`]. False as long as others have the range open.
pub(super) fn unshare(device: &CudaDevice, start: NonNull<u8>) -> bool {
    // The memory of a lost device, and that of the parent of a forked process, is used no more.
    let Ok(_current) = device.enter() else { return true };
    let mut shares = device.shares();
    let address = start.addr().get();
    let TreeEntry::Occupied(mut shared) = shares.shared.entry(address) else { return true };
    let is_held = |lease: &Arc<OwnedFd>| files::is_held(lease);
    if shared.get().files.first().is_some_and(is_held) {
        return false;
    }
    // Several buffers may share one range of another library. Its lease stays as long as somebody may send it.
    if shared.get().files.first().is_some_and(|lease| Arc::strong_count(lease) > 1) {
        shared.get_mut().data.clear();
    } else {
        shared.remove();
    }
    true
}

pub(super) fn is_open_elsewhere(device: &CudaDevice, start: NonNull<u8>) -> bool {
    let Ok(_current) = device.enter() else { return false };
    let shares = device.shares();
    let lease = shares.shared.get(&start.addr().get()).and_then(|memory| memory.files.first());
    lease.is_some_and(|lease| files::is_held(lease))
}

/// A range of memory of another process.
pub(super) fn open(queue: &CudaQueue, memory: &SharedMemory) -> Result<NonNull<u8>> {
    let found = Form::from_data(&memory.data).filter(|_| memory.kind == UsmKind::Device);
    let Some((form, offset_bytes)) = found else { return not_shareable("it is not memory of a GPU") };
    let is_kept_by_files = matches!(form, Form::OfPool(..));
    let current = queue.device().enter()?;
    let mut shares = queue.device().shares();
    // From here on its process does not use it for something else.
    let lease = memory.files.first().map(|file| Lease::new(file)).transpose()?;
    let is_own = shares.shared.get(&memory.address).is_some_and(|own| own.data == memory.data);
    let (start, form) = if is_own {
        (memory.address, None)
    } else {
        let block = shares.map(&current, &queue.context, form, memory)?;
        match range_in(&current, block, offset_bytes, memory.len_bytes) {
            Ok(start) => (start, Some(form)),
            Err(error) => {
                shares.unmap(&current, form);
                return Err(error);
            }
        }
    };
    match shares.opened.entry(start) {
        TreeEntry::Occupied(known) => known.into_mut().leases.push(lease),
        TreeEntry::Vacant(new) => {
            let memory = SharedMemory { is_kept_by_files, ..memory.clone() };
            new.insert(Opened { memory, form, leases: vec![lease] });
        }
    }
    NonNull::new(ptr::with_exposed_provenance_mut(start)).ok_or_else(|| out_of_range(0, 0, 0))
}

/// The first address of a range of a block that was mapped.
fn range_in(current: &Current<'_>, block: Address, offset_bytes: usize, len_bytes: usize) -> Result<usize> {
    let block = usize::try_from(block).unwrap_or_default();
    let found = current.find(block).filter(|found| found.kind == UsmKind::Device);
    match found.and_then(|found| found.block) {
        Some((start, block_bytes))
            if offset_bytes
                .checked_add(len_bytes)
                .and_then(|end| end.checked_add(block - start))
                .is_some_and(|end| end <= block_bytes) =>
        {
            Ok(block + offset_bytes)
        }
        found => Err(out_of_range(offset_bytes, len_bytes, found.map_or(0, |(_, block_bytes)| block_bytes))),
    }
}

fn out_of_range(offset_bytes: usize, len_bytes: usize, block_bytes: usize) -> Error {
    Error::SharedMemory {
        call: "cuPointerGetAttributes",
        text: format!("found {len_bytes} bytes at {offset_bytes} in a block of {block_bytes} bytes"),
    }
}

/// Closes a range that [`open`] opened. False for other memory.
///
/// # Safety
/// 1. No operation uses the range through this opening.
pub(super) unsafe fn close(current: &Current<'_>, device: &CudaDevice, start: NonNull<u8>) -> bool {
    let mut shares = device.shares();
    let TreeEntry::Occupied(mut opened) = shares.opened.entry(start.addr().get()) else { return false };
    let (form, lease) = (opened.get().form, opened.get_mut().leases.pop());
    if opened.get().leases.is_empty() {
        opened.remove();
    }
    if let Some(form) = form {
        shares.unmap(current, form);
    }
    // Its process may use the range for something else from now on.
    drop(lease);
    true
}

impl Shares {
    /// What others find a block by, and the file for it.
    fn form(&mut self, current: &Current<'_>, block: Address) -> Result<(Form, Vec<Arc<OwnedFd>>)> {
        let mut data = HandleData([0; 64]);
        if let Some(pool) = current.pool()
            && current.pool_of(block) == Some(pool)
        {
            let (name, file) = self.export(current, pool)?;
            // SAFETY: DR1; the pointer is writable, and the pool has the block.
            let code = unsafe { (current.cuMemPoolExportPointer)(&raw mut data, block) };
            current.check("cuMemPoolExportPointer", code)?;
            return Ok((Form::OfPool(name, data), vec![file]));
        }
        // SAFETY: DR1; the pointer is writable. The driver refuses blocks for which it has no handle.
        match unsafe { (current.cuIpcGetMemHandle)(&raw mut data, block) } {
            Code::INVALID_VALUE => {
                not_shareable("the driver has no handle for memory of a pool of another library")
            }
            code => {
                current.check("cuIpcGetMemHandle", code)?;
                Ok((Form::Legacy(data), Vec::new()))
            }
        }
    }

    fn export(&mut self, current: &Current<'_>, pool: MemoryPool) -> Result<(PoolName, Arc<OwnedFd>)> {
        if let Some((name, file)) = &self.pool {
            return Ok((*name, Arc::clone(file)));
        }
        let mut file = -1;
        // SAFETY: DR1; the pointer is writable, and the pool is live.
        let code =
            unsafe { (current.cuMemPoolExportToShareableHandle)(&raw mut file, pool, FILE_DESCRIPTOR, 0) };
        match code {
            Code::INVALID_VALUE | Code::NOT_SUPPORTED => {
                return not_shareable("the driver has no pools for other processes on this device");
            }
            code => current.check("cuMemPoolExportToShareableHandle", code)?,
        }
        // SAFETY: DR1: the driver just opened the file for us.
        let file = Arc::new(unsafe { OwnedFd::from_raw_fd(file) });
        let name = files::random()?;
        self.pool = Some((name, Arc::clone(&file)));
        Ok((name, file))
    }

    /// The address of a block of another process in this one.
    fn map(
        &mut self,
        current: &Current<'_>,
        context: &CudaContext,
        form: Form,
        memory: &SharedMemory,
    ) -> Result<Address> {
        if let Some(known) = self.mapped.get_mut(&form) {
            known.count += 1;
            return Ok(known.address);
        }
        let mut address = 0;
        match form {
            Form::Legacy(data) => {
                // SAFETY: DR1; the pointer is writable. The driver refuses what is no handle.
                let code = unsafe {
                    (current.cuIpcOpenMemHandle_v2)(&raw mut address, data, LAZY_ENABLE_PEER_ACCESS)
                };
                current.check("cuIpcOpenMemHandle", code)?;
            }
            Form::OfPool(name, mut data) => {
                let [_, file] = &memory.files[..] else {
                    return not_shareable("the file of its pool is missing");
                };
                let pool = self.import(current, context, name, file)?;
                // SAFETY: DR1; the pointers are writable, and the pool is imported (SM2). The driver refuses what is no handle.
                let code = unsafe { (current.cuMemPoolImportPointer)(&raw mut address, pool, &raw mut data) };
                if let Err(error) = current.check("cuMemPoolImportPointer", code) {
                    self.leave(current, name);
                    return Err(error);
                }
            }
        }
        self.mapped.insert(form, Mapped { address, count: 1 });
        Ok(address)
    }

    /// Ends one use of a block.
    fn unmap(&mut self, current: &Current<'_>, form: Form) {
        let HashEntry::Occupied(mut mapped) = self.mapped.entry(form) else { return };
        mapped.get_mut().count -= 1;
        if mapped.get().count > 0 {
            return;
        }
        let Mapped { address, .. } = mapped.remove();
        // The caller cannot do anything about a failure; a lost device is remembered.
        match form {
            Form::Legacy(_) => {
                // SAFETY: DR1; SM1: mapped, and nobody uses it any more.
                let code = unsafe { (current.cuIpcCloseMemHandle)(address) };
                let _ = current.check("cuIpcCloseMemHandle", code);
            }
            Form::OfPool(name, _) => {
                let stream = current.allocations();
                // SAFETY: DR1; SM1: mapped, and nobody uses it any more.
                let code = unsafe { (current.cuMemFreeAsync)(address, stream) };
                let _ = current.check("cuMemFreeAsync", code);
                // The other process may use the memory for something else only after that.
                // SAFETY: DR1; the stream lives as long as the process.
                let code = unsafe { (current.cuStreamSynchronize)(stream) };
                let _ = current.check("cuStreamSynchronize", code);
                self.leave(current, name);
            }
        }
    }

    /// The pool of another process, with one more use.
    fn import(
        &mut self,
        current: &Current<'_>,
        context: &CudaContext,
        name: PoolName,
        file: &OwnedFd,
    ) -> Result<MemoryPool> {
        let pool = match self.pools.entry(name) {
            HashEntry::Occupied(known) => {
                let known = known.into_mut();
                known.count += 1;
                known.pool
            }
            HashEntry::Vacant(new) => {
                let mut pool = MemoryPool::NULL;
                let number =
                    ptr::without_provenance_mut(usize::try_from(file.as_raw_fd()).unwrap_or_default());
                // SAFETY: DR1; the pointer is writable. The driver refuses what is no file of a pool.
                let code = unsafe {
                    (current.cuMemPoolImportFromShareableHandle)(&raw mut pool, number, FILE_DESCRIPTOR, 0)
                };
                current.check("cuMemPoolImportFromShareableHandle", code)?;
                new.insert(Imported { pool, count: 1 }).pool
            }
        };
        for peer in context.devices.iter().filter(|peer| peer.ordinal != current.device().ordinal) {
            if peer.can_access(current.device()) {
                // Without the access copies are slower.
                let _ = peer.access_pool(current, pool, true);
            }
        }
        Ok(pool)
    }

    /// Ends one use of a pool.
    fn leave(&mut self, current: &Current<'_>, name: PoolName) {
        let HashEntry::Occupied(mut imported) = self.pools.entry(name) else { return };
        imported.get_mut().count -= 1;
        if imported.get().count == 0 {
            let Imported { pool, .. } = imported.remove();
            // SAFETY: DR1; SM2: imported, and without blocks.
            let code = unsafe { (current.cuMemPoolDestroy)(pool) };
            let _ = current.check("cuMemPoolDestroy", code);
        }
    }
}
