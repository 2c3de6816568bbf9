//! Queues of the host backend run on their own, in any order that dependencies allow.
#![allow(clippy::unwrap_used)]

use crate::host;

use std::slice::from_ref;
use std::time::Duration;

use host::{IN_ORDER, LARGE, OUT_OF_ORDER, comes_true, copy, first_byte, memset, queue, runtime};
use usm_core::{Context, Error, Event, EventStatus, QueueProperties, Runtime, UsmKind};

/// How often, of `tries`, a copy ran before the fill that it was not told to wait for.
fn copies_before_their_fill(properties: QueueProperties, dependent: bool, wait_for_queue: bool) -> usize {
    let runtime = runtime();
    let queue = queue(&runtime, properties);
    let (a, b) = (queue.allocate(UsmKind::Device, 64).unwrap(), queue.allocate(UsmKind::Device, 64).unwrap());
    (0..200)
        .filter(|_| {
            let cleared = memset(&queue, &a, 0, &[]);
            memset(&queue, &b, 0, from_ref(&cleared)).wait().unwrap();
            let filled = memset(&queue, &a, 1, &[]);
            let after = if dependent { from_ref(&filled) } else { &[] };
            let copied = copy(&queue, &b, &a, after);
            if wait_for_queue {
                queue.wait().unwrap();
            } else {
                copied.wait().unwrap();
            }
            let early = first_byte(&queue, &b, &[]) == 0;
            filled.wait().unwrap();
            early
        })
        .count()
}

#[test]
fn a_missing_dependency_shows() {
    for wait_for_queue in [false, true] {
        let shown = copies_before_their_fill(OUT_OF_ORDER, false, wait_for_queue);
        assert!(shown > 20, "{shown} of 200 showed it (whole queue: {wait_for_queue})");
        assert_eq!(copies_before_their_fill(OUT_OF_ORDER, true, wait_for_queue), 0);
        assert_eq!(copies_before_their_fill(IN_ORDER, false, wait_for_queue), 0);
    }
}

#[test]
fn in_order_queues_keep_the_order() {
    let runtime = runtime();
    let queue = queue(&runtime, IN_ORDER);
    let blocks: Vec<_> = (0..8).map(|_| queue.allocate(UsmKind::Shared, 1 << 16).unwrap()).collect();
    for round in 0..100_u8 {
        // What the first one gets goes through all of them, against the order of the blocks.
        memset(&queue, &blocks[7], round, &[]);
        let copied: Vec<_> = (0..7).rev().map(|i| copy(&queue, &blocks[i], &blocks[i + 1], &[])).collect();
        memset(&queue, &blocks[7], !round, &[]);
        copied[6].wait().unwrap();
        assert!(copied.iter().all(Event::is_complete), "the last one ends last");
        for block in &blocks[..7] {
            assert_eq!(first_byte(&queue, block, &[]), round);
        }
    }
}

#[test]
fn events_of_other_queues_are_dependencies() {
    let runtime = runtime();
    let queues = [OUT_OF_ORDER, IN_ORDER, OUT_OF_ORDER, IN_ORDER].map(|order| queue(&runtime, order));
    let own = Context::new(from_ref(runtime.host_device())).unwrap();
    let elsewhere = own.create_queue(runtime.host_device(), OUT_OF_ORDER).unwrap();
    let blocks: Vec<_> = (0..9).map(|_| queues[0].allocate(UsmKind::Device, 4096).unwrap()).collect();
    for round in 0..200_u8 {
        let mut last = memset(&queues[0], &blocks[0], round, &[]);
        for i in 1..blocks.len() {
            // A barrier of another context passes the order on as well.
            let passed = elsewhere.barrier(from_ref(&last)).unwrap();
            last = copy(&queues[i % 4], &blocks[i], &blocks[i - 1], &[passed]);
        }
        assert_eq!(first_byte(&queues[0], &blocks[8], &[last]), round);
        // No copy of this round is left when the next one starts: the chain ended with the last.
    }
}

#[test]
fn barriers_hold_back_what_comes_later() {
    let runtime = runtime();
    let (queue, other) = (queue(&runtime, OUT_OF_ORDER), queue(&runtime, OUT_OF_ORDER));
    let blocks: Vec<_> = (0..4).map(|_| queue.allocate(UsmKind::Device, 1 << 14).unwrap()).collect();
    for round in 1..200_u8 {
        // After all of the queue, twice; everything before it is complete when the barrier is.
        let filled: Vec<_> = blocks[..3].iter().map(|block| memset(&queue, block, round, &[])).collect();
        queue.barrier(&[]).unwrap();
        let copied = copy(&queue, &blocks[3], &blocks[round as usize % 3], &[]);
        queue.barrier(&[]).unwrap().wait().unwrap();
        assert!(filled.iter().chain([&copied]).all(Event::is_complete));
        assert_eq!(first_byte(&queue, &blocks[3], &[]), round);

        // After one event only, of another queue. A barrier before it still counts.
        let cleared = memset(&queue, &blocks[1], 0, &[]);
        queue.barrier(&[]).unwrap();
        let elsewhere = memset(&other, &blocks[0], !round, &[]);
        queue.barrier(from_ref(&elsewhere)).unwrap();
        let copied = copy(&queue, &blocks[1], &blocks[0], &[]);
        copied.wait().unwrap();
        assert!(cleared.is_complete() && elsewhere.is_complete());
        assert_eq!(first_byte(&queue, &blocks[1], &[]), !round);
    }
}

#[test]
fn jobs_run_without_anybody_waiting() {
    let runtime = runtime();
    for properties in [IN_ORDER, OUT_OF_ORDER] {
        let queue = queue(&runtime, properties);
        for len in [64, LARGE] {
            let blocks: Vec<_> = (0..5).map(|_| queue.allocate(UsmKind::Shared, len).unwrap()).collect();
            for _ in 0..3 {
                let events: Vec<_> = blocks.iter().map(|block| memset(&queue, block, 1, &[])).collect();
                assert!(comes_true(|| events.iter().all(Event::is_complete)), "{properties:?} {len}");
                // Long enough for the workers to fall asleep, in some rounds.
                std::thread::sleep(Duration::from_millis(7));
            }
        }
    }
}

#[test]
fn status_goes_from_submitted_over_running_to_complete() {
    let runtime = runtime();
    let queue = queue(&runtime, OUT_OF_ORDER);
    let block = queue.allocate(UsmKind::Shared, LARGE).unwrap();
    memset(&queue, &block, 0, &[]).wait().unwrap();
    let mut seen = [false; 2];
    // A busy machine may not show both at the first tries.
    for round in 0..100_000 {
        if round >= 50 && seen == [true; 2] {
            break;
        }
        let first = memset(&queue, &block, 1, &[]);
        let second = memset(&queue, &block, 2, from_ref(&first));
        seen[0] |= second.status() == EventStatus::Submitted;
        let dependencies = second.dependencies().unwrap();
        // Complete operations may be missing.
        assert!(dependencies.len() == 1 || first.is_complete());
        assert!(comes_true(|| {
            let (before, after) = (first.status(), second.status());
            seen[1] |= before == EventStatus::Running;
            // `first` is asked before `second`: it may be complete by then, but not be behind.
            after == EventStatus::Submitted || first.is_complete()
        }));
        assert!(comes_true(|| {
            seen[1] |= second.status() == EventStatus::Running;
            second.is_complete()
        }));
        assert!(second.dependencies().unwrap().is_empty());
    }
    assert_eq!(seen, [true; 2], "submitted, running");
}

#[test]
fn dependencies_are_the_direct_ones() {
    let runtime = runtime();
    let (queue, ordered) = (queue(&runtime, OUT_OF_ORDER), queue(&runtime, IN_ORDER));
    let block = queue.allocate(UsmKind::Device, LARGE).unwrap();
    // They take milliseconds each; a try in which the first one completes meanwhile proves nothing.
    let told = (0..100).any(|_| {
        let first = memset(&queue, &block, 1, &[]);
        let second = memset(&queue, &block, 2, from_ref(&first));
        let third = memset(&ordered, &block, 3, from_ref(&second));
        let fourth = memset(&ordered, &block, 4, from_ref(&second));
        let dependencies = [&first, &second, &third, &fourth].map(|event| event.dependencies().unwrap());
        let told = !first.is_complete();
        if told {
            // Of the last one: the second and, by the order of the queue, the third.
            assert_eq!(dependencies.each_ref().map(Vec::len), [0, 1, 1, 2]);
            dependencies[1][0].wait().unwrap();
            assert!(first.is_complete(), "a handle of the same event");
        }
        fourth.wait().unwrap();
        told
    });
    assert!(told);
}

#[test]
fn times_grow_from_submission_to_end() {
    let runtime = runtime();
    for properties in [IN_ORDER, OUT_OF_ORDER] {
        let queue = queue(&runtime, properties.with_profiling(true));
        let block = queue.allocate(UsmKind::Device, 1 << 20).unwrap();
        let mut events = vec![queue.barrier(&[]).unwrap()];
        for i in 0..50 {
            let event = memset(&queue, &block, i, &events[events.len() - 1..]);
            events.push(event);
        }
        let mut end_ns = 0;
        for event in &events {
            let times = event.profiling_times().unwrap();
            assert!(event.is_complete());
            assert!(0 < times.submit_ns && times.submit_ns <= times.start_ns, "{times:?}");
            assert!(end_ns <= times.start_ns && times.start_ns <= times.end_ns, "{times:?} after {end_ns}");
            end_ns = times.end_ns;
        }
        assert!(matches!(runtime_event(&runtime).profiling_times(), Err(Error::NoProfiling)));
    }
}

fn runtime_event(runtime: &Runtime) -> Event {
    queue(runtime, IN_ORDER).barrier(&[]).unwrap()
}
