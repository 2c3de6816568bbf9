//! Operations whose completion nobody keeps.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{Context, Event, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{HostMemory, UsmBuffer, flight};

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

/// Launches an upload to a buffer. Returns its events, what it starts after, and whether its bytes are gone.
fn upload(buffer: &UsmBuffer, queue: &Queue, asked: &[Event]) -> (Vec<Event>, Vec<Event>, Arc<AtomicBool>) {
    let (mut known, is_gone) = (Vec::new(), Arc::new(AtomicBool::new(false)));
    let kept = Kept { bytes: vec![7; 64].into(), is_gone: Arc::clone(&is_gone) };
    let events = flight::launch(queue, asked.to_vec(), |after| {
        known = after.to_vec();
        Ok(buffer.copy_from_owned_async(kept, 0, after)?)
    });
    (events.unwrap(), known, is_gone)
}

fn are_complete(events: &[Event]) -> bool {
    events.iter().all(Event::is_complete)
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
        // On another queue, as operations on memory of another context are.
        let buffer = UsmBuffer::allocate(&other, UsmKind::Device, 64).unwrap();
        let (first, known, is_gone) = upload(&buffer, queue, &[]);
        assert_eq!((known.len(), are_complete(&first)), (0, false));
        let (second, known, _) = upload(&buffer, queue, &first);
        assert_eq!(known.len(), first.len() * if is_in_order { 2 } else { 1 });
        let (_, known, _) = upload(&buffer, queue, &[]);
        assert_eq!(known.len(), if is_in_order { second.len() } else { 0 });
        assert!(!is_gone.load(Ordering::Relaxed) && !flight::events_under_way().is_empty());

        let barrier = flight::barrier(queue, Vec::new()).unwrap();
        let (_, known, _) = upload(&buffer, queue, &[]);
        assert!(known.iter().any(|event| event.is_same(&barrier)), "also of an out-of-order queue");

        backend.flush();
        flight::wait(queue).unwrap();
        assert!(are_complete(&first) && is_gone.load(Ordering::Relaxed), "though an event is kept");
        drop(buffer);
    }
    assert!(flight::events_under_way().is_empty());
}

#[test]
fn a_wait_for_a_queue_waits_for_what_runs_on_the_queue_of_its_memory() {
    let device = Runtime::global().host_device();
    let [queue, other] =
        [Context::new(std::slice::from_ref(device)).unwrap(), device.default_context().unwrap()]
            .map(|context| context.create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap());
    let buffer = UsmBuffer::allocate(&other, UsmKind::Device, 64 << 20).unwrap();
    let fill = |after: &[Event]| buffer.fill_async(&[3], after);
    let filled = flight::launch(&queue, Vec::new(), fill).unwrap();
    flight::wait(&queue).unwrap();
    assert!(are_complete(&filled));
    let filled = flight::launch(&queue, Vec::new(), fill).unwrap();
    flight::barrier(&queue, Vec::new()).unwrap().wait().unwrap();
    assert!(are_complete(&filled));
}
