//! A wait that the user breaks off: the operation goes on, and the next one waits again. Alone in its process, which has one such hook.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use usm_memory::interpreter::wait_for_others_with;
use usm_memory::usm_core::{Event, HostTask, Queue, TaskMemory, UsmKind};
use usm_memory::{Error, Operand, UsmBuffer, run_job, submit};

/// Waits that come before the one that is broken off.
static BEFORE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// A task that reads or writes a buffer.
fn task(
    queue: &Queue,
    buffer: &UsmBuffer,
    writes: bool,
    job: impl FnOnce() -> Result<(), String> + Send + 'static,
) {
    let run = |start: &[*mut u8], after: &[Event]| {
        let memory = TaskMemory { start: start[0], len_bytes: buffer.len_bytes() };
        // SAFETY: 1. The operand, until the event is complete. 2. and 3. The task uses nothing.
        unsafe { queue.host_task(&[memory], HostTask::new(move |_| job()), after) }
    };
    let all = Operand::new(buffer, 0..buffer.len_bytes(), writes);
    // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
    unsafe { submit(queue, &[all], run) }.unwrap();
}

#[test]
fn a_wait_that_is_broken_off_loses_nothing() {
    wait_for_others_with(
        |event| match BEFORE.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(Error::Interrupted),
            _ => Ok(event.wait()?),
        },
        |_| Ok(()),
        |job| {
            thread::spawn(job);
            Err(Error::Interrupted)
        },
    );
    let (delayed, queue) = common::late(1);
    let buffer = common::direct(&queue, UsmKind::Device, 8);
    buffer.submit_fill(&[3]).unwrap();
    BEFORE.store(0, Ordering::Relaxed);
    assert!(matches!(buffer.to_vec(), Err(Error::Interrupted)));
    assert_eq!((delayed.pending(), buffer.events().len()), (1, 1));
    assert_eq!(buffer.to_vec().unwrap(), [3; 8]);
    // The same for memory that host code reaches, whose operations are waited for at once.
    let shared = common::direct(&queue, UsmKind::Shared, 8);
    let all = Operand::written(&shared, 0..8);
    BEFORE.store(0, Ordering::Relaxed);
    // SAFETY: the operand, until the event is complete.
    let set = |start: &[*mut u8], after: &[Event]| unsafe { queue.memset(start[0], 4, 8, after) };
    // SAFETY: 1. The bytes of the operand. 2. Memory of the queue.
    let refused = unsafe { submit(&queue, &[all], set) };
    assert!(matches!(refused, Err(Error::Interrupted)));
    assert_eq!(shared.events().len(), 1, "it goes on");
    assert_eq!(shared.read_range(0..8).unwrap().as_slice().unwrap(), [4; 8]);
    drop((buffer, shared));
    assert!(delayed.faults().is_empty());
    // An error that came before the interruption.
    let queue = common::host_queue();
    let other = common::beside(&queue);
    let buffer = common::direct(&queue, UsmKind::Device, 8);
    task(&queue, &buffer, true, || Err("it is Monday".to_owned()));
    task(&other, &buffer, false, || Ok(()));
    BEFORE.store(1, Ordering::Relaxed);
    assert!(matches!(buffer.wait(), Err(Error::Interrupted)));
    assert!(buffer.wait().unwrap_err().to_string().contains("it is Monday"));
    buffer.wait().unwrap();
    // A job that nobody can break off.
    let (sender, done) = mpsc::channel();
    assert!(matches!(run_job(move || sender.send(7).unwrap()), Err(Error::Interrupted)));
    assert_eq!(done.recv(), Ok(7), "it goes on");
    // A host task waits for nobody.
    let (sender, done) = mpsc::channel();
    let job = move || run_job(move || sender.send(8).unwrap()).map_err(|error| error.to_string());
    task(&queue, &buffer, true, job);
    buffer.wait().unwrap();
    assert_eq!(done.try_recv(), Ok(8));
}
