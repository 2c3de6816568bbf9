//! The pool of the process: whose memory comes from it, what is counted, how far its blocks reach, and what a forked child does.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_memory::resource::{
    DirectResource, default_resource, process_pool, reset_default_resource, set_default_resource,
    use_process_pool,
};
use usm_memory::usm_core::backend::host::HostBackend;
#[cfg(not(windows))]
use usm_memory::usm_core::testing::forks::fork_beside;
use usm_memory::usm_core::testing::{Fault, FaultyBackend, Method};
use usm_memory::usm_core::{Context, LiveAllocations, QueueProperties, Runtime, RuntimeOptions, UsmKind};
use usm_memory::{Error, MemoryResource, Ownership, UsmBuffer, live_allocations, pointer_info};

/// The pool is that of the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_pooled(buffer: &UsmBuffer) -> bool {
    matches!(buffer.ownership(), Ownership::Leased(_))
}

#[test]
fn memory_of_permanent_contexts_is_handed_out_again() {
    let _alone = alone();
    common::each(|queue, kind| {
        assert!(queue.context().is_permanent());
        for len_bytes in [1, 100, 4096, 1 << 20, 5 << 20] {
            let first = UsmBuffer::allocate(queue, kind, len_bytes).unwrap();
            assert!(is_pooled(&first));
            let address = first.address();
            drop(first);
            let second = UsmBuffer::allocate_aligned(queue, kind, len_bytes, 16).unwrap();
            assert_eq!((second.address(), second.len_bytes()), (address, len_bytes));
        }
        let other = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        assert!(is_pooled(&UsmBuffer::allocate(&other, kind, 100).unwrap()), "another queue of the context");
    });
    assert!(process_pool().trim() > 0);
    assert_eq!(process_pool().statistics().slab_bytes, 0);
}

#[test]
fn memory_of_contexts_that_go_is_not() {
    let _alone = alone();
    let own = Runtime::new(RuntimeOptions::new().host_only());
    let mut queues = vec![own.default_queue(own.host_device()).unwrap()];
    queues.extend(common::queues().iter().map(|queue| {
        let context = Context::new(from_ref(queue.device())).unwrap();
        context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap()
    }));
    queues.extend(common::queues().iter().flat_map(|queue| common::parts(queue.device())));
    for queue in queues {
        assert!(!queue.context().is_permanent());
        let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 100).unwrap();
        assert!(!is_pooled(&buffer), "{queue:?}");
        let buffer =
            UsmBuffer::allocate_in(&*default_resource(queue.device()), &queue, UsmKind::Device, 100).unwrap();
        assert!(!is_pooled(&buffer), "{queue:?}");
    }
}

#[test]
fn it_can_be_switched_off_and_replaced() {
    let _alone = alone();
    common::each(|queue, kind| {
        let allocate = || UsmBuffer::allocate(queue, kind, 100).unwrap();
        let before = allocate();
        assert!(use_process_pool(false));
        assert!(!is_pooled(&allocate()));
        assert!(!use_process_pool(true));
        assert!(is_pooled(&before) && is_pooled(&allocate()));

        set_default_resource(queue.device(), Arc::new(DirectResource));
        assert!(!is_pooled(&allocate()));
        reset_default_resource(queue.device());
        assert!(is_pooled(&allocate()));

        // Neither undoes the other.
        set_default_resource(queue.device(), Arc::new(DirectResource));
        assert!(use_process_pool(false));
        reset_default_resource(queue.device());
        assert!(!is_pooled(&allocate()));
        set_default_resource(queue.device(), Arc::new(DirectResource));
        assert!(!use_process_pool(true));
        assert!(!is_pooled(&allocate()));
        reset_default_resource(queue.device());
        assert!(is_pooled(&allocate()));
        assert!(is_pooled(
            &UsmBuffer::allocate_in(&*default_resource(queue.device()), queue, kind, 100).unwrap()
        ));
    });
}

#[test]
fn idle_memory_of_the_pool_goes_before_the_runtime_has_none() {
    let _alone = alone();
    let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::new())));
    let runtime = Runtime::with_backend(faulty.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let direct = |len| UsmBuffer::allocate_in(&DirectResource, &queue, UsmKind::Host, len);
    let default = |len| UsmBuffer::allocate(&queue, UsmKind::Host, len);
    for allocate in [&direct as &dyn Fn(usize) -> usm_memory::Result<UsmBuffer>, &default] {
        // Whatever the context, the bytes are of the same machine or device.
        drop(UsmBuffer::allocate(&common::host_queue(), UsmKind::Host, 4096).unwrap());
        assert!(process_pool().statistics().idle_bytes > 0);
        faulty.arm(Fault::at(1).of(Method::Allocate));
        assert_eq!(allocate(64).unwrap().len_bytes(), 64);
        assert_eq!((process_pool().statistics().idle_bytes, faulty.calls_of(Method::Allocate)), (0, 2));
        // Nothing is idle any more.
        faulty.arm(Fault::at(1).of(Method::Allocate));
        assert!(matches!(allocate(64), Err(Error::OutOfMemory { requested_bytes: 64, .. })));
        assert_eq!(faulty.calls_of(Method::Allocate), 1);
        faulty.disarm();
    }
}

#[test]
fn allocated_slots_count_and_slabs_do_not() {
    let _alone = alone();
    common::each(|queue, kind| {
        let LiveAllocations { count, bytes } = live_allocations();
        let buffers = [100, 5000, 3 << 20].map(|len| UsmBuffer::allocate(queue, kind, len).unwrap());
        let direct = common::direct(queue, kind, 77);
        let expected = LiveAllocations { count: count + 4, bytes: bytes + 5100 + (3 << 20) + 77 };
        assert_eq!(live_allocations(), expected);
        drop((buffers, direct));
        assert_eq!(live_allocations(), LiveAllocations { count, bytes });
    });
}

#[test]
fn a_borrow_reaches_no_further_than_the_block() {
    let _alone = alone();
    common::each(|queue, kind| {
        let buffers = [100; 3].map(|len| UsmBuffer::allocate(queue, kind, len).unwrap());
        let address = buffers[1].address();
        let borrow = |address, len_bytes| {
            // SAFETY: a buffer that the owner keeps; nobody touches it.
            unsafe { UsmBuffer::borrow(queue, address, len_bytes, true, Arc::new(buffers[1].clone())) }
        };
        assert_eq!(borrow(address + 1, 99).unwrap().len_bytes(), 99);
        for (start, len_bytes) in [(address, 101), (address + 50, 51), (address, 1000)] {
            let error = borrow(start, len_bytes).unwrap_err();
            assert!(matches!(error, Error::BeyondAllocation { block_bytes: 100, .. }), "{error}");
        }
        let info = pointer_info(queue.context(), address + 99).unwrap();
        assert_eq!((info.kind, info.block), (kind, Some((address, 100))));
        drop(buffers);
        assert!(queue.context().pointer_info(address).is_some(), "the pool keeps it");
        assert_eq!(pointer_info(queue.context(), address), None);
    });
}

/// The child of a process whose other threads hold the pool's lock now and then.
#[cfg(not(windows))]
#[test]
fn a_forked_child_has_memory_of_its_own() {
    let queue = common::host_queue();
    forked_beside(&|| drop(UsmBuffer::allocate_in(process_pool(), &queue, UsmKind::Host, 4096).unwrap()));
}

/// The child of a process whose other threads hold the lock of the backend's memory most of the time.
#[cfg(not(windows))]
#[test]
fn a_forked_child_allocates_beside_threads_that_allocate() {
    let queue = common::host_queue();
    forked_beside(&|| drop(UsmBuffer::allocate_in(&DirectResource, &queue, UsmKind::Host, 4096).unwrap()));
}

/// The same with the table of borrows.
#[cfg(not(windows))]
#[test]
fn a_forked_child_copies_beside_threads_that_copy() {
    let queue = common::host_queue();
    let [few, many] =
        [100, 8192].map(|len_bytes| UsmBuffer::allocate(&queue, UsmKind::Host, len_bytes).unwrap());
    forked_beside(&|| {
        few.copy_to_host(&mut [0; 100], 0).unwrap();
        many.copy_to_host(&mut [0; 8192], 0).unwrap();
    });
}

#[cfg(not(windows))]
fn forked_beside(busy: &(dyn Fn() + Sync)) {
    let _alone = alone();
    let queue = common::host_queue();
    let mine = Mutex::new(Some(UsmBuffer::allocate(&queue, UsmKind::Shared, 100).unwrap()));
    let child = || {
        let own = UsmBuffer::allocate(&queue, UsmKind::Shared, 100);
        drop(mine.lock().unwrap().take());
        process_pool().trim() == 0
            // Also with what it was the child that gave back.
            && UsmBuffer::allocate(&queue, UsmKind::Shared, 100).is_ok_and(|next| !is_pooled(&next))
            && own.is_ok_and(|own| {
                let copied = own.copy_to_host(&mut [0; 100], 0).is_ok();
                copied && own.fill(&[7]).is_ok() && !is_pooled(&own)
            })
    };
    fork_beside(50, &[busy, busy], &child).unwrap();
}
