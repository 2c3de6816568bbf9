//! Operations of queues, which their memory remembers.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::common;
use usm_memory::usm_core::backend::host::HostBackend;
#[cfg(not(windows))]
use usm_memory::usm_core::testing::forks;
use usm_memory::usm_core::testing::{Fault, FaultyBackend, Method};
use usm_memory::usm_core::{Context, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{Completion, Copy2d, Error, UsmBuffer};

const LEN: usize = 64;

fn started<H>(transfer: usm_memory::Result<Completion<H>>) -> Completion<H> {
    transfer.unwrap()
}

fn memory(queue: &Queue, kind: UsmKind) -> UsmBuffer {
    common::direct(queue, kind, LEN)
}

#[test]
fn later_work_comes_after_them_without_a_dependency() {
    for kind in UsmKind::ALL {
        let (delayed, queue) = common::late(1);
        let other = common::beside(&queue);
        let loose = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        let (a, b) = (memory(&queue, kind), memory(&queue, kind));
        let mut events = Vec::new();
        for (value, queue) in [&queue, &other, &loose, &queue].into_iter().enumerate() {
            let [a, b] = [&a, &b].map(|buffer| buffer.on_queue(queue).unwrap());
            events.push(started(a.fill_async(&[value as u8], &[])));
            events.push(started(b.copy_from_async(&a, &[])));
            events.push(started(b.copy_from_async(&a, &[])));
        }
        assert!(
            delayed.pending() > 0 && events.iter().all(|event| !event.is_complete()),
            "nobody has waited"
        );
        assert_eq!(b.to_vec().unwrap(), [3; LEN], "{kind:?}");
        a.write_range(0..LEN).unwrap();
        assert_eq!((a.events().len(), b.events().len()), (0, 0));
        events.into_iter().for_each(|event| event.wait().unwrap());
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn completion_releases_what_nobody_asks_about() {
    for queue in common::queues() {
        for kind in UsmKind::ALL {
            let buffer = memory(&queue, kind);
            let _unasked = started(buffer.fill_async(&[7], &[]));
            let _unasked = started(buffer.copy_from_vec_async(vec![8; 4], 4, &[]).map_err(Error::from));
            queue.wait().unwrap();
            let expected: Vec<u8> = [[7; 4], [8; 4]].concat();
            assert_eq!(buffer.to_vec().unwrap()[..8], expected);
            buffer.write_range(0..LEN).unwrap();
        }
    }
}

#[test]
fn every_operand_is_remembered() {
    let (delayed, queue) = common::late(2);
    let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
    let theirs = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    let (ours, theirs) = (memory(&queue, UsmKind::Device), memory(&theirs, UsmKind::Device));
    theirs.fill(&[4]).unwrap();
    // Through staging memory, which goes under the second half of the copy.
    let copy = started(ours.copy_from_async(&theirs, &[]));
    assert!(!ours.events().is_empty());
    theirs.copy_from_host(&[9; LEN], 0).unwrap();
    assert_eq!(ours.to_vec().unwrap(), [4; LEN]);
    copy.wait().unwrap();
    // Rows, vectors and hints.
    let mut rows = Copy2d::packed(2, 4);
    rows.dst_pitch_bytes = 8;
    let transfer = started(ours.copy_2d_from_async(&ours.sub_buffer(32, 8).unwrap(), rows, &[]));
    let hint = started(ours.prefetch_async(&[]));
    let host = started(ours.to_vec_async(&[]));
    ours.submit_fill(&[1]).unwrap();
    assert_eq!(host.wait().unwrap(), [4; LEN]);
    assert_eq!(ours.to_vec().unwrap(), [1; LEN]);
    drop((transfer, hint));
    // Of an operation that does nothing.
    let nothing = started(ours.sub_buffer(0, 0).unwrap().fill_async(&[1], &[]));
    ours.write_range(0..LEN).unwrap();
    drop(nothing);
    // Memory goes before its operations.
    let copy = started(ours.copy_from_async(&memory(&queue, UsmKind::Device), &[]));
    drop(ours);
    drop(copy);
    assert_eq!(delayed.faults(), []);
}

#[test]
fn guards_conflict_and_operations_order_each_other() {
    let (_, queue) = common::late(3);
    let buffer = memory(&queue, UsmKind::Shared);
    let fill = started(buffer.fill_async(&[1], &[]));
    let guard = buffer.read_range(0..8).unwrap();
    assert!(matches!(buffer.fill_async(&[2], &[]), Err(Error::BorrowConflict { .. })));
    drop(guard);
    let held = buffer.fill_async(&[2], &[]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [2; LEN]);
    let after = buffer.fill_async(&[3], &[]).unwrap();
    drop(held);
    assert_eq!(buffer.to_vec().unwrap(), [3; LEN]);
    drop((fill, after));
}

#[test]
fn the_error_of_one_that_nobody_asks_comes_out_of_the_memory() {
    let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::new())));
    let runtime = Runtime::with_backend(faulty.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let buffer = memory(&queue, UsmKind::Device);
    let fill = started(buffer.fill_async(&[1], &[]));
    faulty.arm(Fault::at(1).of(Method::Wait));
    assert!(matches!(buffer.to_vec(), Err(Error::Core(_))));
    assert_eq!(buffer.to_vec().unwrap(), [1; LEN], "once");
    drop(fill);
    // A submission that fails leaves nothing.
    faulty.arm(Fault::at(1).of(Method::Fill));
    assert!(buffer.fill_async(&[2], &[]).is_err());
    assert!(buffer.events().is_empty());
    buffer.write_range(0..LEN).unwrap();
}

#[cfg(not(windows))]
#[test]
fn a_forked_child_may_use_the_memory_after_an_error() {
    let queue = common::host_queue();
    let buffer = memory(&queue, UsmKind::Device);
    let fill = started(buffer.fill_async(&[1], &[]));
    let child = || {
        let first = buffer.to_vec();
        first.is_ok() || buffer.to_vec().is_ok()
    };
    forks::one(&child).unwrap();
    fill.wait().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1; LEN]);
}
