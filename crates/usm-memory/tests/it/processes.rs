//! Memory that several processes have. Forked children are the other processes.
#![allow(clippy::unwrap_used)]

use std::slice;
use std::sync::{Arc, Barrier};
use std::thread;

use usm_core::testing::forks::one;
use usm_core::testing::{host_queue, queues};
use usm_core::{BackendId, Context, Queue, QueueProperties, UsmKind};
use usm_memory::processes::{self, Handle};
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource, ShareableResource};
use usm_memory::{Error, MemoryResource, UsmBuffer};

fn queues_with_pages() -> impl Iterator<Item = Queue> {
    queues().into_iter().filter(|queue| queue.device().backend_id() != BackendId::Cuda)
}

/// A queue of another context. Memory that it opens has pages of its own there, as in another process.
fn elsewhere(queue: &Queue) -> Queue {
    let context = Context::new(slice::from_ref(queue.device())).unwrap();
    context.create_queue(queue.device(), QueueProperties::default()).unwrap()
}

fn bytes(buffer: &UsmBuffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.len_bytes()];
    buffer.copy_to_host(&mut bytes, 0).unwrap();
    bytes
}

fn pool(upstream: Arc<dyn MemoryResource>) -> PoolResource {
    PoolResource::new(upstream, PoolOptions::new())
}

#[test]
fn parts_of_one_allocation_are_open_once() {
    for queue in queues_with_pages() {
        for kind in UsmKind::ALL {
            let buffer = UsmBuffer::allocate(&queue, kind, 100_000).unwrap();
            buffer.copy_from_host(&(0..100_000).map(|i| (i % 251) as u8).collect::<Vec<_>>(), 0).unwrap();
            let (first, second) = buffer.split_at(40_000).unwrap();
            let (before, elsewhere) = (processes::opened(), elsewhere(&queue));
            let opened = [&first, &second]
                .map(|part| UsmBuffer::open_shared(&elsewhere, &part.share().unwrap()).unwrap());
            assert!(processes::opened() > before);
            assert_eq!(opened[1].address() - opened[0].address(), 40_000, "{queue:?} {kind}");
            assert_eq!((bytes(&opened[0]), bytes(&opened[1])), (bytes(&first), bytes(&second)));
            second.fill(&[9]).unwrap();
            assert_eq!(bytes(&opened[1])[59_999], 9);
            opened[0].fill(&[8]).unwrap();
            assert_eq!(bytes(&buffer)[39_999..40_001], [8, 9]);
        }
    }
}

#[test]
fn read_only_memory_is_read_only_elsewhere() {
    let queue = host_queue();
    for kind in UsmKind::ALL {
        let buffer = UsmBuffer::allocate(&queue, kind, 1 << 16).unwrap();
        buffer.fill(&[5]).unwrap();
        let shared = buffer.read_only().share().unwrap();
        let opened = UsmBuffer::open_shared(&elsewhere(&queue), &shared).unwrap();
        assert!(!opened.is_writable());
        assert!(matches!(opened.fill(&[1]), Err(Error::ReadOnly)));
        assert_eq!(bytes(&opened)[0], 5);
    }
}

#[test]
fn memory_is_open_once_to_be_read_and_to_be_written() {
    for queue in queues_with_pages() {
        for kind in UsmKind::ALL {
            let buffer = UsmBuffer::allocate(&queue, kind, 1 << 16).unwrap();
            let read_only = buffer.read_only();
            for (value, order) in [(1, [&buffer, &read_only]), (2, [&read_only, &buffer])] {
                let there = elsewhere(&queue);
                let opened =
                    order.map(|sent| UsmBuffer::open_shared(&there, &sent.share().unwrap()).unwrap());
                assert_eq!(opened[0].address(), opened[1].address(), "{queue:?} {kind}");
                for (opened, sent) in opened.iter().zip(order) {
                    assert_eq!(opened.is_writable(), sent.is_writable());
                }
                opened.iter().find(|opened| opened.is_writable()).unwrap().fill(&[value]).unwrap();
                for same in opened.iter().chain([&buffer]) {
                    assert_eq!(bytes(same), vec![value; 1 << 16], "{queue:?} {kind}");
                }
            }
        }
    }
}

#[test]
fn threads_open_memory_once() {
    let queue = host_queue();
    for _ in 0..50 {
        let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
        let (there, shared, start) = (elsewhere(&queue), buffer.share().unwrap(), Barrier::new(4));
        let open = || {
            start.wait();
            UsmBuffer::open_shared(&there, &shared).unwrap()
        };
        let opened: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().all(|other| other.address() == opened[0].address()));
    }
}

#[test]
fn memory_that_comes_back_is_the_buffer_itself() {
    for queue in queues_with_pages() {
        let shareable = pool(Arc::new(ShareableResource));
        for kind in UsmKind::ALL {
            let large = UsmBuffer::allocate(&queue, kind, 100_000).unwrap();
            let slots = [50, 60].map(|len| UsmBuffer::allocate_in(&shareable, &queue, kind, len).unwrap());
            for buffer in [&large, &slots[0], &slots[1]] {
                let part = buffer.sub_buffer(10, 30).unwrap();
                let there = UsmBuffer::open_shared(&elsewhere(&queue), &part.share().unwrap()).unwrap();
                assert_ne!(there.address(), part.address());
                for there in [&there, &there.read_only()] {
                    let back = UsmBuffer::open_shared(&queue, &there.share().unwrap()).unwrap();
                    assert!(back.same_allocation(buffer), "{queue:?} {kind}");
                    assert_eq!((back.address(), back.len_bytes()), (part.address(), 30));
                    assert_eq!(back.is_writable(), there.is_writable());
                }
                let num_holders = buffer.num_holders();
                assert_eq!(num_holders, 2, "the buffer and its part");
            }
            // What was freed meanwhile is another buffer of the same bytes.
            large.fill(&[7]).unwrap();
            let there = UsmBuffer::open_shared(&elsewhere(&queue), &large.share().unwrap()).unwrap();
            drop(large);
            let back = UsmBuffer::open_shared(&queue, &there.share().unwrap()).unwrap();
            assert_eq!(bytes(&back), vec![7; 100_000]);
        }
    }
}

#[test]
fn memory_comes_back_while_its_last_buffer_goes() {
    const ROUNDS: usize = 500;
    let queue = host_queue();
    let there = elsewhere(&queue);
    let pools = [pool(Arc::new(ShareableResource)), pool(Arc::new(DirectResource))];
    for (round, len) in (0..ROUNDS).flat_map(|round| [(round, 100), (round, 40_000)]) {
        let buffer = UsmBuffer::allocate_in(&pools[round % 2], &queue, UsmKind::Shared, len);
        let buffer = buffer.unwrap();
        if len == 100 && round % 2 == 1 {
            continue; // it has no pages of its own
        }
        buffer.fill(&[round as u8]).unwrap();
        // Open there, so that nobody gets the memory.
        let opened = UsmBuffer::open_shared(&there, &buffer.share().unwrap()).unwrap();
        let shared = opened.share().unwrap();
        let start = Barrier::new(2);
        let back = thread::scope(|scope| {
            let end = scope.spawn(|| {
                start.wait();
                drop(buffer);
            });
            start.wait();
            let back = UsmBuffer::open_shared(&queue, &shared).unwrap();
            end.join().unwrap();
            back
        });
        // Others that are allocated now are other memory.
        let other = UsmBuffer::allocate_in(&pools[round % 2], &queue, UsmKind::Shared, len).unwrap();
        other.fill(&[!round as u8]).unwrap();
        assert_eq!(bytes(&back), vec![round as u8; len]);
    }
}

#[test]
fn small_memory_is_shared_from_a_shareable_pool() {
    for queue in queues_with_pages() {
        let (shareable, elsewhere) = (pool(Arc::new(ShareableResource)), elsewhere(&queue));
        for kind in UsmKind::ALL {
            let few: Vec<_> =
                (0..40).map(|_| UsmBuffer::allocate_in(&shareable, &queue, kind, 100).unwrap()).collect();
            few.iter().zip(0_u8..).for_each(|(buffer, value)| buffer.fill(&[value]).unwrap());
            let opened: Vec<_> = few
                .iter()
                .map(|buffer| UsmBuffer::open_shared(&elsewhere, &buffer.share().unwrap()).unwrap())
                .collect();
            assert!(opened.iter().zip(0_u8..).all(|(buffer, value)| bytes(buffer) == [value; 100]));
            opened[7].fill(&[77]).unwrap();
            assert_eq!((bytes(&few[7])[0], bytes(&few[8])[0]), (77, 8));
            // Freed here, but not there: nobody gets the slots.
            let addresses: Vec<_> = few.iter().map(UsmBuffer::address).collect();
            drop(few);
            let others: Vec<_> =
                (0..40).map(|_| UsmBuffer::allocate_in(&shareable, &queue, kind, 100).unwrap()).collect();
            others.iter().for_each(|buffer| buffer.fill(&[255]).unwrap());
            assert!(others.iter().all(|buffer| !addresses.contains(&buffer.address())), "{queue:?} {kind}");
            assert!(
                opened
                    .iter()
                    .zip(0_u8..)
                    .all(|(buffer, value)| { bytes(buffer) == [if value == 7 { 77 } else { value }; 100] })
            );
            assert_eq!(processes::held_for_others(), 40);
            drop(opened);
            assert_eq!(processes::held_for_others(), 0);
        }
        let direct = UsmBuffer::allocate_in(&ShareableResource, &queue, UsmKind::Shared, 10).unwrap();
        assert_eq!(direct.share().unwrap().len_bytes, 10);
    }
    let refused = UsmBuffer::allocate_in(&pool(Arc::new(DirectResource)), &host_queue(), UsmKind::Host, 100);
    let refused = refused.unwrap().share().unwrap_err().to_string();
    assert!(refused.contains("it has no pages of its own; arrays from 32 KiB on have"), "{refused}");
}

#[test]
fn pools_use_shared_slots_again() {
    for queue in queues_with_pages() {
        let elsewhere = elsewhere(&queue);
        for kind in UsmKind::ALL {
            let pool = pool(Arc::new(DirectResource));
            for step in 0..50_u8 {
                let buffer = UsmBuffer::allocate_in(&pool, &queue, kind, 50_000).unwrap();
                buffer.fill(&[step]).unwrap();
                let opened = UsmBuffer::open_shared(&elsewhere, &buffer.share().unwrap()).unwrap();
                drop(buffer);
                let other = UsmBuffer::allocate_in(&pool, &queue, kind, 50_000).unwrap();
                other.fill(&[99]).unwrap();
                assert_eq!(bytes(&opened)[49_999], step, "{queue:?} {kind}");
            }
            assert_eq!(
                pool.statistics().slab_bytes,
                1_032_192 / 53_248 * 53_248,
                "one slab, {queue:?} {kind}"
            );
        }
    }
}

#[test]
fn freed_memory_of_a_gpu_waits_until_it_is_closed() {
    for queue in queues().into_iter().filter(|queue| queue.device().backend_id() == BackendId::Cuda) {
        let elsewhere = elsewhere(&queue);
        for len in [100, 50_000, 3 << 20] {
            let pool = pool(Arc::new(DirectResource));
            for resource in [&pool as &dyn MemoryResource, &DirectResource] {
                let allocate = || UsmBuffer::allocate_in(resource, &queue, UsmKind::Device, len).unwrap();
                let buffer = allocate();
                buffer.fill(&[1]).unwrap();
                let shared = buffer.share().unwrap();
                let parts = buffer.split_at(len / 2).unwrap();
                let opened = [&shared, &parts.1.share().unwrap()]
                    .map(|shared| UsmBuffer::open_shared(&elsewhere, shared).unwrap());
                assert_eq!(opened.each_ref().map(UsmBuffer::address), [buffer.address(), parts.1.address()]);
                // What is open is shared again, as it came.
                let again = opened[1].share().unwrap();
                assert_eq!(again.memory.data, shared.memory.data);
                let address = buffer.address();
                drop((buffer, parts));
                let others: Vec<_> = (0..20).map(|_| allocate()).collect();
                others.iter().for_each(|other| other.fill(&[9]).unwrap());
                assert!(others.iter().all(|other| other.address() != address), "{queue:?} {len}");
                assert!(opened.iter().all(|opened| bytes(opened).iter().all(|&byte| byte == 1)));
                assert_eq!(processes::held_for_others(), 1);
                drop(opened);
                assert_eq!((processes::held_for_others(), processes::opened()), (0, 0));
            }
        }
        let shared = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 20).unwrap();
        let refused = shared.share().unwrap_err().to_string();
        assert!(refused.contains("CUDA shares device memory alone"), "{refused}");
    }
}

#[test]
fn a_forked_child_opens_memory_for_itself() {
    let queue = host_queue();
    for kind in UsmKind::ALL {
        let buffer = UsmBuffer::allocate(&queue, kind, 1 << 16).unwrap();
        buffer.fill(&[1]).unwrap();
        let shared = buffer.share().unwrap();
        let opened = UsmBuffer::open_shared(&elsewhere(&queue), &shared).unwrap();
        let child = || {
            // What it inherited is a copy, and what it opens is the memory.
            opened.fill(&[3]).unwrap();
            let own = UsmBuffer::open_shared(&host_queue(), &shared).unwrap();
            let before = bytes(&own)[0];
            own.fill(&[2]).unwrap();
            (before, bytes(&opened)[0], processes::opened()) == (1, 3, 1)
        };
        one(&child).unwrap();
        assert_eq!((bytes(&buffer)[0], bytes(&opened)[9]), (2, 2), "{kind}");
    }
}

#[test]
fn a_forked_child_shares_slots_of_its_own_copy() {
    let queue = host_queue();
    let pool = pool(Arc::new(ShareableResource));
    let [first, second] = [1, 2].map(|value| {
        let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, 100).unwrap();
        buffer.fill(&[value]).unwrap();
        buffer
    });
    first.share().unwrap();
    let child = || {
        first.fill(&[7]).unwrap();
        let opened = [&first, &second]
            .map(|buffer| UsmBuffer::open_shared(&elsewhere(&queue), &buffer.share().unwrap()).unwrap());
        second.fill(&[8]).unwrap();
        opened.each_ref().map(|opened| bytes(opened)[99]) == [7, 8]
    };
    one(&child).unwrap();
    assert_eq!((bytes(&first)[0], bytes(&second)[0]), (1, 2));
}

#[test]
fn longer_ranges_are_opened_beside_shorter_ones() {
    let queue = host_queue();
    let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
    let mut shared = buffer.share().unwrap();
    let whole = shared.clone();
    (shared.memory.len_bytes, shared.len_bytes) = (1 << 13, 100);
    let elsewhere = elsewhere(&queue);
    let short = UsmBuffer::open_shared(&elsewhere, &shared).unwrap();
    let long = UsmBuffer::open_shared(&elsewhere, &whole).unwrap();
    assert_eq!((short.len_bytes(), long.len_bytes()), (100, 1 << 16));
}

#[test]
fn another_process_opens_a_handle() {
    let queue = host_queue();
    for kind in UsmKind::ALL {
        let buffer = UsmBuffer::allocate(&queue, kind, 5 << 20).unwrap();
        buffer.fill(&[1]).unwrap();
        let (handle, once) =
            (Handle::new(&buffer).unwrap(), processes::bytes_for_one(&buffer, true).unwrap());
        let pending = processes::pending_handles();
        let child = || {
            let opened = processes::open(&handle.bytes(), None).unwrap();
            let same = processes::open(&handle.bytes(), Some(&host_queue())).unwrap();
            let last = processes::open(&once, None).unwrap();
            let again = processes::open(&once, None).unwrap_err().to_string();
            last.sub_buffer(0, 3).unwrap().fill(&[2]).unwrap();
            opened.kind() == kind
                && (same.address(), last.address()) == (opened.address(), opened.address())
                && bytes(&opened)[..4] == [2, 2, 2, 1]
                && again.contains("the memory is not on offer any more")
        };
        one(&child).unwrap();
        assert_eq!(bytes(&buffer)[..4], [2, 2, 2, 1], "{kind}");
        assert_eq!(processes::pending_handles(), pending - 1);
        let stale = handle.bytes();
        drop(handle);
        one(&|| matches!(processes::open(&stale, None), Err(Error::StaleHandle { .. }))).unwrap();
        assert!(matches!(processes::open(&stale, None), Err(Error::StaleHandle { .. })));
    }
}

#[test]
fn a_handle_of_a_lost_message_is_withdrawn() {
    let buffer = UsmBuffer::allocate(&host_queue(), UsmKind::Shared, 1 << 20).unwrap();
    let pending = processes::pending_handles();
    let once = processes::bytes_for_one(&buffer, true).unwrap();
    assert!(processes::withdraw(&once).unwrap());
    assert!(!processes::withdraw(&once).unwrap(), "it keeps nothing any more");
    assert_eq!(processes::pending_handles(), pending);
    one(&|| matches!(processes::open(&once, None), Err(Error::StaleHandle { .. }))).unwrap();
    let opened = processes::bytes_for_one(&buffer, true).unwrap();
    one(&|| processes::open(&opened, None).is_ok()).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while processes::pending_handles() > pending && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(!processes::withdraw(&opened).unwrap(), "a process has opened it");
    assert!(matches!(processes::withdraw(&[0; 3]), Err(Error::InvalidHandle { .. })));
}

#[test]
fn memory_outlives_the_process_that_made_it() {
    use std::io::{Read, Write};
    let (read, write) = std::io::pipe().unwrap();
    let (is_open, opened) = std::io::pipe().unwrap();
    // The child has the stack of this thread alone.
    let maker = || {
        let buffer = UsmBuffer::allocate(&host_queue(), UsmKind::Shared, 1 << 20).unwrap();
        buffer.fill(&[42]).unwrap();
        let handle = Handle::new(&buffer).unwrap();
        (&write).write_all(&handle.bytes()).unwrap();
        (&is_open).read_exact(&mut [0]).is_ok()
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut handle = [0; 40];
            (&read).read_exact(&mut handle).unwrap();
            let buffer = processes::open(&handle, None).unwrap();
            (&opened).write_all(&[1]).unwrap();
            (buffer, handle)
        });
        one(&maker).unwrap();
        let (buffer, handle) = reader.join().unwrap();
        assert_eq!(bytes(&buffer), vec![42; 1 << 20], "its maker has ended");
        let started = std::time::Instant::now();
        let stale = processes::open(&handle, None).unwrap_err().to_string();
        assert!(stale.contains("the process must keep the handle"), "{stale}");
        assert!(started.elapsed().as_secs() < 5);
    });
}

#[test]
fn what_is_no_handle_is_refused() {
    let queue = host_queue();
    let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
    let handle = Handle::new(&buffer).unwrap();
    let refused = |bytes: &[u8]| processes::open(bytes, Some(&queue)).unwrap_err();
    let good = handle.bytes();
    let changed = |index: usize| {
        let mut bytes = good;
        bytes[index] ^= 1;
        bytes
    };
    assert!(refused(&[]).to_string().contains("found 0 bytes, allowed are 40 bytes"));
    assert!(refused(&good[..39]).to_string().contains("found 39 bytes"));
    assert!(refused(&changed(0)).to_string().contains("found bytes that are no handle"));
    assert!(refused(&changed(8)).to_string().contains("found version 3"));
    // Another process, another address, another token.
    for index in [12, 16, 24, 39] {
        assert!(matches!(refused(&changed(index)), Error::StaleHandle { .. }), "{index}");
        one(&|| matches!(refused(&changed(index)), Error::StaleHandle { .. })).unwrap();
    }
}

#[test]
fn a_range_beyond_the_memory_is_refused() {
    let queue = host_queue();
    let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
    let mut shared = buffer.share().unwrap();
    shared.offset_bytes = 1;
    assert!(matches!(UsmBuffer::open_shared(&queue, &shared), Err(Error::OutOfBounds { .. })));
    shared.offset_bytes = usize::MAX;
    assert!(matches!(UsmBuffer::open_shared(&queue, &shared), Err(Error::OutOfBounds { .. })));
}

#[test]
fn a_view_that_writes_excludes_the_first_share() {
    let queue = host_queue();
    let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
    let view = buffer.write_range(0..1).unwrap();
    assert!(matches!(buffer.share(), Err(Error::BorrowConflict { .. })));
    drop(view);
    let view = buffer.read_range(0..1).unwrap();
    buffer.share().unwrap();
    drop(view);
}
