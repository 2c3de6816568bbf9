//! Callbacks of users that panic: memory goes back all the same, and not before the work on it is complete.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::each;
use usm_memory::resource::{DirectResource, LoggingResource, PoolOptions, PoolResource};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{Runtime, UsmKind};
use usm_memory::{MemoryResource, UsmBuffer};

const LEN: usize = 4096;

#[test]
fn pending_work_is_waited_for_although_a_callback_panics() {
    let backend = Arc::new(DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40));
    let runtime = Runtime::with_backend(backend.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    for case in 0..4 {
        let memory = UsmBuffer::allocate(&queue, UsmKind::Device, LEN).unwrap();
        let buffer = match case {
            0 => memory.clone(),
            1 => UsmBuffer::lease(memory.clone(), &queue, |_| ()).unwrap(),
            2 => UsmBuffer::lease(memory.clone(), &queue, |_| panic!("back")).unwrap(),
            _ => UsmBuffer::lease(memory.clone(), &queue, |memory| {
                let _parts = memory.into_parts();
                panic!("half way")
            })
            .unwrap(),
        };
        drop(memory);
        // SAFETY: the memory is kept until the operation is complete, which is what is tested.
        unsafe { queue.memset(ptr::with_exposed_provenance_mut(buffer.address()), 1, LEN, &[]) }.unwrap();
        buffer.release_on(&queue).unwrap();
        buffer.before_release(|| panic!("before"));
        assert_eq!(backend.pending(), 1);
        drop(buffer);
        assert_eq!((backend.faults().len(), backend.pending()), (0, 0), "case {case}");
    }
}

#[test]
fn every_hook_runs_and_a_pool_gets_its_block_back() {
    each(|queue, kind| {
        let pool = Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
        let count = Arc::new(AtomicUsize::new(0));
        for len in [100, 2000] {
            let buffer = UsmBuffer::allocate_in(&*pool, queue, kind, len).unwrap();
            for hook in 0..6 {
                let count = Arc::clone(&count);
                let hook = move || assert!(count.fetch_add(1, Ordering::Relaxed) % 2 == 1, "hook {hook}");
                if len == 100 { buffer.before_release(hook) } else { buffer.after_release(hook) }
            }
        }
        assert_eq!((count.load(Ordering::Relaxed), pool.statistics().used_bytes), (12, 0));

        let log = LoggingResource::new(Arc::clone(&pool) as _, |event| {
            assert!(format!("{event:?}").contains("Allocated"), "released");
        });
        drop(UsmBuffer::allocate_in(&log, queue, kind, 100).unwrap());
        assert_eq!(pool.statistics().used_bytes, 0);
        pool.trim();
        assert_eq!(pool.statistics().slab_bytes, 0);
    });
}
