//! Facts of devices that kernels care about: work items, sub-groups, vectors, caches, clocks.

use super::export;
use crate::state::Handle;

export! {
    fn DPCTLDevice_GetMaxWorkItemSizes3d(state, device: Handle) -> *mut usize {
        let device = state.device(device)?;
        let most = state.facts(device)?.max_work_group;
        Some(state.array(&[most, most, 64]))
    }

    fn DPCTLDevice_GetMaxNumSubGroups(state, device: Handle) -> u32 { state.device(device).map(|_| 64) }

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

    fn DPCTLDevice_GetSubGroupIndependentForwardProgress(state, device: Handle) -> bool {
        state.device(device).map(|_| true)
    }

    fn DPCTLDevice_GetMaxReadImageArgs(state, device: Handle) -> u32 { state.device(device).map(|_| 128) }

    fn DPCTLDevice_GetMaxWriteImageArgs(state, device: Handle) -> u32 { state.device(device).map(|_| 64) }

    fn DPCTLDevice_GetImage2dMaxWidth(state, device: Handle) -> usize { state.device(device).map(|_| 8192) }

    fn DPCTLDevice_GetImage2dMaxHeight(state, device: Handle) -> usize { state.device(device).map(|_| 4096) }

    fn DPCTLDevice_GetImage3dMaxWidth(state, device: Handle) -> usize { state.device(device).map(|_| 2048) }

    fn DPCTLDevice_GetImage3dMaxHeight(state, device: Handle) -> usize { state.device(device).map(|_| 1024) }

    fn DPCTLDevice_GetImage3dMaxDepth(state, device: Handle) -> usize { state.device(device).map(|_| 512) }

    fn DPCTLDevice_GetMaxClockFrequency(state, device: Handle) -> u32 { state.device(device).map(|_| 2000) }

    fn DPCTLDevice_GetProfilingTimerResolution(state, device: Handle) -> usize { state.device(device).map(|_| 10) }

    fn DPCTLDevice_GetGlobalMemCacheSize(state, device: Handle) -> u64 { state.device(device).map(|_| 1 << 20) }

    fn DPCTLDevice_GetGlobalMemCacheLineSize(state, device: Handle) -> u32 { state.device(device).map(|_| 64) }

    // Reads and writes.
    fn DPCTLDevice_GetGlobalMemCacheType(state, device: Handle) -> u32 { state.device(device).map(|_| 3) }
}

/// Widths that differ, so that a mix-up shows: 1 to 7 preferred, 11 to 17 native.
macro_rules! widths {
    ($($name:ident = $width:literal,)*) => {
        export! {$(
            fn $name(state, device: Handle) -> u32 { state.device(device).map(|_| $width) }
        )*}
    };
}
widths! {
    DPCTLDevice_GetPreferredVectorWidthChar = 1,
    DPCTLDevice_GetPreferredVectorWidthShort = 2,
    DPCTLDevice_GetPreferredVectorWidthInt = 3,
    DPCTLDevice_GetPreferredVectorWidthLong = 4,
    DPCTLDevice_GetPreferredVectorWidthFloat = 5,
    DPCTLDevice_GetPreferredVectorWidthDouble = 6,
    DPCTLDevice_GetPreferredVectorWidthHalf = 7,
    DPCTLDevice_GetNativeVectorWidthChar = 11,
    DPCTLDevice_GetNativeVectorWidthShort = 12,
    DPCTLDevice_GetNativeVectorWidthInt = 13,
    DPCTLDevice_GetNativeVectorWidthLong = 14,
    DPCTLDevice_GetNativeVectorWidthFloat = 15,
    DPCTLDevice_GetNativeVectorWidthDouble = 16,
    DPCTLDevice_GetNativeVectorWidthHalf = 17,
}
