//! Memory of several processes: pools that others import, and handles of blocks without a pool.

use std::ffi::{c_int, c_uint, c_void};

use super::pool::FILE_DESCRIPTOR;
use super::{export, give, handle};
use crate::codes::Code;
use crate::exported::HandleData;
use crate::os::MemoryFile;
use crate::state::{Handle, Object};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY_ENABLE_PEER_ACCESS: c_uint = 1;

export! {
    fn cuMemPoolExportToShareableHandle(call, state, file: *mut c_int, pool: Handle, kind: c_int, flags: u64) {
        let pool = state.pool_handle(call, pool)?;
        let exported = state.memory.file_of_pool(pool).filter(|_| kind == FILE_DESCRIPTOR && flags == 0);
        let exported = exported.ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        let own = exported.for_program().map_err(|_| Code::OPERATING_SYSTEM.refusal())?;
        // SAFETY: the header's contract: writable. The caller closes the file.
        unsafe { give(file, own) }
    }

    // The same pool again has the same handle.
    fn cuMemPoolImportFromShareableHandle(call, state, pool: *mut Handle, file: *mut c_void, kind: c_int, flags: u64) {
        let device = state.current_device(call)?;
        let number = c_int::try_from(file.addr()).ok().filter(|_| kind == FILE_DESCRIPTOR && flags == 0);
        let number = number.ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        // SAFETY: the header's contract: an open file.
        let file = unsafe { MemoryFile::of_program(number) }.map_err(|_| Code::INVALID_VALUE.refusal())?;
        let known = state.memory.imported_pool(&file);
        let imported = match known {
            Some(known) => known,
            None => {
                let new = state.create(Object::Pool);
                if let Err(refusal) = state.memory.import_pool(new, device, file) {
                    state.remove(new);
                    return Err(refusal);
                }
                new
            }
        };
        // SAFETY: the header's contract: writable.
        unsafe { give(pool, handle(imported)) }
    }

    // Only the first address of a block has data.
    fn cuMemPoolExportPointer(call, state, data: *mut HandleData, address: u64) {
        let start = usize::try_from(address).unwrap_or_default();
        let found = state.memory.handle_data(start, true).ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        // SAFETY: the header's contract: writable.
        unsafe { give(data, found) }
    }

    // A block that is imported twice has one address, and goes with one free.
    fn cuMemPoolImportPointer(call, state, address: *mut u64, pool: Handle, data: *mut HandleData) {
        let pool = state.pool_handle(call, pool)?;
        if data.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: readable.
        let data = unsafe { data.read_unaligned() };
        let start = state.memory.import_block(pool, &data).ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        // SAFETY: the header's contract: writable.
        unsafe { give(address, start as u64) }
    }

    // Each address of a block gives the handle of the block.
    fn cuIpcGetMemHandle(call, state, data: *mut HandleData, address: u64) {
        let found = state.memory.find(usize::try_from(address).unwrap_or_default()).map(|(start, _)| start);
        let found = found.and_then(|start| state.memory.handle_data(start, false));
        // SAFETY: the header's contract: writable.
        unsafe { give(data, found.ok_or_else(|| Code::INVALID_VALUE.refusal())?) }
    }

    fn cuIpcOpenMemHandle_v2(call, state, address: *mut u64, data: HandleData, flags: c_uint) {
        let device = state.current_device(call)?;
        if flags != LAZY_ENABLE_PEER_ACCESS {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let start = state.memory.open_external(device, &data)?;
        // SAFETY: the header's contract: writable.
        unsafe { give(address, start as u64) }
    }

    fn cuIpcCloseMemHandle(call, state, address: u64) {
        let start = usize::try_from(address).unwrap_or_default();
        match state.memory.close_external(start) {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE.fault(format!("{call}: nothing is open at {start:#x}"))),
        }
    }
}
