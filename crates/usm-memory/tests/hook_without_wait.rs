//! A hook for waits that does not wait: it is safe code, so no guard may trust it. Alone in its process, which has one such hook.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::Arc;

use usm_memory::UsmBuffer;
use usm_memory::interpreter::wait_for_others_with;
use usm_memory::resource::{DefaultScope, DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::UsmKind;

const LEN: usize = 2 << 20;

#[test]
fn memory_that_a_queue_still_reads_is_not_written() {
    assert!(wait_for_others_with(|_| Ok(()), |_| Ok(()), |_| Ok(())));
    let (delayed, queue) = common::late(1);
    let pool = Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    let scope = DefaultScope::enter(from_ref(queue.device()), pool);
    let target = UsmBuffer::allocate(&queue, UsmKind::Device, LEN).unwrap();
    let bytes = common::bytes(LEN, 1);
    target.submit_copy_from_host(&bytes, 0).unwrap();
    assert_eq!(delayed.pending(), 1, "the staging slot went back under the copy that reads it");
    // The same slot, in the order of the same queue.
    let next = UsmBuffer::allocate(&queue, UsmKind::Host, LEN).unwrap();
    next.write_range(0..LEN).unwrap().as_mut_slice().unwrap().fill(0xee);
    assert_eq!(delayed.pending(), 0, "the guard has waited");
    assert!(target.to_vec().unwrap() == bytes, "the copy read what was written later");
    // Published memory, of whose work only the queue is known.
    let shared = common::direct(&queue, UsmKind::Shared, 8);
    shared.publish().unwrap();
    let start = std::ptr::with_exposed_provenance_mut(shared.address());
    // SAFETY: the buffer lives until the operation is complete, and nobody looks at it without a guard.
    unsafe { queue.memset(start, 5, 8, &[]) }.unwrap();
    assert_eq!(shared.read_range(0..8).unwrap().as_slice().unwrap(), [5; 8]);
    assert_eq!(delayed.faults(), []);
    drop(scope);
}
