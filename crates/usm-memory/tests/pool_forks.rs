//! Upstream resources that fork: the child leaves the pool of the parent as it is.
#![cfg(not(windows))] // no process is forked there
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use usm_memory::resource::{AllocationRequest, DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::{Queue, UsmKind};
use usm_memory::{MemoryResource, Ownership, Result, UsmBuffer};

/// Forks in its next allocation.
#[derive(Debug, Default)]
struct Forking {
    is_armed: AtomicBool,
    child: AtomicI32,
}

impl MemoryResource for Forking {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let allocated = DirectResource.allocate(request);
        if self.is_armed.swap(false, Ordering::Relaxed) {
            // SAFETY: the child only does what this library promises to do in a child, and ends without handlers.
            self.child.store(unsafe { libc::fork() }, Ordering::Relaxed);
        }
        allocated
    }
}

/// Whether the child has memory of its own, and none of the parent's pool.
fn works_in_child(pool: &PoolResource, queue: &Queue, first: &UsmBuffer) -> bool {
    let is_own = |buffer: &UsmBuffer| !matches!(buffer.ownership(), Ownership::Leased(_));
    let next: Vec<_> =
        (0..3).filter_map(|_| UsmBuffer::allocate_in(pool, queue, UsmKind::Host, 64).ok()).collect();
    let all_work = next.iter().chain([first]).all(|buffer| is_own(buffer) && buffer.fill(&[7]).is_ok());
    let is_untouched = pool.statistics().slab_bytes == 0 && pool.trim() == 0;
    next.len() == 3 && all_work && is_untouched
}

#[test]
fn a_child_that_an_upstream_resource_forks_does_not_use_the_pool() {
    let queue = common::host_queue();
    for len_bytes in [64, 1 << 20, 300 << 20] {
        let upstream = Arc::new(Forking::default());
        let pool = PoolResource::new(Arc::clone(&upstream) as _, PoolOptions::new());
        let before = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 64).unwrap();
        drop(UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 64).unwrap());
        let used_bytes = pool.statistics().used_bytes;
        upstream.is_armed.store(true, Ordering::Relaxed);
        let first = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, len_bytes).unwrap();
        let child = upstream.child.load(Ordering::Relaxed);
        if child == 0 {
            drop(before);
            let works = works_in_child(&pool, &queue, &first);
            drop((first, pool));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!works)) };
        }
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "{len_bytes} bytes");
        assert_eq!(pool.statistics().used_bytes, used_bytes + len_bytes);
        drop((first, before));
        assert_eq!(pool.statistics().used_bytes, 0);
    }
}
