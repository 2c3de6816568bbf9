//! All memory of stacked resources goes back to the runtime. One test alone in its process, since the counters are global.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::sync::Arc;

use usm_memory::resource::*;
use usm_memory::usm_core::{Context, QueueProperties, UsmKind, live_allocations};
use usm_memory::{MemoryResource, TypedBuffer, UsmBuffer};

#[test]
fn nothing_is_left_when_all_is_dropped() {
    for queue in common::queues() {
        for kind in UsmKind::ALL {
            let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
            let own = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
            let pool = Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
            let limited = Arc::new(LimitingResource::new(Arc::clone(&pool) as _, 10_000));
            let trimmed = Arc::clone(&pool);
            let retried = FailureCallbackResource::new(limited, move |_| {
                trimmed.trim();
                OnFailure::RetryOnce
            });
            let counted = Arc::new(StatisticsResource::new(Arc::new(retried)));
            let stack = LoggingResource::new(Arc::clone(&counted) as _, |_| {});

            let buffers: Vec<_> =
                (1..=10).map(|i| UsmBuffer::allocate_in(&stack, &own, kind, 90 * i).unwrap()).collect();
            assert!(live_allocations().count > 0);
            let typed = TypedBuffer::<f32>::allocate_in(&stack, &own, kind, 1000).unwrap();
            assert!(UsmBuffer::allocate_in(&stack, &own, kind, 5000).unwrap_err().is_out_of_memory());
            drop(buffers);
            assert_eq!(counted.statistics().current_bytes, 4000);
            stack.trim();
            assert_eq!(live_allocations().count, 1, "the slab that is in use");

            drop((context, own, stack, counted, pool));
            typed.fill(1.5).unwrap();
            assert_eq!(typed.to_vec().unwrap(), [1.5; 1000], "a buffer outlives all resources");
            drop(typed);
            assert_eq!(live_allocations().count, 0);

            // A pool that is dropped with memory in it.
            let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
            UsmBuffer::allocate_in(&pool, &queue, kind, 10).unwrap();
            assert_eq!(live_allocations().count, 1);
            drop(pool);
            assert_eq!((live_allocations().count, live_allocations().bytes), (0, 0));
        }
    }
}
