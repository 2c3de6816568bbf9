//! Fills of any pattern, hints, barriers, and what events tell, on every backend.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::slice::from_ref;

use usm_core::{Error, Event, EventStatus, Queue, QueueProperties, UsmKind};

/// Queues of all backends: in order, out of order, and with profiling.
fn queues() -> Vec<Queue> {
    let with = |queue: &Queue, properties| queue.context().create_queue(queue.device(), properties).unwrap();
    let variants = |queue: Queue| {
        let profiling = QueueProperties::OUT_OF_ORDER.with_profiling(true);
        [with(&queue, QueueProperties::OUT_OF_ORDER), with(&queue, profiling), queue]
    };
    common::queues().into_iter().flat_map(variants).collect()
}

fn read(queue: &Queue, address: *const u8, len: usize, after: &[Event]) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: tests pass blocks of at least that length; waited for.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), address, len, after) }.unwrap().wait().unwrap();
    bytes
}

#[test]
fn patterns_of_any_length_fill_at_any_address() {
    for queue in queues() {
        for kind in UsmKind::ALL {
            let block = queue.allocate(kind, 4096).unwrap();
            let start = block.as_ptr().as_ptr();
            for pattern_len in 1..=16 {
                let pattern: Vec<u8> = (1..=pattern_len).collect();
                for (offset, count) in [(1, 0), (0, 1), (1, 2), (7, 100), (8, 48), (16, 255)] {
                    let len = pattern.len() * count;
                    // SAFETY: within the block, ordered by the event.
                    let cleared = unsafe { queue.memset(start, 0xee, 4096, &[]) }.unwrap();
                    let dst = start.wrapping_add(offset);
                    // SAFETY: within the block: 16 + 16 * 255 is its length; waited for by the read.
                    let filled = unsafe { queue.fill(dst, &pattern, count, &[cleared]) }.unwrap();
                    let mut expected = vec![0xee; 4096];
                    expected[offset..offset + len].copy_from_slice(&pattern.repeat(count));
                    let found = read(&queue, start, 4096, &[filled]);
                    assert!(found == expected, "{queue:?} {kind} {pattern_len} * {count} at {offset}");
                }
            }
        }
        for pattern in [&[][..], &[0; 17]] {
            // SAFETY: refused.
            let refused = unsafe { queue.fill(std::ptr::null_mut(), pattern, 1, &[]) };
            assert!(matches!(refused, Err(Error::PatternLength { len_bytes }) if len_bytes == pattern.len()));
        }
    }
}

#[test]
fn hints_are_taken_for_usm_and_refused_for_the_rest() {
    for queue in queues() {
        for kind in UsmKind::ALL {
            let block = queue.allocate(kind, 100).unwrap();
            let start = block.as_ptr().as_ptr().cast_const();
            // SAFETY: the block stays until the wait.
            let first = unsafe { queue.prefetch(start, 100, &[]) }.unwrap();
            // SAFETY: as above.
            let second = unsafe { queue.mem_advise(start, 100, 0, from_ref(&first)) }.unwrap();
            // SAFETY: as above.
            unsafe { queue.prefetch(start, 0, &[first, second]) }.unwrap().wait().unwrap();
            let before = start.wrapping_sub(1);
            for (address, len) in [(start, 101), (before, 1), (start, usize::MAX)] {
                // A block of another test may end there.
                if address == before && queue.context().pointer_info(before.addr()).is_some() {
                    continue;
                }
                // SAFETY: refused.
                let refused = [unsafe { queue.prefetch(address, len, &[]) }, unsafe {
                    queue.mem_advise(address, len, 0, &[])
                }];
                for (refused, name) in refused.into_iter().zip(["prefetch", "mem_advise"]) {
                    assert!(
                        matches!(refused, Err(Error::Unreachable { operation, .. }) if operation == name),
                        "{name} of {len} bytes at {address:?}, {kind} {start:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn barriers_order_what_comes_after_them() {
    const LEN: usize = 1 << 20;
    for queue in queues() {
        let (a, b) =
            (queue.allocate(UsmKind::Device, LEN).unwrap(), queue.allocate(UsmKind::Device, LEN).unwrap());
        let (a, b) = (a.as_ptr().as_ptr(), b.as_ptr().as_ptr());
        for round in 0..20 {
            // SAFETY: within the blocks, ordered by barriers, waited for by the read.
            let filled = unsafe { queue.memset(a, round, LEN, &[]) }.unwrap();
            if round % 2 == 0 {
                queue.barrier(&[]).unwrap();
            } else {
                queue.barrier(from_ref(&filled)).unwrap();
            }
            // SAFETY: as above.
            unsafe { queue.memcpy(b, a, LEN, &[]) }.unwrap();
            let copied = queue.barrier(&[]).unwrap();
            copied.wait().unwrap();
            assert!(filled.is_complete() && copied.status() == EventStatus::Complete);
            assert!(read(&queue, b, LEN, &[]) == vec![round; LEN], "{queue:?} {round}");
        }
    }
}

#[test]
fn events_know_their_times_and_dependencies() {
    for queue in queues() {
        let block = queue.allocate(UsmKind::Device, 1 << 20).unwrap();
        let start = block.as_ptr().as_ptr();
        // SAFETY: within the block, waited for below.
        let first = unsafe { queue.memset(start, 1, 1 << 20, &[]) }.unwrap();
        // SAFETY: as above.
        let second = unsafe { queue.memset(start, 2, 1 << 20, from_ref(&first)) }.unwrap();
        assert!(second.dependencies().unwrap().len() <= 1, "those that are complete may be missing");
        Event::wait_all([&first, &second]).unwrap();
        let times = [first.profiling_times(), second.profiling_times()];
        if !queue.properties().profiling {
            assert!(times.iter().all(|times| matches!(times, Err(Error::NoProfiling))), "{queue:?}");
            continue;
        }
        let [first, second] = times.map(Result::unwrap);
        for times in [first, second] {
            assert!(times.submit_ns <= times.start_ns && times.start_ns <= times.end_ns, "{times:?}");
            let len_ns = u128::from(times.end_ns - times.start_ns);
            assert_eq!(times.duration().as_nanos(), len_ns);
        }
        assert!(first.end_ns <= second.start_ns, "{first:?} {second:?}");
    }
}
