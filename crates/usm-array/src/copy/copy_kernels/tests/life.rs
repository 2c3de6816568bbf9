//! How long kernels live, who waits for a build, and devices without kernels

use std::sync::{Arc, Barrier};
use std::thread;

use super::super::Elements;
use super::reference::plan;
use super::{other_context, sycl_queue};
use crate::kernel_engine::{Kernels, MAX_DEVICES, sized};
use usm_memory::Error::Core;
use usm_memory::Result;
use usm_memory::usm_core::{Error, Event, Queue, Runtime, UsmKind};

/// Copies 100 bytes backwards in shared memory.
fn copy(kernels: &Kernels, queue: &Queue) -> Result<Event> {
    let reversed = plan(&[(100, 1, -1)]);
    let block = queue.allocate(UsmKind::Shared, 200).unwrap();
    let start = block.as_ptr().as_ptr();
    let bytes: Vec<u8> = (0..200).collect();
    // SAFETY: within the block, waited for.
    unsafe { queue.memcpy(start, bytes.as_ptr(), 200, &[]) }.unwrap().wait().unwrap();
    // SAFETY: the first 100 bytes from the last 100, waited for.
    let launch =
        unsafe { kernels.copy(queue, &reversed, Elements::of_size(1), start, start.wrapping_add(100), &[]) };
    if let Ok(event) = &launch {
        event.wait().unwrap();
        // SAFETY: shared memory that nothing uses any more.
        let found = unsafe { std::slice::from_raw_parts(start, 200) };
        let expected: Vec<u8> = (100..200).rev().chain(100..200).collect();
        assert_eq!(found, expected);
    }
    launch
}

#[test]
fn the_host_backend_has_none_and_says_so() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let kernels = Kernels::new();
    assert!(matches!(copy(&kernels, &queue), Err(Core(Error::NotSupported { .. }))));
    let block = queue.allocate(UsmKind::Shared, 100).unwrap();
    // SAFETY: within the block; nothing is submitted.
    let filled = unsafe { kernels.fill(&queue, &plan(&[(100, 1, 1)]), &[7], block.as_ptr().as_ptr(), &[]) };
    assert!(matches!(filled, Err(Core(Error::NotSupported { .. }))));
}

#[test]
fn a_dependency_is_waited_for_and_a_fill_arrives() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = Kernels::new();
    let len = 1 << 20;
    let block = queue.allocate(UsmKind::Shared, len).unwrap();
    let start = block.as_ptr().as_ptr();
    // SAFETY: within the block, waited for by what follows.
    let before = unsafe { queue.memset(start, 1, len, &[]) }.unwrap();
    let every_other = plan(&[(len / 4, 2, 9)]);
    // SAFETY: within the block, after the memset, waited for.
    let filled = unsafe { kernels.fill(&queue, &every_other, &[2, 3], start, &[before]) };
    filled.unwrap().wait().unwrap();
    // SAFETY: shared memory that nothing uses any more.
    let found = unsafe { std::slice::from_raw_parts(start, len) };
    assert!(found.as_chunks::<4>().0.iter().all(|four| *four == [2, 3, 1, 1]));
}

#[test]
fn threads_that_need_the_same_kernel_get_one() {
    let Some(queue) = sycl_queue() else { return };
    let queue = other_context(&queue);
    let kernels = Arc::new(Kernels::new());
    let together = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (kernels, queue, together) = (Arc::clone(&kernels), queue.clone(), Arc::clone(&together));
            thread::spawn(move || {
                together.wait();
                if number % 2 == 0 {
                    copy(&kernels, &queue).unwrap();
                }
                let on_device = kernels.on_device(&queue);
                let rows = sized("rows", 1).unwrap();
                let kernel = on_device.kernel(rows, "rows").unwrap();
                std::ptr::from_ref(kernel.info()).addr()
            })
        })
        .collect();
    let addresses: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
}

#[test]
fn kernels_outlive_the_context_that_everybody_else_dropped() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = Kernels::new();
    let first = other_context(&queue);
    copy(&kernels, &first).unwrap();
    let context = first.context().clone();
    let on_device = kernels.on_device(&first);
    drop(first);
    copy(&kernels, &other_context(&queue)).unwrap();
    let again = context.create_queue(queue.device(), queue.properties()).unwrap();
    assert!(Arc::ptr_eq(&on_device, &kernels.on_device(&again)));
    drop(context);
    copy(&kernels, &again).unwrap();
}

#[test]
fn the_places_used_longest_ago_are_forgotten() {
    let runtime = Runtime::global();
    let host = runtime.default_queue(runtime.host_device()).unwrap();
    let kernels = Kernels::new();
    let (first, second) = (other_context(&host), other_context(&host));
    let [kept, gone] = [&first, &second].map(|queue| Arc::downgrade(&kernels.on_device(queue)));
    for _ in 0..MAX_DEVICES {
        kernels.on_device(&other_context(&host));
        kernels.on_device(&first);
    }
    assert!(kept.upgrade().is_some());
    assert!(gone.upgrade().is_none());
}
