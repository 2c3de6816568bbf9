//! Each kind of misuse is a fault, with the documented code, and harms nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::Driver;

#[test]
fn handles_are_checked() {
    let driver = Driver::with_devices(2);
    let (stream, event) = (driver.stream(), driver.event());
    assert_eq!(driver.cuStreamSynchronize(event), 400);
    assert!(driver.the_fault().contains("of another type than stream"));
    assert_eq!(driver.cuEventQuery(12345), 400);
    assert!(driver.the_fault().contains("no live event"));
    assert_eq!(driver.cuEventDestroy_v2(event), 0);
    assert_eq!(driver.cuEventDestroy_v2(event), 400);
    assert!(driver.the_fault().contains("no live event"));
    assert_eq!(driver.cuCtxPushCurrent_v2(stream), 201);
    assert!(driver.the_fault().contains("is no context"));
    let event = driver.event();
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    assert_eq!(driver.cuEventRecord(event, stream), 400);
    assert!(driver.the_fault().contains("used with the context of device 1"));
    assert_eq!(driver.cuEventRecord(event, driver.stream()), 400);
    assert!(driver.the_fault().contains("an event of device 0"));
    assert_eq!(driver.cuStreamDestroy_v2(stream), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 400);
    assert!(driver.the_fault().contains("no live stream"));
}

#[test]
fn frees_are_checked() {
    let driver = Driver::new();
    let (stream, pool) = (driver.stream(), driver.pool(0));
    let (device, pinned): (u64, u64) = (made!(driver.cuMemAlloc_v2(64)), made!(driver.cuMemHostAlloc(64, 3)));
    for wrong in [driver.cuMemFree_v2(device + 1), driver.cuMemFreeAsync(device + 1, stream)] {
        assert_eq!(wrong, 1);
    }
    assert_eq!(driver.loopback.faults().len(), 2);
    driver.loopback.reset();
    assert_eq!([driver.cuMemFree_v2(device), driver.cuMemFree_v2(device)], [0, 1]);
    assert!(driver.the_fault().contains("no live allocation"));
    assert_eq!(driver.cuMemFree_v2(pinned), 1);
    assert!(driver.the_fault().contains("is Pinned memory"));
    assert_eq!([driver.cuMemFreeHost(pinned), driver.cuMemFreeHost(pinned)], [0, 1]);
    assert!(driver.the_fault().contains("no live allocation"));
    let of_pool = made!(driver.cuMemAllocFromPoolAsync(64, pool, stream));
    assert_eq!([driver.cuMemFreeAsync(of_pool, stream), driver.cuMemFreeAsync(of_pool, stream)], [0, 1]);
    assert!(driver.the_fault().contains("no live allocation"));
    let of_pool = made!(driver.cuMemAllocFromPoolAsync(64, pool, stream));
    assert_eq!(driver.cuStreamSynchronize(stream), 0);
    assert_eq!(driver.cuMemsetD8Async(of_pool, 1, 64, stream), 0);
    assert_eq!(driver.cuMemFree_v2(of_pool), 0);
    assert!(driver.loopback.faults()[0].contains("may be under way"));
}

#[test]
fn a_bad_range_makes_the_context_unusable() {
    let driver = Driver::with_devices(2);
    let (stream, event) = (driver.stream(), driver.event());
    let device = made!(driver.cuMemAlloc_v2(64));
    assert_eq!(driver.cuMemsetD8Async(device + 60, 1, 5, stream), 0, "found when it runs");
    assert_eq!(driver.cuStreamSynchronize(stream), 700);
    assert_eq!(
        [driver.cuEventQuery(event), driver.cuMemFree_v2(device), driver.cuMemAlloc_v2(&mut 0, 1)],
        [700; 3]
    );
    assert_eq!([driver.cuStreamCreate(&mut 0, 1), driver.cuStreamDestroy_v2(stream)], [700; 2]);
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    let _: u64 = made!(driver.cuMemAlloc_v2(1));
    assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 0);
    assert!(driver.the_fault().contains("leaves the allocation"));

    assert_eq!(driver.cuMemFree_v2(device), 0, "usable again after the reset");
    assert_eq!(driver.cuMemsetD8Async(device, 1, 1, stream), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 700);
    assert!(driver.the_fault().contains("in no allocation, or in a freed one"));
}

#[test]
fn host_pointers_are_checked() {
    let driver = Driver::new();
    let stream = driver.stream();
    let (device, pinned) = (made!(driver.cuMemAlloc_v2(64)), made!(driver.cuMemHostAlloc(64, 3)));
    assert_eq!(driver.cuMemcpyAsync(device, 4096, 8, stream), 1);
    assert!(driver.the_fault().contains("is not readable"));
    assert_eq!(driver.cuMemcpyAsync(4096, device, 8, stream), 0);
    assert!(driver.the_fault().contains("is not writable"));
    assert_eq!(driver.cuMemcpyAsync(pinned + 1, device, 64, stream), 1);
    assert!(driver.the_fault().contains("leaves"));
    assert_eq!(driver.cuMemsetD8Async((&raw const driver).addr() as u64, 0, 1, stream), 1);
    assert!(driver.the_fault().contains("is of no allocation"));
    assert_eq!(driver.cuStreamSynchronize(stream), 0, "the context is usable");
}

#[test]
fn memory_of_a_pool_is_used_in_order() {
    let driver = Driver::new();
    let (pool, event) = (driver.pool(0), driver.event());
    let [first, second] = [driver.stream(), driver.stream()];
    let allocate = || -> u64 { made!(driver.cuMemAllocFromPoolAsync(64, pool, first)) };

    // In order: the stream's own, an event, and a wait of the host.
    let block = allocate();
    assert_eq!(driver.cuMemsetD8Async(block, 1, 64, first), 0);
    assert_eq!(driver.cuEventRecord(event, first), 0);
    assert_eq!(driver.cuStreamWaitEvent(second, event, 0), 0);
    assert_eq!(driver.cuMemsetD8Async(block, 2, 64, second), 0);
    assert_eq!(driver.cuEventRecord(event, second), 0);
    assert_eq!(driver.cuEventSynchronize(event), 0);
    assert_eq!(driver.cuMemFreeAsync(block, first), 0);
    assert_eq!(driver.loopback.faults(), [""; 0]);

    // No delay makes an order: this is a fault even when the allocation is complete.
    let block = allocate();
    driver.loopback.faults();
    assert_eq!(driver.cuMemsetD8Async(block, 1, 64, second), 0);
    assert!(driver.the_fault().contains("without an order after its allocation"));

    let block = allocate();
    assert_eq!(driver.cuStreamSynchronize(first), 0);
    assert_eq!(driver.cuMemsetD8Async(block, 1, 64, second), 0);
    driver.loopback.faults();
    assert_eq!(driver.cuMemFreeAsync(block, first), 0);
    assert!(driver.the_fault().contains("freed without an order after its use"));

    let block = allocate();
    assert_eq!(driver.cuStreamSynchronize(first), 0);
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemFreeAsync(block, first), 0);
    assert_eq!(driver.cuMemsetD8Async(block, 1, 64, second), 0);
    assert!(
        ["an order before its free", "in a freed one"]
            .iter()
            .any(|text| driver.loopback.faults()[0].contains(text))
    );
}
