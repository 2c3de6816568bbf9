//! A runtime that works on the host backend of another one through the table of C functions, as two copies of the library do.
#![allow(clippy::unwrap_used)]

use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::backend::host::HostTable;
use usm_core::{
    Context, DeviceType, Error, EventStatus, HostDevice, HostTask, Partition, Queue, QueueProperties,
    Runtime, RuntimeOptions, UsmKind,
};

/// A runtime, and one that works on its host backend.
fn runtimes(devices: &[HostDevice]) -> (Runtime, Runtime) {
    let own = Runtime::new(RuntimeOptions::new().host_only().host_devices(devices.iter().cloned()));
    let table: &'static HostTable = Box::leak(Box::new(own.host_table().unwrap()));
    // SAFETY: a table of this library, which stays.
    let other = unsafe { Runtime::with_host_table(RuntimeOptions::new().host_only(), table) }.unwrap();
    assert!(other.has_host_of_other_copy() && !own.has_host_of_other_copy());
    assert!(other.host_table().is_none());
    (own, other)
}

fn cpu() -> Vec<HostDevice> {
    vec![HostDevice::new(DeviceType::Cpu)]
}

fn queue_of(runtime: &Runtime) -> Queue {
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// The same queue in another copy.
fn handed_over(queue: &Queue, from: &Runtime, to: &Runtime) -> Queue {
    to.host_queue(from.host_queue_pointer(queue).unwrap()).unwrap().unwrap()
}

#[test]
fn only_pointers_to_live_queues_are_queues() {
    let (own, other) = runtimes(&cpu());
    let device = own.host_device();
    let context = device.default_context().unwrap();
    let make = || context.create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap();
    let kept = make();
    // More queues than are remembered before those that are gone are sorted out.
    let gone: Vec<_> = (0..300).map(|_| own.host_queue_pointer(&make()).unwrap()).collect();
    let mut number = 0_u64;
    let wrong = [NonNull::dangling(), NonNull::from(&mut number).cast()];
    let elsewhere = Runtime::new(RuntimeOptions::new().host_only());
    let of_other_backend = elsewhere.host_queue_pointer(&queue_of(&elsewhere)).unwrap();
    for runtime in [&own, &other] {
        for &pointer in gone.iter().chain(&wrong).chain(&[of_other_backend]) {
            assert!(runtime.host_queue(pointer).unwrap().is_none());
        }
        assert_eq!(handed_over(&kept, &own, runtime).properties(), kept.properties());
    }
}

#[test]
fn memory_of_one_is_memory_of_the_other() {
    let (own, other) = runtimes(&cpu());
    for kind in UsmKind::ALL {
        let queue = queue_of(&own);
        let block = queue.allocate(kind, 4096).unwrap();
        let theirs = handed_over(&queue, &own, &other);
        assert_eq!(theirs.properties(), queue.properties());
        let info = theirs.context().pointer_info(block.address() + 7).unwrap();
        assert_eq!(info, queue.context().pointer_info(block.address() + 7).unwrap());
        assert_eq!(info.kind, kind);
        assert_eq!(theirs.context().pointer_info(1), None);
        assert_eq!(
            theirs.context().pointer_device(block.address()).unwrap().as_ref(),
            Some(other.host_device())
        );
        let mut bytes = [0_u8; 4096];
        // SAFETY: of the block's length, and waited for.
        let filled = unsafe { theirs.fill(block.as_ptr().as_ptr(), &[1, 2], 2048, &[]) }.unwrap();
        // SAFETY: as above.
        let read = unsafe { theirs.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), 4096, &[filled]) };
        read.unwrap().wait().unwrap();
        assert_eq!(bytes[4094..], [1, 2]);
        let new = theirs.allocate_aligned(kind, 64, 256).unwrap();
        assert_eq!(new.address() % 256, 0);
        assert_eq!(queue.context().pointer_info(new.address()).unwrap().kind, kind);
        let address = new.address();
        drop(new);
        assert_eq!(queue.context().pointer_info(address), None);
    }
}

#[test]
fn queues_go_both_ways_and_keep_their_identity() {
    let (own, other) = runtimes(&cpu());
    let theirs = queue_of(&other);
    let ours = handed_over(&theirs, &other, &own);
    assert_eq!(handed_over(&ours, &own, &other), theirs);
    assert_eq!(ours.context().devices().unwrap(), [own.host_device().clone()]);
    drop(theirs);
    drop(other);
    // SAFETY: nothing is touched.
    ours.wait().unwrap();
    let elsewhere = Runtime::new(RuntimeOptions::new().host_only());
    assert!(elsewhere.host_queue_pointer(&ours).is_none(), "a queue of another backend");
}

#[test]
fn operations_of_both_copies_are_in_one_order() {
    let (own, other) = runtimes(&cpu());
    let ours = queue_of(&own);
    let theirs = handed_over(&ours, &own, &other);
    let block = ours.allocate(UsmKind::Device, 8 << 20).unwrap();
    let start = block.as_ptr().as_ptr();
    for round in 0..20_u8 {
        let (first, second) = if round % 2 == 0 { (&ours, &theirs) } else { (&theirs, &ours) };
        // SAFETY: the block's length; waited for below.
        unsafe { first.memset(start, round, 8 << 20, &[]) }.unwrap();
        let mut last = 255_u8;
        // SAFETY: one byte of the block; waited for.
        unsafe { second.memcpy(&raw mut last, start.wrapping_add((8 << 20) - 1), 1, &[]) }
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(last, round);
    }
    ours.wait().unwrap();
}

#[test]
fn operations_are_complete_when_they_return() {
    let (own, other) = runtimes(&cpu());
    let properties = QueueProperties::OUT_OF_ORDER.with_profiling(true);
    let ours =
        own.host_device().default_context().unwrap().create_queue(own.host_device(), properties).unwrap();
    let queue = handed_over(&ours, &own, &other);
    assert!(queue.properties().profiling);
    let block = queue.allocate(UsmKind::Shared, 32 << 20).unwrap();
    let start = block.as_ptr().as_ptr();
    // SAFETY: the block's length; complete at once.
    let filled = unsafe { queue.memset(start, 1, 32 << 20, &[]) }.unwrap();
    assert_eq!(filled.status(), EventStatus::Complete);
    // SAFETY: the last byte of the block, which nobody writes any more.
    assert_eq!(unsafe { *start.wrapping_add((32 << 20) - 1) }, 1);
    // SAFETY: the block's length, which the barrier below waits for.
    let pending = unsafe { ours.memset(start, 2, 32 << 20, &[]) }.unwrap();
    // SAFETY: nothing is touched.
    let hint = unsafe { queue.prefetch(start, 64, &[]) }.unwrap();
    let barrier = queue.barrier(&[filled, hint]).unwrap();
    assert!(barrier.is_complete() && pending.is_complete());
    barrier.wait().unwrap();
}

#[test]
fn what_is_not_available_says_what_to_do_instead() {
    let (_own, other) = runtimes(&cpu());
    let queue = queue_of(&other);
    let event = queue.barrier(&[]).unwrap();
    assert!(!queue.runs_host_tasks());
    let kept = Arc::new(());
    let owned = Arc::clone(&kept);
    let task = HostTask::new(move |_| Err(format!("ran with {owned:?}")));
    // SAFETY: refused.
    let refused = unsafe { queue.host_task(&[], task, &[]) }.unwrap_err();
    assert_eq!(Arc::strong_count(&kept), 1);
    let errors = [
        (refused, "host tasks in an extension: copy device memory to host memory"),
        (event.profiling_times().unwrap_err(), "profiling in an extension: measure the calls"),
        (event.dependencies().unwrap_err(), "event graphs in an extension: operations are complete"),
    ];
    for (error, expected) in errors {
        assert!(
            matches!(error, Error::NotSupported { .. }) && error.to_string().contains(expected),
            "{error}"
        );
    }
}

#[test]
fn facts_and_platforms_are_the_same() {
    let gpu =
        HostDevice::new(DeviceType::Gpu).memory_bytes(1 << 20).max_alloc_bytes(1 << 16).compute_units(8);
    let (own, other) = runtimes(&[cpu().remove(0), gpu.clone(), gpu]);
    assert_eq!(other.devices().len(), 3);
    for (ours, theirs) in own.devices().iter().zip(other.devices()) {
        assert_eq!(ours.info(), theirs.info());
        assert_eq!(theirs.platform().unwrap().info(), ours.platform().unwrap().info());
        assert_eq!(theirs.platform().unwrap().devices().unwrap(), std::slice::from_ref(&theirs));
        assert!(theirs.parent().unwrap().is_none());
        assert!(matches!(
            theirs.create_sub_devices(&Partition::Equally(1)),
            Err(Error::NotSupported { .. } | Error::CannotPartition { .. })
        ));
    }
    // A part of a device that the first copy made.
    let part = own.devices()[1].create_sub_devices(&Partition::Equally(4)).unwrap().remove(0);
    let queue = own.default_queue(&part).unwrap();
    let theirs = handed_over(&queue, &own, &other);
    assert_eq!(theirs.device().info().compute_units, 4);
    assert_eq!(theirs.device().parent().unwrap().as_ref(), Some(&other.devices()[1]));
    assert!(matches!(theirs.allocate(UsmKind::Device, 1 << 20), Err(Error::TooLarge { .. })));
}

#[test]
fn errors_come_across() {
    let (own, other) = runtimes(&cpu());
    let device = own.host_device();
    let context = Context::new(std::slice::from_ref(device)).unwrap();
    let apart = context.create_queue(device, QueueProperties::IN_ORDER).unwrap();
    let block = apart.allocate(UsmKind::Device, 64).unwrap();
    let queue = queue_of(&other);
    let mut byte = 0_u8;
    // SAFETY: refused, since the memory is of another context.
    let refused = unsafe { queue.memcpy(&raw mut byte, block.as_ptr().as_ptr(), 1, &[]) };
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("belongs to context") && error.contains(&format!("{:#x}", block.address())),
        "{error}"
    );
}

#[test]
fn another_version_is_refused() {
    let wrong: &'static [u32; 64] = &[77; 64];
    for (table, number) in [(wrong.as_ptr().cast(), 77), (std::ptr::null(), 0)] {
        // SAFETY: null, or something that starts with a version as every table does.
        let refused = unsafe { Runtime::with_host_table(RuntimeOptions::new(), table) };
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::SharedVersion { found, .. } if found == number), "{error}");
    }
}
