//! The real runtime, where this machine has one: every symbol, a device, memory, and an empty environment.
//!
//! Without a runtime these tests say so and return; with `USM_REQUIRE_SYCL=1` they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[macro_use]
mod common;

use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};

use common::{in_child, run_child};
use sycl_sys::locate::{Outcome, SearchOptions, search};
use sycl_sys::{
    Api, DPCTLKernelArgType, DPCTLSyclBackendType, DPCTLSyclDeviceType, DPCTLSyclEventStatusType,
    DPCTLSyclUSMType, Loaded, MDLocalAccessor,
};

/// The interface library of this machine; `None`, with the reason printed, if there is none and none is required.
fn library() -> Option<PathBuf> {
    let found = search(&SearchOptions::new());
    match found.candidates.iter().find(|candidate| !candidate.lacks_runtime()) {
        Some(candidate) => Some(candidate.library.clone()),
        None if std::env::var_os("USM_REQUIRE_SYCL").is_some_and(|value| value == "1") => {
            panic!("USM_REQUIRE_SYCL=1, but there is no SYCL runtime:\n{found}")
        }
        None => {
            println!("not tested, there is no SYCL runtime:\n{found}");
            None
        }
    }
}

fn load(root: &str) -> Loaded {
    // SAFETY: 1. the test's thread is the only one that runs in this child process; 2. a library of dpctl.
    unsafe { sycl_sys::load(&SearchOptions::new().root(root)) }.unwrap_or_else(|error| panic!("{error}"))
}

fn all() -> c_int {
    (DPCTLSyclBackendType::ALL.0 | DPCTLSyclDeviceType::ALL.0).cast_signed()
}

fn print_devices(api: &Api) {
    let devices = call!(api, DPCTLDeviceMgr_GetDevices, all());
    assert!(!devices.is_null());
    for index in 0..call!(api, DPCTLDeviceVector_Size, devices) {
        let device = call!(api, DPCTLDeviceVector_GetAt, devices, index);
        let name = call!(api, DPCTLDevice_GetName, device);
        // SAFETY: the library returned a zero-terminated string, deleted below.
        let text = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let backend = call!(api, DPCTLDevice_GetBackend, device);
        let device_type = call!(api, DPCTLDevice_GetDeviceType, device);
        let number = call!(api, DPCTLDeviceMgr_GetRelativeId, device);
        println!("device: {backend:?} {device_type:?} {number} {text}");
        call!(api, DPCTLCString_Delete, name);
        call!(api, DPCTLDevice_Delete, device);
    }
    call!(api, DPCTLDeviceVector_Delete, devices);
}

const CPU: &str = "device: DPCTLSyclBackendType::OPENCL DPCTLSyclDeviceType::CPU 0";

#[test]
fn an_empty_environment_sees_the_cpu_device() {
    if let Some(root) = in_child() {
        assert_eq!(std::env::vars_os().count(), 0);
        let loaded = load(&root);
        println!("{loaded:?}");
        print_devices(&loaded.api);
        return;
    }
    let Some(library) = library() else { return };
    for root in [library.as_path(), library.parent().unwrap()] {
        let text = run_child("an_empty_environment_sees_the_cpu_device", root, &[]);
        assert!(text.contains(CPU), "{text}");
    }
}

#[test]
fn a_selector_in_the_environment_is_honoured() {
    if let Some(root) = in_child() {
        print_devices(&load(&root).api);
        return;
    }
    let Some(library) = library() else { return };
    let test = "a_selector_in_the_environment_is_honoured";
    let text = run_child(test, &library, &[("ONEAPI_DEVICE_SELECTOR", "opencl:cpu")]);
    assert!(text.contains(CPU), "{text}");
}

#[test]
fn without_autoconfiguration_the_driver_list_stays() {
    if let Some(root) = in_child() {
        load(&root);
        assert_eq!(std::env::var_os("OCL_ICD_FILENAMES"), None);
        return;
    }
    let Some(library) = library() else { return };
    let test = "without_autoconfiguration_the_driver_list_stays";
    run_child(test, &library, &[("USM_SYCL_AUTOCONFIG", "0")]);
}

#[test]
fn a_second_load_takes_the_loaded_library() {
    if let Some(root) = in_child() {
        let first = load(&root);
        let second = load("/no/such/root");
        assert!(!first.already_loaded);
        assert!(second.already_loaded);
        assert_eq!(first.library.canonicalize().unwrap(), second.library.canonicalize().unwrap());
        assert_eq!(
            first.api.DPCTLDevice_Create as usize, second.api.DPCTLDevice_Create as usize,
            "one library, one function"
        );
        assert_eq!(second.tried[0].outcome, Outcome::Loaded);
        return;
    }
    let Some(library) = library() else { return };
    run_child("a_second_load_takes_the_loaded_library", &library, &[]);
}

#[test]
fn a_copy_without_its_runtime_is_refused_with_the_reason() {
    if let Some(root) = in_child() {
        let options = SearchOptions::new().root(&root);
        // SAFETY: 1. the only thread; 2. a copy of dpctl's library.
        let error = unsafe { sycl_sys::load(&options) }.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("libsycl.so."), "{text}");
        assert!(text.contains("pip install --target"), "{text}");
        return;
    }
    let Some(library) = library() else { return };
    let tree = common::Tree::new();
    tree.file("target/dpctl/libDPCTLSyclInterface.so", &std::fs::read(library).unwrap());
    let test = "a_copy_without_its_runtime_is_refused_with_the_reason";
    run_child(test, &tree.path("target"), &[]);
}

#[test]
fn a_copy_is_completed_by_the_runtime_of_another_root() {
    if let Some(roots) = in_child() {
        let (copy, lib) = roots.split_once(':').unwrap();
        let options = SearchOptions::new().root(copy).root(lib);
        // SAFETY: 1. the only thread; 2. a copy of dpctl's library.
        let loaded = unsafe { sycl_sys::load(&options) }.unwrap_or_else(|error| panic!("{error}"));
        assert!(loaded.library.starts_with(copy));
        print_devices(&loaded.api);
        return;
    }
    let Some(library) = library() else { return };
    let found = search(&SearchOptions::new().root(&library));
    let lib = found.candidates[0].runtime.as_ref().unwrap().parent().unwrap();
    let tree = common::Tree::new();
    tree.file("target/dpctl/libDPCTLSyclInterface.so", &std::fs::read(&library).unwrap());
    let roots = format!("{}:{}", tree.path("target").display(), lib.display());
    let test = "a_copy_is_completed_by_the_runtime_of_another_root";
    let text = run_child(test, Path::new(&roots), &[]);
    assert!(text.contains(CPU), "{text}");
}

#[test]
fn memory_is_filled_copied_and_known_by_its_bytes() {
    if let Some(root) = in_child() {
        let loaded = load(&root);
        use_memory(&loaded.api);
        return;
    }
    let Some(library) = library() else { return };
    run_child("memory_is_filled_copied_and_known_by_its_bytes", &library, &[]);
}

fn use_memory(api: &Api) {
    let device = call!(api, DPCTLDevice_Create);
    assert!(!device.is_null());
    let queue = call!(api, DPCTLQueue_CreateForDevice, device, None, 0);
    assert!(!queue.is_null());
    let context = call!(api, DPCTLQueue_GetContext, queue);
    let source = call!(api, DPCTLaligned_alloc_device, 4096, 64, queue);
    let target = call!(api, DPCTLmalloc_shared, 64, queue);
    assert!(!source.is_null() && !target.is_null());
    assert_eq!(source.addr() % 4096, 0);

    let mut value = [0x0102_0304_0506_0708_u64, 0x1112_1314_1516_1718];
    let filled = call!(api, DPCTLQueue_Fill128, queue, source.cast(), value.as_mut_ptr(), 4);
    assert!(!filled.is_null());
    let copied = call!(api, DPCTLQueue_MemcpyWithEvents, queue, target.cast(), source.cast(), 64, &filled, 1);
    assert!(!copied.is_null());
    call!(api, DPCTLEvent_WaitAndThrow, copied);
    assert_eq!(call!(api, DPCTLEvent_GetCommandExecutionStatus, copied), DPCTLSyclEventStatusType::COMPLETE);
    // SAFETY: shared memory of 64 bytes, written by the copy that is complete; the allocator aligns it for u64.
    let words = unsafe { std::slice::from_raw_parts(target.cast::<u64>(), 8) };
    assert_eq!(words, value.repeat(4));

    let kind = |pointer| call!(api, DPCTLUSM_GetPointerType, pointer, context);
    assert_eq!(kind(source), DPCTLSyclUSMType::DEVICE);
    assert_eq!(kind(target), DPCTLSyclUSMType::SHARED);
    assert_eq!(kind(target.wrapping_byte_add(63)), DPCTLSyclUSMType::SHARED);
    assert_eq!(kind(target.wrapping_byte_add(64)), DPCTLSyclUSMType::UNKNOWN);
    assert_eq!(kind(target.wrapping_byte_sub(1)), DPCTLSyclUSMType::UNKNOWN);

    for event in [filled, copied] {
        call!(api, DPCTLEvent_Delete, event);
    }
    call!(api, DPCTLfree_with_context, source, context);
    call!(api, DPCTLfree_with_context, target, context);
    call!(api, DPCTLContext_Delete, context);
    call!(api, DPCTLQueue_Delete, queue);
    call!(api, DPCTLDevice_Delete, device);
}

#[test]
fn a_kernel_is_built_and_run() {
    if let Some(root) = in_child() {
        run_kernel(&load(&root).api);
        return;
    }
    let Some(library) = library() else { return };
    run_child("a_kernel_is_built_and_run", &library, &[]);
}

fn run_kernel(api: &Api) {
    let device = call!(api, DPCTLDevice_Create);
    let queue = call!(api, DPCTLQueue_CreateForDevice, device, None, 0);
    let context = call!(api, DPCTLQueue_GetContext, queue);
    let source = c"kernel void twice(global int *x, local int *s, short add) {
        size_t i = get_local_id(0); s[i] = x[i]; x[i] = s[i] * 2 + add;
    }";
    let options = c"".as_ptr();
    let bundle = call!(api, DPCTLKernelBundle_CreateFromOCLSource, context, device, source.as_ptr(), options);
    assert!(!bundle.is_null());
    assert!(call!(api, DPCTLKernelBundle_HasKernel, bundle, c"twice".as_ptr()));
    assert!(!call!(api, DPCTLKernelBundle_HasKernel, bundle, c"once".as_ptr()));
    let other_bundle = call!(api, DPCTLKernelBundle_Copy, bundle);
    call!(api, DPCTLKernelBundle_Delete, bundle);
    let kernel = call!(api, DPCTLKernelBundle_GetKernel, other_bundle, c"twice".as_ptr());
    assert!(!kernel.is_null());
    let other_kernel = call!(api, DPCTLKernel_Copy, kernel);
    call!(api, DPCTLKernel_Delete, kernel);
    assert_eq!(call!(api, DPCTLKernel_GetNumArgs, other_kernel), 3);
    assert!(call!(api, DPCTLKernel_GetWorkGroupSize, other_kernel) >= 8);

    let memory = call!(api, DPCTLmalloc_shared, 32, queue);
    let filled = call!(api, DPCTLQueue_Fill32, queue, memory.cast(), 20, 8);
    let mut local =
        MDLocalAccessor { ndim: 1, dpctl_type_id: DPCTLKernelArgType::INT32_T, dim0: 8, dim1: 0, dim2: 0 };
    let mut add = 2_i16;
    let mut arguments = [memory.cast::<c_void>(), (&raw mut local).cast(), (&raw mut add).cast()];
    let types =
        [DPCTLKernelArgType::VOID_PTR, DPCTLKernelArgType::LOCAL_ACCESSOR, DPCTLKernelArgType::INT16_T];
    let (arguments, types) = (arguments.as_mut_ptr(), types.as_ptr());
    let size = 8;
    let event = call!(
        api,
        DPCTLQueue_SubmitNDRange,
        other_kernel,
        queue,
        arguments,
        types,
        3,
        &size,
        &size,
        1,
        &filled,
        1
    );
    assert!(!event.is_null());
    call!(api, DPCTLEvent_WaitAndThrow, event);
    // SAFETY: shared memory of eight numbers, aligned by the allocator, written by the kernel that is complete.
    assert_eq!(unsafe { std::slice::from_raw_parts(memory.cast::<i32>(), 8) }, [42; 8]);

    for event in [filled, event] {
        call!(api, DPCTLEvent_Delete, event);
    }
    call!(api, DPCTLKernel_Delete, other_kernel);
    call!(api, DPCTLKernelBundle_Delete, other_bundle);
    call!(api, DPCTLfree_with_context, memory, context);
    call!(api, DPCTLContext_Delete, context);
    call!(api, DPCTLQueue_Delete, queue);
    call!(api, DPCTLDevice_Delete, device);
}

#[test]
fn sub_devices_and_arrays_are_the_callers() {
    if let Some(root) = in_child() {
        let loaded = load(&root);
        use_sub_devices(&loaded.api);
        return;
    }
    let Some(library) = library() else { return };
    run_child("sub_devices_and_arrays_are_the_callers", &library, &[]);
}

fn use_sub_devices(api: &Api) {
    let device = call!(api, DPCTLDevice_Create);
    assert!(!device.is_null());
    // The header of 0.22 says that the library keeps these arrays; it makes a new one at each call.
    let [first, second] = [0; 2].map(|_| told!(api, DPCTLDevice_GetMaxWorkItemSizes3d, device));
    assert!(!first.is_null() && first != second);
    call!(api, DPCTLSize_t_Array_Delete, first);
    call!(api, DPCTLSize_t_Array_Delete, second);
    let mut len = 0;
    let sizes = told!(api, DPCTLDevice_GetSubGroupSizes, device, &raw mut len);
    assert!(!sizes.is_null() && len > 0);
    call!(api, DPCTLSize_t_Array_Delete, sizes);

    if call!(api, DPCTLDevice_GetPartitionMaxSubDevices, device) < 2 {
        eprintln!("the default device has no parts");
        call!(api, DPCTLDevice_Delete, device);
        return;
    }
    let units = call!(api, DPCTLDevice_GetMaxComputeUnits, device) as usize;
    let parts = call!(api, DPCTLDevice_CreateSubDevicesByCounts, device, [units].as_mut_ptr(), 1);
    assert!(!parts.is_null(), "one part of all {units} compute units");
    let part = call!(api, DPCTLDeviceVector_GetAt, parts, 0);
    call!(api, DPCTLDeviceVector_Delete, parts);
    let parent = call!(api, DPCTLDevice_GetParentDevice, part);
    assert!(call!(api, DPCTLDevice_AreEq, parent, device));
    assert_eq!(call!(api, DPCTLDeviceMgr_GetRelativeId, part), -1);
    assert!(call!(api, DPCTLDeviceMgr_GetCachedContext, part).is_null());
    assert!(call!(api, DPCTLDevice_CreateSubDevicesEqually, device, units + 1).is_null());
    for device in [part, parent, device] {
        call!(api, DPCTLDevice_Delete, device);
    }
}
