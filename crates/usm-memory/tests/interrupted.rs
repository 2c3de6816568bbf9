//! A wait that the user breaks off: the operation goes on, and the next one waits again. Alone in its process, which has one such hook.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{Event, Runtime, UsmKind};
use usm_memory::{Error, Operand, submit, wait_for_others_with};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

#[test]
fn a_wait_that_is_broken_off_loses_nothing() {
    wait_for_others_with(|event| match IS_INTERRUPTED.swap(false, Ordering::Relaxed) {
        true => Err(Error::Interrupted),
        false => Ok(event.wait()?),
    });
    let delayed = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40);
    let delayed = Arc::new(delayed);
    let runtime = Runtime::with_backend(delayed.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device()).unwrap();
    let buffer = common::direct(&queue, UsmKind::Device, 8);
    buffer.submit_fill(&[3]).unwrap();
    IS_INTERRUPTED.store(true, Ordering::Relaxed);
    assert!(matches!(buffer.to_vec(), Err(Error::Interrupted)));
    assert_eq!((delayed.pending(), buffer.events().len()), (1, 1));
    assert_eq!(buffer.to_vec().unwrap(), [3; 8]);
    // The same for memory that host code reaches, whose operations are waited for at once.
    let shared = common::direct(&queue, UsmKind::Shared, 8);
    let all = Operand { buffer: &shared, range: 0..8, writes: true };
    IS_INTERRUPTED.store(true, Ordering::Relaxed);
    // SAFETY: the operand, until the event is complete.
    let set = |start: &[*mut u8], after: &[Event]| unsafe { queue.memset(start[0], 4, 8, after) };
    // SAFETY: 1. The bytes of the operand. 2. Memory of the queue.
    let refused = unsafe { submit(&queue, &[all], set) };
    assert!(matches!(refused, Err(Error::Interrupted)));
    assert_eq!(shared.events().len(), 1, "it goes on");
    assert_eq!(shared.read_range(0..8).unwrap().as_slice().unwrap(), [4; 8]);
    drop((buffer, shared));
    assert!(delayed.faults().is_empty());
}
