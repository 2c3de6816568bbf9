//! The list of symbols: C name, signature, and whether a C++ exception may leave the function.
//!
//! `required` are the functions without which devices, memory, queues, events or kernels do not work. `by_form` are the required
//! ones whose signature differs between the [forms](crate::Form) of the interface. `optional` are all others.
//!
//! `"C-unwind"` marks functions whose implementation does not catch C++ exceptions. With the plain `"C"` ABI such an
//! exception would be undefined behaviour; with `"C-unwind"` it ends the process in a defined way when it meets a Rust
//! frame that cannot let it pass. Call them only with arguments that were proved valid beforehand.
//!
//! Ownership, from the annotations of the C headers: a handle that a function returns is a new one and has to be
//! deleted by the caller, a `_Delete` consumes its argument, every other argument is only borrowed for the call.
#![allow(non_snake_case)]

use core::ffi::{c_char, c_int, c_void};

use super::Form;
use crate::types::*;

super::api! {
    required {
        // Unified shared memory: allocation takes a queue, freeing a queue or a context. NULL means failure.
        /// Allocates `size_bytes` of shared USM.
        DPCTLmalloc_shared: "C" fn(size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Allocates `size_bytes` of shared USM at a multiple of `alignment_bytes`.
        DPCTLaligned_alloc_shared: "C" fn(alignment_bytes: usize, size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Allocates `size_bytes` of host USM.
        DPCTLmalloc_host: "C-unwind" fn(size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Allocates `size_bytes` of host USM at a multiple of `alignment_bytes`.
        DPCTLaligned_alloc_host: "C-unwind" fn(alignment_bytes: usize, size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Allocates `size_bytes` of device USM.
        DPCTLmalloc_device: "C" fn(size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Allocates `size_bytes` of device USM at a multiple of `alignment_bytes`.
        DPCTLaligned_alloc_device: "C" fn(alignment_bytes: usize, size_bytes: usize, queue: DPCTLSyclQueueRef) -> DPCTLSyclUSMRef;
        /// Frees a USM allocation of the queue's context. Does not wait for commands that use it.
        DPCTLfree_with_queue: "C-unwind" fn(usm: DPCTLSyclUSMRef, queue: DPCTLSyclQueueRef);
        /// Frees a USM allocation of the context. Does not wait for commands that use it.
        DPCTLfree_with_context: "C-unwind" fn(usm: DPCTLSyclUSMRef, context: DPCTLSyclContextRef);
        /// The kind of the allocation that contains this byte, `UNKNOWN` if there is none.
        DPCTLUSM_GetPointerType: "C-unwind" fn(usm: DPCTLSyclUSMRef, context: DPCTLSyclContextRef) -> DPCTLSyclUSMType;
        /// The device of the allocation that contains this byte. Ends the process for an unknown pointer.
        DPCTLUSM_GetPointerDevice: "C-unwind" fn(usm: DPCTLSyclUSMRef, context: DPCTLSyclContextRef) -> DPCTLSyclDeviceRef;

        // Queue. `properties` are bits of `DPCTLQueuePropertyType`.
        /// Makes a queue on a device of the context.
        DPCTLQueue_Create: "C" fn(context: DPCTLSyclContextRef, device: DPCTLSyclDeviceRef, handler: Option<error_handler_callback>, properties: c_int) -> DPCTLSyclQueueRef;
        /// Makes a queue on a device, in the cached default context of the device.
        DPCTLQueue_CreateForDevice: "C" fn(device: DPCTLSyclDeviceRef, handler: Option<error_handler_callback>, properties: c_int) -> DPCTLSyclQueueRef;
        /// Deletes the handle; the queue itself lives as long as other copies.
        DPCTLQueue_Delete: "C-unwind" fn(queue: DPCTLSyclQueueRef);
        /// Another handle of the same queue.
        DPCTLQueue_Copy: "C" fn(queue: DPCTLSyclQueueRef) -> DPCTLSyclQueueRef;
        /// Whether both handles are the same queue.
        DPCTLQueue_AreEq: "C-unwind" fn(first: DPCTLSyclQueueRef, second: DPCTLSyclQueueRef) -> bool;
        /// The backend of the queue.
        DPCTLQueue_GetBackend: "C" fn(queue: DPCTLSyclQueueRef) -> DPCTLSyclBackendType;
        /// The context of the queue.
        DPCTLQueue_GetContext: "C-unwind" fn(queue: DPCTLSyclQueueRef) -> DPCTLSyclContextRef;
        /// The device of the queue.
        DPCTLQueue_GetDevice: "C" fn(queue: DPCTLSyclQueueRef) -> DPCTLSyclDeviceRef;
        /// Blocks until every submitted command has finished.
        DPCTLQueue_Wait: "C-unwind" fn(queue: DPCTLSyclQueueRef);
        /// Submits a copy of `count_bytes`.
        DPCTLQueue_Memcpy: "C" fn(queue: DPCTLSyclQueueRef, destination: *mut c_void, source: *const c_void, count_bytes: usize) -> DPCTLSyclEventRef;
        /// Submits a copy of `count_bytes` that starts after the events.
        DPCTLQueue_MemcpyWithEvents: "C" fn(queue: DPCTLSyclQueueRef, destination: *mut c_void, source: *const c_void, count_bytes: usize, events: *const DPCTLSyclEventRef, event_count: usize) -> DPCTLSyclEventRef;
        /// Hints that the device will use these bytes of shared USM.
        DPCTLQueue_Prefetch: "C" fn(queue: DPCTLSyclQueueRef, pointer: *const c_void, count_bytes: usize) -> DPCTLSyclEventRef;
        /// Gives a device-specific advice about these bytes of shared USM.
        DPCTLQueue_MemAdvise: "C" fn(queue: DPCTLSyclQueueRef, pointer: *const c_void, count_bytes: usize, advice: c_int) -> DPCTLSyclEventRef;
        /// Whether the queue is in order.
        DPCTLQueue_IsInOrder: "C" fn(queue: DPCTLSyclQueueRef) -> bool;
        /// Whether the queue's events record times.
        DPCTLQueue_HasEnableProfiling: "C" fn(queue: DPCTLSyclQueueRef) -> bool;
        /// Equal for handles of the same queue.
        DPCTLQueue_Hash: "C" fn(queue: DPCTLSyclQueueRef) -> usize;
        /// Submits a barrier after everything submitted so far.
        DPCTLQueue_SubmitBarrier: "C" fn(queue: DPCTLSyclQueueRef) -> DPCTLSyclEventRef;
        /// Submits a barrier after these events.
        DPCTLQueue_SubmitBarrierForEvents: "C" fn(queue: DPCTLSyclQueueRef, events: *const DPCTLSyclEventRef, event_count: usize) -> DPCTLSyclEventRef;
        /// Submits setting `count_bytes` bytes to a value.
        DPCTLQueue_Memset: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u8, count_bytes: usize) -> DPCTLSyclEventRef;
        /// Submits filling `count` elements of 1 byte.
        DPCTLQueue_Fill8: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u8, count: usize) -> DPCTLSyclEventRef;
        /// Submits filling `count` elements of 2 bytes.
        DPCTLQueue_Fill16: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u16, count: usize) -> DPCTLSyclEventRef;
        /// Submits filling `count` elements of 4 bytes.
        DPCTLQueue_Fill32: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u32, count: usize) -> DPCTLSyclEventRef;
        /// Submits filling `count` elements of 8 bytes.
        DPCTLQueue_Fill64: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u64, count: usize) -> DPCTLSyclEventRef;
        /// Submits filling `count` elements of 16 bytes; `value` points to two words that are read during the call.
        DPCTLQueue_Fill128: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: *mut u64, count: usize) -> DPCTLSyclEventRef;

        // Context.
        /// Makes a context of one device. `properties` is 0.
        DPCTLContext_Create: "C" fn(device: DPCTLSyclDeviceRef, handler: Option<error_handler_callback>, properties: c_int) -> DPCTLSyclContextRef;
        /// Makes a context of several devices of one platform. `properties` is 0.
        DPCTLContext_CreateFromDevices: "C" fn(devices: DPCTLDeviceVectorRef, handler: Option<error_handler_callback>, properties: c_int) -> DPCTLSyclContextRef;
        /// Whether both handles are the same context.
        DPCTLContext_AreEq: "C-unwind" fn(first: DPCTLSyclContextRef, second: DPCTLSyclContextRef) -> bool;
        /// Another handle of the same context.
        DPCTLContext_Copy: "C" fn(context: DPCTLSyclContextRef) -> DPCTLSyclContextRef;
        /// The number of devices of the context.
        DPCTLContext_DeviceCount: "C" fn(context: DPCTLSyclContextRef) -> usize;
        /// The devices of the context.
        DPCTLContext_GetDevices: "C" fn(context: DPCTLSyclContextRef) -> DPCTLDeviceVectorRef;
        /// The backend of the context.
        DPCTLContext_GetBackend: "C" fn(context: DPCTLSyclContextRef) -> DPCTLSyclBackendType;
        /// Deletes the handle; the context itself lives as long as other copies.
        DPCTLContext_Delete: "C-unwind" fn(context: DPCTLSyclContextRef);
        /// Equal for handles of the same context.
        DPCTLContext_Hash: "C" fn(context: DPCTLSyclContextRef) -> usize;

        // Event.
        /// Makes an event that is already complete.
        DPCTLEvent_Create: "C" fn() -> DPCTLSyclEventRef;
        /// Blocks until the command has finished; asynchronous errors stay in the queue.
        DPCTLEvent_Wait: "C" fn(event: DPCTLSyclEventRef);
        /// Blocks until the command has finished, then passes asynchronous errors to the queue's handler.
        DPCTLEvent_WaitAndThrow: "C" fn(event: DPCTLSyclEventRef);
        /// Deletes the handle.
        DPCTLEvent_Delete: "C-unwind" fn(event: DPCTLSyclEventRef);
        /// Another handle of the same event.
        DPCTLEvent_Copy: "C" fn(event: DPCTLSyclEventRef) -> DPCTLSyclEventRef;
        /// The backend of the event.
        DPCTLEvent_GetBackend: "C" fn(event: DPCTLSyclEventRef) -> DPCTLSyclBackendType;
        /// How far the command is.
        DPCTLEvent_GetCommandExecutionStatus: "C" fn(event: DPCTLSyclEventRef) -> DPCTLSyclEventStatusType;
        /// Nanoseconds of the device's clock at submission; 0 without profiling.
        DPCTLEvent_GetProfilingInfoSubmit: "C" fn(event: DPCTLSyclEventRef) -> u64;
        /// Nanoseconds of the device's clock at the start; 0 without profiling.
        DPCTLEvent_GetProfilingInfoStart: "C" fn(event: DPCTLSyclEventRef) -> u64;
        /// Nanoseconds of the device's clock at the end; 0 without profiling.
        DPCTLEvent_GetProfilingInfoEnd: "C" fn(event: DPCTLSyclEventRef) -> u64;

        /// The events that the command starts after. Complete ones may be missing.
        DPCTLEvent_GetWaitList: "C" fn(event: DPCTLSyclEventRef) -> DPCTLEventVectorRef;
        /// Deletes the vector and the handles in it.
        DPCTLEventVector_Delete: "C-unwind" fn(vector: DPCTLEventVectorRef);
        /// The number of events.
        DPCTLEventVector_Size: "C" fn(vector: DPCTLEventVectorRef) -> usize;
        /// A new handle of the event at an index; NULL if out of range.
        DPCTLEventVector_GetAt: "C" fn(vector: DPCTLEventVectorRef, index: usize) -> DPCTLSyclEventRef;

        // Device. Strings are deleted with `DPCTLCString_Delete`.
        /// Another handle of the same device.
        DPCTLDevice_Copy: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclDeviceRef;
        /// The runtime's default device.
        DPCTLDevice_Create: "C" fn() -> DPCTLSyclDeviceRef;
        /// The device a selector prefers; NULL if it accepts none.
        DPCTLDevice_CreateFromSelector: "C" fn(selector: DPCTLSyclDeviceSelectorRef) -> DPCTLSyclDeviceRef;
        /// Deletes the handle.
        DPCTLDevice_Delete: "C-unwind" fn(device: DPCTLSyclDeviceRef);
        /// The backend of the device.
        DPCTLDevice_GetBackend: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclBackendType;
        /// The type of the device.
        DPCTLDevice_GetDeviceType: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclDeviceType;
        /// The name of the device.
        DPCTLDevice_GetName: "C" fn(device: DPCTLSyclDeviceRef) -> *const c_char;
        /// The vendor of the device.
        DPCTLDevice_GetVendor: "C" fn(device: DPCTLSyclDeviceRef) -> *const c_char;
        /// The number of compute units.
        DPCTLDevice_GetMaxComputeUnits: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Bytes of local memory.
        DPCTLDevice_GetLocalMemSize: "C" fn(device: DPCTLSyclDeviceRef) -> u64;
        /// Bytes of the largest allocation.
        DPCTLDevice_GetMaxMemAllocSize: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> u64;
        /// The largest number of work items in a work group.
        DPCTLDevice_GetMaxWorkGroupSize: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// Whether the device has an aspect.
        DPCTLDevice_HasAspect: "C" fn(device: DPCTLSyclDeviceRef, aspect: DPCTLSyclAspectType) -> bool;
        /// Whether both handles are the same device.
        DPCTLDevice_AreEq: "C-unwind" fn(first: DPCTLSyclDeviceRef, second: DPCTLSyclDeviceRef) -> bool;
        /// Equal for handles of the same device.
        DPCTLDevice_Hash: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// The platform of the device.
        DPCTLDevice_GetPlatform: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclPlatformRef;
        /// The device a sub-device was made from; NULL for a root device.
        DPCTLDevice_GetParentDevice: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclDeviceRef;
        /// The largest number of sub-devices that one partitioning gives; 0 for a device that cannot be partitioned.
        DPCTLDevice_GetPartitionMaxSubDevices: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Sub-devices of `count` compute units each; NULL if the device cannot be partitioned so.
        DPCTLDevice_CreateSubDevicesEqually: "C-unwind" fn(device: DPCTLSyclDeviceRef, count: usize) -> DPCTLDeviceVectorRef;
        /// A sub-device of that many compute units for each of `len` counts; NULL if the device cannot be partitioned so.
        /// `len` is not 0: the C++ code reads the first count.
        DPCTLDevice_CreateSubDevicesByCounts: "C-unwind" fn(device: DPCTLSyclDeviceRef, counts: *mut usize, len: usize) -> DPCTLDeviceVectorRef;
        /// A sub-device for each part of an affinity domain; NULL if the device cannot be partitioned so.
        DPCTLDevice_CreateSubDevicesByAffinity: "C-unwind" fn(device: DPCTLSyclDeviceRef, domain: DPCTLPartitionAffinityDomainType) -> DPCTLDeviceVectorRef;
        /// Whether the device can use the memory of a peer in a way.
        DPCTLDevice_CanAccessPeer: "C" fn(device: DPCTLSyclDeviceRef, peer: DPCTLSyclDeviceRef, access: DPCTLPeerAccessType) -> bool;
        /// Lets the device reach the memory of a peer. Reports no failure.
        DPCTLDevice_EnablePeerAccess: "C" fn(device: DPCTLSyclDeviceRef, peer: DPCTLSyclDeviceRef);
        /// Reverts `DPCTLDevice_EnablePeerAccess`. Reports no failure.
        DPCTLDevice_DisablePeerAccess: "C" fn(device: DPCTLSyclDeviceRef, peer: DPCTLSyclDeviceRef);

        // Device manager. `device_identifier` is a combination of backend and device type bits.
        /// The root devices that match.
        DPCTLDeviceMgr_GetDevices: "C" fn(device_identifier: c_int) -> DPCTLDeviceVectorRef;
        /// The default context of a root device; NULL for another device.
        DPCTLDeviceMgr_GetCachedContext: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclContextRef;
        /// The number of root devices that match.
        DPCTLDeviceMgr_GetNumDevices: "C" fn(device_identifier: c_int) -> usize;
        /// The position among devices of the same backend and type; -1 if it is not a root device.
        DPCTLDeviceMgr_GetRelativeId: "C" fn(device: DPCTLSyclDeviceRef) -> i64;
        /// The position in the result of `DPCTLDeviceMgr_GetDevices`; -1 for other devices.
        DPCTLDeviceMgr_GetPositionInDevices: "C" fn(device: DPCTLSyclDeviceRef, device_identifier: c_int) -> c_int;

        // Device vector.
        /// Makes an empty vector.
        DPCTLDeviceVector_Create: "C" fn() -> DPCTLDeviceVectorRef;
        /// Makes a vector of copies of the devices.
        DPCTLDeviceVector_CreateFromArray: "C" fn(len: usize, devices: *mut DPCTLSyclDeviceRef) -> DPCTLDeviceVectorRef;
        /// Deletes the vector and the handles in it.
        DPCTLDeviceVector_Delete: "C-unwind" fn(vector: DPCTLDeviceVectorRef);
        /// The number of devices.
        DPCTLDeviceVector_Size: "C" fn(vector: DPCTLDeviceVectorRef) -> usize;
        /// A new handle of the device at an index; NULL if out of range.
        DPCTLDeviceVector_GetAt: "C" fn(vector: DPCTLDeviceVectorRef, index: usize) -> DPCTLSyclDeviceRef;

        // Device selector.
        /// The devices that a `backend:device_type:number` string names, which may be none; NULL for another string.
        DPCTLFilterSelector_Create: "C" fn(filter: *const c_char) -> DPCTLSyclDeviceSelectorRef;
        /// Only CPUs.
        DPCTLCPUSelector_Create: "C" fn() -> DPCTLSyclDeviceSelectorRef;
        /// Only GPUs.
        DPCTLGPUSelector_Create: "C" fn() -> DPCTLSyclDeviceSelectorRef;
        /// Deletes the selector.
        DPCTLDeviceSelector_Delete: "C-unwind" fn(selector: DPCTLSyclDeviceSelectorRef);

        // Platform.
        /// Another handle of the same platform.
        DPCTLPlatform_Copy: "C" fn(platform: DPCTLSyclPlatformRef) -> DPCTLSyclPlatformRef;
        /// Deletes the handle.
        DPCTLPlatform_Delete: "C-unwind" fn(platform: DPCTLSyclPlatformRef);
        /// Whether both handles are the same platform.
        DPCTLPlatform_AreEq: "C-unwind" fn(first: DPCTLSyclPlatformRef, second: DPCTLSyclPlatformRef) -> bool;
        /// Equal for handles of the same platform.
        DPCTLPlatform_Hash: "C" fn(platform: DPCTLSyclPlatformRef) -> usize;
        /// The backend of the platform.
        DPCTLPlatform_GetBackend: "C" fn(platform: DPCTLSyclPlatformRef) -> DPCTLSyclBackendType;
        /// The name of the platform.
        DPCTLPlatform_GetName: "C" fn(platform: DPCTLSyclPlatformRef) -> *const c_char;
        /// The context that holds all root devices of the platform.
        DPCTLPlatform_GetDefaultContext: "C" fn(platform: DPCTLSyclPlatformRef) -> DPCTLSyclContextRef;
        /// The root devices of these types on the platform.
        DPCTLPlatform_GetDevices: "C" fn(platform: DPCTLSyclPlatformRef, device_type: DPCTLSyclDeviceType) -> DPCTLDeviceVectorRef;
        /// Every platform.
        DPCTLPlatform_GetPlatforms: "C" fn() -> DPCTLPlatformVectorRef;
        /// Deletes the vector and the handles in it.
        DPCTLPlatformVector_Delete: "C-unwind" fn(vector: DPCTLPlatformVectorRef);
        /// The number of platforms.
        DPCTLPlatformVector_Size: "C" fn(vector: DPCTLPlatformVectorRef) -> usize;
        /// A new handle of the platform at an index; NULL if out of range.
        DPCTLPlatformVector_GetAt: "C" fn(vector: DPCTLPlatformVectorRef, index: usize) -> DPCTLSyclPlatformRef;

        // Kernels. Strings end with a zero byte; a build or look-up that fails is NULL, with its log lost.
        /// Builds OpenCL C source for a device of the context; on the OpenCL backend only.
        DPCTLKernelBundle_CreateFromOCLSource: "C-unwind" fn(context: DPCTLSyclContextRef, device: DPCTLSyclDeviceRef, source: *const c_char, options: *const c_char) -> DPCTLSyclKernelBundleRef;
        /// The kernel of that name; NULL if there is none.
        DPCTLKernelBundle_GetKernel: "C-unwind" fn(bundle: DPCTLSyclKernelBundleRef, name: *const c_char) -> DPCTLSyclKernelRef;
        /// Whether there is a kernel of that name.
        DPCTLKernelBundle_HasKernel: "C-unwind" fn(bundle: DPCTLSyclKernelBundleRef, name: *const c_char) -> bool;
        /// Deletes the handle.
        DPCTLKernelBundle_Delete: "C-unwind" fn(bundle: DPCTLSyclKernelBundleRef);
        /// Another handle of the same bundle.
        DPCTLKernelBundle_Copy: "C" fn(bundle: DPCTLSyclKernelBundleRef) -> DPCTLSyclKernelBundleRef;
        /// The number of arguments.
        DPCTLKernel_GetNumArgs: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> usize;
        /// Deletes the handle.
        DPCTLKernel_Delete: "C-unwind" fn(kernel: DPCTLSyclKernelRef);
        /// Another handle of the same kernel.
        DPCTLKernel_Copy: "C" fn(kernel: DPCTLSyclKernelRef) -> DPCTLSyclKernelRef;
        /// The largest number of work items in a work group of this kernel.
        DPCTLKernel_GetWorkGroupSize: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> usize;
        /// Submits a kernel over a range of `dimensions` sizes, after the events.
        DPCTLQueue_SubmitRange: "C" fn(kernel: DPCTLSyclKernelRef, queue: DPCTLSyclQueueRef, arguments: *mut *mut c_void, types: *const DPCTLKernelArgType, argument_count: usize, range: *const usize, dimensions: usize, events: *const DPCTLSyclEventRef, event_count: usize) -> DPCTLSyclEventRef;
        /// Submits a kernel over a range in work groups of `local_range`, after the events.
        DPCTLQueue_SubmitNDRange: "C" fn(kernel: DPCTLSyclKernelRef, queue: DPCTLSyclQueueRef, arguments: *mut *mut c_void, types: *const DPCTLKernelArgType, argument_count: usize, global_range: *const usize, local_range: *const usize, dimensions: usize, events: *const DPCTLSyclEventRef, event_count: usize) -> DPCTLSyclEventRef;

        // Utilities and service.
        /// Deletes a string that this interface returned.
        DPCTLCString_Delete: "C-unwind" fn(string: *const c_char);
        /// Deletes an array of sizes that this interface returned.
        DPCTLSize_t_Array_Delete: "C-unwind" fn(array: *mut usize);
    }
    by_form {
        /// Builds a SPIR-V module of `length_bytes` for a device of the context. From 0.23 on it takes specialization constants.
        DPCTLKernelBundle_CreateFromSpirv: CreateFromSpirv {
            V22: "C-unwind" fn(context: DPCTLSyclContextRef, device: DPCTLSyclDeviceRef, il: *const c_void, length_bytes: usize, options: *const c_char) -> DPCTLSyclKernelBundleRef;
            V23: "C-unwind" fn(context: DPCTLSyclContextRef, device: DPCTLSyclDeviceRef, il: *const c_void, length_bytes: usize, options: *const c_char, constant_count: usize, constants: *const DPCTLSpecConst) -> DPCTLSyclKernelBundleRef;
        }
    }
    optional {
        // Facts that only inform. A library without one of them is used all the same, and the fact is unknown.
        /// The version of the device's driver.
        DPCTLDevice_GetDriverVersion: "C" fn(device: DPCTLSyclDeviceRef) -> *const c_char;
        /// Bytes of global memory.
        DPCTLDevice_GetGlobalMemSize: "C" fn(device: DPCTLSyclDeviceRef) -> u64;
        /// The largest number of work items in each of 3 dimensions; deleted with `DPCTLSize_t_Array_Delete`. The
        /// header of 0.22 says keep, and the one of 0.23 says give; in both each call returns a new array.
        DPCTLDevice_GetMaxWorkItemSizes3d: "C" fn(device: DPCTLSyclDeviceRef) -> *mut usize;
        /// The largest number of sub-groups in a work group.
        DPCTLDevice_GetMaxNumSubGroups: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// The sizes of sub-groups that the device supports, and how many there are; deleted as above.
        DPCTLDevice_GetSubGroupSizes: "C" fn(device: DPCTLSyclDeviceRef, len: *mut usize) -> *mut usize;
        /// The highest clock frequency in MHz; 0 when the device does not report it.
        DPCTLDevice_GetMaxClockFrequency: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Nanoseconds of a tick of the clock that profiling uses.
        DPCTLDevice_GetProfilingTimerResolution: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// Bytes of the cache of global memory.
        DPCTLDevice_GetGlobalMemCacheSize: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> u64;
        /// Bytes of a line of the cache of global memory.
        DPCTLDevice_GetGlobalMemCacheLineSize: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Use of the cache of global memory.
        DPCTLDevice_GetGlobalMemCacheType: "C-unwind" fn(device: DPCTLSyclDeviceRef) -> DPCTLGlobalMemCacheType;
        /// Whether sub-groups of a work-group go on independently of each other; not in 0.23.
        DPCTLDevice_GetSubGroupIndependentForwardProgress: "C" fn(device: DPCTLSyclDeviceRef) -> bool;
        /// The largest number of images that a kernel can read.
        DPCTLDevice_GetMaxReadImageArgs: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// The largest number of images that a kernel can write.
        DPCTLDevice_GetMaxWriteImageArgs: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// The largest width of a 2-D image, in pixels.
        DPCTLDevice_GetImage2dMaxWidth: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// The largest height of a 2-D image, in pixels.
        DPCTLDevice_GetImage2dMaxHeight: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// The largest width of a 3-D image, in pixels.
        DPCTLDevice_GetImage3dMaxWidth: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// The largest height of a 3-D image, in pixels.
        DPCTLDevice_GetImage3dMaxHeight: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// The largest depth of a 3-D image, in pixels.
        DPCTLDevice_GetImage3dMaxDepth: "C" fn(device: DPCTLSyclDeviceRef) -> usize;
        /// Elements of a vector of `char` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthChar: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `short` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthShort: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `int` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthInt: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `long` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthLong: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `float` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthFloat: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `double` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthDouble: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `half` that the device prefers; 0 without support.
        DPCTLDevice_GetPreferredVectorWidthHalf: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `char` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthChar: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `short` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthShort: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `int` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthInt: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `long` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthLong: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `float` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthFloat: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `double` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthDouble: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// Elements of a vector of `half` in the instructions of the device; 0 without support.
        DPCTLDevice_GetNativeVectorWidthHalf: "C" fn(device: DPCTLSyclDeviceRef) -> u32;
        /// The runtime's default preference.
        DPCTLDefaultSelector_Create: "C" fn() -> DPCTLSyclDeviceSelectorRef;
        /// How much a selector prefers a device; negative refuses it.
        DPCTLDeviceSelector_Score: "C" fn(selector: DPCTLSyclDeviceSelectorRef, device: DPCTLSyclDeviceRef) -> c_int;
        /// The vendor of the platform.
        DPCTLPlatform_GetVendor: "C" fn(platform: DPCTLSyclPlatformRef) -> *const c_char;
        /// The version of the platform.
        DPCTLPlatform_GetVersion: "C" fn(platform: DPCTLSyclPlatformRef) -> *const c_char;
        /// The preferred divisor of work-group sizes.
        DPCTLKernel_GetPreferredWorkGroupSizeMultiple: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> usize;
        /// Bytes of private memory that a work item uses at least.
        DPCTLKernel_GetPrivateMemSize: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> usize;
        /// The largest number of sub-groups in a work group.
        DPCTLKernel_GetMaxNumSubGroups: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> u32;
        /// The largest number of work items in a sub-group.
        DPCTLKernel_GetMaxSubGroupSize: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> u32;
        /// The number of sub-groups that the source of the kernel requests, 0 without a request.
        DPCTLKernel_GetCompileNumSubGroups: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> u32;
        /// The sub-group size that the source of the kernel requests, 0 without a request.
        DPCTLKernel_GetCompileSubGroupSize: "C-unwind" fn(kernel: DPCTLSyclKernelRef) -> u32;
        /// The version of the DPC++ compiler that built the interface.
        DPCTLService_GetDPCPPVersion: "C" fn() -> *const c_char;

        // Structs as arguments of kernels. Without these functions kernels take numbers and pointers only.
        /// Copies `count_bytes` bytes for an argument of a kernel.
        DPCTLRawKernelArg_Create: "C" fn(bytes: *mut c_void, count_bytes: usize) -> DPCTLSyclRawKernelArgRef;
        /// Deletes the copy. A kernel that was submitted has one of its own.
        DPCTLRawKernelArg_Delete: "C-unwind" fn(argument: DPCTLSyclRawKernelArgRef);
        /// Whether kernels take such arguments in this build of the library.
        DPCTLRawKernelArg_Available: "C-unwind" fn() -> bool;

        // Memory of several processes; newer than dpctl 0.22. Device USM of devices with the aspect `ext_oneapi_ipc_memory`.
        /// Whether this build of the library has the four functions below. Without them they fail.
        DPCTLIPCMem_Available: "C-unwind" fn() -> bool;
        /// What another process opens the memory at an address by: `count_bytes` bytes at `data`, deleted with
        /// `DPCTLIPCMem_FreeHandleData`. 0 is success.
        DPCTLIPCMem_GetHandle: "C" fn(usm: DPCTLSyclUSMRef, context: DPCTLSyclContextRef, data: *mut *mut c_char, count_bytes: *mut usize) -> c_int;
        /// The memory of a handle in this process; NULL means failure. Each call needs one `DPCTLIPCMem_CloseHandle`, and `free` is not
        /// for this memory.
        DPCTLIPCMem_OpenHandle: "C" fn(data: *const c_char, count_bytes: usize, context: DPCTLSyclContextRef, device: DPCTLSyclDeviceRef) -> DPCTLSyclUSMRef;
        /// Closes memory that `DPCTLIPCMem_OpenHandle` opened in this context.
        DPCTLIPCMem_CloseHandle: "C" fn(mapped: DPCTLSyclUSMRef, context: DPCTLSyclContextRef);
        /// Deletes the bytes of a handle.
        DPCTLIPCMem_FreeHandleData: "C-unwind" fn(data: *mut c_char);

        // Not in each supported version.
        /// The composite devices of the platform; not in old libraries.
        DPCTLPlatform_GetCompositeDevices: "C" fn(platform: DPCTLSyclPlatformRef) -> DPCTLDeviceVectorRef;
        /// The composite device that the device is a component of; NULL if it is none. Not in old libraries.
        DPCTLDevice_GetCompositeDevice: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLSyclDeviceRef;
        /// The components of a composite device, none of another one; not in old libraries.
        DPCTLDevice_GetComponentDevices: "C" fn(device: DPCTLSyclDeviceRef) -> DPCTLDeviceVectorRef;
        /// Submits setting `count_bytes` bytes to a value after the events; newer than dpctl 0.22.
        DPCTLQueue_MemsetWithEvents: "C" fn(queue: DPCTLSyclQueueRef, usm: *mut c_void, value: u8, count_bytes: usize, events: *const DPCTLSyclEventRef, event_count: usize) -> DPCTLSyclEventRef;
    }
}
