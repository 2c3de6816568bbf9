//! A model of the pool of `usm-memory`, and of the holders of its blocks: its own files over threads of loom, which tries all their orders
//! with up to two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
//!
//! Queues, tables and upstream memory are stand-ins. Loom finds an access to memory that nothing orders: a slot with two owners, a slab
//! that goes under a buffer, a block that is freed beside its holders. Each function is a model, which `tests/models.rs` runs.
// The files of usm-memory have unit tests, which need more than the stand-ins.
#![cfg(not(test))]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    clippy::arc_with_non_send_sync,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "the files are made for more than the model, whose memory is made for misuse"
)]

extern crate self as usm_core;

/// Values of a thread are those of loom's threads.
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = const $value:block;)*) => {
        loom::thread_local! { $(static $name: $type = $value;)* }
    };
}

#[path = "../../usm-memory/src/resource/pool/arena.rs"]
mod arena;
#[path = "../../usm-memory/src/resource/pool/cache.rs"]
mod cache;
#[path = "../../usm-memory/src/resource/pool/counts.rs"]
mod counts;
#[path = "../../usm-memory/src/resource/pool/inner.rs"]
mod inner;
#[path = "../../usm-memory/src/resource/pool/options.rs"]
mod options;
#[path = "../../usm-memory/src/resource/pool/size_class.rs"]
mod size_class;
#[path = "../../usm-memory/src/resource/pool/slab.rs"]
mod slab;
#[path = "../../usm-memory/src/resource/pool/state.rs"]
mod state;

#[path = "../../access-model/src/atomic.rs"]
mod atomic;
pub mod holders;
mod stand_ins;

/// As in the library.
mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::{PoisonError, TryLockError};
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::thread::spawn;

use self::inner::PoolInner;
use self::size_class::SizeClass;
use self::stand_ins::*;
use self::state::Request;

/// Two slots make a slab of this class, and threads cache them.
const LEN: usize = 512 << 10;

/// Runs a model in all its orders, and tells how many these are.
pub(crate) fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    let orders = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&orders);
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} orders", orders.load(Ordering::Relaxed));
}

/// A pool with some slabs.
struct Pool {
    inner: Arc<PoolInner>,
    queue: Queue,
    slabs: Vec<Arc<Upstream>>,
}

impl Pool {
    fn new(num_slabs: usize) -> Arc<Self> {
        // Each execution has threads without caches, so that one number does.
        let inner = PoolInner::numbered(256 << 20, 1);
        cache_frees();
        let queue = Queue::new();
        let mut slabs = Vec::new();
        for number in 0..num_slabs {
            let slab = UsmBuffer::upstream((1 + number) << 30, class().slab_bytes());
            slabs.push(slab.memory());
            // The new slab has a buffer at once, which goes.
            let request = request(&queue);
            drop(inner.allocate_in_new(&request, slab).unwrap());
        }
        // They begin without what this thread caches.
        inner.locked(|state, _| state.reclaim_all());
        Arc::new(Self { inner, queue, slabs })
    }

    fn allocate(&self) -> Option<UsmBuffer> {
        self.inner.allocate(&request(&self.queue))
    }

    /// As the pool does before it grows. A thread that ends may give back what it cached after the first attempt, and before the second.
    fn allocate_or_reclaim(&self) -> Option<UsmBuffer> {
        let reclaimed = || self.inner.allocate_reclaimed(&request(&self.queue));
        self.allocate().or_else(reclaimed).or_else(|| self.allocate())
    }

    /// The pool goes. Its slabs go with the last of their buffers.
    fn close(&self) {
        self.inner.close();
    }

    fn num_freed(&self) -> usize {
        self.slabs.iter().filter(|slab| slab.is_freed()).count()
    }
}

fn class() -> SizeClass {
    SizeClass::of(LEN, 1).unwrap()
}

fn request(queue: &Queue) -> Request<'_> {
    let asked = resource::AllocationRequest { queue, kind: UsmKind, len_bytes: LEN, align_bytes: 0 };
    Request { asked, class: class() }
}

pub fn each_slot_has_one_owner_at_a_time() {
    check(|| {
        let pool = Pool::new(1);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let pool = Arc::clone(&pool);
                spawn(move || {
                    if let Some(buffer) = pool.allocate() {
                        buffer.write();
                    }
                })
            })
            .collect();
        let buffer = pool.allocate();
        buffer.iter().for_each(UsmBuffer::write);
        others.into_iter().for_each(|other| other.join().unwrap());
        // Whatever this one has not, the others have given back.
        let second = pool.allocate_or_reclaim();
        second.iter().for_each(UsmBuffer::write);
        assert!(second.is_some());
        drop((buffer, second));
        pool.close();
        assert_eq!(pool.num_freed(), 1);
    });
}

pub fn what_a_thread_caches_is_reclaimed_by_others() {
    check(|| {
        let pool = Pool::new(1);
        let both = [pool.allocate().unwrap(), pool.allocate().unwrap()];
        let other = {
            let pool = Arc::clone(&pool);
            spawn(move || {
                let [first, second] = both;
                first.write();
                // They go to the cache of this thread, which another one may empty.
                drop(first);
                second.write();
                drop(second);
                pool.allocate().iter().for_each(UsmBuffer::write);
            })
        };
        let reclaimed = pool.allocate_or_reclaim();
        reclaimed.iter().for_each(UsmBuffer::write);
        drop(reclaimed);
        other.join().unwrap();
        assert!(pool.allocate_or_reclaim().is_some(), "the end of a thread gives back what it cached");
        pool.close();
        assert_eq!(pool.num_freed(), 1);
    });
}

pub fn a_slab_goes_when_none_of_its_buffers_is_left() {
    check(|| {
        let pool = Pool::new(2);
        // The last one fills no slab. The slab behind it is idle when the others are gone.
        let [first, second, buffer] = [(); 3].map(|()| pool.allocate().unwrap());
        drop((first, second));
        let other = {
            let pool = Arc::clone(&pool);
            spawn(move || {
                pool.allocate().iter().for_each(UsmBuffer::write);
            })
        };
        let trimmed = {
            let pool = Arc::clone(&pool);
            spawn(move || pool.inner.trim())
        };
        // A write to memory that is free fails.
        buffer.write();
        drop(buffer);
        let freed_bytes = trimmed.join().unwrap();
        other.join().unwrap();
        assert_eq!(freed_bytes, pool.num_freed() * class().slab_bytes());
        pool.inner.trim();
        assert_eq!(pool.num_freed(), 2);
    });
}

pub fn a_pool_goes_beside_its_last_buffers() {
    check(|| {
        let pool = Pool::new(1);
        let both = [pool.allocate().unwrap(), pool.allocate().unwrap()];
        let others = both.map(|buffer| {
            spawn(move || {
                buffer.write();
                drop(buffer);
            })
        });
        pool.close();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(pool.num_freed(), 1, "the last one of them has freed it");
    });
}

pub fn the_next_owner_comes_after_work_that_is_pending() {
    check(|| {
        let pool = Pool::new(1);
        let (first, second) = (pool.allocate().unwrap(), pool.allocate().unwrap());
        let other = {
            let pool = Arc::clone(&pool);
            spawn(move || {
                let queue = Queue::new();
                queue.submit_write(&first);
                first.free_after(&queue);
                // As the runtime does at some time.
                queue.wait();
                drop(pool);
            })
        };
        let request = request(&pool.queue);
        let taken: Vec<_> = [false, true]
            .iter()
            .filter_map(|&may_wait| pool.inner.allocate_deferred(&request, may_wait))
            .collect();
        taken.iter().for_each(UsmBuffer::write);
        other.join().unwrap();
        assert!(taken.len() <= 1);
        drop((taken, second));
        pool.inner.trim();
        pool.close();
        assert_eq!(pool.num_freed(), 1);
    });
}

pub fn a_pool_goes_after_work_that_is_pending() {
    check(|| {
        let pool = Pool::new(1);
        let queue = Queue::new();
        let both = [pool.allocate().unwrap(), pool.allocate().unwrap()];
        let others = both.map(|buffer| {
            let queue = queue.clone();
            spawn(move || {
                queue.submit_write(&buffer);
                buffer.free_after(&queue);
            })
        });
        pool.close();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(pool.num_freed(), 1);
        // Nothing is left that would write to it.
        queue.wait();
    });
}
