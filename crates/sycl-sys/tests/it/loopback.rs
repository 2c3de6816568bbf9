//! The table against the loopback library: each group of functions, without leaks and without faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use sycl_loopback::{Form, Kind, Loopback};
use sycl_sys::{
    Api, DPCTLKernelArgType, DPCTLQueuePropertyType, DPCTLSyclAspectType, DPCTLSyclBackendType,
    DPCTLSyclDeviceType, DPCTLSyclEventRef, DPCTLSyclEventStatusType, DPCTLSyclKernelRef, DPCTLSyclQueueRef,
    DPCTLSyclUSMType, MDLocalAccessor, error_handler_callback,
};

/// A copy of the loopback library in each form, with its table. A failure is that of the form printed last.
fn loopbacks() -> impl Iterator<Item = (Loopback, Api)> {
    Form::ALL.into_iter().map(|form| {
        println!("{form:?}");
        let loopback = Loopback::in_form(form).unwrap();
        // SAFETY: 1., 2. it is the loopback library; 3. there is no SYCL runtime in this process.
        let api = unsafe { Api::load_from(loopback.path()) }.unwrap();
        (loopback, api)
    })
}

fn queue(api: &Api, handler: Option<error_handler_callback>, properties: c_int) -> DPCTLSyclQueueRef {
    let device = call!(api, DPCTLDevice_Create);
    let queue = call!(api, DPCTLQueue_CreateForDevice, device, handler, properties);
    call!(api, DPCTLDevice_Delete, device);
    queue
}

fn text(api: &Api, string: *const std::ffi::c_char) -> String {
    // SAFETY: the library returned a zero-terminated string.
    let text = unsafe { CStr::from_ptr(string) }.to_str().unwrap().to_owned();
    call!(api, DPCTLCString_Delete, string);
    text
}

fn assert_clean(loopback: &Loopback) {
    assert_eq!(loopback.leaks(), []);
    assert_eq!(loopback.faults(), 0);
}

#[test]
fn the_path_is_the_file() {
    for (loopback, api) in loopbacks() {
        assert_eq!(api.path(), loopback.path());
    }
}

#[test]
fn the_table_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Api>();
}

#[test]
fn events_list_what_they_started_after() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, DPCTLQueuePropertyType::ENABLE_PROFILING.0);
        let before =
            [call!(api, DPCTLQueue_SubmitBarrier, queue), call!(api, DPCTLQueue_SubmitBarrier, queue)];
        let after = call!(api, DPCTLQueue_SubmitBarrierForEvents, queue, before.as_ptr(), 2);
        let list = call!(api, DPCTLEvent_GetWaitList, after);
        assert_eq!(call!(api, DPCTLEventVector_Size, list), 2);
        for (index, &event) in before.iter().enumerate() {
            let listed = call!(api, DPCTLEventVector_GetAt, list, index);
            let ends = [event, listed].map(|event| call!(api, DPCTLEvent_GetProfilingInfoEnd, event));
            assert_eq!(ends[0], ends[1]);
            call!(api, DPCTLEvent_Delete, listed);
            call!(api, DPCTLEvent_Delete, event);
        }
        assert!(call!(api, DPCTLEventVector_GetAt, list, 2).is_null());
        call!(api, DPCTLEventVector_Delete, list);
        call!(api, DPCTLEvent_Delete, after);
        call!(api, DPCTLQueue_Delete, queue);
        assert_clean(&loopback);
    }
}

#[test]
fn devices_platforms_and_selectors_answer() {
    for (loopback, api) in loopbacks() {
        let all = (DPCTLSyclBackendType::ALL.0 | DPCTLSyclDeviceType::ALL.0).cast_signed();
        assert_eq!(call!(api, DPCTLDeviceMgr_GetNumDevices, all), 2);
        let devices = call!(api, DPCTLDeviceMgr_GetDevices, all);
        assert_eq!(call!(api, DPCTLDeviceVector_Size, devices), 2);
        let cpu = call!(api, DPCTLDeviceVector_GetAt, devices, 0);
        let gpu = call!(api, DPCTLDeviceVector_GetAt, devices, 1);
        assert!(call!(api, DPCTLDeviceVector_GetAt, devices, 2).is_null());
        call!(api, DPCTLDeviceVector_Delete, devices);

        assert_eq!(text(&api, call!(api, DPCTLDevice_GetName, cpu)), "Loopback CPU");
        assert_eq!(text(&api, call!(api, DPCTLDevice_GetName, gpu)), "Loopback GPU");
        assert_eq!(call!(api, DPCTLDevice_GetBackend, cpu), DPCTLSyclBackendType::OPENCL);
        assert_eq!(call!(api, DPCTLDevice_GetDeviceType, gpu), DPCTLSyclDeviceType::GPU);
        assert!(call!(api, DPCTLDevice_HasAspect, cpu, DPCTLSyclAspectType::FP64));
        assert!(!call!(api, DPCTLDevice_HasAspect, gpu, DPCTLSyclAspectType::FP64));
        assert!(call!(api, DPCTLDevice_HasAspect, gpu, DPCTLSyclAspectType::USM_DEVICE_ALLOCATIONS));
        assert!(!call!(api, DPCTLDevice_AreEq, cpu, gpu));
        assert_eq!(call!(api, DPCTLDeviceMgr_GetPositionInDevices, gpu, all), 1);
        assert_eq!(call!(api, DPCTLDeviceMgr_GetRelativeId, gpu), 0);
        assert!(call!(api, DPCTLDevice_GetParentDevice, cpu).is_null());

        let platform = call!(api, DPCTLDevice_GetPlatform, cpu);
        assert_eq!(text(&api, call!(api, DPCTLPlatform_GetName, platform)), "Loopback CPU platform");
        call!(api, DPCTLPlatform_Delete, platform);
        let platforms = call!(api, DPCTLPlatform_GetPlatforms);
        assert_eq!(call!(api, DPCTLPlatformVector_Size, platforms), 2);
        call!(api, DPCTLPlatformVector_Delete, platforms);

        for (filter, expected) in
            [(c"cpu", Some(cpu)), (c"opencl:gpu:0", Some(gpu)), (c"1", Some(gpu)), (c"level_zero", None)]
        {
            let selector = call!(api, DPCTLFilterSelector_Create, filter.as_ptr());
            let device = call!(api, DPCTLDevice_CreateFromSelector, selector);
            match expected {
                Some(expected) => assert!(call!(api, DPCTLDevice_AreEq, device, expected), "{filter:?}"),
                None => assert!(device.is_null(), "{filter:?}"),
            }
            call!(api, DPCTLDevice_Delete, device);
            call!(api, DPCTLDeviceSelector_Delete, selector);
        }
        assert!(call!(api, DPCTLFilterSelector_Create, c"nonsense".as_ptr()).is_null());
        call!(api, DPCTLDevice_Delete, cpu);
        call!(api, DPCTLDevice_Delete, gpu);
        assert_clean(&loopback);
    }
}

#[test]
fn memory_is_allocated_filled_copied_and_freed() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, DPCTLQueuePropertyType::ENABLE_PROFILING.0);
        let context = call!(api, DPCTLQueue_GetContext, queue);
        let device = call!(api, DPCTLaligned_alloc_device, 4096, 64, queue);
        let shared = call!(api, DPCTLmalloc_shared, 64, queue);
        assert_eq!(device.addr() % 4096, 0);
        assert_eq!(loopback.live(Kind::Allocation), 2);

        let mut value = [0x0102_0304_0506_0708_u64, 0x1112_1314_1516_1718];
        let filled = call!(api, DPCTLQueue_Fill128, queue, device.cast(), value.as_mut_ptr(), 4);
        let copied =
            call!(api, DPCTLQueue_MemcpyWithEvents, queue, shared.cast(), device.cast(), 64, &filled, 1);
        call!(api, DPCTLEvent_WaitAndThrow, copied);
        // SAFETY: shared memory of 64 bytes, written by the copy above, aligned to 64.
        let words = unsafe { std::slice::from_raw_parts(shared.cast::<u64>(), 8) };
        assert_eq!(words, value.repeat(4));
        assert_eq!(
            call!(api, DPCTLEvent_GetCommandExecutionStatus, copied),
            DPCTLSyclEventStatusType::COMPLETE
        );
        let [start, end] = [
            call!(api, DPCTLEvent_GetProfilingInfoStart, copied),
            call!(api, DPCTLEvent_GetProfilingInfoEnd, copied),
        ];
        assert!(0 < start && start < end);
        for event in [filled, copied] {
            call!(api, DPCTLEvent_Delete, event);
        }

        let kind = |pointer| call!(api, DPCTLUSM_GetPointerType, pointer, context);
        assert_eq!(kind(device), DPCTLSyclUSMType::DEVICE);
        assert_eq!(kind(shared), DPCTLSyclUSMType::SHARED);
        assert_eq!(kind(shared.wrapping_byte_add(63)), DPCTLSyclUSMType::SHARED);
        assert_eq!(kind(shared.wrapping_byte_add(64)), DPCTLSyclUSMType::UNKNOWN);
        assert_eq!(kind(shared.wrapping_byte_sub(1)), DPCTLSyclUSMType::UNKNOWN);

        call!(api, DPCTLfree_with_queue, device, queue);
        call!(api, DPCTLfree_with_context, shared, context);
        assert_eq!(kind(shared), DPCTLSyclUSMType::UNKNOWN);
        call!(api, DPCTLContext_Delete, context);
        call!(api, DPCTLQueue_Delete, queue);
        assert_clean(&loopback);
    }
}

#[test]
fn fills_of_every_width_write_their_pattern() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, 0);
        let host = call!(api, DPCTLmalloc_host, 16, queue);
        let bytes = || {
            // SAFETY: host memory of 16 bytes, fully written by the fills.
            unsafe { std::slice::from_raw_parts(host.cast::<u8>(), 16) }.to_vec()
        };
        let run = |event| call!(api, DPCTLEvent_Delete, event);
        run(call!(api, DPCTLQueue_Memset, queue, host.cast(), 7, 16));
        assert_eq!(bytes(), [7; 16]);
        run(call!(api, DPCTLQueue_Fill8, queue, host.cast(), 8, 16));
        assert_eq!(bytes(), [8; 16]);
        run(call!(api, DPCTLQueue_Fill16, queue, host.cast(), 0x0102, 8));
        assert_eq!(bytes(), 0x0102_u16.to_ne_bytes().repeat(8));
        run(call!(api, DPCTLQueue_Fill32, queue, host.cast(), 0x0102_0304, 4));
        assert_eq!(bytes(), 0x0102_0304_u32.to_ne_bytes().repeat(4));
        run(call!(api, DPCTLQueue_Fill64, queue, host.cast(), 0x0102_0304_0506_0708, 2));
        assert_eq!(bytes(), 0x0102_0304_0506_0708_u64.to_ne_bytes().repeat(2));
        call!(api, DPCTLfree_with_queue, host, queue);
        call!(api, DPCTLQueue_Delete, queue);
        assert_clean(&loopback);
    }
}

#[test]
fn contexts_and_queues_compare_by_what_they_are() {
    for (loopback, api) in loopbacks() {
        let device = call!(api, DPCTLDevice_Create);
        let first = call!(api, DPCTLContext_Create, device, None, 0);
        let second = call!(api, DPCTLContext_Create, device, None, 0);
        let copy = call!(api, DPCTLContext_Copy, first);
        assert!(call!(api, DPCTLContext_AreEq, first, copy));
        assert!(!call!(api, DPCTLContext_AreEq, first, second));
        assert_eq!(call!(api, DPCTLContext_Hash, first), call!(api, DPCTLContext_Hash, copy));
        assert_eq!(call!(api, DPCTLContext_DeviceCount, first), 1);

        let in_order = DPCTLQueuePropertyType::IN_ORDER.0;
        let queue = call!(api, DPCTLQueue_Create, first, device, None, in_order);
        assert!(call!(api, DPCTLQueue_IsInOrder, queue));
        assert!(!call!(api, DPCTLQueue_HasEnableProfiling, queue));
        let of_queue = call!(api, DPCTLQueue_GetContext, queue);
        assert!(call!(api, DPCTLContext_AreEq, first, of_queue));

        // Memory belongs to its context only.
        let memory = call!(api, DPCTLmalloc_device, 8, queue);
        assert_eq!(call!(api, DPCTLUSM_GetPointerType, memory, first), DPCTLSyclUSMType::DEVICE);
        assert_eq!(call!(api, DPCTLUSM_GetPointerType, memory, second), DPCTLSyclUSMType::UNKNOWN);
        call!(api, DPCTLfree_with_context, memory, first);
        for context in [first, second, copy, of_queue] {
            call!(api, DPCTLContext_Delete, context);
        }
        call!(api, DPCTLQueue_Delete, queue);
        call!(api, DPCTLDevice_Delete, device);
        assert_clean(&loopback);
    }
}

#[test]
fn leaks_double_deletes_and_overruns_are_seen() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, 0);
        assert_eq!(loopback.leaks(), [(Kind::Queue, 1)]);
        let memory = call!(api, DPCTLmalloc_shared, 16, queue);
        let over = call!(api, DPCTLQueue_Memset, queue, memory.cast(), 0, 17);
        assert!(over.is_null());
        assert_eq!(loopback.faults(), 1);
        call!(api, DPCTLfree_with_queue, memory.wrapping_byte_add(8), queue);
        assert_eq!(loopback.faults(), 2);
        call!(api, DPCTLfree_with_queue, memory, queue);
        call!(api, DPCTLfree_with_queue, memory, queue);
        assert_eq!(loopback.faults(), 3);
        call!(api, DPCTLQueue_Delete, queue);
        call!(api, DPCTLQueue_Delete, queue);
        assert_eq!(loopback.faults(), 4);
        assert!(call!(api, DPCTLQueue_Copy, queue).is_null());
        assert_eq!(loopback.faults(), 5);
        // A handle of another type.
        let device = call!(api, DPCTLDevice_Create);
        call!(api, DPCTLQueue_Delete, device.cast());
        assert_eq!(loopback.faults(), 6);
        call!(api, DPCTLDevice_Delete, device);
        // NULL is no fault.
        call!(api, DPCTLQueue_Delete, ptr::null_mut());
        assert_eq!(loopback.faults(), 6);
        assert_eq!(loopback.leaks(), []);
    }
}

#[test]
fn the_call_that_was_asked_to_fail_fails() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, 0);
        loopback.fail_next("DPCTLmalloc_shared", 2).unwrap();
        let first = call!(api, DPCTLmalloc_shared, 8, queue);
        let second = call!(api, DPCTLmalloc_shared, 8, queue);
        let third = call!(api, DPCTLmalloc_shared, 8, queue);
        assert!(!first.is_null() && second.is_null() && !third.is_null());
        loopback.fail_next("DPCTLQueue_Memcpy", 1).unwrap();
        assert!(call!(api, DPCTLQueue_Memcpy, queue, first.cast(), third.cast(), 8).is_null());
        loopback.fail_next("DPCTLQueue_Copy", 1).unwrap();
        assert!(call!(api, DPCTLQueue_Copy, queue).is_null());
        // Larger than the device allows, and empty.
        assert!(call!(api, DPCTLmalloc_device, 1 << 40, queue).is_null());
        assert!(call!(api, DPCTLmalloc_device, 0, queue).is_null());
        for memory in [first, third] {
            call!(api, DPCTLfree_with_queue, memory, queue);
        }
        call!(api, DPCTLQueue_Delete, queue);
        assert_clean(&loopback);
    }
}

#[test]
fn an_asynchronous_error_reaches_the_handler_at_the_next_wait() {
    static CODE: AtomicI32 = AtomicI32::new(0);
    unsafe extern "C" fn handler(code: c_int) {
        CODE.store(code, Ordering::SeqCst);
    }
    for (loopback, api) in loopbacks() {
        assert!(!loopback.raise_async(-5));
        let queue = queue(&api, Some(handler), 0);
        assert!(loopback.raise_async(-5));
        let event = call!(api, DPCTLQueue_SubmitBarrier, queue);
        call!(api, DPCTLEvent_Wait, event);
        assert_eq!(CODE.load(Ordering::SeqCst), 0, "a plain wait swallows errors");
        call!(api, DPCTLEvent_WaitAndThrow, event);
        assert_eq!(CODE.swap(0, Ordering::SeqCst), -5);
        call!(api, DPCTLQueue_Wait, queue);
        assert_eq!(CODE.load(Ordering::SeqCst), 0, "an error is delivered once");
        call!(api, DPCTLEvent_Delete, event);
        call!(api, DPCTLQueue_Delete, queue);
        assert_clean(&loopback);
    }
}

/// Submits over 16 work items, in work groups of `local` where it is not 0; NULL if the library refuses.
fn submit(
    api: &Api,
    kernel: DPCTLSyclKernelRef,
    queue: DPCTLSyclQueueRef,
    arguments: &mut [*mut c_void],
    types: &[DPCTLKernelArgType],
    local: usize,
) -> DPCTLSyclEventRef {
    let (count, global) = (arguments.len(), 16);
    let (arguments, types, events) = (arguments.as_mut_ptr(), types.as_ptr(), ptr::null());
    if local == 0 {
        call!(api, DPCTLQueue_SubmitRange, kernel, queue, arguments, types, count, &global, 1, events, 0)
    } else {
        call!(
            api,
            DPCTLQueue_SubmitNDRange,
            kernel,
            queue,
            arguments,
            types,
            count,
            &global,
            &local,
            1,
            events,
            0
        )
    }
}

#[test]
fn kernels_are_built_found_described_run_and_counted() {
    for (loopback, api) in loopbacks() {
        let queue = queue(&api, None, 0);
        let context = call!(api, DPCTLQueue_GetContext, queue);
        let device = call!(api, DPCTLQueue_GetDevice, queue);
        let build = |source: &CStr| {
            call!(api, DPCTLKernelBundle_CreateFromOCLSource, context, device, source.as_ptr(), c"".as_ptr())
        };
        assert!(build(c"#error no").is_null());
        let bundle = build(c"kernel void sum_u32(int x) {} kernel void unknown(int x) {}");
        assert!(call!(api, DPCTLKernelBundle_HasKernel, bundle, c"sum_u32".as_ptr()));
        for name in [c"unknown", c"fill_u32"] {
            assert!(!call!(api, DPCTLKernelBundle_HasKernel, bundle, name.as_ptr()), "{name:?}");
            assert!(call!(api, DPCTLKernelBundle_GetKernel, bundle, name.as_ptr()).is_null(), "{name:?}");
        }
        let copied_bundle = call!(api, DPCTLKernelBundle_Copy, bundle);
        let kernel = call!(api, DPCTLKernelBundle_GetKernel, copied_bundle, c"sum_u32".as_ptr());
        let copied_kernel = call!(api, DPCTLKernel_Copy, kernel);
        assert_eq!((loopback.live(Kind::Bundle), loopback.live(Kind::Kernel)), (2, 2));

        assert_eq!(call!(api, DPCTLKernel_GetNumArgs, kernel), 3);
        let max = call!(api, DPCTLKernel_GetWorkGroupSize, kernel);
        assert_eq!(max, call!(api, DPCTLDevice_GetMaxWorkGroupSize, device));
        let sub_group = told!(api, DPCTLKernel_GetMaxSubGroupSize, kernel);
        assert_eq!(
            told!(api, DPCTLKernel_GetMaxNumSubGroups, kernel) * sub_group,
            u32::try_from(max).unwrap()
        );
        assert_eq!(told!(api, DPCTLKernel_GetPreferredWorkGroupSizeMultiple, kernel), 16);
        assert_eq!(told!(api, DPCTLKernel_GetPrivateMemSize, kernel), 8);
        assert_eq!(told!(api, DPCTLKernel_GetCompileNumSubGroups, kernel), 0);
        assert_eq!(told!(api, DPCTLKernel_GetCompileSubGroupSize, kernel), 0);

        let [from, to] = [64, 16].map(|len| call!(api, DPCTLmalloc_shared, len, queue));
        let filled = call!(api, DPCTLQueue_Fill32, queue, from.cast(), 5, 16);
        call!(api, DPCTLEvent_Delete, filled);
        let mut scratch = MDLocalAccessor {
            ndim: 2,
            dpctl_type_id: DPCTLKernelArgType::UINT16_T,
            dim0: 4,
            dim1: 2,
            dim2: 0,
        };
        let mut arguments = [to.cast(), from.cast(), (&raw mut scratch).cast::<c_void>()];
        let types =
            [DPCTLKernelArgType::VOID_PTR, DPCTLKernelArgType::VOID_PTR, DPCTLKernelArgType::LOCAL_ACCESSOR];
        let event = submit(&api, copied_kernel, queue, &mut arguments, &types, 4);
        assert!(!event.is_null());
        call!(api, DPCTLEvent_Delete, event);
        // SAFETY: shared memory of four words, aligned to 64, written by the kernel.
        assert_eq!(unsafe { std::slice::from_raw_parts(to.cast::<u32>(), 4) }, [20; 4]);
        // Not enough local memory, and a kernel that needs work groups: refused without a fault, as real devices do.
        let mut small = MDLocalAccessor { dim0: 3, ..scratch };
        arguments[2] = (&raw mut small).cast();
        assert!(submit(&api, kernel, queue, &mut arguments, &types, 4).is_null());
        assert!(submit(&api, kernel, queue, &mut arguments, &types, 0).is_null());
        assert_eq!(loopback.faults(), 0);
        arguments[2] = (&raw mut scratch).cast();
        // Errors that a caller can check beforehand, and freed memory, are faults.
        assert!(submit(&api, kernel, queue, &mut arguments[..2], &types[..2], 4).is_null());
        assert!(submit(&api, kernel, queue, &mut arguments, &types, 5).is_null());
        assert_eq!(loopback.faults(), 2);
        call!(api, DPCTLfree_with_queue, from, queue);
        assert!(submit(&api, kernel, queue, &mut arguments, &types, 4).is_null());
        assert_eq!(loopback.faults(), 3);

        call!(api, DPCTLfree_with_queue, to, queue);
        for kernel in [kernel, copied_kernel] {
            call!(api, DPCTLKernel_Delete, kernel);
        }
        for bundle in [bundle, copied_bundle] {
            call!(api, DPCTLKernelBundle_Delete, bundle);
        }
        assert_eq!(call!(api, DPCTLKernel_GetNumArgs, kernel), usize::MAX, "a deleted kernel");
        assert_eq!(loopback.faults(), 4);
        call!(api, DPCTLDevice_Delete, device);
        call!(api, DPCTLContext_Delete, context);
        call!(api, DPCTLQueue_Delete, queue);
        assert_eq!(loopback.leaks(), []);
    }
}

/// What is written through one address of memory is read through the other one.
fn is_one_memory(api: &Api, queue: DPCTLSyclQueueRef, [first, second]: [*mut c_void; 2]) -> bool {
    let mut byte = 0_u8;
    let events = [
        call!(api, DPCTLQueue_Memset, queue, first, 7, 1),
        call!(api, DPCTLQueue_Memcpy, queue, (&raw mut byte).cast(), second, 1),
    ];
    for event in events {
        call!(api, DPCTLEvent_Delete, event);
    }
    byte == 7
}

#[test]
#[cfg_attr(windows, ignore = "processes share no memory there")]
fn device_memory_is_opened_by_its_handle() {
    let loopback = Loopback::in_form(Form::Dpctl023).unwrap();
    // SAFETY: 1., 2. it is the loopback library; 3. there is no SYCL runtime in this process.
    let api = unsafe { Api::load_from(loopback.path()) }.unwrap();
    assert!(told!(api, DPCTLIPCMem_Available));
    let queue = queue(&api, None, 0);
    let device = call!(api, DPCTLQueue_GetDevice, queue);
    let context = call!(api, DPCTLQueue_GetContext, queue);
    let block: *mut c_void = call!(api, DPCTLmalloc_device, 10_000, queue).cast();

    let handle_of = |start: *mut c_void| {
        let (mut data, mut count) = (ptr::null_mut(), 0);
        let code = told!(api, DPCTLIPCMem_GetHandle, start.cast(), context, &raw mut data, &raw mut count);
        (code == 0).then_some((data, count))
    };
    let inside = block.wrapping_byte_add(5000);
    for start in [block, inside] {
        let (data, count) = handle_of(start).unwrap();
        assert_eq!(loopback.live(Kind::HandleData), 1);
        // Each opening is closed once.
        let opened = [(); 2].map(|()| told!(api, DPCTLIPCMem_OpenHandle, data, count, context, device));
        for opened in opened {
            assert_eq!(call!(api, DPCTLUSM_GetPointerType, opened, context), DPCTLSyclUSMType::DEVICE);
            assert!(is_one_memory(&api, queue, [start, opened.cast()]));
            told!(api, DPCTLIPCMem_CloseHandle, opened, context);
            assert_eq!(call!(api, DPCTLUSM_GetPointerType, opened, context), DPCTLSyclUSMType::UNKNOWN);
        }
        // Another length is an error, and no misuse.
        assert!(told!(api, DPCTLIPCMem_OpenHandle, data, count - 1, context, device).is_null());
        told!(api, DPCTLIPCMem_FreeHandleData, data);
    }
    assert_eq!(loopback.faults(), 0);

    let (data, count) = handle_of(block).unwrap();
    let opened = told!(api, DPCTLIPCMem_OpenHandle, data, count, context, device);
    // What another one opened is closed, not freed; at its own address.
    call!(api, DPCTLfree_with_context, opened, context);
    told!(api, DPCTLIPCMem_CloseHandle, opened.wrapping_byte_add(1), context);
    told!(api, DPCTLIPCMem_CloseHandle, block.cast(), context);
    assert_eq!(loopback.faults(), 3);
    // Memory of others, of another kind, and of nobody has no handle.
    let shared = call!(api, DPCTLmalloc_shared, 8, queue);
    for wrong in [opened.cast(), shared.cast(), block.wrapping_byte_add(1 << 20)] {
        assert_eq!(handle_of(wrong), None);
    }
    assert_eq!(loopback.faults(), 6);
    told!(api, DPCTLIPCMem_CloseHandle, opened, context);
    told!(api, DPCTLIPCMem_CloseHandle, opened, context);
    assert_eq!(loopback.faults(), 7);
    // A handle is good as long as the block.
    call!(api, DPCTLfree_with_context, block.cast(), context);
    assert!(told!(api, DPCTLIPCMem_OpenHandle, data, count, context, device).is_null());
    assert_eq!(loopback.faults(), 8);
    told!(api, DPCTLIPCMem_FreeHandleData, data);
    told!(api, DPCTLIPCMem_FreeHandleData, data);
    assert_eq!(loopback.faults(), 9);
    call!(api, DPCTLfree_with_context, shared, context);
    call!(api, DPCTLContext_Delete, context);
    call!(api, DPCTLDevice_Delete, device);
    call!(api, DPCTLQueue_Delete, queue);
    assert_eq!(loopback.leaks(), []);
}
