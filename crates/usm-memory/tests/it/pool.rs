//! The pool: reuse, retention, pressure, several queues and contexts, eight threads.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::collections::HashSet;
use std::sync::Arc;

use common::{allocate, each, pool};
use usm_memory::resource::{
    DirectResource, LimitingResource, PoolOptions, PoolResource, Statistics, StatisticsResource,
};
use usm_memory::usm_core::testing::Random;
use usm_memory::usm_core::{Context, Queue, QueueProperties, UsmKind};
use usm_memory::{Error, MemoryResource, Ownership, UsmBuffer};

#[test]
fn blocks_are_handed_out_again_only_when_nothing_uses_them() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let first = allocate(&pool, queue, kind, 100);
        assert!(matches!(first.ownership(), Ownership::Leased(_)));
        let address = first.address();
        let others: Vec<_> = (0..300).map(|_| allocate(&pool, queue, kind, 100)).collect();
        let addresses: HashSet<_> = others.iter().map(UsmBuffer::address).collect();
        assert!(addresses.len() == 300 && !addresses.contains(&address));
        assert_eq!(upstream.statistics().total_count, 3, "128 blocks of 128 bytes make a slab");

        let part = first.sub_buffer(50, 10).unwrap();
        drop(first);
        assert_ne!(allocate(&pool, queue, kind, 100).address(), address, "a part is left");
        let guard = part.read_range(0..10).unwrap();
        drop(part);
        assert_ne!(allocate(&pool, queue, kind, 100).address(), address, "a guard is left");
        drop(guard);
        assert_eq!(allocate(&pool, queue, kind, 100).address(), address);
        assert_eq!(upstream.statistics().total_count, 3);
        drop(others);
        let seen = pool.statistics();
        assert_eq!((seen.used_bytes, seen.peak_bytes), (0, 302 * 100));
        assert_eq!((seen.slab_bytes, seen.idle_bytes), (3 * 128 * 128, 3 * 128 * 128));
        assert_eq!(seen.reused_count, 300 + 4 - 3);
        assert_eq!(pool.trim(), 3 * 128 * 128);
        assert_eq!((upstream.statistics().current_count, pool.statistics().slab_bytes), (0, 0));
        assert_eq!(pool.trim(), 0);
        allocate(&pool, queue, kind, 100);
    });
}

/// What both kinds of statistics have.
fn numbers(pool: &PoolResource) -> [u64; 7] {
    let seen = pool.statistics();
    let [bytes, peak_bytes] = [seen.used_bytes, seen.peak_bytes].map(|bytes| bytes as u64);
    let [count, peak_count] = [seen.used_count, seen.peak_count].map(|count| count as u64);
    [bytes, peak_bytes, seen.total_bytes, count, peak_count, seen.total_count, seen.failed_count]
}

#[test]
fn one_thread_finds_the_numbers_of_a_statistics_resource() {
    each(|queue, kind| {
        let pool = Arc::new(pool(PoolOptions::new().max_retained_bytes(8 << 20)).1);
        let counted = StatisticsResource::new(Arc::clone(&pool) as _);
        let mut live = Vec::new();
        for step in 0..400 {
            let len_bytes = [0, 1, 64, 100, 5000, 300_000, 3 << 20, 9 << 20][step * 5 % 61 % 8];
            match step % 7 {
                2 | 5 if !live.is_empty() => drop(live.swap_remove(step * 11 % live.len())),
                _ if step % 40 > 30 => live.truncate(live.len() / 2),
                _ => live.extend(UsmBuffer::allocate_in(&counted, queue, kind, len_bytes)),
            }
            if step == 111 || step == 250 {
                pool.reset_peak();
                counted.reset_peak();
            }
            let Statistics { current_bytes, peak_bytes, total_bytes, current_count, peak_count, .. } =
                counted.statistics();
            let Statistics { total_count, failed_count, .. } = counted.statistics();
            let expected = [current_bytes as u64, peak_bytes as u64, total_bytes];
            let expected_counts = [current_count as u64, peak_count as u64, total_count, failed_count];
            assert_eq!(numbers(&pool)[..], [&expected[..], &expected_counts].concat(), "step {step}");
        }
        assert!(counted.statistics().failed_count > 0);
    });
}

#[test]
fn trim_leaves_slabs_in_use() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new());
        let kept = allocate(&pool, queue, kind, 1000);
        kept.fill(&[5]).unwrap();
        drop(allocate(&pool, queue, kind, 5000));
        assert_eq!(pool.statistics().idle_bytes, 128 * 5120);
        assert_eq!(pool.trim(), 128 * 5120);
        assert_eq!(upstream.statistics().current_bytes, 128 * 1024);
        assert_eq!(kept.to_vec().unwrap(), [5; 1000]);
        drop(pool);
        assert_eq!(kept.to_vec().unwrap(), [5; 1000], "buffers outlive their pool");
        drop(kept);
        assert_eq!(upstream.statistics().current_count, 0);
    });
}

#[test]
fn retention_is_bounded() {
    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new().max_retained_bytes(4 << 20));
        let buffers: Vec<_> = (0..6).map(|_| allocate(&pool, queue, kind, 1 << 20)).collect();
        drop(buffers);
        assert_eq!(pool.statistics().idle_bytes, 4 << 20);
        assert_eq!(upstream.statistics().current_bytes, 4 << 20);
        drop(allocate(&pool, queue, kind, (4 << 20) + 1));
        assert_eq!(upstream.statistics().current_bytes, 4 << 20, "too large to be kept");
        assert_eq!(pool.statistics().used_bytes, 0);

        let (upstream, none) = self::pool(PoolOptions::new().max_retained_bytes(0));
        drop(allocate(&none, queue, kind, 10));
        assert_eq!((upstream.statistics().current_bytes, upstream.statistics().total_bytes), (0, 10));
    });
}

#[test]
fn trim_reaches_the_pool_below() {
    each(|queue, kind| {
        let (upstream, below) = pool(PoolOptions::new());
        let below = Arc::new(below);
        let above = PoolResource::new(below.clone(), PoolOptions::new());
        drop(allocate(&below, queue, kind, 3 << 20));
        drop(allocate(&above, queue, kind, 2 << 20));
        let [above_bytes, below_bytes] = [above.statistics().idle_bytes, below.statistics().idle_bytes];
        assert!(above_bytes > 0 && below_bytes > 0);
        let pool_below = above.upstream().and_then(MemoryResource::as_pool).unwrap();
        assert_eq!(pool_below.statistics().idle_bytes, below_bytes);
        // What the upper one gives back stays in the lower one, which gives all back.
        assert_eq!(above.trim(), above_bytes + below_bytes + above_bytes);
        assert_eq!((upstream.statistics().current_count, above.trim()), (0, 0));
    });
}

#[test]
fn pressure_trims_and_retries() {
    each(|queue, kind| {
        let limit = (3 << 20) + 100;
        let limited = Arc::new(LimitingResource::new(Arc::new(DirectResource), limit));
        let pool = PoolResource::new(limited.clone(), PoolOptions::new());
        drop((0..3).map(|_| allocate(&pool, queue, kind, 1 << 20)).collect::<Vec<_>>());
        assert_eq!(limited.used_bytes(), 3 << 20, "all kept");
        let large = allocate(&pool, queue, kind, 3 << 20);
        assert_eq!(limited.used_bytes(), 3 << 20);
        // No slab fits beside this one, but the bytes asked for do, to the last one.
        let rest = allocate(&pool, queue, kind, 100);
        assert_eq!(limited.used_bytes(), limit);
        match UsmBuffer::allocate_in(&pool, queue, kind, 1).unwrap_err() {
            Error::OutOfMemory { requested_bytes: 1, usage, .. } => assert_eq!(usage.used_bytes, Some(limit)),
            other => panic!("{other}"),
        }
        drop((large, rest));
        assert_eq!(limited.used_bytes(), 3 << 20, "the block is kept, the bytes without a slab are not");
        pool.trim();
        assert_eq!(limited.used_bytes(), 0);
    });
}

#[test]
fn contexts_and_kinds_do_not_share_and_queues_do() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let address = allocate(&pool, queue, kind, 64).address();
        let sibling = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        let shared = allocate(&pool, &sibling, kind, 64);
        assert_eq!((shared.address(), shared.queue()), (address, &sibling));
        drop(shared);

        let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let elsewhere = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        let other = allocate(&pool, &elsewhere, kind, 64);
        assert!(other.address() != address && other.context() == &context);
        for other_kind in UsmKind::ALL.into_iter().filter(|&other| other != kind) {
            assert_ne!(allocate(&pool, queue, other_kind, 64).address(), address);
        }
        assert_eq!(allocate(&pool, queue, kind, 64).address(), address);
    });
}

/// Blocks come back with the queue that their slab was made for, though the thread has used others since.
#[test]
fn blocks_of_a_queue_that_was_not_used_for_long_are_kept_and_allocated() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let first = allocate(&pool, queue, kind, 64);
        let create = |_| queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        let others: Vec<_> = (0..6).map(create).collect();
        others.iter().for_each(|other| drop(allocate(&pool, other, kind, 64)));
        let address = first.address();
        drop(first);
        assert_eq!(pool.statistics().used_bytes, 0);
        let asked = [&others[5], queue, &others[0]];
        let buffers = asked.map(|queue| allocate(&pool, queue, kind, 64));
        for (buffer, queue) in buffers.iter().zip(asked) {
            assert_eq!(buffer.queue(), queue);
        }
        assert!(buffers.iter().any(|buffer| buffer.address() == address));
        drop(buffers);
        pool.trim();
        assert_eq!((pool.statistics().used_bytes, pool.statistics().slab_bytes), (0, 0));
    });
}

#[test]
fn published_blocks_are_taken_last() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new().max_retained_bytes(1 << 21));
        let (published, plain) =
            (allocate(&pool, queue, kind, 1 << 20), allocate(&pool, queue, kind, 1 << 20));
        let (first, second) = (plain.address(), published.address());
        published.publish().unwrap();
        drop(plain);
        drop(published);
        let again = allocate(&pool, queue, kind, 1 << 20);
        assert_eq!(again.address(), first, "the last one given back has work to wait for");
        let waited = allocate(&pool, queue, kind, 1 << 20);
        assert_eq!(waited.address(), second);
        waited.fill(&[3]).unwrap();
        assert_eq!(waited.sub_buffer(0, 2).unwrap().to_vec().unwrap(), [3, 3]);
    });
}

#[test]
fn work_of_others_is_complete_before_anybody_looks_at_the_memory() {
    const LEN: usize = 32 << 20;
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let buffer = allocate(&pool, queue, kind, LEN);
        buffer.publish().unwrap();
        let start = std::ptr::with_exposed_provenance_mut(buffer.address());
        let mut last = None;
        for value in 0..8 {
            // SAFETY: the block of the pool, which nobody else touches and the pool keeps until the work is complete.
            last = Some(unsafe { queue.memset(start, value, LEN, last.as_slice()) }.unwrap());
        }
        drop(buffer);
        let again = allocate(&pool, queue, kind, LEN);
        assert_eq!(again.address(), start.addr(), "the same queue goes on with it at once");
        let guard = again.read_range(LEN - 1..LEN).unwrap();
        assert!(last.unwrap().is_complete(), "looked at while others work on it");
        drop(guard);
        assert_eq!(again.sub_buffer(LEN - 1, 1).unwrap().to_vec().unwrap(), [7]);
    });
}

#[test]
fn a_lease_of_a_lease_hands_the_duty_to_wait_down() {
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let (below, plain) = (allocate(&pool, queue, kind, 1 << 20), allocate(&pool, queue, kind, 1 << 20));
        let (published, address) = (below.address(), plain.address());
        let above = UsmBuffer::lease(below, queue, drop).unwrap();
        above.publish().unwrap();
        drop(plain);
        drop(above);
        let again = allocate(&pool, queue, kind, 1 << 20);
        assert_eq!(again.address(), address, "the published one comes last");
        assert_eq!(allocate(&pool, queue, kind, 1 << 20).address(), published);
    });
}

#[test]
fn eight_threads_get_no_overlapping_buffers() {
    // Of each thread and kind. A time instead would leave threads without a turn on a busy machine.
    const ROUNDS: u64 = 200;

    fn work(seed: u64, pool: &PoolResource, queue: &Queue, kind: UsmKind) {
        let mut random = Random::new(seed);
        let mut live: Vec<(UsmBuffer, u64)> = Vec::new();
        let check = |(buffer, mark): &(UsmBuffer, u64)| {
            let whole = buffer.len_bytes() & !7;
            let bytes = buffer.sub_buffer(0, whole).unwrap().to_vec().unwrap();
            assert!(bytes == mark.to_ne_bytes().repeat(whole / 8), "somebody else wrote here");
        };
        for round in 0..ROUNDS {
            if live.len() < 24 && random.below(5) < 3 {
                let len = match random.below(20) {
                    0 => 1 + random.below(2 << 20),
                    1..5 => 1 + random.below(100_000),
                    _ => 8 + random.below(2000),
                };
                let buffer = UsmBuffer::allocate_in(pool, queue, kind, len).unwrap();
                let mark = (seed << 48) | round;
                buffer.sub_buffer(0, len & !7).unwrap().fill(&mark.to_ne_bytes()).unwrap();
                live.push((buffer, mark));
            } else if !live.is_empty() {
                let gone = live.swap_remove(random.below(live.len()));
                check(&gone);
            }
            if random.below(500) == 0 {
                pool.trim();
            }
        }
        live.iter().for_each(check);
    }

    each(|queue, kind| {
        let (upstream, pool) = pool(PoolOptions::new().max_retained_bytes(8 << 20));
        let pool = &pool;
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|seed| scope.spawn(move || work(seed, pool, queue, kind))).collect();
            // Joined one by one: the end of a scope does not wait for what threads give back at their end.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let seen = pool.statistics();
        assert_eq!((seen.used_bytes, seen.slab_bytes), (0, seen.idle_bytes), "{seen:?}");
        assert!(seen.reused_count > 0 && seen.idle_bytes <= 8 << 20, "{seen:?}");
        assert_eq!(upstream.statistics().current_bytes, seen.slab_bytes);
        assert_eq!(pool.trim(), seen.idle_bytes);
        assert_eq!(upstream.statistics().current_count, 0);
    });
}
