//! Devices, contexts, failures on request, and life and death of the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::ffi::CStr;

use common::Driver;
use cuda_loopback::{Control, Kind, Loopback, library_path};

#[test]
fn the_library_is_where_cargo_puts_it() {
    Control::open(&library_path()).unwrap();
    let loopback = Loopback::new().unwrap();
    let path = loopback.path().to_owned();
    assert!(path.is_file());
    drop(loopback);
    assert!(!path.exists());
}

#[test]
fn nothing_works_before_initialisation() {
    let driver = Driver::cold();
    assert_eq!(driver.cuDeviceGetCount(&mut 0), 3);
    assert_eq!(driver.cuCtxGetCurrent(&mut 0), 3);
    assert_eq!(driver.cuDriverGetVersion(&mut 0), 0);
    assert!(driver.loopback.set("DEVICES", 0).unwrap());
    assert_eq!(driver.cuInit(0), 100);
}

#[test]
fn devices_have_facts() {
    let driver = Driver::with_devices(3);
    let count: i32 = made!(driver.cuDeviceGetCount());
    assert_eq!(count, 3);
    let mut text = [1; 20];
    assert_eq!(driver.cuDeviceGetName(text.as_mut_ptr(), 20, 2), 0);
    // SAFETY: the driver wrote a string.
    assert_eq!(unsafe { CStr::from_ptr(text.as_ptr()) }, c"CUDA loopback");
    assert_eq!(driver.cuDeviceGetPCIBusId(text.as_mut_ptr(), 13, 2), 0);
    // SAFETY: the driver wrote a string.
    assert_eq!(unsafe { CStr::from_ptr(text.as_ptr()) }, c"0000:19:00.0");
    let facts =
        [75, 10, 41, 89, 115].map(|attribute| -> i32 { made!(driver.cuDeviceGetAttribute(attribute, 0)) });
    assert_eq!(facts, [9, 32, 1, 1, 1]);
    assert_eq!(driver.cuDeviceGetAttribute(&mut 0, 9999, 0), 1);
    assert_eq!(driver.cuDeviceGetAttribute(&mut 0, 10, 3), 101);
    let mut name = std::ptr::null();
    assert_eq!(driver.cuGetErrorName(700, &mut name), 0);
    // SAFETY: the driver wrote a string.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
}

#[test]
fn each_thread_has_a_stack_of_contexts() {
    let driver = Driver::with_devices(2);
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    let current = || -> usize { made!(driver.cuCtxGetCurrent()) };
    assert_eq!(current(), driver.contexts[1]);
    let library = driver.loopback.path().to_owned();
    let other = std::thread::spawn(move || {
        // SAFETY: the loopback library has no initialisation routines.
        let library = unsafe { libloading::Library::new(library) }.unwrap();
        // SAFETY: the signature of the header.
        let get =
            unsafe { library.get::<unsafe extern "C" fn(&mut usize) -> u32>("cuCtxGetCurrent") }.unwrap();
        let mut context = 1;
        // SAFETY: the pointer is writable.
        assert_eq!(unsafe { get(&mut context) }, 0);
        context
    });
    assert_eq!(other.join().unwrap(), 0);
    let popped: usize = made!(driver.cuCtxPopCurrent_v2());
    assert_eq!(popped, driver.contexts[1]);
    assert_eq!(current(), driver.contexts[0]);
    assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 0);
    assert_eq!(driver.loopback.faults(), [""; 0]);
    assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 201);
    assert!(driver.the_fault().contains("no context is current"));
    assert_eq!(driver.cuStreamCreate(&mut 0, 1), 201);
    assert!(driver.the_fault().contains("no context is current"));
    let again: usize = made!(driver.cuDevicePrimaryCtxRetain(0));
    assert_eq!(again, driver.contexts[0]);
    assert_eq!(driver.loopback.live(Kind::Context), 3);
}

#[test]
fn calls_fail_on_request_without_an_effect() {
    let driver = Driver::new();
    assert!(!driver.loopback.fail("cuNoSuchFunction", 1, 2).unwrap());
    assert!(driver.loopback.fail("cuMemHostAlloc", 2, 2).unwrap());
    let first = made!(driver.cuMemHostAlloc(100, 3));
    assert_eq!(driver.cuMemHostAlloc(&mut 0, 100, 3), 2);
    assert_eq!(driver.loopback.live(Kind::Pinned), 1);
    assert_eq!(driver.loopback.live_bytes(Kind::Pinned), 100);
    assert_eq!(driver.loopback.calls("cuMemHostAlloc").unwrap(), 2);
    assert!(driver.loopback.fail("*", 1, 700).unwrap());
    assert_eq!(driver.cuMemFreeHost(first), 700);
    assert_eq!(driver.cuMemFreeHost(first), 700, "a lost context stays lost");
    driver.loopback.reset();
    assert_eq!(driver.cuMemFreeHost(first), 0);
    assert_eq!(Kind::ALL.map(|kind| driver.loopback.live(kind)), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn variables_configure_the_library() {
    const NAME: &str = "driver::variables_configure_the_library";
    if std::env::var_os("CUDA_LOOPBACK_DEVICES").is_none() {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args([NAME, "--exact"])
            .env("CUDA_LOOPBACK_DEVICES", "5")
            .env("CUDA_LOOPBACK_MEMORY_BYTES", "1048576");
        test.env("CUDA_LOOPBACK_DELAY_US", "0").env("CUDA_LOOPBACK_FAIL", "cuDeviceGetCount:2:999,nonsense");
        let output = test.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let driver = Driver::cold();
    assert_eq!(driver.cuInit(0), 0);
    let count: i32 = made!(driver.cuDeviceGetCount());
    assert_eq!(count, 5);
    assert_eq!(driver.cuDeviceGetCount(&mut 0), 999);
    let context = made!(driver.cuDevicePrimaryCtxRetain(4));
    assert_eq!(driver.cuCtxPushCurrent_v2(context), 0);
    assert_eq!(driver.cuMemAlloc_v2(&mut 0, (1 << 20) + 1), 2);
    assert!(driver.the_fault().contains("nonsense"));
}

#[test]
fn a_forked_child_is_not_initialised() {
    let driver = Driver::new();
    let stream = driver.stream();
    let memory = made!(driver.cuMemAlloc_v2(1 << 20));
    // The worker thread may hold the lock at the fork.
    for round in 0..50 {
        assert_eq!(driver.cuMemsetD8Async(memory, round, 1 << 20, stream), 0);
        // SAFETY: the child calls functions without locks, and ends without destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let codes =
                [driver.cuInit(0), driver.cuCtxGetCurrent(&mut 0), driver.cuStreamSynchronize(stream)];
            let is_right =
                codes == [3; 3] && driver.cuMemFree_v2(memory) == 3 && driver.loopback.faults().is_empty();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = -1;
        // SAFETY: our own child; the pointer is writable.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
    assert_eq!(driver.cuStreamSynchronize(stream), 0);
}
