//! Functions that dpctl 0.23 added, as far as programs ask whether they are there.

use std::ffi::c_void;

use super::{export, getters, memory};
use crate::devices::INTEL;
use crate::state::Handle;

getters! {
    DPCTLDevice_CanCompileSPIRV -> bool = device: |_| true;
}

export! {
    fn DPCTLDevice_GetVendorId(state, device: Handle) -> u32 {
        let device = state.device(device)?;
        (state.facts(device)?.vendor == INTEL).then_some(0x8086)
    }

    fn DPCTLQueue_MemsetWithEvents(
        state, queue: Handle, usm: *mut c_void, value: u8, count_bytes: usize, events: *const Handle, event_count: usize,
    ) -> Handle {
        let after = memory::times_of(state, events, event_count)?;
        memory::fill(state, queue, usm, value, count_bytes, after)
    }
}
