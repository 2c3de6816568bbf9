//! Facts of devices that kernels care about: work items, sub-groups, vectors, caches, clocks.

use super::{export, getters};
use crate::state::Handle;

export! {
    fn DPCTLDevice_GetMaxWorkItemSizes3d(state, device: Handle) -> *mut usize {
        let device = state.device(device)?;
        let most = state.facts(device)?.max_work_group;
        Some(state.array(&[most, most, 64]))
    }

    fn DPCTLDevice_GetSubGroupSizes(state, device: Handle, len: *mut usize) -> *mut usize {
        let device = state.device(device)?;
        let sizes = state.facts(device)?.sub_group_sizes;
        if len.is_null() {
            return None;
        }
        // SAFETY: the header's contract: `len` points to a number that the call may write.
        unsafe { len.write(sizes.len()) };
        Some(state.array(sizes))
    }
}

getters! {
    DPCTLDevice_GetMaxNumSubGroups -> u32 = device: |_| 64;
    DPCTLDevice_GetMaxReadImageArgs -> u32 = device: |_| 128;
    DPCTLDevice_GetMaxWriteImageArgs -> u32 = device: |_| 64;
    DPCTLDevice_GetImage2dMaxWidth -> usize = device: |_| 8192;
    DPCTLDevice_GetImage2dMaxHeight -> usize = device: |_| 4096;
    DPCTLDevice_GetImage3dMaxWidth -> usize = device: |_| 2048;
    DPCTLDevice_GetImage3dMaxHeight -> usize = device: |_| 1024;
    DPCTLDevice_GetImage3dMaxDepth -> usize = device: |_| 512;
    DPCTLDevice_GetMaxClockFrequency -> u32 = device: |_| 2000;
    DPCTLDevice_GetProfilingTimerResolution -> usize = device: |_| 10;
    DPCTLDevice_GetGlobalMemCacheSize -> u64 = device: |_| 1 << 20;
    DPCTLDevice_GetGlobalMemCacheLineSize -> u32 = device: |_| 64;
    // Reads and writes.
    DPCTLDevice_GetGlobalMemCacheType -> u32 = device: |_| 3;
    // Widths that differ, so that a mix-up shows: 1 to 7 preferred, 11 to 17 native.
    DPCTLDevice_GetPreferredVectorWidthChar -> u32 = device: |_| 1;
    DPCTLDevice_GetPreferredVectorWidthShort -> u32 = device: |_| 2;
    DPCTLDevice_GetPreferredVectorWidthInt -> u32 = device: |_| 3;
    DPCTLDevice_GetPreferredVectorWidthLong -> u32 = device: |_| 4;
    DPCTLDevice_GetPreferredVectorWidthFloat -> u32 = device: |_| 5;
    DPCTLDevice_GetPreferredVectorWidthDouble -> u32 = device: |_| 6;
    DPCTLDevice_GetPreferredVectorWidthHalf -> u32 = device: |_| 7;
    DPCTLDevice_GetNativeVectorWidthChar -> u32 = device: |_| 11;
    DPCTLDevice_GetNativeVectorWidthShort -> u32 = device: |_| 12;
    DPCTLDevice_GetNativeVectorWidthInt -> u32 = device: |_| 13;
    DPCTLDevice_GetNativeVectorWidthLong -> u32 = device: |_| 14;
    DPCTLDevice_GetNativeVectorWidthFloat -> u32 = device: |_| 15;
    DPCTLDevice_GetNativeVectorWidthDouble -> u32 = device: |_| 16;
    DPCTLDevice_GetNativeVectorWidthHalf -> u32 = device: |_| 17;
}

#[cfg(not(dpctl_023))]
getters! {
    DPCTLDevice_GetSubGroupIndependentForwardProgress -> bool = device: |_| true;
}
