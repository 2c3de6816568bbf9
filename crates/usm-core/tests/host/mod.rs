//! What the tests of the host backend's queues share.
#![allow(clippy::unwrap_used, dead_code)]

use std::time::{Duration, Instant};

use usm_core::{Allocation, Event, Queue, QueueProperties, Runtime, RuntimeOptions};

pub(crate) const IN_ORDER: QueueProperties = QueueProperties::IN_ORDER;
pub(crate) const OUT_OF_ORDER: QueueProperties = QueueProperties::OUT_OF_ORDER;
pub(crate) const LARGE: usize = 16 << 20;

pub(crate) fn runtime() -> Runtime {
    Runtime::new(RuntimeOptions::new().host_only())
}

pub(crate) fn queue(runtime: &Runtime, properties: QueueProperties) -> Queue {
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, properties).unwrap()
}

pub(crate) fn pointer(block: &Allocation) -> *mut u8 {
    block.as_ptr().as_ptr()
}

pub(crate) fn memset(queue: &Queue, block: &Allocation, value: u8, after: &[Event]) -> Event {
    // SAFETY: the block's own length; tests keep it until the end, or say why not.
    unsafe { queue.memset(pointer(block), value, block.len_bytes(), after) }.unwrap()
}

pub(crate) fn copy(queue: &Queue, dst: &Allocation, src: &Allocation, after: &[Event]) -> Event {
    // SAFETY: as for `memset`; both blocks have that length.
    unsafe { queue.memcpy(pointer(dst), pointer(src), dst.len_bytes(), after) }.unwrap()
}

pub(crate) fn first_byte(queue: &Queue, block: &Allocation, after: &[Event]) -> u8 {
    let mut byte = 0;
    // SAFETY: one byte, waited for.
    unsafe { queue.memcpy(&raw mut byte, pointer(block), 1, after) }.unwrap().wait().unwrap();
    byte
}

/// Waits for something that has to happen by itself.
pub(crate) fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}
