//! Queues of the host backend run on their own, in any order that dependencies allow.
#![allow(clippy::unwrap_used)]

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use usm_core::{
    Allocation, Context, DeviceType, Error, Event, EventStatus, HostDevice, Queue, QueueProperties, Runtime,
    RuntimeOptions, UsmKind,
};

const IN_ORDER: QueueProperties = QueueProperties::IN_ORDER;
const OUT_OF_ORDER: QueueProperties = QueueProperties::OUT_OF_ORDER;
const LARGE: usize = 16 << 20;

fn runtime() -> Runtime {
    Runtime::new(RuntimeOptions::new().without_sycl())
}

fn queue(runtime: &Runtime, properties: QueueProperties) -> Queue {
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, properties).unwrap()
}

fn pointer(block: &Allocation) -> *mut u8 {
    block.as_ptr().as_ptr()
}

fn memset(queue: &Queue, block: &Allocation, value: u8, after: &[Event]) -> Event {
    // SAFETY: the block's own length; tests keep it until the end, or say why not.
    unsafe { queue.memset(pointer(block), value, block.len_bytes(), after) }.unwrap()
}

fn copy(queue: &Queue, dst: &Allocation, src: &Allocation, after: &[Event]) -> Event {
    // SAFETY: as for `memset`; both blocks have that length.
    unsafe { queue.memcpy(pointer(dst), pointer(src), dst.len_bytes(), after) }.unwrap()
}

fn first_byte(queue: &Queue, block: &Allocation, after: &[Event]) -> u8 {
    let mut byte = 0;
    // SAFETY: one byte, waited for.
    unsafe { queue.memcpy(&raw mut byte, pointer(block), 1, after) }.unwrap().wait().unwrap();
    byte
}

/// Waits for something that has to happen by itself.
fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// How often, of `tries`, a copy ran before the fill that it was not told to wait for.
fn copies_before_their_fill(properties: QueueProperties, dependent: bool, wait_for_queue: bool) -> usize {
    let runtime = runtime();
    let queue = queue(&runtime, properties);
    let (a, b) = (queue.allocate(UsmKind::Device, 64).unwrap(), queue.allocate(UsmKind::Device, 64).unwrap());
    (0..200)
        .filter(|_| {
            let cleared = memset(&queue, &a, 0, &[]);
            memset(&queue, &b, 0, from_ref(&cleared)).wait().unwrap();
            let filled = memset(&queue, &a, 1, &[]);
            let after = if dependent { from_ref(&filled) } else { &[] };
            let copied = copy(&queue, &b, &a, after);
            if wait_for_queue {
                queue.wait().unwrap();
            } else {
                copied.wait().unwrap();
            }
            let early = first_byte(&queue, &b, &[]) == 0;
            filled.wait().unwrap();
            early
        })
        .count()
}

#[test]
fn a_missing_dependency_shows() {
    for wait_for_queue in [false, true] {
        let shown = copies_before_their_fill(OUT_OF_ORDER, false, wait_for_queue);
        assert!(shown > 20, "{shown} of 200 showed it (whole queue: {wait_for_queue})");
        assert_eq!(copies_before_their_fill(OUT_OF_ORDER, true, wait_for_queue), 0);
        assert_eq!(copies_before_their_fill(IN_ORDER, false, wait_for_queue), 0);
    }
}

#[test]
fn in_order_queues_keep_the_order() {
    let runtime = runtime();
    let queue = queue(&runtime, IN_ORDER);
    let blocks: Vec<_> = (0..8).map(|_| queue.allocate(UsmKind::Shared, 1 << 16).unwrap()).collect();
    for round in 0..100_u8 {
        // What the first one gets goes through all of them, against the order of the blocks.
        memset(&queue, &blocks[7], round, &[]);
        let copied: Vec<_> = (0..7).rev().map(|i| copy(&queue, &blocks[i], &blocks[i + 1], &[])).collect();
        memset(&queue, &blocks[7], !round, &[]);
        copied[6].wait().unwrap();
        assert!(copied.iter().all(Event::is_complete), "the last one ends last");
        for block in &blocks[..7] {
            assert_eq!(first_byte(&queue, block, &[]), round);
        }
    }
}

#[test]
fn events_of_other_queues_are_dependencies() {
    let runtime = runtime();
    let queues = [OUT_OF_ORDER, IN_ORDER, OUT_OF_ORDER, IN_ORDER].map(|order| queue(&runtime, order));
    let own = Context::new(from_ref(runtime.host_device())).unwrap();
    let elsewhere = own.create_queue(runtime.host_device(), OUT_OF_ORDER).unwrap();
    let blocks: Vec<_> = (0..9).map(|_| queues[0].allocate(UsmKind::Device, 4096).unwrap()).collect();
    for round in 0..200_u8 {
        let mut last = memset(&queues[0], &blocks[0], round, &[]);
        for i in 1..blocks.len() {
            // A barrier of another context passes the order on as well.
            let passed = elsewhere.barrier(from_ref(&last)).unwrap();
            last = copy(&queues[i % 4], &blocks[i], &blocks[i - 1], &[passed]);
        }
        assert_eq!(first_byte(&queues[0], &blocks[8], &[last]), round);
        // No copy of this round is left when the next one starts: the chain ended with the last.
    }
}

#[test]
fn barriers_hold_back_what_comes_later() {
    let runtime = runtime();
    let (queue, other) = (queue(&runtime, OUT_OF_ORDER), queue(&runtime, OUT_OF_ORDER));
    let blocks: Vec<_> = (0..4).map(|_| queue.allocate(UsmKind::Device, 1 << 14).unwrap()).collect();
    for round in 1..200_u8 {
        // After all of the queue, twice; everything before it has ended when the barrier has.
        let filled: Vec<_> = blocks[..3].iter().map(|block| memset(&queue, block, round, &[])).collect();
        queue.barrier(&[]).unwrap();
        let copied = copy(&queue, &blocks[3], &blocks[round as usize % 3], &[]);
        queue.barrier(&[]).unwrap().wait().unwrap();
        assert!(filled.iter().chain([&copied]).all(Event::is_complete));
        assert_eq!(first_byte(&queue, &blocks[3], &[]), round);

        // After one event only, of another queue. A barrier before it still counts.
        let cleared = memset(&queue, &blocks[1], 0, &[]);
        queue.barrier(&[]).unwrap();
        let elsewhere = memset(&other, &blocks[0], !round, &[]);
        queue.barrier(from_ref(&elsewhere)).unwrap();
        let copied = copy(&queue, &blocks[1], &blocks[0], &[]);
        copied.wait().unwrap();
        assert!(cleared.is_complete() && elsewhere.is_complete());
        assert_eq!(first_byte(&queue, &blocks[1], &[]), !round);
    }
}

#[test]
fn jobs_run_without_anybody_waiting() {
    let runtime = runtime();
    for properties in [IN_ORDER, OUT_OF_ORDER] {
        let queue = queue(&runtime, properties);
        for len in [64, LARGE] {
            let blocks: Vec<_> = (0..5).map(|_| queue.allocate(UsmKind::Shared, len).unwrap()).collect();
            for _ in 0..3 {
                let events: Vec<_> = blocks.iter().map(|block| memset(&queue, block, 1, &[])).collect();
                assert!(comes_true(|| events.iter().all(Event::is_complete)), "{properties:?} {len}");
                // Long enough for the workers to fall asleep, in some rounds.
                std::thread::sleep(Duration::from_millis(7));
            }
        }
    }
}

#[test]
fn status_goes_from_submitted_over_running_to_complete() {
    let runtime = runtime();
    let queue = queue(&runtime, OUT_OF_ORDER);
    let block = queue.allocate(UsmKind::Shared, LARGE).unwrap();
    memset(&queue, &block, 0, &[]).wait().unwrap();
    let mut seen = [false; 2];
    for _ in 0..50 {
        let first = memset(&queue, &block, 1, &[]);
        let second = memset(&queue, &block, 2, from_ref(&first));
        seen[0] |= second.status() == EventStatus::Submitted;
        let dependencies = second.dependencies().unwrap();
        // Whatever has ended may be missing.
        assert!(dependencies.len() == 1 || first.is_complete());
        assert!(comes_true(|| {
            let (before, after) = (first.status(), second.status());
            seen[1] |= before == EventStatus::Running;
            // `first` is asked before `second`: it may have ended in between, but not be behind.
            after == EventStatus::Submitted || first.is_complete()
        }));
        assert!(comes_true(|| {
            seen[1] |= second.status() == EventStatus::Running;
            second.is_complete()
        }));
        assert!(second.dependencies().unwrap().is_empty());
    }
    assert_eq!(seen, [true; 2], "submitted, running");
}

#[test]
fn dependencies_are_the_direct_ones() {
    let runtime = runtime();
    let (queue, ordered) = (queue(&runtime, OUT_OF_ORDER), queue(&runtime, IN_ORDER));
    let block = queue.allocate(UsmKind::Device, LARGE).unwrap();
    // They take milliseconds each; a try in which the first one has ended meanwhile says nothing.
    let told = (0..100).any(|_| {
        let first = memset(&queue, &block, 1, &[]);
        let second = memset(&queue, &block, 2, from_ref(&first));
        let third = memset(&ordered, &block, 3, from_ref(&second));
        let fourth = memset(&ordered, &block, 4, from_ref(&second));
        let dependencies = [&first, &second, &third, &fourth].map(|event| event.dependencies().unwrap());
        let told = !first.is_complete();
        if told {
            // Of the last one: the second and, by the order of the queue, the third.
            assert_eq!(dependencies.each_ref().map(Vec::len), [0, 1, 1, 2]);
            dependencies[1][0].wait().unwrap();
            assert!(first.is_complete(), "a handle of the same event");
        }
        fourth.wait().unwrap();
        told
    });
    assert!(told);
}

#[test]
fn times_grow_from_submission_to_end() {
    let runtime = runtime();
    for properties in [IN_ORDER, OUT_OF_ORDER] {
        let queue = queue(&runtime, properties.with_profiling(true));
        let block = queue.allocate(UsmKind::Device, 1 << 20).unwrap();
        let mut events = vec![queue.barrier(&[]).unwrap()];
        for i in 0..50 {
            let event = memset(&queue, &block, i, &events[events.len() - 1..]);
            events.push(event);
        }
        let mut end_ns = 0;
        for event in &events {
            let times = event.profiling_times().unwrap();
            assert!(event.is_complete());
            assert!(0 < times.submit_ns && times.submit_ns <= times.start_ns, "{times:?}");
            assert!(end_ns <= times.start_ns && times.start_ns <= times.end_ns, "{times:?} after {end_ns}");
            end_ns = times.end_ns;
        }
        assert!(matches!(runtime_event(&runtime).profiling_times(), Err(Error::NoProfiling)));
    }
}

fn runtime_event(runtime: &Runtime) -> Event {
    queue(runtime, IN_ORDER).barrier(&[]).unwrap()
}

#[test]
fn memory_of_another_context_is_refused_by_name() {
    let gpu = HostDevice::new(DeviceType::Gpu);
    let runtime = Runtime::new(RuntimeOptions::new().without_sycl().host_devices([gpu.clone(), gpu]));
    let queues: Vec<_> = runtime.devices().iter().map(|d| runtime.default_queue(d).unwrap()).collect();
    for kind in UsmKind::ALL {
        let [near, far] = [0, 1].map(|i| queues[i].allocate(kind, 64).unwrap());
        memset(&queues[0], &near, 5, &[]).wait().unwrap();
        memset(&queues[1], &far, 6, &[]).wait().unwrap();
        let queue = &queues[0];
        let mut host = [0_u8; 64];
        let refused = [
            // SAFETY: refused.
            unsafe { queue.memcpy(pointer(&near), pointer(&far), 64, &[]) },
            // SAFETY: refused.
            unsafe { queue.memcpy(pointer(&far), pointer(&near), 64, &[]) },
            // SAFETY: refused.
            unsafe { queue.memcpy(host.as_mut_ptr(), pointer(&far).wrapping_add(63), 1, &[]) },
            // SAFETY: refused.
            unsafe { queue.fill(pointer(&far), &[7], 64, &[]) },
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::ForeignContext { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("(of host:gpu:0)") && text.contains("(of host:gpu:1)"), "{text}");
        }
        assert_eq!((first_byte(queue, &near, &[]), first_byte(&queues[1], &far, &[])), (5, 6), "as before");
        assert_eq!(host, [0; 64]);
    }
}

#[test]
fn ranges_beyond_a_block_are_refused() {
    let runtime = runtime();
    let queue = queue(&runtime, OUT_OF_ORDER);
    let mut host = vec![1_u8; 128];
    for kind in UsmKind::ALL {
        let block = queue.allocate(kind, 64).unwrap();
        memset(&queue, &block, 9, &[]).wait().unwrap();
        let start = pointer(&block);
        let refused = [
            // SAFETY: refused.
            unsafe { queue.memcpy(start, host.as_ptr(), 65, &[]) },
            // SAFETY: refused.
            unsafe { queue.memcpy(host.as_mut_ptr(), start.wrapping_add(1), 64, &[]) },
            // SAFETY: refused.
            unsafe { queue.fill(start, &[1, 2, 3], 22, &[]) },
            // SAFETY: refused.
            unsafe { queue.fill(start, &[1, 2], usize::MAX, &[]) },
            // SAFETY: refused: no USM.
            unsafe { queue.fill(host.as_mut_ptr(), &[0], 128, &[]) },
        ];
        for refused in refused {
            assert!(matches!(refused, Err(Error::Unreachable { .. })), "{refused:?}");
        }
        assert_eq!(first_byte(&queue, &block, &[]), 9);
        // SAFETY: nothing is touched, whatever the address.
        unsafe { queue.memcpy(start.wrapping_add(64), std::ptr::null(), 0, &[]) }.unwrap().wait().unwrap();
        assert_eq!(host, [1; 128]);
    }
}

#[test]
fn memory_freed_under_a_job_goes_to_nobody_else() {
    let small = HostDevice::new(DeviceType::Cpu).memory_bytes(64 << 20);
    let runtime = Runtime::new(RuntimeOptions::new().without_sycl().host_devices([small]));
    let queue = queue(&runtime, OUT_OF_ORDER);
    for kind in UsmKind::ALL {
        for round in 0..100_u8 {
            let block = queue.allocate(kind, 1 << 20).unwrap();
            let address = block.address();
            let first = memset(&queue, &block, 0xaa, &[]);
            let second = memset(&queue, &block, 0xbb, from_ref(&first));
            // Against the rules of `memset`. The host backend keeps the bytes, so that no harm comes from it.
            drop(block);
            assert_eq!(queue.context().pointer_info(address), None, "freed at once");
            let next = queue.allocate(kind, 1 << 20).unwrap();
            assert!(next.address() != address || second.is_complete());
            memset(&queue, &next, round, &[]).wait().unwrap();
            second.wait().unwrap();
            assert_eq!(first_byte(&queue, &next, &[]), round);
        }
    }
    // All of it is there again.
    queue.wait().unwrap();
    assert_eq!(queue.allocate(UsmKind::Device, 64 << 20).unwrap().len_bytes(), 64 << 20);
}

#[test]
fn everything_may_be_dropped_right_after_submission() {
    for round in 0..200 {
        let runtime = runtime();
        let own = Context::new(from_ref(runtime.host_device())).unwrap();
        let order = if round % 2 == 0 { OUT_OF_ORDER } else { IN_ORDER };
        let queue = own.create_queue(runtime.host_device(), order).unwrap();
        let block = queue.allocate(UsmKind::Shared, 4096).unwrap();
        let mut host = vec![0_u8; 4096];
        let filled = memset(&queue, &block, 7, &[]);
        // SAFETY: the host memory is looked at after the backend is gone, which ends what is pending.
        unsafe { queue.memcpy(host.as_mut_ptr(), pointer(&block), 4096, &[filled]) }.unwrap();
        drop(block);
        drop((queue, own));
        drop(runtime);
        assert!(host.iter().all(|&byte| byte == 7), "round {round}: work pending at the end is done");
    }
}

#[test]
fn no_thread_is_left_behind() {
    const ROLE: &str = "USM_TEST_COUNT_THREADS";
    if std::env::var_os(ROLE).is_none() {
        // In a process of its own: other tests have threads, too.
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "no_thread_is_left_behind", "--test-threads=1"]).env(ROLE, "1");
        let output = child.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for _ in 0..20 {
        let runtime = runtime();
        let queue = queue(&runtime, IN_ORDER);
        assert_eq!(threads(), before, "no work, no thread");
        let block = queue.allocate(UsmKind::Shared, LARGE).unwrap();
        for value in 0..4 {
            memset(&queue, &block, value, &[]);
        }
        assert!((before + 1..=before + 2).contains(&threads()));
        drop((block, queue, runtime));
        // The kernel may take a moment to forget a thread that was joined.
        assert!(comes_true(|| threads() == before));
    }
}

#[test]
fn long_chains_need_no_stack() {
    const LEN: usize = 1_000_000;
    let run = || {
        let runtime = runtime();
        let (chain, gate) = (queue(&runtime, OUT_OF_ORDER), queue(&runtime, OUT_OF_ORDER));
        let block = gate.allocate(UsmKind::Shared, 64 << 20).unwrap();
        for wait in [true, false] {
            let mut last = memset(&gate, &block, 1, &[]);
            for _ in 0..LEN {
                last = chain.barrier(from_ref(&last)).unwrap();
            }
            if wait {
                last.wait().unwrap();
                assert!(last.is_complete());
            }
        }
        // The second time all is dropped with the chain pending, or what is left of it.
    };
    std::thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn eight_threads_lose_nothing() {
    let runtime = runtime();
    let shared = queue(&runtime, OUT_OF_ORDER);
    let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let (runtime, shared, done, stop) = (&runtime, &shared, &done, &stop);
            scope.spawn(move || {
                let own = queue(runtime, if thread % 2 == 0 { IN_ORDER } else { OUT_OF_ORDER });
                let [a, b] = [0, 1].map(|_| own.allocate(UsmKind::Device, 1 << 12).unwrap());
                let mut back = [0_u8; 1 << 12];
                let mut round = 0_u8;
                while !stop.load(Ordering::Relaxed) {
                    round = round.wrapping_add(1);
                    let value = round ^ thread;
                    let filled = memset(&own, &a, value, &[]);
                    let copied = copy(shared, &b, &a, from_ref(&filled));
                    let barrier = own.barrier(from_ref(&copied)).unwrap();
                    let len = back.len();
                    // SAFETY: waited for below.
                    let read =
                        unsafe { own.memcpy(back.as_mut_ptr(), pointer(&b), len, &[barrier]) }.unwrap();
                    let temporary = own.allocate(UsmKind::Shared, 100).unwrap();
                    let unrelated = memset(shared, &temporary, value, &[]);
                    if round.is_multiple_of(16) {
                        shared.wait().unwrap();
                        assert!(unrelated.is_complete() && copied.is_complete());
                    }
                    unrelated.wait().unwrap();
                    read.wait().unwrap();
                    assert!(back.iter().all(|&byte| byte == value), "thread {thread}, round {round}");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
    });
    shared.wait().unwrap();
    assert!(done.load(Ordering::Relaxed) > 1000, "{done:?} rounds");
}
