//! What is too small for a test of its own: accessors, text forms, defaults.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::{Arc, Mutex};

use usm_memory::resource::{
    DirectResource, FailureCallbackResource, LoggingResource, OnFailure, PoolOptions, PoolResource,
};
use usm_memory::usm_core::UsmKind;
use usm_memory::{TypedBuffer, UsmBuffer};

#[test]
fn buffers_show_what_they_are() {
    common::each(|queue, kind| {
        let buffer = UsmBuffer::allocate(queue, kind, 8).unwrap();
        assert_eq!(buffer.device(), queue.device());
        assert!(format!("{buffer:?}").contains("Leased"), "{buffer:?}");
        let direct = common::direct(queue, kind, 8);
        assert!(format!("{direct:?}").contains("Owned"), "{direct:?}");
        let numbers = TypedBuffer::<u32>::from_buffer(buffer.clone()).unwrap();
        assert!(format!("{numbers:?}").contains("u32>(2 elements"), "{numbers:?}");
        assert!(numbers.into_buffer().same_allocation(&buffer));
        let transfer = buffer.fill_async(&[1], &[]).unwrap();
        assert!(format!("{transfer:?}").starts_with("Completion {"));
        transfer.wait().unwrap();
        let mut bytes = [0; 8];
        buffer.write_range(0..8).unwrap().copy_to_host(&mut bytes).unwrap();
        assert_eq!(bytes, [1; 8]);
    });
}

#[test]
fn a_lease_gives_the_memory_and_its_pending_queue_back() {
    common::each(|queue, kind| {
        for publish in [false, true] {
            let back = Arc::new(Mutex::new(None));
            let memory = UsmBuffer::allocate(queue, kind, 8).unwrap();
            let keep = Arc::clone(&back);
            let leased = UsmBuffer::lease(memory.clone(), queue, move |returned| {
                *keep.lock().unwrap() = Some(returned.into_parts());
            })
            .unwrap();
            assert!(format!("{leased:?} {:?}", leased.ownership()).contains("Leased"));
            if publish {
                leased.publish().unwrap();
            }
            drop(leased);
            let (returned, pending) = back.lock().unwrap().take().unwrap();
            assert!(returned.same_allocation(&memory));
            assert_eq!(pending.as_ref(), publish.then_some(queue));
        }
    });
}

#[test]
fn resources_show_what_they_stand_on() {
    let direct = Arc::new(DirectResource);
    let pool = PoolResource::new(direct.clone(), PoolOptions::default());
    let logging = LoggingResource::new(direct.clone(), |_| {});
    let failing = FailureCallbackResource::new(direct, |_| OnFailure::GiveUp);
    for text in [format!("{pool:?}"), format!("{logging:?}"), format!("{failing:?}")] {
        assert!(text.contains("DirectResource"), "{text}");
    }
    let queue = common::host_queue();
    let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 8).unwrap();
    assert!(!usm_memory::snapshot().is_empty());
    drop(buffer);
}
