//! Memory of several processes: the same bytes in two places, kept by the last one, private in forked children where it is small.
#![allow(clippy::unwrap_used)]

use crate::common;
use usm_core::testing::forks;
use usm_core::{Allocation, Error, Queue, SharedMemory, SharedRange, UsmKind};

/// Host and CPUs, whose memory is pages.
fn queues() -> impl Iterator<Item = Queue> {
    common::queues()
        .into_iter()
        .filter(|queue| queue.device().is_in_process(UsmKind::Host) && !is_cuda(queue))
}

fn is_cuda(queue: &Queue) -> bool {
    queue.device().backend_id() == usm_core::BackendId::Cuda
}

fn share(block: &Allocation) -> Result<SharedMemory, Error> {
    // SAFETY: the block is live, and each test uses it alone.
    unsafe { block.queue().share(block.kind(), block.as_ptr(), block.len_bytes(), SharedRange::Block) }
}

fn write(block: &Allocation, offset: usize, bytes: &[u8]) {
    let to = block.as_ptr().as_ptr().wrapping_add(offset);
    // SAFETY: tests write within blocks, and wait.
    unsafe { block.queue().memcpy(to, bytes.as_ptr(), bytes.len(), &[]) }.unwrap().wait().unwrap();
}

fn read(block: &Allocation, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let from = block.as_ptr().as_ptr().wrapping_add(offset);
    // SAFETY: as for `write`.
    unsafe { block.queue().memcpy(bytes.as_mut_ptr(), from, len, &[]) }.unwrap().wait().unwrap();
    bytes
}

fn is_open_elsewhere(block: &Allocation) -> bool {
    // SAFETY: the block is live.
    unsafe { block.queue().is_open_elsewhere(block.as_ptr()) }
}

#[test]
fn two_blocks_are_the_same_bytes() {
    for queue in queues() {
        for kind in UsmKind::ALL {
            for len in [8192, 20_000, 1 << 20, (8 << 20) + 5] {
                let first = queue.allocate(kind, len).unwrap();
                write(&first, 0, b"before");
                write(&first, len - 5, b"end");
                let shared = share(&first).unwrap();
                assert!(!is_open_elsewhere(&first));
                let second = queue.open_shared(&shared, true).unwrap();
                assert!(is_open_elsewhere(&first), "{queue:?} {kind} {len}");
                assert_eq!(read(&second, 0, 6), b"before");
                assert_eq!(read(&second, len - 5, 3), b"end");
                write(&second, 1, b"E");
                assert_eq!(read(&first, 0, 6), b"bEfore");
                assert_eq!(queue.context().pointer_info(second.address()).unwrap().kind, kind);
                let again = share(&first).unwrap(); // the same file
                let third = queue.open_shared(&again, false).unwrap();
                write(&first, 2, b"F");
                assert_eq!(read(&third, 0, 6), b"bEFore");
                // From the second on, after the first is gone.
                drop(first);
                let fourth = queue.open_shared(&share(&second).unwrap(), true).unwrap();
                drop((second, third));
                assert_eq!(read(&fourth, 0, 6), b"bEFore", "{queue:?} {kind} {len}");
            }
        }
    }
}

#[test]
fn memory_is_open_elsewhere_until_the_last_process_ends() {
    for queue in queues() {
        let first = queue.allocate(UsmKind::Shared, 1 << 22).unwrap();
        let shared = share(&first).unwrap();
        let second = queue.open_shared(&shared, true).unwrap();
        drop(second);
        assert!(!is_open_elsewhere(&first), "{queue:?}");
    }
}

#[test]
fn freed_pages_are_private_again() {
    for queue in queues() {
        for kind in UsmKind::ALL {
            let first = queue.allocate(kind, 1 << 16).unwrap();
            let shared = share(&first).unwrap();
            let second = queue.open_shared(&shared, true).unwrap();
            write(&second, 0, &[7; 64]);
            drop(first);
            let others: Vec<_> = (0..4).map(|_| queue.allocate(kind, 1 << 16).unwrap()).collect();
            others.iter().for_each(|other| write(other, 0, &[9; 64]));
            assert_eq!(read(&second, 0, 64), [7; 64], "{queue:?} {kind}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it has no forks")]
fn a_forked_child_shares_large_blocks_and_copies_small_ones() {
    let queue = common::host_queue();
    for kind in UsmKind::ALL {
        let (small, large) = (queue.allocate(kind, 1 << 16).unwrap(), queue.allocate(kind, 8 << 20).unwrap());
        for block in [&small, &large] {
            write(block, 0, b"parent");
            share(block).unwrap();
        }
        let child = || {
            let is_same = read(&small, 0, 6) == b"parent" && read(&large, 0, 6) == b"parent";
            write(&small, 0, b"child.");
            write(&large, 0, b"child.");
            // A child shares memory of its own.
            let again = share(&small).and_then(|shared| queue.open_shared(&shared, true)).unwrap();
            is_same && read(&again, 0, 6) == b"child."
        };
        forks::one(&child).unwrap();
        assert_eq!((read(&small, 0, 6), read(&large, 0, 6)), (b"parent".to_vec(), b"child.".to_vec()));
    }
}

#[test]
fn what_cannot_be_shared_says_why() {
    for queue in queues() {
        let short = queue.allocate(UsmKind::Shared, 100).unwrap();
        let refused = share(&short).unwrap_err().to_string();
        assert!(refused.contains("it has no pages of its own"), "{refused}");

        let block = queue.allocate(UsmKind::Shared, 1 << 16).unwrap();
        let shared = share(&block).unwrap();
        let longer = SharedMemory::new(shared.kind, 0, 1 << 20, Vec::new(), shared.files.clone());
        let refused = queue.open_shared(&longer, true).unwrap_err().to_string();
        assert!(refused.contains("found a file of 65536 bytes for memory of 1048576 bytes"), "{refused}");

        let without = SharedMemory::new(shared.kind, 0, 1 << 16, Vec::new(), Vec::new());
        let refused = queue.open_shared(&without, true).unwrap_err().to_string();
        assert!(refused.contains("it is not memory of a host or of a CPU"), "{refused}");

        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let other =
            SharedMemory::new(shared.kind, 0, 1 << 16, Vec::new(), vec![std::sync::Arc::new(file.into())]);
        let refused = queue.open_shared(&other, false).unwrap_err();
        assert!(matches!(refused, Error::SharedMemory { .. }), "{refused}");
    }
    for queue in common::queues().iter().filter(|queue| is_cuda(queue)) {
        let block = queue.allocate(UsmKind::Shared, 1 << 16).unwrap();
        assert!(matches!(share(&block), Err(Error::NotShareable { .. })));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it has no forks")]
fn threads_that_fork_at_once_do_not_wait_for_the_children_of_each_other() {
    let queue = common::host_queue();
    let block = queue.allocate(UsmKind::Shared, 1 << 16).unwrap();
    write(&block, 0, b"parent");
    share(&block).unwrap();
    let child = || read(&block, 0, 6) == b"parent";
    let busy = || forks::one(&|| true).unwrap();
    // Each wait that is in vain takes ten seconds.
    forks::fork_beside(200, &[&busy, &busy], &child).unwrap();
}
