//! What threads keep of a pool for themselves: nobody sees it, and everybody gets it back.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use common::{allocate, each, pool};
use usm_memory::resource::{DirectResource, LimitingResource, PoolOptions, PoolResource};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{Method, RecordingBackend};
use usm_memory::usm_core::{Context, QueueProperties, Runtime, UsmKind};
use usm_memory::{MemoryResource, UsmBuffer};

fn used_and_peak(pool: &PoolResource) -> (usize, usize) {
    let seen = pool.statistics();
    (seen.used_bytes, seen.peak_bytes)
}

#[test]
fn trimming_waits_for_blocks_whose_adjacent_blocks_threads_keep() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        drop(allocate(&pool, queue, kind, 64));
        let published = allocate(&pool, queue, kind, 64);
        published.publish().unwrap();
        drop(published);
        assert!(pool.trim() > 0);
        assert_eq!(pool.statistics().slab_bytes, 0);
    });
}

#[test]
fn new_buffers_know_nothing_of_what_others_knew_of_their_blocks() {
    let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
    let runtime = Runtime::with_backend(recording.clone()).unwrap();
    let context = Context::new(&[runtime.default_device().unwrap()]).unwrap();
    let new_queue =
        || context.create_queue(&runtime.default_device().unwrap(), QueueProperties::OUT_OF_ORDER).unwrap();
    let (first, second) = (new_queue(), new_queue());
    let (_, pool) = pool(PoolOptions::new());
    let published: Vec<_> = (0..127).map(|_| allocate(&pool, &first, UsmKind::Host, 64)).collect();
    published.iter().for_each(|buffer| buffer.publish().unwrap());
    drop(published);
    let new: Vec<_> = (0..100).map(|_| allocate(&pool, &second, UsmKind::Host, 64)).collect();
    recording.clear();
    new.iter().for_each(|buffer| drop(buffer.read_range(0..64).unwrap()));
    assert_eq!(recording.count(Method::Wait), 0);
}

#[test]
fn statistics_are_exact_after_each_step() {
    each(|queue, kind| {
        // Asked for after each step, and once at the end of many.
        for is_asked in [true, false] {
            let (_, pool) = pool(PoolOptions::new());
            let (mut live, mut used, mut peak, mut count) = (Vec::new(), 0, 0, 0);
            for step in 0..600_usize {
                if step % 7 < 4 && step % 100 < 70 {
                    let len_bytes = 1 + step * 37 % 500;
                    live.push(allocate(&pool, queue, kind, len_bytes));
                    (used, count) = (used + len_bytes, count + 1);
                    peak = peak.max(used);
                } else if !live.is_empty() {
                    used -= live.swap_remove(step * 31 % live.len()).len_bytes();
                }
                if is_asked {
                    assert_eq!(used_and_peak(&pool), (used, peak), "step {step}");
                }
            }
            assert_eq!(used_and_peak(&pool), (used, peak));
            let slabs = pool.statistics().slab_bytes;
            drop(live);
            let seen = pool.statistics();
            assert_eq!((seen.used_bytes, seen.idle_bytes, seen.slab_bytes), (0, slabs, slabs));
            assert!(seen.reused_count < count && seen.reused_count + 20 > count, "{seen:?} {count}");
        }
    });
}

#[test]
fn peaks_of_several_threads_are_exact() {
    let queue = common::host_queue();
    let (_, pool) = pool(PoolOptions::new());
    let steps = Barrier::new(2);
    thread::scope(|scope| {
        for number in 0..2_usize {
            let (pool, queue, steps) = (&pool, &queue, &steps);
            scope.spawn(move || {
                for round in 1..50 {
                    // One after the other: never more than one buffer at a time, until both have one.
                    for step in 0..2 {
                        steps.wait();
                        if step == number {
                            (0..5).for_each(|_| drop(allocate(pool, queue, UsmKind::Shared, 64 * round)));
                        }
                    }
                    steps.wait();
                    let most = if round == 1 { 64 } else { 2 * 64 * (round - 1) };
                    assert_eq!(used_and_peak(pool), (0, most.max(64 * round)));
                    steps.wait();
                    let mine = allocate(pool, queue, UsmKind::Shared, 64 * round);
                    steps.wait();
                    assert_eq!(used_and_peak(pool), (128 * round, 128 * round));
                    steps.wait();
                    drop(mine);
                    steps.wait();
                }
            });
        }
    });
}

#[test]
fn trim_takes_what_other_threads_keep() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let barrier = Barrier::new(4);
        let (slabs, freed, left) = thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for len_bytes in [64, 100, 1000, 5000, 1 << 20] {
                        let both = [(); 2].map(|()| allocate(&pool, queue, kind, len_bytes));
                        drop(both);
                    }
                    barrier.wait();
                    barrier.wait();
                    // The thread goes on afterwards.
                    drop(allocate(&pool, queue, kind, 64));
                });
            }
            barrier.wait();
            // Once more without asking first is below.
            let slabs = pool.statistics().slab_bytes;
            let freed = pool.trim();
            let left = upstream.statistics().current_bytes;
            // Before anything can fail here, since the others wait for it.
            barrier.wait();
            (slabs, freed, left)
        });
        assert_eq!((freed, left), (slabs, 0));
        assert!(pool.trim() > 0);
        assert_eq!(upstream.statistics().current_bytes, 0);

        // Without asking first.
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let (end, wait) = mpsc::channel::<()>();
            let (pool, upstream) = (&pool, &upstream);
            scope.spawn(move || {
                drop(allocate(pool, queue, kind, 1 << 20));
                sender.send(()).unwrap();
                wait.recv().ok();
            });
            receiver.recv().unwrap();
            assert_eq!(pool.trim(), 1 << 20);
            assert_eq!(upstream.statistics().current_bytes, 0);
            drop(end);
        });
    });
}

#[test]
fn a_pool_takes_from_threads_before_it_grows_or_fails() {
    each(|queue, kind| {
        let limited = Arc::new(LimitingResource::new(Arc::new(DirectResource), 2 << 20));
        let pool = PoolResource::new(limited.clone(), PoolOptions::new());
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let (end, wait) = mpsc::channel::<()>();
            let pool = &pool;
            scope.spawn(move || {
                let both = [(); 2].map(|()| allocate(pool, queue, kind, 1 << 20));
                let addresses = both.each_ref().map(UsmBuffer::address);
                drop(both);
                sender.send(addresses).unwrap();
                wait.recv().ok();
            });
            let addresses = receiver.recv().unwrap();
            let one = allocate(pool, queue, kind, 1 << 20);
            assert!(addresses.contains(&one.address()));
            assert_eq!(limited.used_bytes(), 2 << 20);
            drop(one);
            // Another size: only slots that the thread cached can be released.
            drop(allocate(pool, queue, kind, 2 << 20));
            drop(end);
        });
    });
}

#[test]
fn threads_give_back_what_they_keep_when_they_end() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        for round in 0..20 {
            let address = thread::scope(|scope| {
                scope.spawn(|| allocate(&pool, queue, kind, 1 << 20).address()).join().unwrap()
            });
            assert_eq!(upstream.statistics().total_count, 1, "round {round}");
            assert_eq!(allocate(&pool, queue, kind, 1 << 20).address(), address);
        }
    });
}

thread_local! {
    static LAST: std::cell::RefCell<Vec<(Arc<PoolResource>, UsmBuffer)>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn buffers_in_thread_locals_go_with_their_thread() {
    each(|queue, kind| {
        for is_first in [true, false] {
            let (upstream, pool) = pool(PoolOptions::new());
            let pool = Arc::new(pool);
            thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    // Before or after the values of the pool, whichever thread value is made first.
                    if is_first {
                        LAST.with_borrow(Vec::len);
                    }
                    let buffers = [(); 3].map(|()| (Arc::clone(&pool), allocate(&pool, queue, kind, 64)));
                    LAST.with_borrow_mut(|last| last.extend(buffers));
                });
                // A scope does not wait for the values of its threads, but this does.
                thread.join().unwrap();
            });
            assert_eq!(pool.statistics().used_bytes, 0);
            drop(pool);
            assert_eq!(upstream.statistics().current_bytes, 0);
        }
    });
}

#[test]
fn a_pool_that_goes_frees_what_threads_keep() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let mine = allocate(&pool, queue, kind, 64);
        drop(allocate(&pool, queue, kind, 64));
        let (sender, receiver) = mpsc::channel();
        let (end, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let of_thread = &pool;
            let handle = scope.spawn(move || {
                let kept = allocate(of_thread, queue, kind, 1000);
                drop(allocate(of_thread, queue, kind, 1000));
                sender.send(()).unwrap();
                kept
            });
            receiver.recv().unwrap();
            let kept = handle.join().unwrap();
            thread::scope(|inner| {
                inner.spawn(move || {
                    wait.recv().ok();
                    drop(kept);
                });
                end.send(()).unwrap();
            });
        });
        drop(pool);
        assert_eq!(upstream.statistics().current_count, 1, "that of the live buffer");
        mine.write_range(0..64).unwrap();
        drop(mine);
        assert_eq!(upstream.statistics().current_count, 0);
        // The thread goes on with another pool.
        let (upstream, pool) = self::pool(PoolOptions::new());
        drop(allocate(&pool, queue, kind, 64));
        drop(pool);
        assert_eq!(upstream.statistics().current_count, 0);
    });
}

#[test]
fn several_pools_in_one_thread_do_not_mix() {
    each(|queue, kind| {
        let pools = [(); 4].map(|()| pool(PoolOptions::new()));
        let mut addresses = HashSet::new();
        for _ in 0..5 {
            for (_, pool) in &pools {
                addresses.insert(allocate(pool, queue, kind, 64).address());
            }
        }
        assert_eq!(addresses.len(), 4, "each its own block again and again");
        for (upstream, pool) in pools {
            assert_eq!((pool.statistics().used_bytes, pool.trim()), (0, upstream.statistics().peak_bytes));
        }
    });
}

#[test]
fn buffers_have_the_queue_that_was_asked_for() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let orders = [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER];
        let queues: Vec<_> =
            (0..8).map(|n| queue.context().create_queue(queue.device(), orders[n % 2]).unwrap()).collect();
        let mut addresses = HashSet::new();
        for round in 0..100 {
            let asked = &queues[round * 5 % 8];
            let buffer = allocate(&pool, asked, kind, 64);
            assert_eq!(buffer.queue(), asked);
            addresses.insert(buffer.address());
        }
        assert!(addresses.len() <= 9, "all queues of a context share: {}", addresses.len());
        let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let elsewhere = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        for _ in 0..3 {
            let buffer = allocate(&pool, &elsewhere, kind, 64);
            assert!(buffer.context() == &context && !addresses.contains(&buffer.address()));
            for other in UsmKind::ALL.into_iter().filter(|other| *other != kind) {
                assert_eq!(allocate(&pool, queue, other, 64).kind(), other);
            }
        }
    });
}

#[test]
fn buffers_that_end_on_other_threads_come_back() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let (sender, receiver) = mpsc::sync_channel::<UsmBuffer>(40);
        thread::scope(|scope| {
            scope.spawn(move || receiver.iter().for_each(drop));
            for round in 0..2000 {
                sender.send(allocate(&pool, queue, kind, 100 + round % 1000)).unwrap();
            }
            drop(sender);
        });
        assert_eq!(pool.statistics().used_bytes, 0);
        assert!(upstream.statistics().total_count < 30, "{:?}", upstream.statistics());
        assert_eq!(pool.trim(), upstream.statistics().peak_bytes);
    });
}

#[test]
fn hooks_and_pending_work_count_for_kept_blocks_too() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        for round in 0..3 {
            let buffer = allocate(&pool, queue, kind, 64);
            let [before, after] = [(); 2].map(|()| Arc::clone(&order));
            buffer.before_release(move || before.lock().unwrap().push((round, "before")));
            buffer.after_release(move || after.lock().unwrap().push((round, "after")));
            drop(buffer);
            // The next one has none of them.
            drop(allocate(&pool, queue, kind, 64));
        }
        let expected: Vec<_> = (0..3).flat_map(|round| [(round, "before"), (round, "after")]).collect();
        assert_eq!(*order.lock().unwrap(), expected);

        let published = allocate(&pool, queue, kind, 64);
        let address = published.address();
        published.publish().unwrap();
        drop(published);
        let others: Vec<_> = (0..20).map(|_| allocate(&pool, queue, kind, 64).address()).collect();
        assert!(!others.contains(&address), "work may be pending, and there are blocks without");
    });
}

#[test]
fn retention_is_kept_over_threads() {
    each(|queue, kind| {
        // Often, since slabs that two threads add at a time are the hard part.
        for max_bytes in [[1 << 20; 30].as_slice(), &[0, 4 << 20, 64 << 20]].concat() {
            let (upstream, pool) = pool(PoolOptions::new().max_retained_bytes(max_bytes));
            let barrier = Barrier::new(5);
            let kept = thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for len_bytes in [64, 1000, 4096, 100_000, 1 << 20, 3 << 20] {
                            drop([(); 3].map(|()| allocate(&pool, queue, kind, len_bytes)));
                        }
                        barrier.wait();
                        barrier.wait();
                    });
                }
                barrier.wait();
                let kept = upstream.statistics().current_bytes;
                // Before anything can fail here, since the others wait for it.
                barrier.wait();
                kept
            });
            let most = max_bytes + 4 * (max_bytes / 16).min(16 << 20);
            assert!(kept <= most, "{kept} of {max_bytes}, {most} with those of four threads");
        }
    });
}

/// A thread keeps blocks of the queues that it used last, and lets the others go.
#[test]
fn what_threads_keep_does_not_keep_every_queue() {
    const COUNT: usize = 12;
    let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
    let runtime = Runtime::with_backend(recording.clone()).unwrap();
    let context = Context::new(&[runtime.default_device().unwrap()]).unwrap();
    let new_queue =
        |_| context.create_queue(&runtime.default_device().unwrap(), QueueProperties::IN_ORDER).unwrap();
    let queues: Vec<_> = (0..COUNT).map(new_queue).collect();
    let (_, pool) = pool(PoolOptions::new());
    let buffers: Vec<_> = queues.iter().map(|queue| allocate(&pool, queue, UsmKind::Host, 64)).collect();
    recording.clear();
    drop((buffers, queues));
    // The pool has the first one, and a thread up to four.
    assert!(recording.count(Method::Release) >= COUNT - 5);
}

#[test]
fn memory_of_queues_that_are_gone_can_be_trimmed() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let own = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        drop(allocate(&pool, &own, kind, 64));
        drop((own, context));
        assert!(pool.trim() > 0);
        assert_eq!(upstream.statistics().current_count, 0);
    });
}
