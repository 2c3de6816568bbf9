//! Host tasks: where they find memory, when they run, and what becomes of those that fail.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use usm_core::{
    Allocation, BackendId, DeviceType, Error, Event, EventStatus, HostDevice, HostTask, Queue,
    QueueProperties, Runtime, RuntimeOptions, TaskMemory, UsmKind,
};

fn runtime() -> Runtime {
    let device = HostDevice::new(DeviceType::Gpu);
    Runtime::new(RuntimeOptions::new().host_only().host_devices([device]))
}

fn queue_of(runtime: &Runtime, properties: QueueProperties) -> Queue {
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, properties).unwrap()
}

fn all_of(block: &Allocation) -> TaskMemory {
    TaskMemory { start: block.as_ptr().as_ptr(), len_bytes: block.len_bytes() }
}

type Failed = Result<(), String>;

/// A task without memory.
fn run(queue: &Queue, after: &[Event], task: impl FnOnce() -> Failed + Send + 'static) -> Event {
    // SAFETY: no memory, and tests' tasks own nothing of a backend.
    unsafe { queue.host_task(&[], HostTask::new(move |_| task()), after) }.unwrap()
}

/// A task that adds a number to each byte.
fn add(queue: &Queue, memory: TaskMemory, number: u8, after: &[Event]) -> Event {
    let task = HostTask::new(move |addresses| {
        let &[start] = addresses else { return Err("one range".to_owned()) };
        for i in 0..memory.len_bytes {
            // SAFETY: so many bytes, as submitted; nobody else looks meanwhile.
            let byte = unsafe { &mut *start.wrapping_add(i) };
            *byte = byte.wrapping_add(number);
        }
        Ok(())
    });
    // SAFETY: tests keep the memory until the event is complete.
    unsafe { queue.host_task(&[memory], task, after) }.unwrap()
}

fn bytes(queue: &Queue, block: &Allocation, after: &[Event]) -> Vec<u8> {
    let mut bytes = vec![0; block.len_bytes()];
    // SAFETY: of the block's length; waited for.
    let read = unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), bytes.len(), after) };
    read.unwrap().wait().unwrap();
    bytes
}

fn set(queue: &Queue, block: &Allocation, value: u8) -> Event {
    // SAFETY: of the block's length, which tests keep.
    unsafe { queue.memset(block.as_ptr().as_ptr(), value, block.len_bytes(), &[]) }.unwrap()
}

#[test]
fn tasks_reach_memory_of_every_kind_after_what_they_depend_on() {
    for properties in [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER] {
        let queue = queue_of(&runtime(), properties);
        assert!(queue.runs_host_tasks());
        for kind in UsmKind::ALL {
            let block = queue.allocate(kind, 3000).unwrap();
            let mut last = set(&queue, &block, 1);
            for number in 1..20 {
                last = add(&queue, all_of(&block), number, from_ref(&last));
            }
            assert_eq!(bytes(&queue, &block, &[last]), vec![191; 3000], "{kind}");
        }
    }
}

#[test]
fn native_addresses_are_public_ones_where_host_code_may_look() {
    let queue = queue_of(&runtime(), QueueProperties::IN_ORDER);
    let mut host = vec![0_u8; 100];
    let blocks = UsmKind::ALL.map(|kind| queue.allocate(kind, 100).unwrap());
    let mut memory: Vec<_> = blocks.iter().map(all_of).collect();
    memory.push(TaskMemory { start: host.as_mut_ptr(), len_bytes: 100 });
    memory.push(TaskMemory { start: blocks[1].as_ptr().as_ptr().wrapping_add(7), len_bytes: 3 });
    let public: Vec<_> = memory.iter().map(|range| range.start.addr()).collect();
    let (sender, native) = mpsc::channel();
    let task = HostTask::new(move |addresses| {
        let addresses: Vec<_> = addresses.iter().map(|address| address.addr()).collect();
        sender.send(addresses).map_err(|error| error.to_string())
    });
    // SAFETY: nothing is touched.
    unsafe { queue.host_task(&memory, task, &[]) }.unwrap().wait().unwrap();
    let native = native.recv().unwrap();
    for (i, (&native, &public)) in native.iter().zip(&public).enumerate() {
        let is_device = i == 4 || blocks.get(i).is_some_and(|block| block.kind() == UsmKind::Device);
        assert_eq!(native == public, !is_device, "{i}");
    }
    assert_eq!(native[4], native[1] + 7, "parts of a block lie where the block does");
}

#[test]
fn failures_and_panics_come_out_of_the_wait_and_nothing_else_notices() {
    let queue = queue_of(&runtime(), QueueProperties::OUT_OF_ORDER);
    let block = queue.allocate(UsmKind::Device, 64).unwrap();
    set(&queue, &block, 1).wait().unwrap();
    // More than there are threads.
    for round in 0..20 {
        let failed = match round % 2 {
            0 => run(&queue, &[], || Err("no such thing".to_owned())),
            _ => run(&queue, &[], move || panic!("round {round}")),
        };
        let expected = match round % 2 {
            0 => "a host task failed: no such thing".to_owned(),
            _ => format!("a host task failed: it panicked: round {round}"),
        };
        let after = add(&queue, all_of(&block), 1, from_ref(&failed));
        if round < 10 {
            assert_eq!(failed.wait().unwrap_err().to_string(), expected);
            assert_eq!(failed.wait().unwrap_err().to_string(), expected, "told to everyone who asks");
            assert_eq!(failed.status(), EventStatus::Complete);
        }
        after.wait().unwrap();
        assert!(failed.is_complete());
        queue.wait().unwrap();
    }
    assert_eq!(bytes(&queue, &block, &[]), [21; 64]);
}

#[test]
fn times_of_a_failed_task_are_times() {
    let queue = queue_of(&runtime(), QueueProperties::OUT_OF_ORDER.with_profiling(true));
    let failed = run(&queue, &[], || {
        std::thread::sleep(Duration::from_millis(2));
        Err("late".to_owned())
    });
    assert!(failed.profiling_times().unwrap().duration() >= Duration::from_millis(2));
}

#[test]
fn tasks_run_though_nobody_keeps_their_event() {
    let runs = Arc::new(AtomicUsize::new(0));
    for properties in [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER] {
        let runtime = runtime();
        let queue = queue_of(&runtime, properties);
        for _ in 0..50 {
            let runs = Arc::clone(&runs);
            drop(run(&queue, &[], move || {
                runs.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
        }
        queue.wait().unwrap();
    }
    assert_eq!(runs.load(Ordering::Relaxed), 100);

    // Nor does anybody wait: the backend ends what is pending when it goes.
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let queue = queue_of(&runtime, QueueProperties::OUT_OF_ORDER);
    for _ in 0..50 {
        let runs = Arc::clone(&runs);
        drop(run(&queue, &[], move || {
            runs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
    }
    drop((queue, runtime));
    assert_eq!(runs.load(Ordering::Relaxed), 150);
}

#[test]
fn memory_freed_under_a_task_stays_until_it_is_complete() {
    let queue = queue_of(&runtime(), QueueProperties::OUT_OF_ORDER);
    let block = queue.allocate(UsmKind::Device, 4096).unwrap();
    set(&queue, &block, 5).wait().unwrap();
    let address = block.address();
    let (go, started) = mpsc::channel::<()>();
    let (sender, seen) = mpsc::channel();
    let task = HostTask::new(move |addresses| {
        started.recv().map_err(|error| error.to_string())?;
        // SAFETY: the backend keeps the bytes in their place, although the block was freed.
        let last = unsafe { *addresses[0].wrapping_add(4095) };
        sender.send(last).map_err(|error| error.to_string())
    });
    // SAFETY: freed too early below, which the host backend bears: what others would get in that place waits for the end.
    let event = unsafe { queue.host_task(&[all_of(&block)], task, &[]) }.unwrap();
    drop(block);
    let others: Vec<_> = (0..100).map(|_| queue.allocate(UsmKind::Device, 4096).unwrap()).collect();
    assert!(others.iter().all(|other| other.address() != address));
    // On another thread than those that wait, one of which may be running the task.
    std::thread::scope(|scope| {
        scope.spawn(|| go.send(()).unwrap());
        event.wait().unwrap();
    });
    assert_eq!(seen.recv().unwrap(), 5);
}

/// A task that must not run, and what it keeps.
fn never() -> (HostTask, Weak<()>) {
    let kept = Arc::new(());
    let weak = Arc::downgrade(&kept);
    (HostTask::new(move |_| Err(format!("ran with {kept:?}"))), weak)
}

#[test]
fn memory_that_tasks_do_not_reach_is_refused_and_the_task_dropped() {
    let runtime = runtime();
    let queue = queue_of(&runtime, QueueProperties::IN_ORDER);
    let device = runtime.host_device();
    let context = usm_core::Context::new(from_ref(device)).unwrap();
    let elsewhere = context.create_queue(device, QueueProperties::IN_ORDER).unwrap();
    let [ours, theirs] = [&queue, &elsewhere].map(|queue| queue.allocate(UsmKind::Device, 4096).unwrap());
    let too_long = TaskMemory { len_bytes: 4097, ..all_of(&ours) };
    let protected = TaskMemory { start: ours.as_ptr().as_ptr().wrapping_add(1 << 30), len_bytes: 1 };
    for (memory, reason) in [
        (all_of(&theirs), "belongs to context"),
        (too_long, "4097 bytes at"),
        (protected, "are not reachable"),
    ] {
        let (task, kept) = never();
        // SAFETY: refused.
        let refused = unsafe { queue.host_task(&[all_of(&ours), memory], task, &[]) };
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with("host task: ") && error.contains(reason), "{error}");
        assert!(kept.upgrade().is_none());
    }
    // Memory of another context that host code reaches is host memory.
    let shared = elsewhere.allocate(UsmKind::Shared, 64).unwrap();
    set(&elsewhere, &shared, 1).wait().unwrap();
    add(&queue, all_of(&shared), 1, &[]).wait().unwrap();
    assert_eq!(bytes(&elsewhere, &shared, &[]), [2; 64]);
}

#[test]
fn backends_without_tasks_say_so() {
    for queue in common::queues() {
        assert_eq!(queue.runs_host_tasks(), queue.backend_id() == BackendId::Host);
        if !queue.runs_host_tasks() {
            let (task, kept) = never();
            // SAFETY: refused.
            let refused = unsafe { queue.host_task(&[], task, &[]) };
            assert!(matches!(refused, Err(Error::NotSupported { what: "host tasks", .. })));
            assert!(kept.upgrade().is_none());
        }
    }
}

#[test]
fn many_threads_submit_and_wait() {
    let queue = queue_of(&runtime(), QueueProperties::OUT_OF_ORDER);
    let sum = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for i in 0..200_usize {
                    let sum = Arc::clone(&sum);
                    let event = run(&queue, &[], move || {
                        sum.fetch_add(i, Ordering::Relaxed);
                        Ok(())
                    });
                    if i % 3 == 0 {
                        event.wait().unwrap();
                    }
                }
            });
        }
    });
    queue.wait().unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 8 * 199 * 100);
}
