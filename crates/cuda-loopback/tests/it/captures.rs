//! Captures of streams: graphs that replay, edges between streams, what invalidates a capture, and what a graph keeps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common;
use common::{Driver, Handle};
use cuda_loopback::Kind;

const GLOBAL: c_int = 0;
const THREAD_LOCAL: c_int = 1;
const RELAXED: c_int = 2;

const UNSUPPORTED: u32 = 900;
const INVALIDATED: u32 = 901;
const MERGE: u32 = 902;
const UNMATCHED: u32 = 903;
const UNJOINED: u32 = 904;
const ISOLATION: u32 = 905;
const IMPLICIT: u32 = 906;
const CAPTURED_EVENT: u32 = 907;
const WRONG_THREAD: u32 = 908;

/// Two blocks of 64 bytes.
fn blocks(driver: &Driver) -> [u64; 2] {
    [made!(driver.cuMemAlloc_v2(64)), made!(driver.cuMemAlloc_v2(64))]
}

fn status(driver: &Driver, stream: Handle) -> c_int {
    let mut status = 9;
    assert_eq!(driver.cuStreamIsCapturing(stream, &mut status), 0);
    status
}

fn begin(driver: &Driver, stream: Handle, mode: c_int) {
    assert_eq!(driver.cuStreamBeginCapture_v2(stream, mode), 0);
    assert_eq!(status(driver, stream), 1);
}

fn end(driver: &Driver, stream: Handle) -> Handle {
    let mut graph = 7;
    assert_eq!(driver.cuStreamEndCapture(stream, &mut graph), 0);
    assert_eq!(status(driver, stream), 0);
    graph
}

fn nodes(driver: &Driver, graph: Handle) -> usize {
    let mut count = 9;
    assert_eq!(driver.cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count), 0);
    count
}

/// Ends a capture that was invalidated by the one fault so far.
fn end_invalid(driver: &Driver, stream: Handle) -> String {
    let mut graph = 7;
    assert_eq!((driver.cuStreamEndCapture(stream, &mut graph), graph), (INVALIDATED, 0));
    assert_eq!(driver.loopback.live(Kind::Graph), 0);
    driver.the_fault()
}

#[test]
fn what_is_recorded_runs_with_the_graph_alone() {
    let driver = Driver::new();
    let ([a, b], [stream, other]) = (blocks(&driver), [driver.stream(), driver.stream()]);
    assert_eq!(driver.cuMemsetD8Async(b, 9, 64, stream), 0);
    begin(&driver, stream, GLOBAL);
    let (mut id, mut graph, mut found) = (0, 0, 0);
    let null = std::ptr::null_mut;
    assert_eq!(
        driver.cuStreamGetCaptureInfo_v2(stream, &mut found, &mut id, &mut graph, null(), null().cast()),
        0
    );
    assert_eq!((found, id), (1, 1));
    assert_eq!(driver.cuMemsetD8Async(a, 1, 32, stream), 0);
    assert_eq!(driver.cuMemcpyAsync(b, a, 64, stream), 0);
    assert_eq!(nodes(&driver, graph), 2);
    assert_eq!(end(&driver, stream), graph);
    assert_eq!(driver.read(b, 64, stream), [9; 64], "nothing ran");
    let exec = made!(driver.cuGraphInstantiateWithFlags(graph, 0));
    assert_eq!(driver.cuGraphDestroy(graph), 0);
    for (stream, value) in [(stream, 5), (other, 6)] {
        assert_eq!(driver.cuMemsetD8Async(a, value, 64, stream), 0);
        assert_eq!(driver.cuGraphLaunch(exec, stream), 0);
        let bytes = driver.read(b, 64, stream);
        assert_eq!((&bytes[..32], &bytes[32..]), (&[1; 32][..], &[value; 32][..]));
    }
    assert_eq!(driver.cuGraphExecDestroy(exec), 0);
    assert_eq!([Kind::Graph, Kind::GraphExec].map(|kind| driver.loopback.live(kind)), [0; 2]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

/// A second stream joins by an event and is joined back. Without the edge back, the order of a replay varies.
#[test]
fn events_are_edges_between_streams() {
    for is_ordered in [true, false] {
        let driver = Driver::new();
        let ([a, b], [first, second]) = (blocks(&driver), [driver.stream(), driver.stream()]);
        let [forked, joined] = [driver.event(), driver.event()];
        begin(&driver, first, THREAD_LOCAL);
        assert_eq!(driver.cuMemsetD8Async(a, 3, 64, first), 0);
        assert_eq!(driver.cuEventRecord(forked, first), 0);
        assert_eq!(driver.cuStreamWaitEvent(second, forked, 0), 0);
        assert_eq!(status(&driver, second), 1);
        assert_eq!(driver.cuMemcpyAsync(b, a, 64, second), 0);
        assert_eq!(driver.cuEventRecord(joined, second), 0);
        if is_ordered {
            assert_eq!(driver.cuStreamWaitEvent(first, joined, 0), 0);
        }
        assert_eq!(driver.cuMemsetD8Async(b, 4, 64, first), 0);
        assert_eq!(driver.cuStreamWaitEvent(first, joined, 0), 0);
        let graph = end(&driver, first);
        assert_eq!(status(&driver, second), 0);
        let exec = made!(driver.cuGraphInstantiateWithFlags(graph, 0));
        let mut seen = Vec::new();
        for _ in 0..40 {
            assert_eq!(driver.cuGraphLaunch(exec, first), 0);
            seen.extend(driver.read(b, 1, first));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, if is_ordered { vec![4] } else { vec![3, 4] });
        assert_eq!(driver.loopback.faults(), [""; 0]);
    }
}

#[test]
fn pageable_memory_is_read_by_each_replay() {
    let driver = Driver::new();
    let ([a, _], stream) = (blocks(&driver), driver.stream());
    let mut source = [1_u8; 64];
    begin(&driver, stream, GLOBAL);
    assert_eq!(driver.cuMemcpyAsync(a, source.as_ptr() as u64, 64, stream), 0);
    let graph = end(&driver, stream);
    let exec = made!(driver.cuGraphInstantiateWithFlags(graph, 0));
    for value in [2, 3] {
        source.fill(value);
        assert_eq!(driver.cuGraphLaunch(exec, stream), 0);
        assert_eq!(driver.read(a, 64, stream), [value; 64]);
    }
}

/// Each call invalidates the capture of the stream, which is a fault.
#[test]
fn questions_and_unsafe_calls_invalidate() {
    let driver = Driver::new();
    let ([a, _], stream, other) = (blocks(&driver), driver.stream(), driver.stream());
    let [captured, outside] = [driver.event(), driver.event()];
    assert_eq!(driver.cuEventRecord(outside, other), 0);
    type Forbidden<'a> = (&'a str, u32, &'a dyn Fn() -> u32);
    let calls: [Forbidden<'_>; 9] = [
        ("cuStreamSynchronize", UNSUPPORTED, &|| driver.cuStreamSynchronize(stream)),
        ("cuStreamQuery", UNSUPPORTED, &|| driver.cuStreamQuery(stream)),
        ("cuStreamQuery", UNSUPPORTED, &|| driver.cuStreamQuery(other)),
        ("cuCtxSynchronize", UNSUPPORTED, &|| driver.cuCtxSynchronize()),
        ("cuEventQuery", UNSUPPORTED, &|| driver.cuEventQuery(outside)),
        ("cuMemAlloc_v2", UNSUPPORTED, &|| driver.cuMemAlloc_v2(&mut 0, 64)),
        ("cuMemFree_v2", UNSUPPORTED, &|| driver.cuMemFree_v2(a)),
        ("cuStreamWaitEvent", ISOLATION, &|| driver.cuStreamWaitEvent(stream, outside, 0)),
        ("cuStreamDestroy_v2", 0, &|| {
            let gone = driver.stream();
            begin(&driver, gone, RELAXED);
            driver.cuStreamDestroy_v2(gone)
        }),
    ];
    for (name, code, call) in calls {
        let is_of_other = name == "cuStreamDestroy_v2";
        begin(&driver, stream, GLOBAL);
        assert_eq!(call(), code, "{name}");
        assert_eq!(status(&driver, stream), if is_of_other { 1 } else { 2 }, "{name}");
        if is_of_other {
            assert!(driver.the_fault().contains("the stream is captured"));
            end(&driver, stream);
            continue;
        }
        assert_eq!(driver.cuMemsetD8Async(a, 1, 64, stream), INVALIDATED);
        assert!(end_invalid(&driver, stream).contains(name));
    }
    // An event of a capture is of no use afterwards, until it is recorded again.
    begin(&driver, stream, RELAXED);
    assert_eq!(driver.cuEventRecord(captured, stream), 0);
    end(&driver, stream);
    for code in [driver.cuEventQuery(captured), driver.cuEventSynchronize(captured)] {
        assert_eq!(code, CAPTURED_EVENT);
        assert!(driver.loopback.faults().iter().all(|fault| fault.contains("recorded in a capture")));
    }
    driver.loopback.reset();
    assert_eq!(driver.cuEventRecord(captured, other), 0);
    assert_eq!(driver.cuEventSynchronize(captured), 0);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}

/// The mode of the thread, and that of the capture, say what else is forbidden.
#[test]
fn modes_of_threads() {
    let driver = Driver::new();
    let stream = driver.stream();
    let allocate = |mode: c_int| {
        let mut former = mode;
        assert_eq!(driver.cuThreadExchangeStreamCaptureMode(&mut former), 0);
        assert_eq!(former, GLOBAL);
        let code = driver.cuMemAlloc_v2(&mut 0, 1);
        assert_eq!(driver.cuThreadExchangeStreamCaptureMode(&mut former), 0);
        code == 0
    };
    let elsewhere = |mode: c_int| {
        std::thread::scope(|scope| {
            let allocate = || {
                assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[0]), 0);
                allocate(mode)
            };
            scope.spawn(allocate).join().unwrap()
        })
    };
    for capture in [GLOBAL, THREAD_LOCAL, RELAXED] {
        for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
            for (is_here, is_allowed) in
                [(true, capture == RELAXED || mode == RELAXED), (false, capture != GLOBAL || mode != GLOBAL)]
            {
                begin(&driver, stream, capture);
                let allowed = if is_here { allocate(mode) } else { elsewhere(mode) };
                assert_eq!(allowed, is_allowed, "{capture} {mode} {is_here}");
                if is_allowed {
                    assert_eq!(driver.cuGraphDestroy(end(&driver, stream)), 0);
                } else {
                    end_invalid(&driver, stream);
                }
            }
        }
    }
}

#[test]
fn streams_that_do_not_fit() {
    let driver = Driver::new();
    let [first, second] = [driver.stream(), driver.stream()];
    let (blocking, event) = (made!(driver.cuStreamCreate(0)), driver.event());
    let [a, _] = blocks(&driver);
    // The legacy default stream waits for a blocking one.
    assert_eq!(driver.cuStreamBeginCapture_v2(0, GLOBAL), UNSUPPORTED);
    begin(&driver, blocking, RELAXED);
    assert_eq!(driver.cuStreamIsCapturing(0, &mut 0), IMPLICIT);
    assert_eq!(status(&driver, blocking), 1, "the question changes nothing");
    assert_eq!(driver.cuMemsetD8Async(a, 1, 1, 0), IMPLICIT);
    assert!(end_invalid(&driver, blocking).contains("default stream"));
    begin(&driver, first, RELAXED);
    assert_eq!(driver.cuMemsetD8Async(a, 1, 1, 0), 0, "which is no blocking one");
    // Two captures.
    begin(&driver, second, RELAXED);
    assert_eq!(driver.cuEventRecord(event, second), 0);
    assert_eq!(driver.cuStreamWaitEvent(first, event, 0), MERGE);
    let mut graph = 0;
    assert_eq!(driver.cuStreamEndCapture(second, &mut graph), INVALIDATED);
    assert!(end_invalid(&driver, first).contains("another capture"));
    // Ends.
    assert_eq!(driver.cuStreamEndCapture(first, &mut graph), 1);
    begin(&driver, first, GLOBAL);
    std::thread::scope(|scope| {
        assert_eq!(scope.spawn(|| driver.cuStreamEndCapture(first, &mut 0)).join().unwrap(), WRONG_THREAD);
    });
    assert!(driver.the_fault().contains("another thread"));
    assert_eq!(driver.cuEventRecord(event, first), 0);
    assert_eq!(driver.cuStreamWaitEvent(second, event, 0), 0);
    assert_eq!(driver.cuMemsetD8Async(a, 1, 1, second), 0);
    assert_eq!(driver.cuStreamEndCapture(first, &mut graph), UNJOINED);
    assert!(driver.the_fault().contains("not joined"));
    begin(&driver, first, GLOBAL);
    assert_eq!(driver.cuEventRecord(event, first), 0);
    assert_eq!(driver.cuStreamWaitEvent(second, event, 0), 0);
    assert_eq!(driver.cuStreamEndCapture(second, &mut graph), UNMATCHED);
    assert!(end_invalid(&driver, first).contains("began on another stream"));
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn destroy(value: *mut c_void) {
    DESTROYED.fetch_add(value.addr(), Ordering::SeqCst);
}

/// What a graph keeps goes with its last executable form, behind the last launch.
#[test]
fn user_objects() {
    let driver = Driver::new();
    let ([a, _], stream) = (blocks(&driver), driver.stream());
    begin(&driver, stream, GLOBAL);
    assert_eq!(driver.cuMemsetD8Async(a, 1, 64, stream), 0);
    let graph = end(&driver, stream);
    let value = std::ptr::without_provenance_mut(100);
    let object = made!(driver.cuUserObjectCreate(value, Some(destroy), 2, 1));
    assert_eq!(driver.cuGraphRetainUserObject(graph, object, 1, 1), 0);
    assert_eq!(driver.cuUserObjectRelease(object, 1), 0);
    let exec = made!(driver.cuGraphInstantiateWithFlags(graph, 0));
    assert_eq!(driver.cuGraphDestroy(graph), 0);
    driver.loopback.hold(50);
    assert_eq!(driver.cuGraphLaunch(exec, stream), 0);
    assert_eq!(driver.cuGraphExecDestroy(exec), 0);
    assert_eq!((DESTROYED.load(Ordering::SeqCst), driver.loopback.live(Kind::UserObject)), (0, 1));
    assert_eq!(driver.cuStreamSynchronize(stream), 0);
    let begin = Instant::now();
    while DESTROYED.load(Ordering::SeqCst) != 100 {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    assert_eq!(driver.loopback.live(Kind::UserObject), 0);
    assert_eq!(driver.loopback.faults(), [""; 0]);
}
