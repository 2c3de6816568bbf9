//! The host backend in a forked child: no worker threads, and locks that may be closed for ever.
#![cfg(not(windows))] // no process is forked there
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use usm_core::{
    Error, Event, HostTask, Queue, QueueProperties, Runtime, RuntimeOptions, TaskMemory, UsmKind,
};

const ROLE: &str = "USM_TEST_FORK";

fn queue(runtime: &Runtime) -> Queue {
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, QueueProperties::IN_ORDER).unwrap()
}

fn memset(queue: &Queue, address: *mut u8, value: u8, len: usize, after: &[Event]) -> Event {
    // SAFETY: tests pass blocks of that length, and keep them.
    unsafe { queue.memset(address, value, len, after) }.unwrap()
}

/// What a child can do with the objects of its parent, of which `pending` may be incomplete.
fn in_child(runtime: &Runtime, queue: &Queue, pending: &[Event]) {
    for event in pending {
        // Nobody would wake a future of the parent's operation.
        let mut completion = pin!(event.completion());
        let polled = completion.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(()) | Err(Error::Forked))));
        match event.wait() {
            Ok(()) => assert!(event.is_complete()),
            Err(error) => {
                assert!(matches!(error, Error::Forked), "{error}");
                assert!(matches!(queue.barrier(std::slice::from_ref(event)), Err(Error::Forked)));
            }
        }
        assert!(event.dependencies().unwrap().is_empty());
    }
    let block = queue.allocate(UsmKind::Device, 4096).unwrap();
    let filled = memset(queue, block.as_ptr().as_ptr(), 3, 4096, &[]);
    let mut bytes = [0_u8; 4096];
    // SAFETY: the block's length; waited for.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), 4096, &[filled]) }.unwrap();
    queue.wait().unwrap();
    assert_eq!(bytes, [3; 4096]);

    let memory = TaskMemory { start: block.as_ptr().as_ptr(), len_bytes: 4096 };
    let task = HostTask::new(|addresses| {
        // SAFETY: the block's length.
        unsafe { addresses[0].write_bytes(5, 4096) };
        Ok(())
    });
    // SAFETY: the block's length; waited for.
    unsafe { queue.host_task(&[memory], task, &[]) }.unwrap().wait().unwrap();
    // SAFETY: as above.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), memory.start, 4096, &[]) }.unwrap().wait().unwrap();
    assert_eq!(bytes, [5; 4096]);

    let own = Runtime::new(RuntimeOptions::new().host_only());
    let own_queue = self::queue(&own);
    let own_block = own_queue.allocate(UsmKind::Shared, 1 << 20).unwrap();
    let filled = memset(&own_queue, own_block.as_ptr().as_ptr(), 4, 1 << 20, &[]);
    assert!(filled.profiling_times().is_err());
    drop((own_block, own_queue, own));
    assert!(filled.is_complete() || filled.wait().is_ok());
    assert_eq!(runtime.devices().len(), 1);
}

/// Whether a child ended well, in time.
fn ended_well(child: libc::pid_t) -> bool {
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: waits for our own child.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(30) {
            // SAFETY: ends our own child, which was not waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return false;
        }
        std::thread::yield_now();
    }
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

fn fork_many_times() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let queue = queue(&runtime);
    let large = queue.allocate(UsmKind::Shared, 64 << 20).unwrap();
    let address = large.as_ptr().as_ptr();
    memset(&queue, address, 0, 64 << 20, &[]).wait().unwrap();
    for round in 0..100 {
        // Nothing pending, many small jobs, or one of milliseconds, so that workers are at it.
        let pending: Vec<_> = match round % 3 {
            0 => Vec::new(),
            1 => (0..1000).map(|value| memset(&queue, address, value as u8, 64, &[])).collect(),
            _ => vec![memset(&queue, address, 1, 64 << 20, &[])],
        };
        // SAFETY: no other thread than the workers, which are what this is about.
        match unsafe { libc::fork() } {
            0 => {
                let run = AssertUnwindSafe(|| in_child(&runtime, &queue, &pending));
                let well = std::panic::catch_unwind(run);
                drop((large, pending, queue, runtime));
                std::process::exit(i32::from(well.is_err()));
            }
            child => assert!(child > 0 && ended_well(child), "round {round}"),
        }
        Event::wait_all(&pending).unwrap();
    }
}

#[test]
fn a_forked_child_works_and_ends() {
    if std::env::var_os(ROLE).is_some() {
        fork_many_times();
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_forked_child_works_and_ends", "--test-threads=1"]).env(ROLE, "1");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
