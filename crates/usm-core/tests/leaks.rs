//! Nothing stays alive: the counter returns to where it was. One test alone in its process, since the counter is global.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use usm_core::{UsmKind, live_allocations};

#[test]
fn live_allocations_return_to_zero() {
    let queues = common::queues();
    let before = live_allocations();
    assert_eq!((before.count, before.bytes), (0, 0));
    for queue in &queues {
        let blocks: Vec<_> = UsmKind::ALL.iter().map(|&kind| queue.allocate(kind, 100).unwrap()).collect();
        assert_eq!((live_allocations().count, live_allocations().bytes), (3, 300));
        assert!(queue.allocate(UsmKind::Shared, usize::MAX).is_err());
        assert!(queue.allocate_aligned(UsmKind::Shared, 10, 3).is_err());
        assert_eq!(live_allocations().count, 3, "a refused allocation is none");
        drop(blocks);
        assert_eq!(live_allocations(), before);
    }
}
