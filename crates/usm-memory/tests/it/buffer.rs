//! Buffers of every kind on every backend: parts, copies, guards, borrowed memory.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::Arc;

use common::{buffer, each, parts};
use usm_memory::interpreter::Errand;
use usm_memory::usm_core::{BackendId, Context, Queue, QueueProperties, UsmKind};
use usm_memory::{Error, Ownership, UsmBuffer, pointer_info};

#[test]
fn parts_share_the_memory() {
    each(|queue, kind| {
        let whole = buffer(queue, kind, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let part = whole.sub_buffer(2, 5).unwrap();
        let part_of_part = part.sub_buffer(1, 3).unwrap();
        assert_eq!(part_of_part.address(), whole.address() + 3);
        part_of_part.copy_from_host(&[30, 40, 50], 0).unwrap();
        drop(part);
        assert_eq!(whole.to_vec().unwrap(), [0, 1, 2, 30, 40, 50, 6, 7]);
        assert!(whole.same_allocation(&part_of_part));
        drop(whole);
        assert_eq!(part_of_part.to_vec().unwrap(), [30, 40, 50], "a part keeps the memory");
        assert_eq!(part_of_part.sub_buffer(3, 0).unwrap().to_vec().unwrap(), []);
        for (offset, len) in [(3, 1), (0, 4), (usize::MAX, 2), (2, usize::MAX)] {
            assert!(matches!(part_of_part.sub_buffer(offset, len), Err(Error::OutOfBounds { .. })));
        }
    });
}

#[test]
fn halves_are_written_at_the_same_time() {
    each(|queue, kind| {
        let whole = buffer(queue, kind, &[1, 2, 3, 4]);
        let (low, high) = whole.split_at(1).unwrap();
        assert_eq!((low.len_bytes(), high.len_bytes(), high.address()), (1, 3, whole.address() + 1));
        let (mut first, mut second) = (low.write_range(0..1).unwrap(), high.write_range(0..3).unwrap());
        first.copy_from_host(&[10]).unwrap();
        second.copy_from_host(&[20, 30, 40]).unwrap();
        assert!(whole.read_range(0..1).is_err());
        drop((first, second));
        assert_eq!(whole.to_vec().unwrap(), [10, 20, 30, 40]);
        assert_eq!(whole.split_at(4).unwrap().1.len_bytes(), 0);
        assert!(matches!(whole.split_at(5), Err(Error::OutOfBounds { .. })));
        assert!(whole.split_at(usize::MAX).is_err());
    });
}

#[test]
fn deep_copies_have_memory_of_their_own() {
    each(|queue, kind| {
        let whole = buffer(queue, kind, &[1, 2, 3, 4]);
        let copy = whole.read_only().sub_buffer(1, 3).unwrap().try_clone().unwrap();
        assert!(!copy.same_allocation(&whole) && copy.kind() == kind && copy.is_writable());
        whole.fill(&[0]).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [2, 3, 4]);
        assert_eq!(whole.sub_buffer(4, 0).unwrap().try_clone().unwrap().to_vec().unwrap(), []);
        let writing = whole.write_range(0..1).unwrap();
        assert!(matches!(whole.try_clone(), Err(Error::BorrowConflict { .. })));
        drop(writing);
    });
}

#[test]
fn copies_between_all_kinds_contexts_and_backends() {
    let mut queues = common::queues();
    for queue in common::queues() {
        let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
        queues.push(own.create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap());
    }
    // More than one piece of a staged copy, and not a whole number of them.
    let bytes: Vec<u8> = (0..(8 << 20) + 3).map(|i| (i % 253) as u8).collect();
    for from in &queues {
        for to in &queues {
            for (from_kind, to_kind) in UsmKind::ALL.iter().flat_map(|&a| UsmKind::ALL.map(|b| (a, b))) {
                let len = if from_kind == UsmKind::Device && to_kind == UsmKind::Device {
                    bytes.len()
                } else {
                    999
                };
                let src = buffer(from, from_kind, &bytes[..len]);
                let dst = UsmBuffer::allocate(to, to_kind, len).unwrap();
                dst.copy_from(&src).unwrap();
                assert!(dst.to_vec().unwrap() == bytes[..len], "{from:?} {from_kind} to {to:?} {to_kind}");
            }
        }
    }
}

#[test]
fn overlapping_parts_copy_as_if_through_a_third_place() {
    each(|queue, kind| {
        for (from, to) in [(0, 3), (3, 0), (2, 2)] {
            let whole = buffer(queue, kind, b"abcdefghij");
            let (src, dst) = (whole.sub_buffer(from, 7).unwrap(), whole.sub_buffer(to, 7).unwrap());
            let mut expected = *b"abcdefghij";
            expected.copy_within(from..from + 7, to);
            dst.copy_from(&src).unwrap();
            assert_eq!(whole.to_vec().unwrap(), expected, "{kind} {from} {to}");
        }
        let whole = buffer(queue, kind, b"ab");
        let error = whole.copy_from(&whole.sub_buffer(0, 1).unwrap()).unwrap_err();
        assert!(matches!(error, Error::LengthMismatch { dst_bytes: 2, src_bytes: 1 }));
    });
}

#[test]
fn read_only_survives_parts_and_clones() {
    each(|queue, kind| {
        let writable = buffer(queue, kind, &[1, 2, 3, 4]);
        let fixed = writable.read_only().sub_buffer(1, 2).unwrap().clone();
        assert!(!fixed.is_writable() && writable.is_writable());
        assert!(matches!(fixed.copy_from_host(&[9], 0), Err(Error::ReadOnly)));
        assert!(matches!(fixed.fill(&[9]), Err(Error::ReadOnly)));
        assert!(matches!(fixed.copy_from(&writable.sub_buffer(0, 2).unwrap()), Err(Error::ReadOnly)));
        assert!(matches!(fixed.write_range(0..1), Err(Error::ReadOnly)));
        assert_eq!(writable.to_vec().unwrap(), [1, 2, 3, 4]);
    });
}

#[test]
fn guards_refuse_conflicts_and_never_wait() {
    each(|queue, kind| {
        let whole = buffer(queue, kind, &[1, 2, 3, 4]);
        let reading = whole.read_range(0..2).unwrap();
        let also_reading = whole.clone().read_range(1..3).unwrap();
        let error = whole.copy_from_host(&[9, 9, 9], 0).unwrap_err();
        assert!(matches!(error, Error::BorrowConflict { len_bytes: 3, held: "reading", .. }), "{error}");
        whole.check_unwritten(0..4).unwrap();
        whole.copy_from_host(&[40], 3).unwrap();
        drop((reading, also_reading));
        let part = whole.sub_buffer(1, 2).unwrap();
        let writing = part.write_range(0..2).unwrap();
        assert!(matches!(whole.to_vec(), Err(Error::BorrowConflict { held: "writing", .. })));
        assert!(matches!(whole.check_unwritten(0..2), Err(Error::BorrowConflict { held: "writing", .. })));
        whole.check_unwritten(0..1).unwrap();
        drop(writing);
        assert_eq!(whole.to_vec().unwrap(), [1, 2, 3, 40]);
        assert!(whole.read_range(0..5).is_err());
        #[expect(clippy::reversed_empty_ranges, reason = "a range of no bytes, written badly")]
        let empty = whole.read_range(3..1).unwrap();
        assert_eq!(empty.len_bytes(), 0);
    });
}

/// A worker that waited for the operation would wait for ever: the thread of the operation waits for the worker.
#[test]
fn a_worker_never_waits_for_its_operation() {
    let whole = buffer(&common::host_queue(), UsmKind::Host, &[1, 2, 3, 4]);
    let operation = whole.write_access(0..2).unwrap();
    let (errand, worker) = Errand::begin();
    let work = || worker.run(|| (whole.copy_from_host(&[9], 1), whole.copy_from_host(&[9], 2)));
    let (refused, allowed) = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    assert!(
        matches!(refused, Err(Error::BorrowConflict { len_bytes: 1, held: "writing", .. })),
        "{refused:?}"
    );
    allowed.unwrap();
    drop((errand, operation));
    assert_eq!(whole.to_vec().unwrap(), [1, 2, 9, 4]);
}

#[test]
fn slices_are_for_host_accessible_memory() {
    each(|queue, kind| {
        let whole = buffer(queue, kind, &[1, 2, 3, 4]);
        let mut guard = whole.write_range(1..3).unwrap();
        if kind == UsmKind::Device {
            assert!(matches!(guard.as_mut_slice(), Err(Error::NotHostAccessible { kind: UsmKind::Device })));
        } else {
            guard.as_mut_slice().unwrap().copy_from_slice(&[7, 8]);
            drop(guard);
            assert_eq!(whole.read_range(0..4).unwrap().as_slice().unwrap(), [1, 7, 8, 4]);
        }
    });
}

#[test]
fn fills_repeat_the_pattern() {
    each(|queue, kind| {
        let pattern: Vec<u8> = (10..26).collect();
        let whole = UsmBuffer::allocate(queue, kind, (1 << 17) + 16).unwrap();
        for len in [1, 2, 3, 4, 8, 12, 16] {
            whole.fill(&pattern[..len]).unwrap();
            assert!(
                whole.to_vec().unwrap() == pattern[..len].repeat(whole.len_bytes() / len),
                "{kind} {len}"
            );
        }
        whole.fill(&[0]).unwrap();
        whole.sub_buffer(3, 32).unwrap().fill(&pattern).unwrap();
        assert_eq!(whole.to_vec().unwrap()[3..35], pattern.repeat(2), "misaligned");
        assert!(matches!(whole.sub_buffer(0, 5).unwrap().fill(&[1, 2]), Err(Error::PatternMismatch { .. })));
        assert!(matches!(whole.fill(&[1; 17]), Err(Error::Core(_))));
        assert!(matches!(whole.fill(&[]), Err(Error::Core(_))));
        whole.sub_buffer(0, 0).unwrap().fill(&[1]).unwrap();
    });
}

#[test]
fn borrowed_memory_keeps_its_owner_and_its_bounds() {
    each(|queue, kind| {
        let owner = Arc::new(buffer(queue, kind, &[0, 1, 2, 3, 4, 5, 6, 7]));
        let borrow = |address, len| {
            // SAFETY: parts of the owner's memory, which the `Arc` keeps alive; nobody uses it meanwhile.
            unsafe { UsmBuffer::borrow(queue, address, len, true, Arc::clone(&owner) as _) }
        };
        let start = owner.address();
        let borrowed = borrow(start + 2, 4).unwrap();
        assert!(matches!(borrowed.ownership(), Ownership::Borrowed(_)));
        assert_eq!((borrowed.kind(), borrowed.address()), (kind, start + 2));
        borrowed.copy_from_host(&[20], 0).unwrap();
        assert_eq!(owner.to_vec().unwrap()[2], 20, "no copy");
        assert_eq!(borrow(start + 1, 0).unwrap().len_bytes(), 0);

        assert!(borrow(start, 9).is_err(), "beyond the end");
        assert!(borrow(start + 8, 1).is_err(), "behind the end");
        assert!(borrow(start - 1, 4).is_err(), "before the start");
        assert!(matches!(borrow(0, 1), Err(Error::NotUsm { end: "first", address: 0 })));
        assert!(matches!(borrow(start, usize::MAX), Err(Error::AddressOverflow { .. })));
        assert_eq!(Arc::strong_count(&owner), 2, "refused borrows keep nothing");

        let again = borrow(start, 8).unwrap();
        let reading = borrowed.read_range(0..4).unwrap();
        assert!(again.write_range(0..3).is_err(), "the other borrow of the same bytes");
        assert!(owner.write_range(5..6).is_err(), "the owner's own buffer");
        assert!(again.write_range(6..8).is_ok() && owner.read_range(0..8).is_ok());
        drop((reading, again));

        let overlap = borrow(start, 4).unwrap();
        borrow(start + 2, 4).unwrap().copy_from(&overlap).unwrap();
        assert_eq!(owner.to_vec().unwrap(), [0, 1, 0, 1, 20, 3, 6, 7], "overlap between two borrows");
    });
}

#[test]
fn host_memory_is_borrowed_where_it_can_be_usm() {
    each(|queue, kind| {
        let is_host = queue.device().backend_id() == BackendId::Host;
        let owner = Arc::new(vec![0_u8, 1, 2, 3]);
        let address = owner.as_ptr().addr();
        // SAFETY: the vector keeps the bytes, which buffers alone use and do not write here.
        let borrow =
            || unsafe { UsmBuffer::borrow_host_memory(queue, kind, address, 4, false, Arc::clone(&owner)) };
        let found = borrow();
        assert_eq!(found.is_ok(), is_host && kind.is_host_accessible(), "{queue:?} {kind}");
        match found {
            Ok(borrowed) => {
                assert_eq!((borrowed.kind(), borrowed.address()), (kind, address));
                assert!(!borrowed.is_writable());
                assert_eq!(borrowed.to_vec().unwrap(), [0, 1, 2, 3]);
                let again = borrow().unwrap();
                drop(borrowed);
                assert!(pointer_info(queue.context(), address).is_some(), "the other one keeps it known");
                assert!(matches!(again.share(), Err(Error::Core(_))), "no pages of its own");
                assert_eq!(Arc::strong_count(&owner), 2);
            }
            Err(same) => assert!(Arc::ptr_eq(&same, &owner)),
        }
        assert_eq!(Arc::strong_count(&owner), 1);
        assert!(!is_host || pointer_info(queue.context(), address).is_none());
    });
}

#[test]
fn host_memory_that_is_usm_is_itself() {
    each(|queue, kind| {
        let owner = Arc::new(buffer(queue, kind, &[0, 1, 2, 3]));
        let address = owner.address() + 1;
        // SAFETY: the other buffer keeps the bytes.
        let borrow = |kind| unsafe {
            UsmBuffer::borrow_host_memory(queue, kind, address, 3, true, Arc::clone(&owner))
        };
        let borrowed = borrow(kind).unwrap();
        borrowed.fill(&[9]).unwrap();
        assert_eq!(owner.to_vec().unwrap(), [0, 9, 9, 9]);
        let other = UsmKind::ALL.into_iter().find(|other| *other != kind).unwrap();
        assert!(borrow(other).is_err(), "it is of its kind alone");
    });
}

#[test]
fn another_context_does_not_know_the_memory() {
    let queue = common::host_queue();
    let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
    let elsewhere = own.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    let owner = Arc::new(buffer(&queue, UsmKind::Shared, &[1, 2]));
    // SAFETY: refused; nothing is touched.
    let refused = unsafe { UsmBuffer::borrow(&elsewhere, owner.address(), 2, true, Arc::clone(&owner) as _) };
    assert!(matches!(refused, Err(Error::NotUsm { end: "first", .. })));
}

#[test]
fn kernels_reach_memory_of_their_context_and_device() {
    each(|queue, kind| {
        let Ok([one, other]) = <[Queue; 2]>::try_from(parts(queue.device())) else { return };
        let memory = buffer(&one, kind, &[1, 2, 3]);
        assert!(memory.is_reachable_by(&one));
        assert_eq!(memory.is_reachable_by(&other), kind == UsmKind::Host);
        // Where transfers are submitted to does not move it.
        assert!(memory.on_queue(&other).unwrap().is_reachable_by(&one));
        assert!(!memory.is_reachable_by(queue), "another context");
    });
}
