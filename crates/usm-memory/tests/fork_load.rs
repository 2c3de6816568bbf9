//! Children that are forked while other threads use buffers: all of it works there, and nothing hangs.
#![cfg(not(windows))] // no process is forked there
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use usm_core::testing::forks::{self, fork_beside};
use usm_memory::resource::{
    DefaultScope, DirectResource, LimitingResource, PoolOptions, PoolResource, StatisticsResource,
    default_resource, process_pool,
};
use usm_memory::snapshot::{LiveMemory, Tag, Timeline};
use usm_memory::usm_core::{self, Queue, Runtime, RuntimeOptions, UsmKind};
use usm_memory::{MemoryResource, UsmBuffer};

/// `cargo xtask verify` forks 1,000.
fn count() -> usize {
    forks::number(100)
}

fn queue() -> Queue {
    let runtime = Runtime::init_global(|| RuntimeOptions::new().host_only());
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// Allocates, fills, copies, looks at what is live, and frees.
fn works(queue: &Queue) -> bool {
    UsmKind::ALL.into_iter().all(|kind| {
        let _tag = Tag::enter("child");
        let buffer = UsmBuffer::allocate(queue, kind, 1000).unwrap();
        buffer.fill(&[7]).unwrap();
        let mut bytes = [0; 1000];
        buffer.copy_to_host(&mut bytes, 0).unwrap();
        let other = UsmBuffer::allocate(queue, kind, 1000).unwrap();
        other.copy_from_async(&buffer, &[]).unwrap().wait().unwrap();
        let snapshot = usm_memory::snapshot();
        process_pool().trim();
        let is_it = |found: &&LiveMemory| found.address == buffer.address() && !found.is_reserve;
        let found = snapshot.iter().find(is_it).unwrap();
        bytes == [7; 1000] && found.tag.as_deref() == Some("child")
    })
}

#[test]
fn beside_pools() {
    let queue = queue();
    let mine = UsmBuffer::allocate(&queue, UsmKind::Shared, 100).unwrap();
    let own_pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    let lengths = [64, 4096, 1 << 20, 5 << 20];
    let next = AtomicUsize::new(0);
    let allocate = || {
        let len_bytes = lengths[next.fetch_add(1, Ordering::Relaxed) % lengths.len()];
        let buffers: Vec<_> =
            (0..20).map(|_| UsmBuffer::allocate(&queue, UsmKind::Host, len_bytes).unwrap()).collect();
        drop(buffers);
        drop(UsmBuffer::allocate_in(&own_pool, &queue, UsmKind::Device, len_bytes).unwrap());
    };
    let trim = || {
        process_pool().trim();
        own_pool.trim();
        let _some = process_pool().statistics();
    };
    let child = || {
        drop(UsmBuffer::allocate_in(&own_pool, &queue, UsmKind::Host, 100).unwrap());
        drop(mine.clone());
        works(&queue)
    };
    fork_beside(count(), &[&allocate, &allocate, &allocate, &trim], &child).unwrap();
}

#[test]
fn beside_guards() {
    let queue = queue();
    let [few, many, mine] =
        [100, 8192, 64].map(|len_bytes| UsmBuffer::allocate(&queue, UsmKind::Host, len_bytes).unwrap());
    let guard = || {
        for _ in 0..100 {
            // A conflict with the other threads is an error.
            let _maybe = few.write_range(0..10).and_then(|_guard| few.read_range(50..100).map(drop));
            let _maybe = many.copy_to_host(&mut [0; 8192], 0);
            let _maybe = few.copy_to_host(&mut [0; 100], 0);
        }
    };
    let child = || {
        mine.fill(&[1]).unwrap();
        let written = mine.write_range(0..10).is_ok();
        written && works(&queue)
    };
    fork_beside(count(), &[&guard, &guard, &guard], &child).unwrap();
}

#[test]
fn beside_snapshots_and_statistics() {
    let queue = queue();
    let counting =
        Arc::new(StatisticsResource::new(Arc::new(LimitingResource::new(Arc::new(DirectResource), 1 << 30))));
    let names = ["one", "two", "three"];
    let next = AtomicUsize::new(0);
    let allocate = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let _tag = Tag::enter(names[number % 3]);
        let _tag = (number < 10_000).then(|| Tag::enter(&number.to_string()));
        let buffer = UsmBuffer::allocate_in(&*counting, &queue, UsmKind::Host, 100).unwrap();
        buffer.before_release(|| ());
        buffer.after_release(|| ());
        let pooled = UsmBuffer::allocate(&queue, UsmKind::Host, 100).unwrap();
        pooled.before_release(|| ());
    };
    let look = || {
        let recording = Timeline::record(100);
        let _some = usm_memory::snapshot();
        let _some = counting.statistics();
        counting.reset_peak();
        drop(recording.finish());
    };
    let choose = || {
        let device = queue.device();
        let scope = DefaultScope::enter(std::slice::from_ref(device), counting.clone());
        drop(UsmBuffer::allocate(&queue, UsmKind::Host, 100).unwrap());
        drop(scope);
        drop(default_resource(device));
    };
    let child = || {
        let before = counting.statistics();
        let buffer = UsmBuffer::allocate_in(&*counting, &queue, UsmKind::Host, 100).unwrap();
        buffer.before_release(|| ());
        let counted = counting.statistics().current_bytes == before.current_bytes + 100;
        drop(buffer);
        drop(Timeline::record(10).finish());
        counted && counting.statistics().current_bytes == before.current_bytes && works(&queue)
    };
    fork_beside(count(), &[&allocate, &allocate, &look, &choose], &child).unwrap();
}

#[test]
fn beside_copies() {
    let queue = queue();
    let [a, b] = [1 << 16; 2].map(|len| UsmBuffer::allocate(&queue, UsmKind::Device, len).unwrap());
    let copy = || {
        let _maybe = b.copy_from(&a);
        let _maybe = a.copy_from_async(&b, &[]).map(|transfer| transfer.wait());
        let c = UsmBuffer::allocate(&queue, UsmKind::Device, 1 << 16).unwrap();
        c.fill_async(&[3], &[]).unwrap().wait().unwrap();
        drop(c.to_vec_async(&[]).unwrap());
        queue.wait().unwrap();
    };
    fork_beside(count(), &[&copy, &copy, &copy], &|| works(&queue)).unwrap();
}

/// Each round is a process in which nothing of this library was used yet.
#[test]
fn beside_first_uses_in_a_process() {
    for round in 0..count() {
        let fresh = || {
            let first = std::thread::spawn(|| works(&queue()));
            (0..(round % 50) * 40).for_each(|_| std::hint::spin_loop());
            let outcome = forks::one(&|| works(&queue()));
            let outcome = outcome.inspect_err(|reason| eprintln!("its child {reason}"));
            first.join().is_ok_and(|well| well) && outcome.is_ok()
        };
        forks::one(&fresh).unwrap();
    }
}
