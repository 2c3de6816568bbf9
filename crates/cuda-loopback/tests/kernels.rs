//! Modules and kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Driver, Handle};
use cuda_loopback::Kind;

const PTX: &std::ffi::CStr =
    c".version 6.0\n.visible .entry usm_fill(.param .u64 first) { ret; }\n.entry other() { ret; }";

fn function(driver: &Driver, name: &std::ffi::CStr) -> Handle {
    let module = made!(driver.cuModuleLoadData(PTX.as_ptr()));
    made!(driver.cuModuleGetFunction(module, name.as_ptr()))
}

fn launch(
    driver: &Driver,
    function: Handle,
    stream: Handle,
    grid: u32,
    block: u32,
    mut values: [u64; 6],
) -> u32 {
    let mut arguments = values.each_mut().map(|value| std::ptr::from_mut(value).cast());
    let none = std::ptr::null_mut();
    driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, arguments.as_mut_ptr(), none)
}

#[test]
fn usm_fill_stores_vectors_head_and_tail() {
    let driver = Driver::new();
    let (stream, kernel) = (driver.stream(), function(&driver, c"usm_fill"));
    let device: u64 = made!(driver.cuMemAlloc_v2(80));
    assert_eq!(driver.cuMemsetD8Async(device, 0, 80, stream), 0);
    let arguments = [device + 16, 3, u64::MAX, 0, device + 8, device + 64];
    assert_eq!(launch(&driver, kernel, stream, 1, 256, arguments), 0);
    let words: Vec<_> = driver.read(device, 80, stream).chunks(8).map(|word| word[0]).collect();
    assert_eq!(words, [0, 255, 255, 0, 255, 0, 255, 0, 255, 0]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
    // Fewer threads store fewer vectors.
    assert_eq!(driver.cuMemsetD8Async(device, 0, 80, stream), 0);
    assert_eq!(launch(&driver, kernel, stream, 1, 2, [device, 5, u64::MAX, 1, 0, 0]), 0);
    assert_eq!(driver.read(device + 16, 17, stream)[15..], [0, 0]);
    for (grid, block) in [(0, 1), (1, 0), (1, 1025)] {
        assert_eq!(launch(&driver, kernel, stream, grid, block, arguments), 1);
    }
    assert_eq!(driver.loopback.faults(), [""; 0]);
    assert_eq!(launch(&driver, kernel, stream, 1, 1, [device + 8, 1, 0, 0, 0, 0]), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 716);
    assert!(driver.the_fault().contains("no multiple of 16"));
    assert_eq!(launch(&driver, kernel, stream, 1, 8, [device, 6, 0, 0, 0, 0]), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 700);
    assert!(driver.the_fault().contains("leaves the allocation"));
}

#[test]
fn modules_are_checked() {
    let driver = Driver::new();
    assert_eq!(driver.cuModuleLoadData(&mut 0, c"garbage".as_ptr()), 200);
    let module = made!(driver.cuModuleLoadData(PTX.as_ptr()));
    assert_eq!(driver.cuModuleGetFunction(&mut 0, module, c"nope".as_ptr()), 500);
    assert!(driver.the_fault().contains("no kernel nope"));
    let (stream, other) = (driver.stream(), function(&driver, c"other"));
    assert_eq!(launch(&driver, other, stream, 1, 1, [0; 6]), 200);
    assert!(driver.the_fault().contains("no code for other"));
    let kernel = function(&driver, c"usm_fill");
    let none = std::ptr::null_mut();
    assert_eq!(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, none, none.cast()), 1);
    assert!(driver.the_fault().contains("no readable argument"));
    assert_eq!(driver.loopback.live(Kind::Module), 3);
}

#[test]
fn kernels_need_access_to_memory_of_peers() {
    let driver = Driver::with_devices(2);
    let can: i32 = made!(driver.cuDeviceCanAccessPeer(1, 0));
    assert_eq!(can, 1);
    let (stream, kernel, pool) = (driver.stream(), function(&driver, c"usm_fill"), driver.pool(1));
    let of_pool: u64 = made!(driver.cuMemAllocFromPoolAsync(16, pool, stream));
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    let direct: u64 = made!(driver.cuMemAlloc_v2(16));
    assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 0);
    let run = |address| {
        assert_eq!(launch(&driver, kernel, stream, 1, 1, [address, 1, 0, 0, 0, 0]), 0);
        driver.cuStreamSynchronize(stream)
    };
    let refused = |address| {
        assert_eq!(run(address), 700);
        assert!(driver.the_fault().contains("no peer of device 0"));
    };
    refused(direct);
    assert_eq!(driver.cuCtxEnablePeerAccess(driver.contexts[1], 0), 0);
    assert_eq!(driver.cuCtxEnablePeerAccess(driver.contexts[1], 0), 704);
    assert_eq!(run(direct), 0);
    refused(of_pool);
    assert_eq!(driver.cuMemPoolSetAccess(pool, &[1, 0, 3], 1), 0);
    assert_eq!(run(of_pool), 0);
    assert_eq!(driver.cuMemPoolSetAccess(pool, &[1, 0, 0], 1), 0);
    refused(of_pool);
    assert_eq!(driver.cuCtxDisablePeerAccess(driver.contexts[1]), 0);
    assert_eq!(driver.cuCtxDisablePeerAccess(driver.contexts[1]), 705);
    refused(direct);
}
