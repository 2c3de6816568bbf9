//! The CUDA backend over the stand-in of the driver: each function of the driver fails once, devices are lost, two GPUs share memory.
#![cfg(feature = "cuda")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::slice::from_ref;
use std::sync::Arc;

use cuda_loopback::{Graphs, Kind, Loopback};
use usm_core::backend::Backend;
use usm_core::backend::cuda::{CudaBackend, LoadError};
use usm_core::{
    Context, Device, DeviceLocation, Error, Event, EventStatus, PeerAccess, Queue, QueueProperties, Result,
    Runtime, UsmKind,
};

/// A driver of its own, with the devices of a backend over it.
struct Gpus {
    devices: Vec<Device>,
    runtime: Runtime,
    driver: Loopback,
}

fn gpus(count: u64) -> Gpus {
    let driver = Loopback::new().unwrap();
    assert!(driver.set("DEVICES", count).unwrap());
    // SAFETY: the stand-in of the driver.
    let backend: Arc<dyn Backend> =
        Arc::new(unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap());
    let runtime = Runtime::with_backend(backend).unwrap();
    let mut devices = runtime.devices();
    devices.retain(|device| device.filter_string().starts_with("cuda:"));
    assert_eq!(devices.len() as u64, count);
    Gpus { devices, runtime, driver }
}

impl Gpus {
    fn queue(&self, number: usize) -> Queue {
        let device = &self.devices[number];
        device.default_context().unwrap().create_queue(device, QueueProperties::IN_ORDER).unwrap()
    }

    fn live(&self) -> [usize; 4] {
        [Kind::Stream, Kind::Device, Kind::Managed, Kind::Pinned].map(|kind| self.driver.live(kind))
    }
}

impl Drop for Gpus {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.driver.faults(), Vec::<String>::new());
        }
    }
}

/// Waits, also after an error, so that operands stay until then.
fn wait(events: Vec<Event>) -> Result<()> {
    Event::wait_all(&events)
}

type Scenario = (&'static str, fn(&Queue) -> Result<()>);

const SCENARIOS: [Scenario; 6] = [
    ("a queue with times", |queue| {
        let device = queue.device();
        let queue = queue.context().create_queue(device, QueueProperties::IN_ORDER.with_profiling(true))?;
        let event = queue.barrier(&[])?;
        let times = event.profiling_times()?;
        assert!(times.submit_ns <= times.start_ns && times.start_ns <= times.end_ns);
        Ok(())
    }),
    ("each kind", |queue| {
        for kind in UsmKind::ALL {
            for len in [1, 100, (1 << 19) + 1] {
                let block = queue.allocate(kind, len)?;
                assert_eq!(block.len_bytes(), len);
            }
        }
        Ok(())
    }),
    ("there and back", |queue| {
        let block = queue.allocate(UsmKind::Device, 1000)?;
        let (sent, mut back) = ([9_u8; 1000], [0_u8; 1000]);
        // SAFETY: within the block; waited for before it goes.
        let copied = unsafe { queue.memcpy(block.as_ptr().as_ptr(), sent.as_ptr(), 1000, &[]) }?;
        // SAFETY: as above.
        let read =
            unsafe { queue.memcpy(back.as_mut_ptr(), block.as_ptr().as_ptr(), 1000, from_ref(&copied)) };
        wait(std::iter::once(copied).chain(read.as_ref().ok().cloned()).collect())?;
        read?;
        assert_eq!(sent, back);
        Ok(())
    }),
    ("fills", |queue| {
        let block = queue.allocate(UsmKind::Shared, 1024)?;
        for len in [1, 2, 3, 4, 8, 16] {
            let pattern: Vec<u8> = (1..=len).collect();
            for skip in [0, 1, 8] {
                let start = block.as_ptr().as_ptr().wrapping_add(skip);
                // SAFETY: within the block; waited for before it goes.
                unsafe { queue.fill(start, &pattern, 9, &[]) }?.wait()?;
                // SAFETY: shared memory, and no operation is pending.
                let bytes = unsafe { std::slice::from_raw_parts(start, 9 * usize::from(len)) };
                assert!(bytes.chunks(usize::from(len)).all(|chunk| chunk == pattern), "{len} {skip}");
            }
        }
        Ok(())
    }),
    ("hints", |queue| {
        let block = queue.allocate(UsmKind::Shared, 4096)?;
        let start = block.as_ptr().as_ptr().cast_const();
        // SAFETY: the block stays until the wait.
        let first = unsafe { queue.prefetch(start, 4096, &[]) }?;
        // SAFETY: the block stays until the wait.
        let second = unsafe { queue.mem_advise(start, 4096, 0, &[]) };
        wait(std::iter::once(first).chain(second.as_ref().ok().cloned()).collect())?;
        second.map(drop)
    }),
    ("an event of another queue", |queue| {
        let other = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER)?;
        let block = queue.allocate(UsmKind::Device, 8)?;
        // SAFETY: within the block; waited for before it goes.
        let set = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 8, &[]) }?;
        let ordered = other.barrier(from_ref(&set));
        set.wait()?;
        ordered?.wait()
    }),
];

/// The functions of the driver that an operation needs. Others release objects, whose failure leaves them in the driver, or report facts.
const NEEDED: [&str; 22] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuEventCreate",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuLaunchKernel",
    "cuMemAdvise",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocManaged",
    "cuMemHostAlloc",
    "cuMemPrefetchAsync",
    "cuMemcpyAsync",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
];

#[test]
fn each_call_of_the_driver_fails_once() {
    const CODES: [u32; 2] = [2, 999];
    let mut failed = std::collections::BTreeSet::new();
    for (name, scenario) in SCENARIOS {
        for function in NEEDED {
            // The kernel is loaded once for each device.
            let is_once = function.starts_with("cuModule");
            let mut gpus = gpus(1);
            for code in CODES {
                // Each further byte of a pattern is the same call.
                for n in 1..=4 {
                    if is_once {
                        gpus = self::gpus(1);
                    }
                    let queue = gpus.queue(0);
                    let (live, calls) = (gpus.live(), gpus.driver.calls(function).unwrap());
                    gpus.driver.fail(function, n, code).unwrap();
                    let result = scenario(&queue);
                    let calls = gpus.driver.calls(function).unwrap() - calls;
                    let what = format!("{name}: call {n} of {function} gives {code}: {result:?}");
                    assert_eq!(gpus.driver.faults(), Vec::<String>::new(), "{what}");
                    gpus.driver.reset();
                    // Handles that were dropped under their own work are released by a later call.
                    queue.wait().unwrap_or_else(|error| panic!("{error} in a wait: {what}"));
                    // A failed look at the current context, or at the mode of the thread, hides an object from its release.
                    if !function.starts_with("cuCtx") && !function.starts_with("cuThread") {
                        assert_eq!(gpus.live(), live, "{what}");
                    }
                    if calls < n {
                        break;
                    }
                    failed.insert(function);
                    scenario(&queue).unwrap_or_else(|error| panic!("{error} afterwards: {what}"));
                }
            }
        }
    }
    assert_eq!(failed.len(), NEEDED.len(), "{failed:?}");
}

/// While another thread captures work into a graph, the driver refuses questions about work, which goes on.
#[test]
fn a_refused_question_says_nothing_about_work() {
    const UNKNOWN: u32 = 999;
    const CAPTURING: u32 = 900;
    const CAPTURED_EVENT: u32 = 907;
    let gpus = gpus(1);
    let queue = gpus.queue(0);
    let block = queue.allocate(UsmKind::Device, 64).unwrap();
    let fill = || {
        // SAFETY: within the block, which stays until the end of the test, after each event is complete.
        unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) }.unwrap()
    };
    for code in [CAPTURING, CAPTURED_EVENT, UNKNOWN] {
        gpus.driver.hold(10_000);
        let event = fill();
        gpus.driver.fail("cuEventQuery", 1, code).unwrap();
        assert_eq!(event.status(), EventStatus::Submitted, "{code}");
        assert!(!event.is_complete());
        gpus.driver.release();
        event.wait().unwrap();
        assert_eq!(event.status(), EventStatus::Complete);
    }
    let event = fill();
    gpus.driver.fail("cuEventQuery", 1, CAPTURING).unwrap();
    event.wait().unwrap();
    assert!(event.is_complete());
    // The wait tells that it was refused, and has waited.
    for code in [CAPTURING, CAPTURED_EVENT] {
        let event = fill();
        gpus.driver.fail("cuEventSynchronize", 1, code).unwrap();
        gpus.driver.fail("cuEventQuery", 1, code).unwrap();
        assert!(matches!(event.wait(), Err(Error::Driver { call: "cuEventSynchronize", .. })));
        assert!(event.is_complete());
    }
    // A failed submission does not take the refusal of its wait for the loss of the GPU.
    for code in [CAPTURING, CAPTURED_EVENT] {
        gpus.driver.fail("cuEventRecord", 1, UNKNOWN).unwrap();
        gpus.driver.fail("cuStreamSynchronize", 1, code).unwrap();
        // SAFETY: within the block.
        let failed = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) };
        assert!(matches!(failed, Err(Error::Driver { call: "cuEventRecord", .. })), "{failed:?}");
        fill().wait().unwrap();
    }
    assert_eq!(gpus.driver.faults(), Vec::<String>::new());
}

/// A capture of this thread, or of another one, forbids calls that may be unsafe. This library permits them to its thread for the moment of
/// a call: the capture goes on.
#[test]
fn captures_of_others_go_on() {
    let gpus = gpus(1);
    let (queue, theirs) = (gpus.queue(0), Graphs::new(gpus.driver.path(), 0).unwrap());
    let stream = theirs.stream(false).unwrap();
    let block = queue.allocate(UsmKind::Device, 64).unwrap();
    let work = || {
        for kind in UsmKind::ALL {
            drop(queue.allocate(kind, 3 << 20).unwrap());
        }
        // SAFETY: within the block, which stays until the event is complete.
        let event = unsafe { queue.fill(block.as_ptr().as_ptr(), &[1; 16], 4, &[]) }.unwrap();
        let _ = event.status();
        event.wait().unwrap();
        queue.wait().unwrap();
        drop(gpus.queue(0));
    };
    theirs.begin(stream).unwrap();
    work();
    std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    assert!(theirs.is_capturing(stream).unwrap());
    assert_eq!(theirs.end(stream).unwrap().nodes, 0);
    // The mode of the thread is what it was.
    theirs.begin(stream).unwrap();
    assert_eq!(theirs.wait(stream), Err(900));
    assert!(!theirs.is_capturing(stream).unwrap());
    gpus.driver.reset();
}

/// Each operation of a queue with times records two events, and keeps neither when it fails.
#[test]
fn failed_operations_keep_no_events() {
    const UNKNOWN: u32 = 999;
    let gpus = gpus(1);
    let (device, properties) = (&gpus.devices[0], QueueProperties::IN_ORDER.with_profiling(true));
    let queue = device.default_context().unwrap().create_queue(device, properties).unwrap();
    let mut live = None;
    for _ in 0..8 {
        gpus.driver.fail("cuEventRecord", 2, UNKNOWN).unwrap();
        assert!(queue.barrier(&[]).is_err());
        let now = gpus.driver.live(Kind::Event);
        assert_eq!(*live.get_or_insert(now), now);
    }
    queue.barrier(&[]).unwrap().profiling_times().unwrap();
}

/// A queue that waits for an event of another GPU finds one of them lost: that one alone is.
#[test]
fn the_lost_one_of_two_gpus_is_blamed() {
    const ILLEGAL_ADDRESS: u32 = 700;
    for lost in [0, 1] {
        let gpus = gpus(2);
        let queues = [gpus.queue(0), gpus.queue(1)];
        gpus.driver.hold(10_000);
        let event = queues[0].barrier(&[]).unwrap();
        // The driver tells what has happened to a GPU in the next call.
        gpus.driver.fail("cuStreamWaitEvent", 1, ILLEGAL_ADDRESS).unwrap();
        if lost == 0 {
            gpus.driver.fail("cuEventQuery", 1, ILLEGAL_ADDRESS).unwrap();
        }
        let error = queues[1].barrier(from_ref(&event)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::DeviceLost { .. }), "{text}");
        assert!(text.contains(&format!("cuda:gpu:{lost}")), "{text}");
        gpus.driver.release();
        gpus.driver.reset();
        queues[1 - lost].barrier(&[]).unwrap().wait().unwrap();
        assert!(matches!(queues[lost].barrier(&[]), Err(Error::DeviceLost { .. })));
    }
}

#[test]
fn a_lost_device_says_so_and_hangs_nowhere() {
    const ILLEGAL_ADDRESS: u32 = 700;
    // Each copy of the driver takes numbers of thread-local storage, of which a process on Windows has about a thousand.
    const CALLS: usize = if cfg!(windows) { 8 } else { 40 };
    for (name, scenario) in SCENARIOS {
        for n in 1..CALLS {
            let gpus = gpus(1);
            let queue = gpus.queue(0);
            let block = queue.allocate(UsmKind::Device, 64).unwrap();
            // SAFETY: within the block, which stays until the device is lost.
            let pending = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) }.unwrap();
            assert!(gpus.driver.fail("*", n, ILLEGAL_ADDRESS).unwrap());
            let result = scenario(&queue);
            if result.is_ok() {
                let _ = pending.wait(); // before the block goes
                continue;
            }
            let later = [queue.barrier(&[]).map(drop), queue.allocate(UsmKind::Device, 8).map(drop)];
            for error in later.into_iter().filter_map(Result::err) {
                let text = error.to_string();
                assert!(matches!(error, Error::DeviceLost { .. }), "{name} {n}: {text}");
                assert!(text.contains("CUDA_ERROR_ILLEGAL_ADDRESS") && text.contains("cuda:gpu:0"), "{text}");
            }
            let _ = pending.wait();
            assert!(matches!(pending.status(), EventStatus::Failed | EventStatus::Complete));
        }
    }
}

#[test]
fn memory_of_another_gpu_is_refused_by_name() {
    let gpus = gpus(2);
    let (first, second) = (gpus.queue(0), gpus.queue(1));
    let block = second.allocate(UsmKind::Device, 64).unwrap();
    assert_eq!(first.context().pointer_info(block.address()), None);
    assert_eq!(second.context().pointer_device(block.address()).unwrap().as_ref(), Some(second.device()));
    let mut bytes = [0_u8; 64];
    // SAFETY: refused.
    let refused = unsafe { first.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), 64, &[]) };
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("cuda:gpu:1") && text.contains("cuda:gpu:0"), "{text}");
    // SAFETY: refused.
    let refused = unsafe { first.memset(block.as_ptr().as_ptr(), 1, 64, &[]) };
    assert!(matches!(refused, Err(Error::OtherContext { .. })));
}

#[test]
fn a_context_over_two_gpus_copies_between_them() {
    let gpus = gpus(2);
    let context = Context::new(&gpus.devices).unwrap();
    let queues: Vec<_> = gpus
        .devices
        .iter()
        .map(|device| context.create_queue(device, QueueProperties::IN_ORDER).unwrap())
        .collect();
    let blocks: Vec<_> = queues.iter().map(|queue| queue.allocate(UsmKind::Device, 4096).unwrap()).collect();
    let [from, to] = [&blocks[0], &blocks[1]].map(|block| block.as_ptr().as_ptr());
    let mut bytes = vec![0_u8; 4096];
    // SAFETY: within the blocks, ordered by events, waited for.
    let filled = unsafe { queues[0].memset(from, 5, 4096, &[]) }.unwrap();
    // SAFETY: as above.
    let copied = unsafe { queues[1].memcpy(to, from, 4096, from_ref(&filled)) }.unwrap();
    // SAFETY: as above.
    unsafe { queues[0].memcpy(bytes.as_mut_ptr(), to, 4096, from_ref(&copied)) }.unwrap().wait().unwrap();
    assert!(bytes.iter().all(|&byte| byte == 5));
    for (block, device) in blocks.iter().zip(&gpus.devices) {
        assert_eq!(context.pointer_device(block.address()).unwrap().as_ref(), Some(device));
    }
}

#[test]
fn a_queue_with_a_peer_copies_between_the_contexts_of_two_gpus() {
    let gpus = gpus(2);
    let queues = [gpus.queue(0), gpus.queue(1)];
    let blocks = queues.each_ref().map(|queue| queue.allocate(UsmKind::Device, 4096).unwrap());
    let [from, to] = blocks.each_ref().map(|block| block.as_ptr().as_ptr());
    let both = queues[1].with_peer(&gpus.devices[0]).unwrap();
    assert_eq!(queues[1].with_peer(&gpus.devices[0]), Some(both.clone()), "kept");
    assert_eq!(queues[1].with_peer(&gpus.devices[1]), None, "no peer of itself");
    assert_eq!(both.device(), queues[1].device());
    for (value, has_access) in [(5, true), (6, false)] {
        if !has_access {
            // The copy then goes through the host, and is right.
            gpus.devices[1].enable_peer_access(&gpus.devices[0]).unwrap();
            gpus.devices[1].disable_peer_access(&gpus.devices[0]).unwrap();
        }
        let mut bytes = vec![0_u8; 4096];
        // SAFETY: within the blocks; waited for.
        unsafe { queues[0].memset(from, value, 4096, &[]) }.unwrap().wait().unwrap();
        // SAFETY: as above.
        unsafe { both.memcpy(to, from, 4096, &[]) }.unwrap().wait().unwrap();
        // SAFETY: as above.
        unsafe { queues[1].memcpy(bytes.as_mut_ptr(), to, 4096, &[]) }.unwrap().wait().unwrap();
        assert!(bytes.iter().all(|&byte| byte == value));
    }
    assert_eq!(gpus.driver.calls("cuMemcpyPeerAsync"), Ok(2));
}

#[test]
fn peer_access_is_switched_on_and_off() {
    let gpus = gpus(2);
    let [first, second] = [&gpus.devices[0], &gpus.devices[1]];
    assert!(first.can_access_peer(second, PeerAccess::AccessSupported));
    for _ in 0..2 {
        first.enable_peer_access(second).unwrap();
        first.disable_peer_access(second).unwrap();
    }
}

#[test]
fn queues_are_in_order_and_pinned_memory_is_kept() {
    let gpus = gpus(1);
    let device = &gpus.devices[0];
    let queue =
        device.default_context().unwrap().create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap();
    assert!(queue.properties().in_order);
    let pinned = gpus.driver.calls("cuMemHostAlloc").unwrap();
    for len in [4 << 20, (4 << 20) - 100, 4 << 20] {
        let block = queue.allocate(UsmKind::Host, len).unwrap();
        let address = block.address();
        assert_eq!(queue.context().pointer_info(address + len), None);
        drop(block);
        assert_eq!(queue.context().pointer_info(address), None, "freed, though still pinned");
    }
    assert_eq!(gpus.driver.calls("cuMemHostAlloc").unwrap(), pinned + 1);
    drop(queue);
    assert_eq!(gpus.live()[1..], [0, 0, 1]);
}

#[test]
fn freed_memory_is_given_back_when_the_driver_has_no_more() {
    const OUT_OF_MEMORY: u32 = 2;
    for (kind, call) in [(UsmKind::Host, "cuMemHostAlloc"), (UsmKind::Device, "cuMemAllocFromPoolAsync")] {
        let gpus = gpus(1);
        let queue = gpus.queue(0);
        drop(queue.allocate(kind, 4 << 20).unwrap());
        let (unpinned, trimmed) = (gpus.driver.calls("cuMemFreeHost"), gpus.driver.calls("cuMemPoolTrimTo"));
        gpus.driver.fail(call, 1, OUT_OF_MEMORY).unwrap();
        drop(queue.allocate(kind, 8 << 20).unwrap()); // no freed block is as long
        let after = (gpus.driver.calls("cuMemFreeHost"), gpus.driver.calls("cuMemPoolTrimTo"));
        let more = |before: std::result::Result<usize, _>, by| before.map(|count| count + by);
        let is_host = kind == UsmKind::Host;
        assert_eq!(after, (more(unpinned, usize::from(is_host)), more(trimmed, usize::from(!is_host))));
        if is_host {
            // Nothing is kept any more: the refusal is final.
            let _held = queue.allocate(kind, 8 << 20).unwrap();
            gpus.driver.fail(call, 1, OUT_OF_MEMORY).unwrap();
            assert!(matches!(queue.allocate(kind, 4 << 20), Err(Error::OutOfMemory { .. })));
        }
        // The driver keeps no managed memory.
        gpus.driver.fail("cuMemAllocManaged", 1, OUT_OF_MEMORY).unwrap();
        assert!(matches!(queue.allocate(UsmKind::Shared, 64), Err(Error::OutOfMemory { .. })));
    }
}

#[test]
fn a_runtime_gives_kept_memory_of_all_used_devices_back() {
    let gpus = gpus(3);
    let blocks = [0, 2].map(|number| {
        [UsmKind::Host, UsmKind::Device, UsmKind::Shared]
            .map(|kind| gpus.queue(number).allocate(kind, 4 << 20).unwrap())
    });
    let counts = || {
        ["cuMemFreeHost", "cuMemPoolTrimTo", "cuDevicePrimaryCtxRetain"]
            .map(|call| gpus.driver.calls(call).unwrap())
    };
    let before = counts();
    // What is in use stays.
    gpus.runtime.trim();
    assert_eq!(counts(), [before[0], before[1] + 2, before[2]]);
    drop(blocks);
    gpus.runtime.trim();
    assert_eq!(counts(), [before[0] + 2, before[1] + 4, before[2]], "a device without a context gets none");
}

#[test]
fn a_queue_is_found_by_its_stream_once_that_is_known() {
    let gpus = gpus(2);
    let [first, second] = &gpus.devices[..] else { panic!("two devices") };
    let queue = gpus.queue(0);
    let stream = queue.native_stream().unwrap();
    let known = || Queue::with_native_stream(first, stream);
    assert_eq!(known().as_ref(), Some(&queue));
    assert_eq!(queue.native_stream(), Some(stream));
    assert_eq!(Queue::with_native_stream(second, stream), None);
    // SAFETY: the queue keeps the stream.
    let external = unsafe { Queue::from_cuda_stream(first, stream) }.unwrap();
    assert_eq!((external.native_stream(), known().as_ref()), (Some(stream), Some(&queue)));
    // SAFETY: the default stream is always live.
    let external = unsafe { Queue::from_cuda_stream(first, 1) }.unwrap();
    assert_eq!(external.native_stream(), Some(1));
    assert_eq!(Queue::with_native_stream(first, 1), None, "the stream of somebody else");
    drop(external);
    drop(queue);
    assert_eq!(known(), None);
    let others: Vec<_> = (0..4).map(|_| gpus.queue(0)).collect();
    assert_eq!(known(), None, "no stream that is known");
    for queue in others {
        let stream = queue.native_stream().unwrap();
        assert_eq!(Queue::with_native_stream(first, stream), Some(queue));
    }
}

#[test]
fn a_queue_on_a_stream_is_on_the_device_that_has_the_stream() {
    let gpus = gpus(2);
    let [first, second] = &gpus.devices[..] else { panic!("two devices") };
    let host = Runtime::global().host_device();
    // SAFETY: a stream of a queue that lives, the default streams, or none.
    let on = |device, stream| unsafe { gpus.runtime.queue_on_cuda_stream(device, stream) };
    let theirs = gpus.queue(1);
    let stream = theirs.native_stream().unwrap();
    for device in [first, second, host] {
        assert_eq!(on(device, stream).unwrap().unwrap().device(), second);
    }
    for (device, expected) in [(first, first), (second, second), (host, first)] {
        assert_eq!(on(device, 0).unwrap().unwrap().device(), expected, "each device has a default stream");
    }
    assert!(matches!(on(first, 2), Err(Error::ThreadStream)));
    // SAFETY: the default stream of a thread is always live.
    let of_thread = unsafe { Queue::from_shared_cuda_stream(first, 2) };
    assert!(matches!(of_thread, Err(Error::ThreadStream)));
    // SAFETY: a stream of a queue that lives.
    let elsewhere = unsafe { Queue::from_shared_cuda_stream(first, stream) };
    assert!(matches!(elsewhere, Err(Error::InvalidExternalHandle { .. })));
    drop(on(second, stream));
}

#[test]
fn the_driver_says_whether_a_shared_stream_is_idle() {
    let gpus = gpus(1);
    let queue = gpus.queue(0);
    assert_eq!((queue.is_shared_stream_idle(), queue.is_surely_idle()), (None, true), "ours alone");
    let block = queue.allocate(UsmKind::Device, 64).unwrap();
    assert!(queue.native_stream().is_some());
    assert_eq!((queue.is_shared_stream_idle(), queue.is_surely_idle()), (Some(true), true));
    gpus.driver.hold(10_000);
    // SAFETY: within the block, and the event is complete before it goes.
    let set = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) }.unwrap();
    assert_eq!((queue.is_shared_stream_idle(), queue.is_surely_idle()), (Some(false), false));
    gpus.driver.release();
    while queue.is_shared_stream_idle() == Some(false) {}
    assert!(set.is_complete() && queue.is_surely_idle());
    for function in ["cuStreamIsCapturing", "cuStreamQuery"] {
        gpus.driver.fail(function, 1, 900).unwrap();
        assert_eq!(queue.is_shared_stream_idle(), None, "refused during a capture");
    }
    queue.wait().unwrap();
    // SAFETY: the default stream is always live.
    let external = unsafe { Queue::from_cuda_stream(&gpus.devices[0], 1) }.unwrap();
    assert_eq!((external.is_shared_stream_idle(), external.is_surely_idle()), (None, false));
}

#[test]
fn too_much_memory_is_an_error_with_the_figures_of_the_device() {
    let gpus = gpus(1);
    let queue = gpus.queue(0);
    let figures = gpus.devices[0].memory_figures().unwrap();
    let len = usize::try_from(figures.total_bytes).unwrap() - 4096;
    let _block = queue.allocate(UsmKind::Device, len / 2).unwrap();
    let text = queue.allocate(UsmKind::Device, len).unwrap_err().to_string();
    assert!(
        text.contains("are free") && text.contains(&usm_core::ByteCount(figures.total_bytes).to_string()),
        "{text}"
    );
}

#[test]
fn a_library_that_is_no_driver_says_what_is_missing() {
    let absent = std::ffi::OsStr::new("/nowhere/libcuda.so.1");
    // SAFETY: there is no such file.
    let error = unsafe { CudaBackend::load(absent, 0) }.unwrap_err();
    assert!(matches!(&error, LoadError::NotFound(text) if text.contains("nowhere")), "{error:?}");
    let driver = Loopback::new().unwrap();
    driver.fail("cuInit", 1, 803).unwrap();
    // SAFETY: the stand-in of the driver.
    let error = unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap_err();
    assert!(matches!(&error, LoadError::Unusable(text) if text.contains("cuInit")), "{error:?}");
}

#[test]
fn devices_are_found_at_their_pci_addresses() {
    let driver = Loopback::new().unwrap();
    assert!(driver.set("DEVICES", 2).unwrap());
    // SAFETY: the stand-in of the driver.
    let backend = unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap();
    let runtime = Runtime::with_backend(Arc::new(backend)).unwrap();
    let devices: Vec<_> = runtime.devices_of(usm_core::BackendId::Cuda).collect();
    let locations: Vec<_> = devices.iter().map(|device| device.location().unwrap()).collect();
    assert_ne!(locations[0].pci_address, locations[1].pci_address);
    for (device, location) in devices.iter().zip(&locations) {
        assert_eq!(&runtime.device_at(location).unwrap(), *device);
        // A process that sees other devices numbers them otherwise.
        let renumbered = DeviceLocation { root: "cuda:gpu:7".to_owned(), ..location.clone() };
        assert_eq!(&runtime.device_at(&renumbered).unwrap(), *device);
    }
    let gone = DeviceLocation { pci_address: Some("0000:ff:00.0".to_owned()), ..locations[0].clone() };
    let error = runtime.device_at(&gone).unwrap_err().to_string();
    assert!(error.contains("cuda:gpu:0 at the PCI address 0000:ff:00.0; there are: cuda:gpu:0"), "{error}");
}
