//! A pool's slabs are its own: a resource that keeps a clone, a part or a guard of what it gives would not see the work on slots.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use crate::common;
use usm_memory::resource::{
    AllocationRequest, DirectResource, FailureCallbackResource, LimitingResource, LoggingResource, OnFailure,
    PoolOptions, PoolResource, StatisticsResource,
};
use usm_memory::usm_core::UsmKind;
use usm_memory::{Error, MemoryResource, UsmBuffer, WriteGuard};

/// What a resource keeps.
#[derive(Debug, Default)]
struct Kept {
    buffers: Vec<UsmBuffer>,
    guards: Vec<WriteGuard>,
}

type Keep = fn(&mut Kept, UsmBuffer) -> UsmBuffer;

#[derive(Debug)]
struct Keeping(Keep, Arc<Mutex<Kept>>);

impl MemoryResource for Keeping {
    fn allocate(&self, request: AllocationRequest<'_>) -> usm_memory::Result<UsmBuffer> {
        let buffer = DirectResource.allocate(request)?;
        Ok((self.0)(&mut self.1.lock().unwrap(), buffer))
    }
}

const WAYS: [(&str, Keep); 5] = [
    ("a clone", |kept, buffer| {
        kept.buffers.push(buffer.clone());
        buffer
    }),
    ("a read-only clone", |kept, buffer| {
        kept.buffers.push(buffer.read_only());
        buffer
    }),
    ("a part", |kept, buffer| {
        kept.buffers.push(buffer.sub_buffer(0, 1).unwrap());
        buffer
    }),
    ("a guard", |kept, buffer| {
        kept.guards.push(buffer.write_range(0..1).unwrap());
        buffer
    }),
    ("what it was leased from", |kept, buffer| {
        kept.buffers.push(buffer.clone());
        let queue = buffer.queue().clone();
        UsmBuffer::lease(buffer, &queue, drop).unwrap()
    }),
];

#[test]
fn a_pool_refuses_slabs_that_somebody_else_has() {
    for (name, keep) in WAYS {
        let (delayed, queue) = common::late(1);
        let kept = Arc::new(Mutex::new(Kept::default()));
        let keeping = || Arc::new(Keeping(keep, Arc::clone(&kept)));
        let pool = PoolResource::new(keeping(), PoolOptions::new());
        match UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 1 << 20) {
            Err(error) => {
                assert!(
                    matches!(&error, Error::UnsuitableMemory { found, .. } if found == "2"),
                    "{name}: {error}"
                );
                assert!(error.to_string().contains("number of owners 2"), "{error}");
            }
            Ok(slot) => {
                slot.submit_fill(&[7]).unwrap();
                let guard = kept.lock().unwrap().buffers[0].write_range(0..1);
                panic!("{name}: {guard:?} beside {} operations of a slot", delayed.pending());
            }
        }
        kept.lock().unwrap().buffers.clear();
        // Without a pool the clone sees all work.
        let buffer = UsmBuffer::allocate_in(&*keeping(), &queue, UsmKind::Device, 64);
        if let (Ok(buffer), Some(clone)) = (buffer, kept.lock().unwrap().buffers.pop()) {
            buffer.submit_fill(&[7]).unwrap();
            drop(clone.read_range(0..1).unwrap());
            assert_eq!(delayed.pending(), 0, "{name}");
        }
    }
}

#[test]
fn adaptors_and_pools_keep_nothing_of_what_they_give() {
    let (_, queue) = common::late(1);
    let direct: Arc<dyn MemoryResource> = Arc::new(DirectResource);
    let adaptors: [Arc<dyn MemoryResource>; 6] = [
        Arc::clone(&direct),
        Arc::new(LimitingResource::new(Arc::clone(&direct), usize::MAX)),
        Arc::new(StatisticsResource::new(Arc::clone(&direct))),
        Arc::new(LoggingResource::new(Arc::clone(&direct), |_| ())),
        Arc::new(FailureCallbackResource::new(Arc::clone(&direct), |_| OnFailure::GiveUp)),
        Arc::new(PoolResource::new(Arc::clone(&direct), PoolOptions::new())),
    ];
    for upstream in adaptors {
        let pool = PoolResource::new(upstream, PoolOptions::new());
        for kind in UsmKind::ALL {
            UsmBuffer::allocate_in(&pool, &queue, kind, 100).unwrap();
        }
    }
    // Memory that is leased alone, and not kept, will do.
    #[derive(Debug)]
    struct Leasing;
    impl MemoryResource for Leasing {
        fn allocate(&self, request: AllocationRequest<'_>) -> usm_memory::Result<UsmBuffer> {
            UsmBuffer::lease(DirectResource.allocate(request)?, request.queue, drop)
        }
    }
    let pool = PoolResource::new(Arc::new(Leasing), PoolOptions::new());
    UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 100).unwrap();
}
