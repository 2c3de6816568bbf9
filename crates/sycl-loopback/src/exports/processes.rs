//! Device memory of other processes.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::usm::{DEVICE, block_of};
use super::{elements, export};
use crate::arena::{HandleData, OpenedRange};
use crate::state::{Backing, Block, Handle};

export! {
    fn DPCTLIPCMem_Available(_state) -> bool { Some(true) }

    // For each address of a block, which the handle keeps.
    fn DPCTLIPCMem_GetHandle(
        state, usm: Handle, context: Handle, data: *mut *mut c_char, count_bytes: *mut usize,
    ) -> c_int {
        let context = state.context(context)?.identity;
        if usm.is_null() || data.is_null() || count_bytes.is_null() {
            return None;
        }
        let found = block_of(state, usm.addr()).filter(|(_, block)| block.context == context);
        // The real library may give a handle of another block.
        let Some((start, Block { size_bytes, backing: Backing::Arena(range), .. })) = found else {
            state.fault();
            return None;
        };
        let handle = state.arena.as_ref()?.handle(start, size_bytes, usm.addr() - start, range).to_bytes();
        // SAFETY: the header's contract: writable.
        unsafe { count_bytes.write(handle.len()) };
        let bytes = state.bytes(handle);
        // SAFETY: the header's contract: writable.
        unsafe { data.write(bytes) };
        Some(0)
    }

    fn DPCTLIPCMem_OpenHandle(
        state, data: *const c_char, count_bytes: usize, context: Handle, device: Handle,
    ) -> Handle {
        let (context, device) = (state.context(context)?, state.device(device)?);
        state.expect(context.devices.contains(&device))?;
        if data.is_null() || !state.facts(device)?.has_ipc_memory() {
            return None;
        }
        // SAFETY: the header's contract: so many bytes.
        let bytes = unsafe { elements(data.cast::<u8>(), count_bytes) };
        let opened = OpenedRange::new(HandleData::from_bytes(&bytes)?)?;
        if !opened.is_live {
            opened.unmap();
            // The real library may open other memory.
            state.fault();
            return None;
        }
        let block = Block {
            size_bytes: opened.size_bytes,
            backing: Backing::Opened(opened),
            usm_type: DEVICE,
            context: context.identity,
            device,
        };
        state.blocks.insert(opened.start, block);
        Some(ptr::with_exposed_provenance_mut(opened.address))
    }

    fn DPCTLIPCMem_CloseHandle(state, mapped: Handle, context: Handle) {
        let context = state.context(context)?.identity;
        let found = block_of(state, mapped.addr()).filter(|(_, block)| block.context == context);
        let Some((start, Block { backing: Backing::Opened(opened), .. })) = found else {
            state.fault();
            return None;
        };
        state.expect(opened.address == mapped.addr())?;
        state.blocks.remove(&start);
        opened.unmap();
        Some(())
    }

    fn DPCTLIPCMem_FreeHandleData(state, data: *mut c_char) { state.delete_bytes(data) }
}
