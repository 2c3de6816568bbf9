//! Operations whose completion nobody keeps.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_memory::flight::{self, Flight};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{Event, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{HostMemory, UsmBuffer};

/// Longer than the test.
const FOR_EVER: usize = 1 << 40;

/// Bytes that tell when they are let go.
struct Kept {
    bytes: Box<[u8]>,
    is_gone: Arc<AtomicBool>,
}

// SAFETY: 1. a box keeps its bytes where they are. 2. whoever owns it has it alone.
unsafe impl HostMemory for Kept {
    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    fn len_bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }
}

/// Launches an upload to memory of the first queue, and tells what it starts after.
fn upload(buffer: &UsmBuffer, queue: &Queue, asked: &[Event]) -> (Arc<Flight>, Vec<Event>, Arc<AtomicBool>) {
    let (mut known, is_gone) = (Vec::new(), Arc::new(AtomicBool::new(false)));
    let kept = Kept { bytes: vec![7; 64].into(), is_gone: Arc::clone(&is_gone) };
    let flight = Flight::launch(queue, asked.to_vec(), |after| {
        known = after.to_vec();
        Ok(buffer.copy_from_owned_async(kept, 0, after)?)
    });
    (flight.unwrap(), known, is_gone)
}

#[test]
fn operations_of_an_in_order_queue_come_after_its_last_one() {
    let backend = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(FOR_EVER);
    let backend = Arc::new(backend);
    let runtime = Runtime::with_backend(backend.clone()).unwrap();
    let device = runtime.default_device().unwrap();
    let context = device.default_context().unwrap();
    let queues = [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER]
        .map(|properties| context.create_queue(&device, properties).unwrap());
    let other = context.create_queue(&device, QueueProperties::OUT_OF_ORDER).unwrap();
    for queue in &queues {
        let is_in_order = queue.properties().in_order;
        // On another queue, as copies between contexts are.
        let buffer = UsmBuffer::allocate(&other, UsmKind::Device, 64).unwrap();
        let (first, known, is_gone) = upload(&buffer, queue, &[]);
        assert_eq!((known.len(), first.is_complete()), (0, false));
        let asked = first.events();
        let (second, known, _) = upload(&buffer, queue, asked);
        assert_eq!(known.len(), asked.len() * if is_in_order { 2 } else { 1 });
        let (_, known, _) = upload(&buffer, queue, &[]);
        assert_eq!(known.len(), if is_in_order { second.events().len() } else { 0 });
        assert!(!flight::are_none() && !is_gone.load(Ordering::Relaxed));
        let barriers = flight::before_host_code(queue, Vec::new()).unwrap().len();
        assert_eq!(barriers, usize::from(is_in_order));

        backend.flush();
        flight::settle(queue).unwrap();
        assert!(
            first.is_complete() && is_gone.load(Ordering::Relaxed),
            "by the sweep, though an event is kept"
        );
        drop(buffer);
    }
    assert!(flight::are_none() && flight::events_under_way().is_empty());
}
