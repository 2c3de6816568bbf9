//! Freed exactly once, in the context it came from. One test alone in its process, since the counters are global.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::sync::Arc;

use usm_memory::usm_core::{Context, QueueProperties, UsmKind};
use usm_memory::{UsmBuffer, live_allocations, live_borrows};

#[test]
fn memory_outlives_its_queue_and_context_and_is_freed_once() {
    for queue in common::queues() {
        for kind in UsmKind::ALL {
            let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
            let own = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
            let buffer = UsmBuffer::allocate(&own, kind, 100).unwrap();
            drop((context, own));
            buffer.copy_from_host(&[7; 100], 0).unwrap();
            assert_eq!(buffer.context().pointer_info(buffer.address()).unwrap().kind, kind);

            let part = buffer.sub_buffer(50, 10).unwrap();
            let guard = part.read_range(0..10).unwrap();
            let address = buffer.address();
            let queue = buffer.queue().clone();
            // SAFETY: the owner is the buffer itself.
            let borrowed =
                unsafe { UsmBuffer::borrow(&queue, address, 100, true, Arc::new(buffer)) }.unwrap();
            drop(part);
            assert_eq!((live_allocations().count, live_borrows()), (1, 1));
            drop(guard);
            assert_eq!(borrowed.to_vec().unwrap(), [7; 100]);
            drop(borrowed);
            assert_eq!((live_allocations().count, live_borrows()), (0, 0));
            assert_eq!(queue.context().pointer_info(address), None);
        }
    }
}
