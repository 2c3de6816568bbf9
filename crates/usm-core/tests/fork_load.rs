//! Children that are forked while other threads are in the middle of something: the host backend works there, and nothing hangs.
#![cfg(not(windows))] // no process is forked there
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

use usm_core::testing::forks::{self, fork_beside};
use usm_core::{Context, Event, Queue, QueueProperties, Runtime, RuntimeOptions, UsmKind};

/// `cargo xtask verify forks` forks more.
fn count() -> usize {
    forks::number(100)
}

fn runtime() -> Runtime {
    Runtime::new(RuntimeOptions::new().host_only())
}

fn queue(runtime: &Runtime, properties: QueueProperties) -> Queue {
    let device = runtime.host_device();
    device.default_context().unwrap().create_queue(device, properties).unwrap()
}

/// Allocates, fills, copies back, waits and frees.
fn works(queue: &Queue) -> bool {
    let block = queue.allocate(UsmKind::Device, 4096).unwrap();
    let address = block.as_ptr().as_ptr();
    let mut bytes = [0_u8; 4096];
    // SAFETY: the block's length; it is kept until the wait.
    let filled = unsafe { queue.memset(address, 3, 4096, &[]) }.unwrap();
    // SAFETY: as above.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), address, 4096, &[filled]) }.unwrap();
    queue.wait().unwrap();
    assert!(queue.is_surely_idle() || !queue.properties().in_order);
    bytes == [3; 4096]
}

fn submit(queue: &Queue, address: *mut u8, len_bytes: usize) -> Event {
    // SAFETY: tests pass blocks of that length, and keep them.
    unsafe { queue.memset(address, 1, len_bytes, &[]) }.unwrap()
}

#[test]
fn beside_submits() {
    let runtime = runtime();
    let in_order = queue(&runtime, QueueProperties::IN_ORDER);
    let out_of_order = queue(&runtime, QueueProperties::default());
    let block = in_order.allocate(UsmKind::Shared, 4096).unwrap();
    let address = block.as_ptr().as_ptr().expose_provenance();
    let submits = |queue: &Queue| {
        for _ in 0..50 {
            drop(submit(queue, std::ptr::with_exposed_provenance_mut(address), 64));
            queue.barrier(&[]).unwrap();
            let _either = queue.is_surely_idle();
        }
        queue.wait().unwrap();
    };
    let busy: [&(dyn Fn() + Sync); 4] =
        [&|| submits(&in_order), &|| submits(&in_order), &|| submits(&out_of_order), &|| {
            submits(&out_of_order)
        }];
    fork_beside(count(), &busy, &|| works(&in_order) && works(&out_of_order)).unwrap();
}

#[test]
fn beside_waits() {
    let runtime = runtime();
    let queue = queue(&runtime, QueueProperties::IN_ORDER);
    let block = queue.allocate(UsmKind::Shared, 1 << 20).unwrap();
    let address = block.as_ptr().as_ptr().expose_provenance();
    let waits = || {
        let event = submit(&queue, std::ptr::with_exposed_provenance_mut(address), 1 << 20);
        event.wait().unwrap();
    };
    let parents = submit(&queue, std::ptr::with_exposed_provenance_mut(address), 64);
    let child = || {
        // Of the parent, and it may be pending for ever.
        let _ended_or_forked = parents.wait();
        let _no_answer_needed = parents.dependencies();
        works(&queue)
    };
    fork_beside(count(), &[&waits, &waits, &waits], &child).unwrap();
}

#[test]
fn beside_allocations() {
    let runtime = runtime();
    let queue = queue(&runtime, QueueProperties::IN_ORDER);
    let allocate = |kind| {
        let block = queue.allocate(kind, 1000).unwrap();
        assert!(queue.context().pointer_info(block.address()).is_some());
    };
    let busy: [&(dyn Fn() + Sync); 3] =
        [&|| allocate(UsmKind::Host), &|| allocate(UsmKind::Device), &|| allocate(UsmKind::Shared)];
    fork_beside(count(), &busy, &|| works(&queue)).unwrap();
}

/// Asks for what is looked up or made at the first use.
fn use_first(runtime: &Runtime) -> Context {
    let device = runtime.host_device();
    let platform = device.platform().unwrap();
    assert_eq!(platform.info().backend_name, device.info().backend_name);
    assert!(device.host_reachable(UsmKind::Shared) && !device.host_reachable(UsmKind::Device));
    assert!(device.parent().unwrap().is_none());
    assert_eq!(runtime.devices().len(), 1);
    runtime.default_queue(device).unwrap();
    let queue = runtime.default_device_queue().unwrap();
    let profiled = QueueProperties::IN_ORDER.with_profiling(true);
    queue.context().create_queue(device, profiled).unwrap().barrier(&[]).unwrap();
    queue.context().clone()
}

#[test]
fn beside_first_uses_of_a_runtime() {
    let newest = AtomicPtr::new(Box::into_raw(Box::new(runtime())));
    // SAFETY: a leaked box.
    let known = || unsafe { &*newest.load(Ordering::Acquire) };
    let busy = || {
        thread::sleep(Duration::from_millis(5)); // so that few are leaked: a fork copies the tables of all pages
        newest.store(Box::into_raw(Box::new(runtime())), Ordering::Release);
        use_first(known());
    };
    let child = || {
        use_first(known());
        works(&known().default_device_queue().unwrap())
    };
    fork_beside(count(), &[&busy, &busy, &|| drop(use_first(known()))], &child).unwrap();
}

/// Each round is a process in which nothing of this library was used yet.
#[test]
fn beside_first_uses_in_a_process() {
    let use_global = || {
        let runtime = Runtime::init_global(|| RuntimeOptions::new().host_only());
        use_first(runtime);
        runtime.default_device_queue().unwrap()
    };
    for round in 0..count() {
        let fresh = || {
            let first = thread::spawn(use_global);
            for _ in 0..(round % 50) * 20 {
                std::hint::spin_loop();
            }
            let outcome = forks::one(&|| works(&use_global()));
            first.join().unwrap();
            outcome.inspect_err(|reason| eprintln!("its child {reason}")).is_ok()
        };
        forks::one(&fresh).unwrap();
    }
}
