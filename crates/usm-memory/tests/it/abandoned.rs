//! Waits that fail while their operations go on: what these use is kept for ever.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common;
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{DelayedBackend, Fault, FaultyBackend, Method};
use usm_memory::usm_core::{Context, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{HostMemory, HostMemoryMut, UsmBuffer};

struct Late {
    faulty: Arc<FaultyBackend>,
    delayed: Arc<DelayedBackend>,
    queue: Queue,
}

impl Late {
    fn new() -> Self {
        let delayed = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40);
        let delayed = Arc::new(delayed);
        let faulty = Arc::new(FaultyBackend::new(delayed.clone()));
        let runtime = Runtime::with_backend(faulty.clone()).unwrap();
        let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
        Self { faulty, delayed, queue }
    }

    /// Lets all waits fail, whose operations go on.
    fn abandon(&self) {
        // SAFETY: the tests look whether the operands stay, and operations whose operands are gone never run.
        self.faulty.arm(unsafe { Fault::from(1).of(Method::Wait).abandoning() });
    }
}

/// Host memory that tells of its end.
struct Told(Vec<u8>, Arc<AtomicBool>);

impl Drop for Told {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

// SAFETY: those of the vector.
unsafe impl HostMemory for Told {
    fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }

    fn len_bytes(&self) -> usize {
        self.0.len()
    }
}

// SAFETY: those of the vector.
unsafe impl HostMemoryMut for Told {
    fn start_mut(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
}

#[test]
fn a_dropped_transfer_keeps_its_memory() {
    let late = Late::new();
    let [a, b] = [0; 2].map(|_| common::direct(&late.queue, UsmKind::Device, 64));
    let copy = a.copy_from_async(&b, &[]).unwrap();
    late.abandon();
    drop(copy);
    drop((a, b));
    assert_eq!((late.delayed.pending(), late.delayed.faults()), (1, vec![]));
    late.delayed.flush();
}

#[test]
fn a_failed_wait_of_a_transfer_keeps_its_host_memory() {
    for waits in [true, false] {
        for is_read in [true, false] {
            let (late, is_gone) = (Late::new(), Arc::new(AtomicBool::new(false)));
            let memory = common::direct(&late.queue, UsmKind::Device, 64);
            let host = Told(vec![0; 64], Arc::clone(&is_gone));
            let transfer = match is_read {
                true => memory.copy_from_owned_async(host, 0, &[]),
                false => memory.copy_to_owned_async(host, 0, &[]),
            };
            let transfer = transfer.map_err(|refused| refused.error).unwrap();
            late.abandon();
            match waits {
                true => assert!(transfer.wait().is_err()),
                false => drop(transfer),
            }
            assert!(!is_gone.load(Ordering::Relaxed), "the queue still uses the memory");
            drop(memory);
            assert_eq!(late.delayed.faults(), []);
            late.delayed.flush();
        }
    }
}

#[test]
fn staging_memory_between_two_contexts_stays() {
    let late = Late::new();
    let context = Context::new(std::slice::from_ref(late.queue.device())).unwrap();
    let theirs = context.create_queue(late.queue.device(), QueueProperties::IN_ORDER).unwrap();
    let (to, from) =
        (common::direct(&late.queue, UsmKind::Device, 64), common::direct(&theirs, UsmKind::Device, 64));
    let copy = to.copy_from_async(&from, &[]);
    late.abandon();
    drop(copy);
    drop((to, from));
    assert_eq!(late.delayed.faults(), []);
    late.delayed.flush();
}

#[test]
fn errors_alone_keep_nothing() {
    let late = Late::new();
    let is_gone = Arc::new(AtomicBool::new(false));
    let memory = common::direct(&late.queue, UsmKind::Device, 64);
    let host = Told(vec![0; 64], Arc::clone(&is_gone));
    let transfer = memory.copy_from_owned_async(host, 0, &[]).map_err(|refused| refused.error).unwrap();
    late.faulty.arm(Fault::from(1).of(Method::Wait));
    drop(transfer);
    assert!(is_gone.load(Ordering::Relaxed), "the operation is complete");
    let _: UsmBuffer = memory;
}
