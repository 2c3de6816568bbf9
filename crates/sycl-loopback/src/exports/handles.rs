//! What all kinds of handles have: they are copied, deleted and compared, and vectors are counted.

use super::{export, getters};
use crate::devices::OPENCL;
use crate::state::{Handle, Kind};

macro_rules! deleted {
    ($($name:ident = $kind:ident;)*) => {
        export! {$(fn $name(state, handle: Handle) { state.delete(handle, Kind::$kind) })*}
    };
}
deleted! {
    DPCTLContext_Delete = Context;
    DPCTLDevice_Delete = Device;
    DPCTLDeviceVector_Delete = DeviceVector;
    DPCTLEvent_Delete = Event;
    DPCTLEventVector_Delete = EventVector;
    DPCTLKernelBundle_Delete = Bundle;
    DPCTLKernel_Delete = Kernel;
    DPCTLPlatform_Delete = Platform;
    DPCTLPlatformVector_Delete = PlatformVector;
    DPCTLQueue_Delete = Queue;
    DPCTLRawKernelArg_Delete = RawArgument;
    DPCTLDeviceSelector_Delete = Selector;
}

macro_rules! copied {
    ($($name:ident = $kind:ident;)*) => {
        export! {$(fn $name(state, handle: Handle) -> Handle { state.copy(handle, Kind::$kind) })*}
    };
}
copied! {
    DPCTLContext_Copy = Context;
    DPCTLDevice_Copy = Device;
    DPCTLEvent_Copy = Event;
    DPCTLKernelBundle_Copy = Bundle;
    DPCTLKernel_Copy = Kernel;
    DPCTLPlatform_Copy = Platform;
    DPCTLQueue_Copy = Queue;
}

/// Objects are equal if the same number tells them apart.
macro_rules! compared {
    ($($name:ident = $getter:ident: $number:expr;)*) => {
        export! {$(
            fn $name(state, first: Handle, second: Handle) -> bool {
                Some(state.$getter(first).map($number)? == state.$getter(second).map($number)?)
            }
        )*}
    };
}
compared! {
    DPCTLContext_AreEq = context: |object| object.identity;
    DPCTLDevice_AreEq = device: |number| number;
    DPCTLPlatform_AreEq = platform: |number| number;
    DPCTLQueue_AreEq = queue: |object| object.identity;
}

getters! {
    DPCTLContext_Hash -> usize = context: |object| object.identity;
    DPCTLDevice_Hash -> usize = device: |object| object + 1;
    DPCTLPlatform_Hash -> usize = platform: |object| object + 1;
    DPCTLQueue_Hash -> usize = queue: |object| object.identity;
    DPCTLDeviceVector_Size -> usize = device_vector: |vector| vector.len();
    DPCTLEventVector_Size -> usize = event_vector: |vector| vector.len();
    DPCTLPlatformVector_Size -> usize = platform_vector: |vector| vector.len();
    DPCTLContext_GetBackend -> u32 = context: |_| OPENCL;
    DPCTLDevice_GetBackend -> u32 = device: |_| OPENCL;
    DPCTLEvent_GetBackend -> u32 = event: |_| OPENCL;
    DPCTLPlatform_GetBackend -> u32 = platform: |_| OPENCL;
    DPCTLQueue_GetBackend -> u32 = queue: |_| OPENCL;
}
