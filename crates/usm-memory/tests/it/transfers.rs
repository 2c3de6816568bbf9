//! Every transfer between every two places: kinds, contexts, devices and backends; blocking and under way.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::slice::from_ref;
use std::sync::Arc;

use common::{buffer, bytes, direct, places};
use usm_memory::resource::{PoolOptions, PoolResource, reset_default_resource, set_default_resource};
use usm_memory::usm_core::backend::RawHandle;
use usm_memory::usm_core::testing::{
    Answer, Call, DelayedBackend, Fault, FaultyBackend, Method, RecordingBackend,
};
use usm_memory::usm_core::{Context, Device, Event, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{Completion, Error, Refused, TypedBuffer, UsmBuffer};

/// More than two chunks of a staged copy, and not a whole number of them.
const MANY: usize = 3 * (256 << 10) + 5;

fn pairs(kinds: [UsmKind; 2]) -> impl Iterator<Item = (UsmKind, UsmKind)> {
    kinds.into_iter().flat_map(move |a| kinds.map(|b| (a, b)))
}

#[test]
fn copies_between_all_places() {
    let places = places();
    let contents = [0, 1, 999, MANY].map(|len| (len, bytes(len + 8, 1)));
    for from in &places {
        for to in &places {
            for (from_kind, to_kind) in UsmKind::ALL.iter().flat_map(|&a| UsmKind::ALL.map(|b| (a, b))) {
                for (len, content) in &contents {
                    let len = *len;
                    // What is not staged is not cut into chunks.
                    if len == MANY && (from_kind, to_kind) != (UsmKind::Device, UsmKind::Device) {
                        continue;
                    }
                    let what = format!("{len} bytes from {from_kind} of {from:?} to {to_kind} of {to:?}");
                    let src = buffer(from, from_kind, content);
                    let dst = buffer(to, to_kind, &vec![0; len + 8]);
                    let (part, target) = (src.sub_buffer(3, len).unwrap(), dst.sub_buffer(5, len).unwrap());
                    target.copy_from(&part).unwrap();
                    assert!(target.to_vec().unwrap() == content[3..len + 3], "{what}");

                    dst.fill(&[0]).unwrap();
                    let copy = target.copy_from_async(&part, &[]).unwrap();
                    if len > 0 {
                        part.read_range(0..len).unwrap();
                        part.fill(&[1]).unwrap();
                    }
                    copy.wait().unwrap();
                    let mut expected = vec![0; len + 8];
                    expected[5..len + 5].copy_from_slice(&content[3..len + 3]);
                    assert!(dst.to_vec().unwrap() == expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn many_chunks_and_a_pool_for_the_staging_memory() {
    let content = bytes((2 << 20) + 1, 1);
    for from in &places() {
        let device = from.device();
        let pool =
            Arc::new(PoolResource::new(Arc::new(usm_memory::resource::DirectResource), PoolOptions::new()));
        set_default_resource(device, pool.clone());
        for to in places().iter().filter(|to| to.context() != from.context()) {
            let dst = UsmBuffer::allocate(to, UsmKind::Device, content.len()).unwrap();
            let src = buffer(from, UsmKind::Device, &content);
            for _ in 0..2 {
                dst.fill(&[0]).unwrap();
                dst.copy_from_async(&src, &[]).unwrap().wait().unwrap();
                assert!(dst.to_vec().unwrap() == content, "{from:?} to {to:?}");
            }
        }
        reset_default_resource(device);
        assert!(pool.statistics().reused_count > 0);
    }
}

#[test]
fn vectors_move_into_transfers_and_come_back() {
    common::each(|queue, kind| {
        for len in [0, 1, 999, MANY] {
            let dst = buffer(queue, kind, &vec![0; len + 3]);
            let content = bytes(len, 2);
            let address = content.as_ptr();
            let upload = dst.copy_from_vec_async(content.clone(), 3, &[]).unwrap();
            drop(content);
            let back = upload.wait().unwrap();
            assert!(back == bytes(len, 2) && (len == 0 || back.as_ptr() != address));
            let download = dst.copy_to_vec_async(vec![9; len], 3, &[]).unwrap();
            assert!(download.wait().unwrap() == back);
            assert!(dst.to_vec_async(&[]).unwrap().wait().unwrap()[3..] == back);
        }
        let dst = buffer(queue, kind, &[1, 2, 3]);
        for (len, offset) in [(4, 0), (1, 3), (1, usize::MAX)] {
            let refused = dst.copy_from_vec_async(vec![7; len], offset, &[]).unwrap_err();
            assert!(
                matches!(&refused, Refused { error: Error::OutOfBounds { .. }, host } if *host == vec![7; len])
            );
            assert!(refused.to_string().contains("not within a buffer of 3 bytes"), "{refused}");
            assert!(dst.copy_to_vec_async(vec![7; len], offset, &[]).is_err());
        }
        let reading = dst.read_range(0..1).unwrap();
        let refused = dst.copy_from_vec_async(vec![5], 0, &[]).unwrap_err();
        assert_eq!(refused.host, [5]);
        assert!(matches!(Error::from(refused), Error::BorrowConflict { held: "reading", .. }));
        drop(reading);
        let fixed = dst.read_only();
        assert!(matches!(
            fixed.copy_from_vec_async(vec![5], 0, &[]),
            Err(Refused { error: Error::ReadOnly, .. })
        ));
        assert!(matches!(fixed.fill_async(&[5], &[]), Err(Error::ReadOnly)));
        assert!(matches!(fixed.copy_from_async(&dst, &[]), Err(Error::ReadOnly)));
        assert_eq!(dst.to_vec().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn typed_transfers() {
    common::each(|queue, kind| {
        let a = TypedBuffer::<[u16; 3]>::allocate(queue, kind, 50_000).unwrap();
        let b = TypedBuffer::allocate(queue, kind, 50_000).unwrap();
        let fill = a.fill_async([1, 2, 3], &[]).unwrap();
        let copy = b.copy_from_async(&a, fill.events()).unwrap();
        let download = b.to_vec_async(copy.events()).unwrap();
        assert!(download.wait().unwrap() == vec![[1, 2, 3]; 50_000]);
        drop((fill, copy));
        let refused = a.copy_from_vec_async(vec![[0; 3]; 9], &[]).unwrap_err();
        assert!(matches!(refused.error, Error::LengthMismatch { dst_bytes: 300_000, src_bytes: 54 }));
        assert!(
            matches!(a.copy_to_vec_async(vec![[0; 3]; 9], &[]), Err(Refused { host, .. }) if host.len() == 9)
        );
        a.copy_from_vec_async(vec![[4, 5, 6]; 50_000], &[]).unwrap().wait().unwrap();
        b.copy_from(&a).unwrap();
        assert!(b.copy_to_vec_async(vec![[0; 3]; 50_000], &[]).unwrap().wait().unwrap()[49_999] == [4, 5, 6]);
        let long = TypedBuffer::<[u64; 5]>::allocate(queue, kind, 4_000).unwrap();
        long.fill_async([1, 2, 3, 4, 5], &[]).unwrap().wait().unwrap();
        assert!(long.to_vec().unwrap() == vec![[1, 2, 3, 4, 5]; 4_000]);
        long.fill([9; 5]).unwrap();
        assert!(long.to_vec().unwrap() == vec![[9; 5]; 4_000]);
    });
}

#[test]
fn fills_under_way() {
    common::each(|queue, kind| {
        for len in [0, 48, 48 * 4096] {
            let whole = buffer(queue, kind, &vec![0; len + 7]);
            let part = whole.sub_buffer(3, len).unwrap();
            for pattern in [1, 2, 3, 4, 8, 12, 16].map(|len| bytes(len, 7)) {
                let fill = part.fill_async(&pattern, &[]).unwrap();
                fill.wait().unwrap();
                assert!(part.to_vec().unwrap() == pattern.repeat(len / pattern.len()), "{kind} {len}");
            }
            assert_eq!((whole.to_vec().unwrap()[2], whole.to_vec().unwrap()[len + 3]), (0, 0));
        }
        let whole = buffer(queue, kind, &[1; 5]);
        assert!(matches!(whole.fill_async(&[1, 2], &[]), Err(Error::PatternMismatch { .. })));
        assert!(matches!(whole.fill_async(&[1; 17], &[]), Err(Error::Core(_))));
    });
}

#[test]
fn chains_over_the_same_bytes_wait_once() {
    let (places, content) = (places(), bytes(MANY, 3));
    for from in &places {
        for to in &places {
            for (a_kind, b_kind) in pairs([UsmKind::Device, UsmKind::Shared]) {
                let len = if a_kind == b_kind && a_kind == UsmKind::Device { MANY } else { 999 };
                let content = &content[..len];
                let a = UsmBuffer::allocate(from, a_kind, len).unwrap();
                let b = UsmBuffer::allocate(to, b_kind, len).unwrap();
                let upload = a.copy_from_vec_async(content.to_vec(), 0, &[]).unwrap();
                let there = b.copy_from_async(&a, upload.events()).unwrap();
                let fill = a.fill_async(&[7], there.events()).unwrap();
                let download = b.to_vec_async(there.events()).unwrap();
                let other = b.to_vec_async(fill.events()).unwrap();
                assert!(upload.events().len() == 1 && there.events().len() == 1);
                drop((upload, there));
                assert!(download.wait().unwrap() == content, "{from:?} {a_kind} {to:?} {b_kind}");
                assert!(other.wait().unwrap() == content);
                assert!(fill.wait().is_ok() && a.to_vec().unwrap() == vec![7; len]);
            }
        }
    }
}

#[test]
fn work_of_others_is_ordered_by_events() {
    for place in places() {
        let delayed = Arc::new(DelayedBackend::new(backend_of(&place), 3).with_max_delay(1 << 40));
        let queue = queue_over(delayed.clone());
        let elsewhere = queue_over(delayed.clone());
        let (a, b) =
            (buffer(&queue, UsmKind::Shared, &[1; 64]), buffer(&elsewhere, UsmKind::Device, &[2; 64]));
        // What external code would submit: the event is all that the transfer knows.
        // SAFETY: within the buffer, waited for before it goes, and nothing borrows it meanwhile.
        let kernel: Event = unsafe { queue.memset(a.address() as *mut u8, 5, 64, &[]) }.unwrap();
        let empty = a.sub_buffer(0, 0).unwrap().fill_async(&[0], std::slice::from_ref(&kernel)).unwrap();
        assert!(
            !empty.is_complete() && empty.events().len() == 1,
            "an operation of nothing hands its events on"
        );
        let copy = b.copy_from_async(&a, empty.events()).unwrap();
        assert!(!copy.is_complete());
        // SAFETY: as above, ordered after the transfer.
        let after = unsafe { elsewhere.memset(b.address() as *mut u8, 8, 8, copy.events()) }.unwrap();
        after.wait().unwrap();
        assert!(copy.is_complete() && kernel.is_complete());
        copy.wait().unwrap();
        assert_eq!(b.to_vec().unwrap(), [[8; 8].as_slice(), &[5; 56]].concat());
    }
}

#[test]
fn guards_of_published_memory_wait_unless_its_queue_is_surely_idle() {
    for place in places() {
        let delayed = Arc::new(DelayedBackend::new(backend_of(&place), 3).with_max_delay(1 << 40));
        let recording = Arc::new(RecordingBackend::new(delayed.clone()));
        let any_order = queue_over(recording.clone());
        let in_order =
            any_order.context().create_queue(any_order.device(), QueueProperties::IN_ORDER).unwrap();
        let memory = [&any_order, &in_order].map(|queue| {
            let memory = direct(queue, UsmKind::Shared, 8);
            memory.publish().unwrap();
            memory
        });
        let waits = |memory: &UsmBuffer| {
            recording.clear();
            drop(memory.read_range(0..8).unwrap());
            recording.count(Method::Wait)
        };
        for (queue, memory) in [&any_order, &in_order].into_iter().zip(&memory) {
            assert_eq!(waits(memory), 0);
            // SAFETY: within the buffer, which the next guard waits for.
            unsafe { queue.memset(memory.address() as *mut u8, 5, 8, &[]) }.unwrap();
            assert_eq!((delayed.pending(), waits(memory), delayed.pending()), (1, 1, 0));
            assert_eq!((memory.to_vec().unwrap(), waits(memory)), (vec![5; 8], 0));
            // From now on others may submit to it.
            if queue.to_external().is_ok() {
                assert_eq!((waits(memory), waits(memory)), (1, 1));
            }
        }
    }
}

#[test]
fn a_few_bytes_of_published_memory_are_read_without_a_wait_unless_others_have_its_queue() {
    for place in places() {
        let recording = Arc::new(RecordingBackend::new(backend_of(&place)));
        let queue = queue_over(recording.clone());
        let memory = direct(&queue, UsmKind::Shared, 8);
        memory.copy_from_host(&[7; 8], 0).unwrap();
        memory.publish().unwrap();
        let read = || {
            recording.clear();
            let mut bytes = [0; 8];
            memory.copy_to_host(&mut bytes, 0).unwrap();
            (bytes, recording.count(Method::Barrier), recording.count(Method::Wait))
        };
        assert_eq!(read(), ([7; 8], 0, 0));
        if queue.to_external().is_ok() {
            assert_eq!(read(), ([7; 8], 1, 1));
        }
    }
}

fn backend_of(queue: &Queue) -> Arc<dyn usm_memory::usm_core::backend::Backend> {
    use usm_memory::usm_core::BackendId;
    match queue.backend_id() {
        BackendId::Sycl => Arc::clone(Runtime::global().sycl_backend().unwrap()),
        _ => Arc::new(usm_memory::usm_core::backend::host::HostBackend::new()),
    }
}

fn queue_over(backend: Arc<dyn usm_memory::usm_core::backend::Backend>) -> Queue {
    let device = Runtime::with_backend(backend).unwrap().default_device().unwrap();
    let context = Context::new(from_ref(&device)).unwrap();
    context.create_queue(&device, QueueProperties::OUT_OF_ORDER).unwrap()
}

#[test]
fn overlapping_parts_copy_as_if_through_a_third_place() {
    for queue in places() {
        for kind in UsmKind::ALL {
            for (len, from, to) in
                [(7, 0, 3), (7, 3, 0), (7, 2, 2), (MANY, 0, 1000), (MANY, 1000, 0), (MANY, 0, MANY - 1)]
            {
                let content = bytes(len + from.max(to), 5);
                let mut expected = content.clone();
                expected.copy_within(from..from + len, to);
                for is_async in [false, true] {
                    let whole = buffer(&queue, kind, &content);
                    let (src, dst) =
                        (whole.sub_buffer(from, len).unwrap(), whole.sub_buffer(to, len).unwrap());
                    if is_async {
                        dst.copy_from_async(&src, &[]).unwrap().wait().unwrap();
                    } else {
                        dst.copy_from(&src).unwrap();
                    }
                    assert!(
                        whole.to_vec().unwrap() == expected,
                        "{kind} {len} {from} {to} {is_async} {queue:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn less_staging_memory_makes_shorter_chunks() {
    for place in places() {
        let recording = Arc::new(RecordingBackend::new(backend_of(&place)));
        let faulty = Arc::new(FaultyBackend::new(recording.clone()));
        let (from, to) = (queue_over(faulty.clone()), queue_over(faulty.clone()));
        let content = bytes(MANY, 8);
        let src = buffer(&from, UsmKind::Device, &content);
        let dst = UsmBuffer::allocate(&to, UsmKind::Device, MANY).unwrap();
        // Which allocations fail, and in how many chunks the copy is then done.
        for (fault, chunks, allocations) in [(0, 4, 2), (1, 7, 2), (2, 7, 3)] {
            dst.fill(&[0]).unwrap();
            recording.clear();
            faulty.arm(Fault::at(fault).of(Method::Allocate));
            dst.copy_from(&src).unwrap();
            let calls = (recording.count(Method::Memcpy), recording.count(Method::Allocate));
            // A backend that has freed memory to give back is asked again.
            let is_recovered = fault > 0 && faulty.failures() == 1 && calls == (2 * 4, 2);
            assert!(is_recovered || calls == (2 * chunks, allocations), "{calls:?}");
            assert!(dst.to_vec().unwrap() == content, "{place:?}");
        }
        recording.clear();
        faulty.arm(Fault::from(1).of(Method::Allocate));
        assert!(dst.copy_from(&src).unwrap_err().is_out_of_memory());
        assert_eq!((faulty.failures(), recording.count(Method::Memcpy)), (3, 0), "256, 128 and 64 KiB");
    }
}

#[test]
fn host_accessible_sides_need_no_staging_memory() {
    for place in places() {
        let recording = Arc::new(RecordingBackend::new(backend_of(&place)));
        let (from, to) = (queue_over(recording.clone()), queue_over(recording.clone()));
        for (from_kind, to_kind) in UsmKind::ALL.iter().flat_map(|&a| UsmKind::ALL.map(|b| (a, b))) {
            let (src, dst) = (buffer(&from, from_kind, &[1; 9]), buffer(&to, to_kind, &[0; 9]));
            recording.clear();
            dst.copy_from_async(&src, &[]).unwrap().wait().unwrap();
            let is_staged = from_kind == UsmKind::Device && to_kind == UsmKind::Device;
            assert_eq!(
                recording.count(Method::Memcpy),
                if is_staged { 2 } else { 1 },
                "{from_kind} {to_kind}"
            );
            assert_eq!(recording.count(Method::Allocate), usize::from(is_staged));
            assert_eq!(dst.to_vec().unwrap(), [1; 9]);
        }
    }
}

#[test]
fn memory_of_another_context_is_refused_by_name() {
    for queue in places() {
        let context = Context::new(from_ref(queue.device())).unwrap();
        let other = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        for kind in UsmKind::ALL {
            let memory = buffer(&queue, kind, &[4; 10]);
            let error = UsmBuffer::lease(memory.clone(), &other, |_| {}).unwrap_err();
            let Error::ContextMismatch { memory: a, queue: b } = &error else { panic!("{error}") };
            assert_eq!((a, b), (&queue.context().to_string(), &context.to_string()));
            assert_ne!(a, b);
            // In the same context another queue does.
            let same = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
            let leased = UsmBuffer::lease(memory, &same, |_| {}).unwrap();
            leased.fill_async(&[6], &[]).unwrap().wait().unwrap();
            assert_eq!(leased.to_vec().unwrap(), [6; 10]);
        }
    }
}

#[test]
fn memory_is_freed_in_its_own_context_when_queues_and_contexts_are_gone() {
    for place in places() {
        let recording = Arc::new(RecordingBackend::new(backend_of(&place)));
        let (from, to) = (queue_over(recording.clone()), queue_over(recording.clone()));
        let made: Vec<_> = recording
            .records()
            .iter()
            .filter_map(|record| match (&record.call, &record.answer) {
                (Call::CreateContext { .. }, Answer::Handle(RawHandle::Context(context))) => Some(*context),
                _ => None,
            })
            .collect();
        for kind in UsmKind::ALL {
            let (a, b) = (buffer(&from, kind, &[1; 64]), buffer(&to, kind, &[2; 64]));
            let addresses = [a.address(), b.address()];
            recording.clear();
            let copy = b.copy_from_async(&a, &[]).unwrap();
            drop((a, b));
            copy.wait().unwrap();
            let mut freed: Vec<_> = recording
                .records()
                .iter()
                .filter_map(|record| match record.call {
                    Call::Free { context, block } if addresses.contains(&block) => Some((block, context)),
                    _ => None,
                })
                .collect();
            freed.sort_by_key(|(block, _)| addresses.iter().position(|address| address == block));
            assert_eq!(freed, [(addresses[0], made[0]), (addresses[1], made[1])], "{kind} {place:?}");
        }
        let last = buffer(&to, UsmKind::Device, &[2; 64]);
        drop((from, to));
        recording.clear();
        drop(last);
        assert!(matches!(recording.records()[0].call, Call::Free { context, .. } if context == made[1]));
    }
}

#[test]
fn a_forgotten_completion_hinders_nobody() {
    for place in places() {
        let delayed = Arc::new(DelayedBackend::new(backend_of(&place), 6).with_max_delay(1 << 40));
        let (from, to) = (queue_over(delayed.clone()), queue_over(delayed.clone()));
        let (a, b) = (buffer(&from, UsmKind::Device, &[3; 50]), buffer(&to, UsmKind::Device, &[0; 50]));
        std::mem::forget(b.copy_from_async(&a, &[]).unwrap());
        std::mem::forget(a.copy_to_vec_async(vec![0; 50], 0, &[]).unwrap());
        assert_eq!(b.to_vec().unwrap(), [3; 50]);
        a.fill(&[0]).unwrap();
        drop((a, b, from, to));
        delayed.flush();
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn transfers_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<Completion>();
    check::<Completion<Vec<f32>>>();
    let device: Device = common::host_queue().device().clone();
    let queue = Runtime::global().default_queue(&device).unwrap();
    let a = UsmBuffer::allocate(&queue, UsmKind::Device, 100).unwrap();
    let upload = a.copy_from_vec_async(vec![2; 100], 0, &[]).unwrap();
    std::thread::spawn(move || upload.wait().unwrap()).join().unwrap();
    assert_eq!(a.to_vec().unwrap(), [2; 100]);
}
