//! Streams and events: what waits, and what does not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::Driver;
use cuda_loopback::Kind;

/// The bytes of pinned memory, as host code sees them now.
fn seen(pinned: u64) -> u8 {
    // SAFETY: a live block of the test. The read is volatile, since a thread of the library writes it.
    unsafe { std::ptr::with_exposed_provenance::<u8>(pinned as usize).read_volatile() }
}

#[test]
fn a_missing_wait_shows() {
    let driver = Driver::new();
    let (stream, event) = (driver.stream(), driver.event());
    let (pinned, device) = (made!(driver.cuMemHostAlloc(64, 3)), made!(driver.cuMemAlloc_v2(64)));
    assert_eq!(driver.cuEventQuery(event), 0, "not recorded");
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemsetD8Async(device, 7, 64, stream), 0);
    assert_eq!(driver.cuMemcpyAsync(pinned, device, 64, stream), 0);
    assert_eq!(driver.cuEventRecord(event, stream), 0);
    assert_eq!(driver.cuEventQuery(event), 600);
    assert_eq!(seen(pinned), 0xCB);
    assert_eq!(driver.cuEventSynchronize(event), 0);
    assert_eq!(driver.cuEventQuery(event), 0);
    assert_eq!(seen(pinned), 7);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn pageable_memory_is_staged() {
    let driver = Driver::new();
    let stream = driver.stream();
    let device = made!(driver.cuMemAlloc_v2(64));
    let mut source = [5_u8; 64];
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemcpyAsync(device, source.as_ptr() as u64, 64, stream), 0);
    source.fill(6);
    assert_eq!(driver.read(device, 64, stream), [5; 64], "complete when the call returns");
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn events_order_streams() {
    let driver = Driver::with_devices(2);
    let device = made!(driver.cuMemAlloc_v2(64));
    let (first, event) = (driver.stream(), driver.event());
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    let second = driver.stream();
    for round in 0..40 {
        assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 0);
        // Nothing is complete before the read waits for it.
        driver.loopback.hold(60_000);
        assert_eq!(driver.cuMemsetD8Async(device, round, 64, first), 0);
        assert_eq!(driver.cuMemsetD8Async(device, round + 100, 32, first), 0);
        assert_eq!(driver.cuEventRecord(event, first), 0);
        assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
        assert_eq!(driver.cuStreamWaitEvent(second, event, 0), 0);
        assert_eq!(driver.cuStreamQuery(second), 600, "not ready");
        // Memory of another device, by a copy.
        assert_eq!(driver.read(device + 31, 2, second), [round + 100, round]);
        assert_eq!([first, second].map(|stream| driver.cuStreamQuery(stream)), [0; 2]);
    }
    let mut status = 9;
    assert_eq!((driver.cuStreamIsCapturing(second, &mut status), status), (0, 0));
    let mut context = 0;
    assert_eq!(driver.cuStreamGetCtx(second, &mut context), 0);
    assert_eq!(context, driver.contexts[1]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

#[test]
fn the_legacy_stream_waits_for_blocking_ones() {
    let driver = Driver::new();
    assert!(driver.loopback.set("DELAY_US", 300).unwrap());
    let device = made!(driver.cuMemAlloc_v2(1));
    let blocking = made!(driver.cuStreamCreate(0));
    for round in 0..20 {
        assert_eq!(driver.cuMemsetD8Async(device, round, 1, blocking), 0);
        assert_eq!(driver.cuMemsetD8Async(device, round + 50, 1, 0), 0);
        assert_eq!(driver.cuMemsetD8Async(device, round + 100, 1, 2), 0);
        assert_eq!(driver.read(device, 1, 1), [round + 100]);
    }
}

#[test]
fn events_have_times() {
    let driver = Driver::new();
    let stream = driver.stream();
    let [start, end] = [driver.event(), driver.event()];
    let without = made!(driver.cuEventCreate(2));
    for event in [start, without] {
        assert_eq!(driver.cuEventRecord(event, stream), 0);
    }
    assert_eq!(driver.cuStreamSynchronize(stream), 0);
    driver.loopback.hold(30);
    assert_eq!(driver.cuEventRecord(end, stream), 0);
    assert_eq!(driver.cuEventElapsedTime(&mut 0.0, start, end), 600);
    while driver.cuEventQuery(end) != 0 {
        std::thread::yield_now();
    }
    let milliseconds: f32 = made!(driver.cuEventElapsedTime(start, end));
    assert!((25.0..5000.0).contains(&milliseconds), "{milliseconds}");
    assert_eq!(driver.cuEventElapsedTime(&mut 0.0, start, without), 400);
    assert!(driver.the_fault().contains("without a time"));
}

#[test]
fn destroyed_streams_and_events_complete() {
    let driver = Driver::new();
    let (stream, event) = (driver.stream(), driver.event());
    let pinned = made!(driver.cuMemHostAlloc(64, 3));
    driver.loopback.hold(10_000);
    assert_eq!(driver.cuMemsetD8Async(pinned, 9, 64, stream), 0);
    assert_eq!(driver.cuEventRecord(event, stream), 0);
    assert_eq!(driver.cuEventDestroy_v2(event), 0);
    assert_eq!(driver.cuStreamDestroy_v2(stream), 0);
    assert_eq!([Kind::Event, Kind::Stream].map(|kind| driver.loopback.live(kind)), [0, 0]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
    assert_eq!(seen(pinned), 9);
}
