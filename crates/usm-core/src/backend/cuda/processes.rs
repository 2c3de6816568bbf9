//! Memory of a GPU that several processes have.
//!
//! A block of this backend's pool crosses as the file of the pool and 64 bytes of the driver. A block of other libraries, which the
//! driver allocated without a pool, crosses as 64 bytes alone (`cuIpcGetMemHandle`).
//!
//! The driver does not tell a process who has its memory mapped, so the ranges have [leases](crate::backend::leases).
//!
//! The file of a pool keeps the memory of the pool after the end of its process. So does an import: a block that is open keeps all
//! memory of the pool of a process that has ended.

use std::collections::hash_map::Entry as HashEntry;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::device::{CudaDevice, Current};
use super::driver::{Address, Code, FILE_DESCRIPTOR, HandleData, LAZY_ENABLE_PEER_ACCESS, MemoryPool};
use super::queue::CudaQueue;
use super::shares::{Form, Imported, PoolName, Pools, Shares};
use crate::backend::files::{self, SharedFile};
use crate::backend::leases::{BlockMapper, Exported};
use crate::{Error, Result, SharedMemory, UsmKind};

/// The driver, for blocks of other processes.
struct CudaMapper<'a> {
    current: &'a Current<'a>,
    pools: &'a mut Pools,
    /// The devices that are to reach what is imported.
    peers: &'a [Arc<CudaDevice>],
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
    let Shares { leases, pools } = &mut *shares;
    let address = start.addr().get();
    leases.share(kind, address, len_bytes, || {
        let Some((block, _)) = current.find(address).and_then(|found| found.block) else {
            return not_shareable("the driver does not know its block");
        };
        let (form, files) = pools.export_block(&current, block as Address)?;
        let is_kept_by_files = matches!(form, Form::OfPool(..));
        Ok(Exported { data: form.to_data(address - block), files, is_kept_by_files })
    })
}

/// Ends a [`share`]. False as long as others have the range open.
pub(super) fn unshare(device: &CudaDevice, start: NonNull<u8>) -> bool {
    // The memory of a lost device, and that of the parent of a forked process, is used no more.
    let Ok(_current) = device.enter() else { return true };
    device.shares().leases.unshare(start.addr().get())
}

pub(super) fn is_open_elsewhere(device: &CudaDevice, start: NonNull<u8>) -> bool {
    let Ok(_current) = device.enter() else { return false };
    device.shares().leases.is_open_elsewhere(start.addr().get())
}

/// A range of memory of another process.
pub(super) fn open(queue: &CudaQueue, memory: &SharedMemory) -> Result<NonNull<u8>> {
    let found = Form::from_data(&memory.data).filter(|_| memory.kind == UsmKind::Device);
    let Some((form, offset_bytes)) = found else { return not_shareable("it is not memory of a GPU") };
    let is_kept_by_files = matches!(form, Form::OfPool(..));
    let current = queue.device().enter()?;
    let mut shares = queue.device().shares();
    let Shares { leases, pools } = &mut *shares;
    let mut mapper = CudaMapper { current: &current, pools, peers: &queue.context.devices };
    leases.open(&mut mapper, form, offset_bytes, SharedMemory { is_kept_by_files, ..memory.clone() })
}

/// Closes a range that [`open`] opened. False for other memory, which is about to be freed.
///
/// # Safety
/// 1. No operation uses the range through this opening.
pub(super) unsafe fn close(current: &Current<'_>, device: &CudaDevice, start: NonNull<u8>) -> bool {
    let mut shares = device.shares();
    let Shares { leases, pools } = &mut *shares;
    let mut mapper = CudaMapper { current, pools, peers: &[] };
    // SAFETY: the caller's promise 1.
    unsafe { leases.close(&mut mapper, start.addr().get()) }
}

fn out_of_range(offset_bytes: usize, len_bytes: usize, block_bytes: usize) -> Error {
    Error::SharedMemory {
        call: "cuPointerGetAttributes",
        text: format!("found {len_bytes} bytes at {offset_bytes} in a block of {block_bytes} bytes"),
    }
}

impl BlockMapper for CudaMapper<'_> {
    type Form = Form;

    fn map(&mut self, form: &Form, memory: &SharedMemory) -> Result<usize> {
        let Self { current, .. } = *self;
        let mut address = 0;
        match *form {
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
                let pool = self.import(name, file)?;
                // SAFETY: DR1; the pointers are writable, and the pool is imported (SM1). The driver refuses what is no handle.
                let code = unsafe { (current.cuMemPoolImportPointer)(&raw mut address, pool, &raw mut data) };
                if let Err(error) = current.check("cuMemPoolImportPointer", code) {
                    self.leave(name);
                    return Err(error);
                }
            }
        }
        Ok(usize::try_from(address).unwrap_or_default())
    }

    unsafe fn unmap(&mut self, form: &Form, address: usize) {
        let (Self { current, .. }, address) = (&*self, address as Address);
        // The caller cannot do anything about a failure; a lost device is remembered.
        match *form {
            Form::Legacy(_) => {
                // SAFETY: DR1; mapped, and nobody uses it any more (promise 1).
                let code = unsafe { (current.cuIpcCloseMemHandle)(address) };
                let _ = current.check("cuIpcCloseMemHandle", code);
            }
            Form::OfPool(name, _) => {
                let stream = current.allocations();
                // SAFETY: DR1; mapped, and nobody uses it any more (promise 1).
                let code = unsafe { (current.cuMemFreeAsync)(address, stream) };
                let _ = current.check("cuMemFreeAsync", code);
                // The other process may use the memory for something else only after that.
                // SAFETY: DR1; the stream lives as long as the process.
                let code = unsafe { (current.cuStreamSynchronize)(stream) };
                let _ = current.check("cuStreamSynchronize", code);
                self.leave(name);
            }
        }
    }

    fn check_range(&self, block: usize, offset_bytes: usize, len_bytes: usize) -> Result<()> {
        let found = self.current.find(block).filter(|found| found.kind == UsmKind::Device);
        if found.is_some_and(|found| found.ordinal != self.current.device().ordinal) {
            return not_shareable("it is memory of another device than that of the queue");
        }
        match found.and_then(|found| found.block) {
            Some((start, block_bytes))
                if offset_bytes
                    .checked_add(len_bytes)
                    .and_then(|end| end.checked_add(block - start))
                    .is_some_and(|end| end <= block_bytes) =>
            {
                Ok(())
            }
            found => {
                Err(out_of_range(offset_bytes, len_bytes, found.map_or(0, |(_, block_bytes)| block_bytes)))
            }
        }
    }
}

impl Pools {
    /// What others find a block by, and the file for it.
    fn export_block(
        &mut self,
        current: &Current<'_>,
        block: Address,
    ) -> Result<(Form, Vec<Arc<SharedFile>>)> {
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

    fn export(&mut self, current: &Current<'_>, pool: MemoryPool) -> Result<(PoolName, Arc<SharedFile>)> {
        if let Some((name, file)) = &self.own {
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
        let (name, file) = unsafe { files::adopt_with_name(file) }?;
        let file = Arc::new(file);
        self.own = Some((name, Arc::clone(&file)));
        Ok((name, file))
    }
}

impl CudaMapper<'_> {
    /// The pool of another process, with one more use.
    fn import(&mut self, name: PoolName, file: &SharedFile) -> Result<MemoryPool> {
        let Self { current, .. } = *self;
        let pool = match self.pools.imported.entry(name) {
            HashEntry::Occupied(known) => {
                let known = known.into_mut();
                known.count += 1;
                known.pool
            }
            HashEntry::Vacant(new) => {
                let mut pool = MemoryPool::NULL;
                let number = ptr::without_provenance_mut(files::number(file));
                // SAFETY: DR1; the pointer is writable. The driver refuses what is no file of a pool.
                let code = unsafe {
                    (current.cuMemPoolImportFromShareableHandle)(&raw mut pool, number, FILE_DESCRIPTOR, 0)
                };
                current.check("cuMemPoolImportFromShareableHandle", code)?;
                new.insert(Imported { pool, count: 1 }).pool
            }
        };
        for peer in self.peers.iter().filter(|peer| peer.ordinal != current.device().ordinal) {
            if peer.can_access(current.device()) {
                // Without the access copies are slower.
                let _ = peer.access_pool(current, pool, true);
            }
        }
        Ok(pool)
    }

    /// Ends one use of a pool.
    fn leave(&mut self, name: PoolName) {
        let Self { current, .. } = *self;
        let HashEntry::Occupied(mut imported) = self.pools.imported.entry(name) else { return };
        imported.get_mut().count -= 1;
        if imported.get().count == 0 {
            let Imported { pool, .. } = imported.remove();
            // SAFETY: DR1; SM1: imported, and without blocks.
            let code = unsafe { (current.cuMemPoolDestroy)(pool) };
            let _ = current.check("cuMemPoolDestroy", code);
        }
    }
}
