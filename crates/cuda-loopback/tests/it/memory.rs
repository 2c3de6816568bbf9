//! Memory of each kind: addresses, limits, pools, contents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::Driver;
use cuda_loopback::Kind;

/// Whether host code can read a byte: the kernel refuses what it cannot.
fn is_readable(address: u64) -> bool {
    let mut ends = [0; 2];
    // SAFETY: writable for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the kernel checks the address.
    let written = unsafe { libc::write(ends[1], std::ptr::with_exposed_provenance(address as usize), 1) };
    for end in ends {
        // SAFETY: our own descriptor.
        unsafe { libc::close(end) };
    }
    written == 1
}

#[test]
fn host_code_reaches_all_but_device_memory() {
    let driver = Driver::new();
    let (stream, pool) = (driver.stream(), driver.pool(0));
    let device = made!(driver.cuMemAlloc_v2(1000));
    let of_pool = made!(driver.cuMemAllocFromPoolAsync(1000, pool, stream));
    let managed = made!(driver.cuMemAllocManaged(1000, 1));
    let pinned = made!(driver.cuMemHostAlloc(1000, 3));
    assert_eq!([device, of_pool, managed, pinned].map(is_readable), [false, false, true, true]);
    assert_eq!(driver.read(device, 1000, stream), [0xCB; 1000], "new memory has no known contents");
    assert_eq!(driver.loopback.live_bytes(Kind::Device), 2000);
    assert_eq!([driver.cuMemFree_v2(managed), driver.cuMemFreeHost(pinned)], [0, 0]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn addresses_are_known_exactly() {
    let driver = Driver::with_devices(2);
    let (stream, pool) = (driver.stream(), driver.pool(1));
    const UNKNOWN: (u32, u32, i32, u64, u64) = (0, 0, -2, 77, 77);
    let check = |start: u64, kind, managed, device| {
        assert_eq!(driver.describe(start), (kind, managed, device, start, 1000));
        assert_eq!(driver.describe(start + 999), (kind, managed, device, start, 1000));
        assert_eq!(driver.describe(start + 1000), UNKNOWN);
    };
    let device = made!(driver.cuMemAlloc_v2(1000));
    check(device, 2, 0, 0);
    check(made!(driver.cuMemAllocManaged(1000, 1)), 2, 1, 0);
    check(made!(driver.cuMemHostAlloc(1000, 3)), 1, 0, 0);
    let of_pool = made!(driver.cuMemAllocFromPoolAsync(1000, pool, stream));
    check(of_pool, 2, 0, 1);
    assert_eq!(driver.describe(0), UNKNOWN);
    assert_eq!(driver.describe((&raw const driver).addr() as u64), UNKNOWN);
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemFreeAsync(of_pool, stream), 0);
    assert_eq!(driver.describe(of_pool), UNKNOWN, "before the free has run");
    assert_eq!(driver.cuMemFree_v2(device), 0);
    assert_eq!(driver.describe(device), UNKNOWN);
}

#[test]
fn memory_is_limited() {
    let driver = Driver::new();
    let (stream, pool) = (driver.stream(), driver.pool(0));
    let free = || {
        let (mut free, mut total) = (0, 0);
        assert_eq!(driver.cuMemGetInfo_v2(&mut free, &mut total), 0);
        assert_eq!(total, 64 << 20);
        free >> 20
    };
    let direct = made!(driver.cuMemAlloc_v2(16 << 20));
    let of_pool = made!(driver.cuMemAllocFromPoolAsync(32 << 20, pool, stream));
    assert_eq!(free(), 16);
    assert_eq!(driver.cuMemAlloc_v2(&mut 0, 17 << 20), 2);
    assert_eq!(driver.cuMemFreeAsync(of_pool, stream), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 0);
    assert_eq!(free(), 16, "the pool keeps it");
    assert_eq!(driver.cuMemAlloc_v2(&mut 0, 17 << 20), 2);
    let of_pool: u64 = made!(driver.cuMemAllocFromPoolAsync(48 << 20, pool, stream));
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemFreeAsync(of_pool, stream), 0);
    let _: u64 = made!(driver.cuMemAllocFromPoolAsync(40 << 20, pool, stream));
    assert_eq!(driver.cuMemPoolTrimTo(pool, 0), 0);
    assert_eq!(free(), 8);
    assert_eq!(driver.cuMemPoolSetAttribute(pool, 4, &mut 0), 0);
    assert_eq!(driver.cuMemFree_v2(direct), 0);
    assert_eq!(free(), 24);
    assert_eq!(driver.cuMemHostAlloc(&mut 0, 65 << 20, 3), 2);
    assert_eq!(driver.cuMemAllocManaged(&mut 0, 65 << 20, 1), 2);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn edge_cases_are_those_of_the_driver() {
    let driver = Driver::new();
    let (stream, pool) = (driver.stream(), driver.pool(0));
    assert_eq!(driver.cuMemAlloc_v2(&mut 0, 0), 1);
    assert_eq!(driver.cuMemAllocManaged(&mut 0, 0, 1), 1);
    assert_eq!(made!(driver.cuMemHostAlloc(0, 3)), 0_u64);
    assert_eq!(made!(driver.cuMemAllocFromPoolAsync(0, pool, stream)), 0_u64);
    assert_eq!([driver.cuMemFree_v2(0), driver.cuMemFreeHost(0), driver.cuMemFreeAsync(0, stream)], [0; 3]);
    let (managed, device): (u64, u64) =
        (made!(driver.cuMemAllocManaged(64, 1)), made!(driver.cuMemAlloc_v2(64)));
    assert_eq!(driver.cuMemsetD32Async(managed + 1, 0, 2, stream), 1);
    assert_eq!(driver.cuMemPrefetchAsync(managed, 64, -1, stream), 0);
    assert_eq!(driver.cuMemPrefetchAsync(managed, 65, 0, stream), 1);
    assert_eq!(driver.cuMemPrefetchAsync(device, 64, 0, stream), 1);
    assert_eq!([driver.cuMemAdvise(managed, 64, 3, 0), driver.cuMemAdvise(managed, 64, 7, 0)], [0, 1]);
    assert_eq!(driver.cuMemcpyAsync(device, 1, 0, stream), 0);
    assert_eq!(driver.cuMemFreeAsync(device, stream), 0);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}
