//! Transfers with host memory of any owner, on other queues of the context, and hints.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use usm_memory::usm_core::{Context, QueueProperties};
use usm_memory::{Error, HostMemory, HostMemoryMut, UsmBuffer};

/// Counts how often memory was let go.
#[derive(Debug)]
struct Block {
    bytes: Box<[u8]>,
    dropped: Arc<AtomicUsize>,
}

// SAFETY: 1. a box keeps its bytes where they are. 2. whoever owns it has it alone.
unsafe impl HostMemory for Block {
    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    fn len_bytes(&self) -> usize {
        self.bytes.len()
    }
}

// SAFETY: as for `HostMemory`; any bytes are bytes.
unsafe impl HostMemoryMut for Block {
    fn start_mut(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn host_memory_of_any_owner_is_kept_and_given_back() {
    common::each(|queue, kind| {
        let buffer = UsmBuffer::allocate(queue, kind, 64).unwrap();
        buffer.fill(&[0]).unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let block = |value| Block { bytes: vec![value; 32].into(), dropped: Arc::clone(&dropped) };

        let upload = buffer.copy_from_owned_async(block(7), 16, &[]).unwrap();
        let download = buffer.copy_to_owned_async(block(0), 0, upload.events()).unwrap();
        buffer.write_range(16..17).unwrap();
        assert!(upload.is_complete() && download.is_complete());
        let read = download.wait().unwrap();
        assert_eq!(read.bytes[..], [[0; 16], [7; 16]].concat());
        assert_eq!(upload.wait().unwrap().bytes[..], [7; 32]);
        drop(read);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);

        let refused = buffer.copy_from_owned_async(block(1), 33, &[]).err().unwrap();
        assert!(matches!(refused.error, Error::OutOfBounds { offset_bytes: 33, len_bytes: 32, .. }));
        assert_eq!(refused.host.bytes[0], 1);
        let refused = buffer.read_only().copy_from_owned_async(refused.host, 0, &[]).err().unwrap();
        assert!(matches!(refused.error, Error::ReadOnly));
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        assert_eq!(buffer.to_vec().unwrap(), [[0; 16], [7; 16], [7; 16], [0; 16]].concat());
    });
}

#[test]
fn transfers_go_to_the_queue_that_is_asked_for() {
    common::each(|queue, kind| {
        let properties = QueueProperties::OUT_OF_ORDER.with_profiling(true);
        let other = queue.context().create_queue(queue.device(), properties).unwrap();
        let buffer = UsmBuffer::allocate(queue, kind, 64).unwrap();
        let there = buffer.on_queue(&other).unwrap();
        assert_eq!(there.queue(), &other);
        assert_eq!(there.sub_buffer(1, 2).unwrap().queue(), &other);
        assert_eq!(there.on_queue(queue).unwrap().queue(), queue);
        assert_eq!(buffer.queue(), queue, "it stays as it was");
        assert!(there.same_allocation(&buffer));
        // Only that queue records times.
        let fill = there.fill_async(&[3, 4], &[]).unwrap();
        assert!(fill.events()[0].profiling_times().is_ok());
        fill.wait().unwrap();
        let fill = buffer.fill_async(&[3, 4], &[]).unwrap();
        assert!(fill.events()[0].profiling_times().is_err());
        fill.wait().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [3, 4].repeat(32));

        let context = Context::new(&[queue.device().clone()]).unwrap();
        let stranger = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        assert!(matches!(buffer.on_queue(&stranger), Err(Error::ContextMismatch { .. })));
    });
}

#[test]
fn hints_change_nothing_and_keep_the_memory() {
    common::each(|queue, kind| {
        let buffer = UsmBuffer::allocate(queue, kind, 4096).unwrap();
        let fill = buffer.fill_async(&[5], &[]).unwrap();
        let prefetch = buffer.prefetch_async(fill.events()).unwrap();
        let advice = buffer.mem_advise_async(0, fill.events()).unwrap();
        for hint in [prefetch, advice] {
            hint.wait().unwrap();
        }
        fill.wait().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), vec![5; 4096]);
        let nothing = buffer.sub_buffer(8, 0).unwrap();
        assert!(nothing.prefetch_async(&[]).unwrap().events().is_empty());
        nothing.mem_advise_async(0, &[]).unwrap().wait().unwrap();
    });
}
