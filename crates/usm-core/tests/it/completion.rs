//! Completion as a future: wakes, errors, cancellation, and the one thread that looks.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use usm_core::{
    Completion, DeviceType, Event, HostDevice, HostTask, Queue, QueueProperties, Runtime, RuntimeOptions,
};

use crate::common;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let (waker, mut future) = (Waker::from(Arc::new(Unpark(thread::current()))), pin!(future));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(Duration::from_secs(20)),
        }
    }
}

/// Counts its wakes.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn host_queue() -> Queue {
    let device = HostDevice::new(DeviceType::Gpu);
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([device]));
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap()
}

/// An operation that goes on until something is sent, which is its result.
fn gated(queue: &Queue) -> (Event, mpsc::Sender<Result<(), String>>) {
    let (sender, gate) = mpsc::channel();
    let task = HostTask::new(move |_| gate.recv().map_err(|error| error.to_string())?);
    // SAFETY: no memory.
    (unsafe { queue.host_task(&[], task, &[]) }.unwrap(), sender)
}

fn poll(completion: &mut Completion, waker: &Waker) -> Poll<usm_core::Result<()>> {
    Pin::new(completion).poll(&mut Context::from_waker(waker))
}

/// Waits until something is so, for at most 20 s.
fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
}

/// The threads that wake futures: their folders in /proc.
fn watchers() -> Vec<std::path::PathBuf> {
    let threads = fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    threads
        .filter(|path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "usm-events"))
        .collect()
}

#[test]
fn operations_of_every_backend_are_awaited() {
    for queue in common::queues() {
        let block = queue.allocate(usm_core::UsmKind::Device, 1 << 20).unwrap();
        for _ in 0..20 {
            // SAFETY: of the block's length; waited for.
            let event = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 1 << 20, &[]) }.unwrap();
            block_on(event.completion()).unwrap();
            assert!(event.is_complete());
            block_on(async { event.await }).unwrap();
        }
    }
}

#[test]
fn the_error_of_the_operation_comes_out() {
    let queue = host_queue();
    let (event, gate) = gated(&queue);
    let mut completion = event.completion();
    assert!(poll(&mut completion, Waker::noop()).is_pending());
    gate.send(Err("a failed task".to_owned())).unwrap();
    let error = block_on(completion).unwrap_err();
    assert!(error.to_string().contains("a failed task"), "{error}");
}

#[test]
#[cfg_attr(windows, ignore = "it counts threads in the proc file system")]
fn futures_are_woken_in_the_order_of_completion_by_one_thread() {
    // Of a backend each, since the workers of one may all be busy with tasks that go on.
    let queues = [(); 3].map(|()| host_queue());
    let operations = queues.each_ref().map(gated);
    let counts: Vec<_> = operations.iter().map(|_| Arc::new(Count::default())).collect();
    let wakes = |i: usize| counts[i].0.load(Ordering::SeqCst);
    let mut completions: Vec<_> = operations.iter().map(|(event, _)| event.completion()).collect();
    for (completion, count) in completions.iter_mut().zip(&counts) {
        assert!(poll(completion, &Arc::clone(count).into()).is_pending());
    }
    until(|| watchers().len() == 1); // a thread has its name soon after its start
    // The last one first: nobody waits for the operations before it.
    for i in [2, 0, 1] {
        assert_eq!(wakes(i), 0);
        operations[i].1.send(Ok(())).unwrap();
        until(|| wakes(i) == 1);
        assert!(matches!(poll(&mut completions[i], Waker::noop()), Poll::Ready(Ok(()))));
    }
    assert_eq!(watchers().len(), 1);
}

#[test]
fn the_newest_waker_counts_and_a_dropped_future_wakes_nobody() {
    let queue = host_queue();
    let (event, gate) = gated(&queue);
    let counts: [Arc<Count>; 3] = Default::default();
    let mut completion = event.completion();
    for count in &counts[..2] {
        assert!(poll(&mut completion, &Arc::clone(count).into()).is_pending());
    }
    assert_eq!(Arc::strong_count(&counts[0]), 1, "the former waker is gone");
    let mut dropped = event.completion();
    assert!(poll(&mut dropped, &Arc::clone(&counts[2]).into()).is_pending());
    drop(dropped);
    assert_eq!(Arc::strong_count(&counts[2]), 1, "nothing of a dropped future is kept");
    assert!(!event.is_complete(), "the operation goes on");
    gate.send(Ok(())).unwrap();
    until(|| counts[1].0.load(Ordering::SeqCst) == 1);
    assert_eq!(counts.map(|count| count.0.load(Ordering::SeqCst)), [0, 1, 0]);
}

#[test]
fn a_waker_that_panics_harms_no_other_future() {
    struct Panic;
    impl Wake for Panic {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a waker of the test"));
        }
    }
    let queue = host_queue();
    let (event, gate) = gated(&queue);
    let mut completion = event.completion();
    assert!(poll(&mut completion, &Arc::new(Panic).into()).is_pending());
    gate.send(Ok(())).unwrap();
    event.wait().unwrap();
    let (event, gate) = gated(&queue);
    let mut completion = event.completion();
    assert!(poll(&mut completion, Waker::noop()).is_pending());
    gate.send(Ok(())).unwrap();
    block_on(completion).unwrap();
}

#[test]
fn waiting_takes_no_processor() {
    let queue = host_queue();
    let (event, gate) = gated(&queue);
    let mut completion = event.completion();
    assert!(poll(&mut completion, Waker::noop()).is_pending());
    // Ticks of 10 ms, in user and kernel mode. Names of threads have no spaces here.
    let ticks = || {
        let of = |path: &std::path::PathBuf| {
            let stat = fs::read_to_string(path.join("stat")).unwrap();
            let fields: Vec<&str> = stat.split(' ').collect();
            fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
        };
        watchers().iter().map(of).sum::<u64>()
    };
    let before = ticks();
    thread::sleep(Duration::from_secs(1));
    let used = ticks() - before;
    assert!(used <= 20, "{used} of 100 ticks: a loop without pauses takes all");
    gate.send(Ok(())).unwrap();
    block_on(completion).unwrap();
}
