//! No queue, kernel or bundle is released under its own work, on any backend; and none stays when the work is complete.
#![allow(clippy::unwrap_used)]

use crate::bases::look_at_dropped_handles;
use crate::{bases, common};
use std::slice::from_ref;
use std::sync::Arc;

use usm_core::backend::{Backend, RawHandle, RawQueue};
use usm_core::testing::{DelayedBackend, Method, Random, Released};
use usm_core::{
    Allocation, Context, Error, Event, Kernel, KernelBundle, Queue, QueueProperties, Runtime, UsmKind,
};

const ORDERS: [QueueProperties; 2] = [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER];

/// A context over a backend whose operations run when somebody waits for them.
fn held(backend: &Arc<dyn Backend>) -> (Arc<DelayedBackend>, Context) {
    let delayed = Arc::new(DelayedBackend::new(Arc::clone(backend), 5).with_max_delay(1 << 40));
    let device = Runtime::with_backend(delayed.clone()).unwrap().default_device().unwrap();
    let context = Context::new(from_ref(&device)).unwrap();
    (delayed, context)
}

fn queue_in(context: &Context, properties: QueueProperties) -> Queue {
    context.create_queue(&context.devices().unwrap()[0], properties).unwrap()
}

fn set(queue: &Queue, block: &Allocation, value: u8) -> Event {
    // SAFETY: within the block, which stays until all is complete.
    unsafe { queue.memset(block.as_ptr().as_ptr(), value, block.len_bytes(), &[]) }.unwrap()
}

/// `fill_u32` for CUDA.
const PTX: &str = ".version 6.3
.target sm_50
.address_size 64
.visible .entry fill_u32(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<5>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [to];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
";

/// `None` on the host backend.
fn kernel(queue: &Queue) -> Option<Kernel> {
    let (context, device) = (queue.context(), queue.device());
    let bundle = match KernelBundle::from_opencl_source(context, device, common::KERNELS, "") {
        // SAFETY: valid PTX.
        Err(Error::NotSupported { .. }) => unsafe { KernelBundle::from_ptx(context, device, PTX, "") },
        bundle => bundle,
    };
    match bundle {
        Err(Error::NotSupported { .. }) => None,
        bundle => Some(bundle.unwrap().kernel("fill_u32").unwrap()),
    }
}

fn fill_by(kernel: &Kernel, queue: &Queue, block: &Allocation, value: u32) -> Event {
    let words = block.len_bytes() / 4;
    // SAFETY: as many words as the block has, which stays until all is complete.
    unsafe { queue.submit_kernel(kernel, &[block.into(), value.into()], words, &[]) }.unwrap()
}

#[test]
fn a_queue_lives_until_its_work_is_done() {
    for base in bases::all() {
        for order in ORDERS {
            let (delayed, context) = held(&base.backend);
            let other = queue_in(&context, order);
            let block = other.allocate(UsmKind::Shared, 64).unwrap();
            let alive = base.alive();
            let queue = queue_in(&context, order);
            drop(set(&queue, &block, 1));
            let newest = set(&queue, &block, 2);
            drop(queue);
            assert!(delayed.pending() >= 2, "{}: a drop does not wait", base.name);
            look_at_dropped_handles();
            assert!(delayed.pending() >= 2 && delayed.faults().is_empty(), "{}", base.name);
            delayed.flush();
            newest.wait().unwrap();
            drop(newest);
            look_at_dropped_handles();
            assert_eq!((base.alive(), delayed.faults()), (alive, Vec::new()), "{}", base.name);
            drop((block, other));
        }
    }
}

#[test]
fn a_copy_for_another_library_is_no_last_handle() {
    for base in bases::all() {
        let (delayed, context) = held(&base.backend);
        let [home, queue] = [0; 2].map(|_| queue_in(&context, QueueProperties::OUT_OF_ORDER));
        let block = home.allocate(UsmKind::Shared, 64).unwrap();
        let Ok(copy) = queue.to_external() else { continue };
        let work = set(&queue, &block, 1);
        drop(queue);
        drop(copy);
        assert!(delayed.faults().is_empty(), "{}", base.name);
        work.wait().unwrap();
        drop((work, block, home));
        delayed.flush(); // the other library may have submitted, so the queue drops with a barrier
        look_at_dropped_handles();
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn a_kernel_lives_until_it_has_run() {
    for base in bases::all() {
        let (delayed, context) = held(&base.backend);
        let [first, second] = ORDERS.map(|order| queue_in(&context, order));
        let blocks = [0; 4].map(|_| first.allocate(UsmKind::Shared, 64).unwrap());
        let Some(kernel) = kernel(&first) else { continue };
        // More than are remembered before those that are complete are sorted out.
        let work = |queue: &Queue| -> Vec<Event> {
            (0..40).map(|_| fill_by(&kernel, queue, &blocks[0], 1)).collect()
        };
        let in_order = work(&first);
        in_order.last().unwrap().wait().unwrap();
        drop((in_order, first));
        let out_of_order = work(&second);
        drop(kernel);
        look_at_dropped_handles();
        let pending = delayed.pending();
        assert!(pending > 0 && delayed.faults().is_empty(), "{}: {:?}", base.name, delayed.faults());
        drop(second);
        drop(out_of_order);
        assert!(delayed.faults().is_empty(), "{}: {:?}", base.name, delayed.faults());
        delayed.flush();
        look_at_dropped_handles();
        assert_eq!(delayed.faults(), [], "{}", base.name);
    }
}

/// Releases the queue of an operation that may be under way, as no handle of this crate does. Gives the raw queue.
fn release_under_work(backend: &Arc<dyn Backend>, meanwhile: impl FnOnce(RawQueue)) {
    let release = |handle| {
        // SAFETY: 1. Each handle below is released once. 2. What follows from a broken promise is tested.
        unsafe { backend.release(handle) };
    };
    let devices = backend.root_devices().unwrap();
    // SAFETY: the handle is live.
    let context = unsafe { backend.create_context(&devices[..1]) }.unwrap();
    // SAFETY: the handles are live.
    let queue = unsafe { backend.create_queue(context, devices[0], QueueProperties::IN_ORDER) }.unwrap();
    // SAFETY: the handle is live.
    let event = unsafe { backend.barrier(queue, &[]) }.unwrap();
    release(RawHandle::Queue(queue));
    meanwhile(queue);
    // SAFETY: the handle is live.
    unsafe { backend.wait(event) }.unwrap();
    release(RawHandle::Event(event));
    release(RawHandle::Context(context));
    devices.into_iter().for_each(|device| release(RawHandle::Device(device)));
}

#[test]
fn an_early_release_is_found() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(Arc::clone(&base.backend), 5).with_max_delay(1 << 40));
        let backend: Arc<dyn Backend> = delayed.clone();
        release_under_work(&backend, |queue| {
            let fault = delayed.faults()[0];
            assert_eq!(fault.operation, Method::Barrier, "{}", base.name);
            assert_eq!(fault.released, Released::Handle(RawHandle::Queue(queue)));
        });
        assert_eq!(delayed.faults().len(), 1, "{}", base.name);
    }
}

#[test]
fn dropped_queues_do_not_pile_up() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(Arc::clone(&base.backend), 7));
        let device = Runtime::with_backend(delayed.clone()).unwrap().default_device().unwrap();
        let context = Context::new(from_ref(&device)).unwrap();
        let mut random = Random::new(3);
        let home = queue_in(&context, QueueProperties::IN_ORDER);
        let block = home.allocate(UsmKind::Shared, 64).unwrap();
        for turn in 0..2000 {
            let queue = queue_in(&context, ORDERS[random.below(2)]);
            (0..random.below(3)).for_each(|value| drop(set(&queue, &block, value as u8)));
            drop(queue);
            // Each look is a call, and an operation is delayed by 16 calls.
            assert!(delayed.pending() < 64, "{}, turn {turn}: {}", base.name, delayed.pending());
        }
        delayed.flush();
        look_at_dropped_handles();
        assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()), "{}", base.name);
    }
}

/// The parts of an operation of the SYCL backend, such as the barrier before a fill, count as its work, too.
#[cfg(feature = "sycl")]
#[test]
fn the_interface_of_sycl_sees_no_early_deletion() {
    let (loopback, backend) = bases::stand_in(sycl_loopback::Loopback::new);
    let backend: Arc<dyn Backend> = Arc::new(backend);
    let device = Runtime::with_backend(Arc::clone(&backend)).unwrap().default_device().unwrap();
    let context = Context::new(from_ref(&device)).unwrap();
    let home = queue_in(&context, QueueProperties::IN_ORDER);
    let block = home.allocate(UsmKind::Shared, 64).unwrap();
    for order in ORDERS {
        loopback.hold(true);
        let queue = queue_in(&context, order);
        let kernel = kernel(&queue).unwrap();
        // SAFETY: within the block, which stays until all is complete.
        let filled = unsafe { queue.fill(block.as_ptr().as_ptr(), &[1, 2, 3], 20, &[]) }.unwrap();
        let ran = fill_by(&kernel, &queue, &block, 7);
        let copy = queue.to_external().unwrap();
        drop((queue, kernel, copy, filled));
        look_at_dropped_handles();
        assert_eq!(loopback.faults(), 0);
        drop(ran);
        loopback.hold(false);
        look_at_dropped_handles();
        assert_eq!(loopback.live(sycl_loopback::Kind::Kernel), 0);
        assert_eq!(loopback.live(sycl_loopback::Kind::Queue), 1);
    }
    // The same without the rule.
    loopback.hold(true);
    release_under_work(&backend, |_| assert_eq!(loopback.faults(), 1));
    loopback.hold(false);
    drop((block, home, context, device, backend));
    assert_eq!(loopback.leaks(), []);
}
