//! Memory of several processes on Windows: an error that names the way that works.
#![allow(clippy::unwrap_used, clippy::panic)]

use usm_core::{Error, SharedMemory, SharedRange, UsmKind};

use crate::common;

#[test]
fn sharing_is_refused_and_the_memory_stays_usable() {
    for queue in common::queues() {
        for kind in UsmKind::ALL {
            let block = queue.allocate(kind, 1 << 16).unwrap();
            // SAFETY: a live block, which nobody uses.
            let shared = unsafe { queue.share(kind, block.as_ptr(), 1 << 16, SharedRange::Block) };
            let Err(Error::NotShareable { reason }) = shared else { panic!("{shared:?}") };
            assert!(reason.contains("a copy works"), "{reason}");
            // SAFETY: as above.
            assert!(!unsafe { queue.is_open_elsewhere(block.as_ptr()) });
            // SAFETY: within the block; waited for.
            unsafe { queue.memset(block.as_ptr().as_ptr(), 5, 1 << 16, &[]) }.unwrap().wait().unwrap();
            let mut bytes = vec![0; 1 << 16];
            // SAFETY: within the block, and to memory that is kept until the wait returns.
            let copied = unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), 1 << 16, &[]) };
            copied.unwrap().wait().unwrap();
            assert!(bytes.iter().all(|&byte| byte == 5));
        }
    }
}

#[test]
fn memory_without_files_is_not_opened() {
    let queue = common::host_queue();
    let memory = SharedMemory::new(UsmKind::Shared, 0, 1 << 16, Vec::new(), Vec::new());
    let opened = queue.open_shared(&memory, true);
    assert!(matches!(opened, Err(Error::NotShareable { .. })), "{opened:?}");
}
