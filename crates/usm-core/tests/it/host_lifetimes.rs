//! What pending work of the host backend uses stays, and what it must not use is refused; nothing is lost or left behind.
#![allow(clippy::unwrap_used)]

use crate::host;

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use host::{IN_ORDER, LARGE, OUT_OF_ORDER, comes_true, copy, first_byte, memset, pointer, queue, runtime};
use usm_core::{Context, DeviceType, Error, HostDevice, Runtime, RuntimeOptions, UsmKind};

#[test]
fn memory_of_another_context_is_refused_by_name() {
    let gpu = HostDevice::new(DeviceType::Gpu);
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu.clone(), gpu]));
    let queues: Vec<_> = runtime.devices().iter().map(|d| runtime.default_queue(d).unwrap()).collect();
    for kind in UsmKind::ALL {
        let [near, far] = [0, 1].map(|i| queues[i].allocate(kind, 64).unwrap());
        memset(&queues[0], &near, 5, &[]).wait().unwrap();
        memset(&queues[1], &far, 6, &[]).wait().unwrap();
        let queue = &queues[0];
        let mut host = [0_u8; 64];
        // SAFETY: refused.
        let mut refused = vec![unsafe { queue.fill(pointer(&far), &[7], 64, &[]) }];
        if kind == UsmKind::Device {
            // SAFETY: refused.
            refused.push(unsafe { queue.memcpy(pointer(&near), pointer(&far), 64, &[]) });
            // SAFETY: refused.
            refused.push(unsafe { queue.memcpy(pointer(&far), pointer(&near), 64, &[]) });
            // SAFETY: refused.
            refused.push(unsafe { queue.memcpy(host.as_mut_ptr(), pointer(&far).wrapping_add(63), 1, &[]) });
        } else {
            // What host code reaches is host memory for other contexts.
            // SAFETY: within both blocks, waited for.
            unsafe { queue.memcpy(host.as_mut_ptr(), pointer(&far), 64, &[]) }.unwrap().wait().unwrap();
            assert_eq!(host, [6; 64]);
            host = [0; 64];
        }
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::OtherContext { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("of host:gpu:0;") && text.contains("of host:gpu:1,"), "{text}");
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
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([small]));
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
#[cfg_attr(windows, ignore = "it counts threads in the proc file system")]
fn no_thread_is_left_behind() {
    const ROLE: &str = "USM_TEST_COUNT_THREADS";
    if std::env::var_os(ROLE).is_none() {
        // In a process of its own: other tests have threads, too.
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "host_lifetimes::no_thread_is_left_behind", "--test-threads=1"])
            .env(ROLE, "1");
        let output = child.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    // Threads that help with bulk fills start with the first work for so many, and stay as long as the process.
    let helpers = usm_core::bulk::num_threads();
    let all = Arc::new(Barrier::new(helpers));
    usm_core::bulk::share(helpers, helpers, move |_| {
        all.wait();
    });
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
