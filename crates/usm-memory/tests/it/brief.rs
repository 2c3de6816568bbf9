//! Small copies, which hold the lock of the borrow table: no call of a backend is made under it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ptr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common;
use usm_memory::UsmBuffer;
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{HostTask, Runtime, TaskMemory, UsmKind};

/// A backend may run anything when it is asked for the state of an operation: here a task that takes a borrow itself.
#[test]
fn the_backend_is_not_asked_under_the_lock_of_all_borrows() {
    let (done, is_done) = mpsc::channel();
    let rounds = move || {
        // The task runs at one of the calls that follow its submission.
        for delay in 1..12 {
            let delayed =
                DelayedBackend::new(Arc::new(HostBackend::new()), delay).with_max_delay(delay as usize);
            let runtime = Runtime::with_backend(Arc::new(delayed)).unwrap();
            let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
            let memory = common::direct(&queue, UsmKind::Shared, 8);
            memory.fill(&[0]).unwrap();
            memory.publish().unwrap();
            let other = common::buffer(&common::host_queue(), UsmKind::Shared, &[1; 8]);
            let task = HostTask::new(move |_| other.to_vec().map(drop).map_err(|error| error.to_string()));
            let range =
                TaskMemory { start: ptr::with_exposed_provenance_mut(memory.address()), len_bytes: 8 };
            // SAFETY: 1. The buffer lives until the wait below. 2. and 3. The task uses memory of another backend.
            let event = unsafe { queue.host_task(&[range], task, &[]) }.unwrap();
            memory.copy_to_host(&mut [0; 8], 0).unwrap();
            memory.copy_from_host(&[1; 8], 0).unwrap();
            event.wait().unwrap();
        }
        done.send(()).unwrap();
    };
    std::thread::spawn(rounds);
    is_done.recv_timeout(Duration::from_secs(20)).expect("a thread waits for itself");
}

/// Others submit to the queue of published memory. What they have submitted is complete before a small copy starts.
#[test]
fn work_of_others_is_complete_before_a_small_copy() {
    let delayed = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40);
    let runtime = Runtime::with_backend(Arc::new(delayed)).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let memory = common::direct(&queue, UsmKind::Shared, 8);
    memory.publish().unwrap();
    let mut read = [0; 8];
    for value in 1..4 {
        let start = ptr::with_exposed_provenance_mut(memory.address());
        // SAFETY: the buffer lives until the operation is complete, for which the next line waits.
        unsafe { queue.memset(start, value, 8, &[]) }.unwrap();
        memory.copy_to_host(&mut read, 0).unwrap();
        assert_eq!(read, [value; 8]);
        // SAFETY: as above.
        let late = unsafe { queue.memset(start, 0, 8, &[]) }.unwrap();
        memory.copy_from_host(&[value; 8], 0).unwrap();
        assert!(late.is_complete());
        memory.copy_to_host(&mut read, 0).unwrap();
        assert_eq!(read, [value; 8]);
    }
}

/// An operation through an import of the memory is in no list of the memory itself.
#[test]
fn work_on_an_import_is_complete_before_a_small_copy() {
    let (_, queue) = common::late(7);
    let memory = common::direct(&queue, UsmKind::Shared, 8);
    memory.publish().unwrap();
    let (other, owner) = (common::beside(&queue), Arc::new(memory.clone()));
    // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
    let import = unsafe { UsmBuffer::borrow(&other, memory.address(), 8, true, owner) }.unwrap();
    for value in 1..4 {
        import.submit_fill(&[value]).unwrap();
        let mut read = [0; 8];
        memory.copy_to_host(&mut read, 0).unwrap();
        assert_eq!(read, [value; 8]);
    }
}
