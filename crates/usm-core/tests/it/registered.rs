//! Host memory of other code as USM: known as often as it is registered, and left alone afterwards.
#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::ptr::NonNull;

use crate::common;
use usm_core::{Allocation, BackendId, Queue, UsmKind};

/// Bytes that are page-aligned by chance at most.
struct External(Vec<u8>);

impl External {
    fn new() -> Self {
        Self(vec![1; 10_000])
    }

    fn start(&self) -> NonNull<u8> {
        NonNull::new(self.0.as_ptr().cast_mut()).unwrap()
    }

    fn register(&self, queue: &Queue, kind: UsmKind, range: Range<usize>) -> Option<Allocation> {
        let start = NonNull::new(self.start().as_ptr().wrapping_add(range.start)).unwrap();
        // SAFETY: tests drop the allocations before this, and the range may be longer than this where it is refused.
        unsafe { queue.register_host_memory(kind, start, range.len()) }
    }

    fn kind(&self, queue: &Queue, index: usize) -> Option<UsmKind> {
        Some(queue.context().pointer_info(self.start().addr().get() + index)?.kind)
    }
}

fn host_queues() -> impl Iterator<Item = Queue> {
    common::queues().into_iter().filter(|queue| queue.device().backend_id() == BackendId::Host)
}

#[test]
fn memory_is_known_as_often_as_it_is_registered() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for queue in host_queues() {
        for (kind, order) in
            [UsmKind::Host, UsmKind::Shared].into_iter().flat_map(|kind| orders.map(|order| (kind, order)))
        {
            let external = External::new();
            assert_eq!(external.kind(&queue, 0), None);
            let ranges = [0..10_000, 0..10_000, 100..200];
            let mut known = ranges.map(|range| external.register(&queue, kind, range));
            for index in order {
                assert_eq!(external.kind(&queue, 0), Some(kind));
                assert_eq!(external.kind(&queue, 9_999), Some(kind));
                assert_eq!(external.kind(&queue, 10_000), None);
                known[index].take().unwrap();
            }
            assert_eq!(external.kind(&queue, 150), None);
            assert_eq!(external.0, vec![1; 10_000]);
        }
    }
}

#[test]
fn operations_reach_registered_memory() {
    for queue in host_queues() {
        let mut external = External::new();
        let known = external.register(&queue, UsmKind::Shared, 0..10_000).unwrap();
        // SAFETY: nobody else uses the bytes, and the operation is waited for.
        let event = unsafe { queue.memset(known.as_ptr().as_ptr(), 7, 9_999, &[]) };
        event.unwrap().wait().unwrap();
        drop(known);
        assert_eq!(external.0.pop(), Some(1));
        assert_eq!(external.0, vec![7; 9_999]);
    }
}

#[test]
fn what_cannot_be_registered_is_refused() {
    for queue in common::queues() {
        let external = External::new();
        let is_host = queue.device().backend_id() == BackendId::Host;
        assert!(external.register(&queue, UsmKind::Device, 0..100).is_none());
        assert!(external.register(&queue, UsmKind::Host, 0..0).is_none());
        let known = external.register(&queue, UsmKind::Host, 100..200);
        assert_eq!(known.is_some(), is_host);
        if !is_host {
            continue;
        }
        for range in [99..200, 100..201, 150..250, 0..101, 0..10_000] {
            assert!(external.register(&queue, UsmKind::Host, range).is_none());
        }
        assert!(external.register(&queue, UsmKind::Shared, 100..200).is_none(), "it is of one kind");
        assert!(external.register(&queue, UsmKind::Host, 200..300).is_some(), "beside it");
        let block = queue.allocate(UsmKind::Host, 64).unwrap();
        // SAFETY: the block is live.
        assert!(unsafe { queue.register_host_memory(UsmKind::Host, block.as_ptr(), 64) }.is_none());
        let device = queue.allocate(UsmKind::Device, 64).unwrap();
        let past = NonNull::new(device.as_ptr().as_ptr().wrapping_add(1 << 20)).unwrap();
        // SAFETY: it is refused, so that nobody uses the memory.
        assert!(unsafe { queue.register_host_memory(UsmKind::Host, past, 64) }.is_none());
    }
}
