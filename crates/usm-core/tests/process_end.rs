//! The end of a process whose threads are still inside of the SYCL runtime, or whose work is under way.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::env;
use std::mem::ManuallyDrop;
use std::process::{self, Command};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use usm_core::unwind::panic_in;
use usm_core::{Error, Queue, QueueProperties, UsmKind};

const ROLE: &str = "USM_TEST_PROCESS_END";
const ROUNDS: usize = 10;
const EXIT_STATUS: i32 = 7;
const LARGE_BYTES: usize = 16 << 20;

/// Copies, fills, allocates, asks and waits until the runtime lets no more calls in.
fn work(queue: &Queue, started: &mpsc::Sender<()>) -> Result<(), Error> {
    let block = queue.allocate(UsmKind::Device, 1 << 16)?;
    let start = block.as_ptr().as_ptr();
    started.send(()).unwrap();
    loop {
        // SAFETY: within the block, which is kept; waited for.
        let filled = unsafe { queue.fill(start, &[1, 2], 1 << 14, &[]) }?;
        // SAFETY: two halves of the block, ordered by the event.
        let copied = unsafe { queue.memcpy(start, start.wrapping_add(1 << 15), 1 << 15, &[filled]) }?;
        let other = queue.allocate(UsmKind::Shared, 100)?;
        // At the end of the process nothing is known any more.
        let known = queue.context().pointer_info(other.as_ptr().as_ptr().addr());
        assert!(known.is_none_or(|known| known.kind == UsmKind::Shared));
        copied.wait()?;
    }
}

/// Ends the process with threads at work.
fn end_with_threads() -> Option<()> {
    let queue = common::sycl_queue()?;
    let (sender, receiver) = mpsc::channel();
    for _ in 0..3 {
        let (queue, sender) = (queue.clone(), sender.clone());
        thread::spawn(move || {
            let error = work(&queue, &sender).unwrap_err();
            assert!(matches!(error, Error::ProcessEnding), "{error}");
        });
    }
    (0..3).for_each(|_| receiver.recv().unwrap());
    thread::sleep(Duration::from_millis(50));
    process::exit(EXIT_STATUS);
}

/// Ends the process with work under way that nobody waits for, on memory that nobody frees.
fn end_with_work() -> Option<()> {
    let default = common::sycl_queue()?;
    let context = default.context();
    let queue = context.create_queue(default.device(), QueueProperties::OUT_OF_ORDER).unwrap();
    let blocks = [0; 2].map(|_| ManuallyDrop::new(queue.allocate(UsmKind::Device, LARGE_BYTES).unwrap()));
    let [a, b] = blocks.map(|block| block.as_ptr().as_ptr());
    // SAFETY: within two blocks that stay.
    let filled = [a, b].map(|start| unsafe { queue.memset(start, 1, LARGE_BYTES, &[]) }.unwrap());
    // SAFETY: as above, after the fills.
    unsafe { queue.memcpy(a, b, LARGE_BYTES, &filled) }.unwrap();
    process::exit(EXIT_STATUS);
}

/// Ends the process with a panic in its handler.
fn end_with_a_panic() -> Option<()> {
    let queue = common::sycl_queue()?;
    queue.wait().unwrap();
    panic_in("end of the process");
    process::exit(EXIT_STATUS);
}

#[test]
fn a_panic_at_the_end_of_a_process_ends_there() {
    ends("a_panic_at_the_end_of_a_process_ends_there", end_with_a_panic);
}

#[test]
fn threads_inside_the_runtime_do_not_crash_a_process_that_ends() {
    ends("threads_inside_the_runtime_do_not_crash_a_process_that_ends", end_with_threads);
}

#[test]
fn work_under_way_does_not_crash_a_process_that_ends() {
    ends("work_under_way_does_not_crash_a_process_that_ends", end_with_work);
}

/// Runs the test of that name again, in processes that `end`.
fn ends(name: &str, end: fn() -> Option<()>) {
    if env::var_os(ROLE).is_some() {
        end();
        return;
    }
    if common::sycl_queue().is_none() {
        return;
    }
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let child = Command::new(env::current_exe().unwrap())
            // The test then runs on the main thread, whose end is the process's.
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.code(), Some(EXIT_STATUS), "{}: {text}", child.status);
        let is_asked_for = text.contains("asked for by a test");
        assert_eq!(
            (text.matches("panicked").count(), is_asked_for),
            (usize::from(is_asked_for), name.contains("panic")),
            "{text}"
        );
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it waits for calls that end, not for its patience"
        );
    }
}
