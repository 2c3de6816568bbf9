//! The queues that tests run on: one a backend.
#![allow(clippy::panic, clippy::unwrap_used, dead_code, unused_imports)]

use std::slice::from_ref;
use std::sync::Arc;

pub(crate) use usm_core::testing::{host_queue, queues, sycl_queue};
use usm_memory::UsmBuffer;
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource, StatisticsResource};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::DelayedBackend;
use usm_memory::usm_core::{
    Context, Device, DeviceType, HostDevice, Partition, Queue, QueueProperties, Runtime, RuntimeOptions,
    UsmKind,
};

/// The host backend, on which nothing runs before somebody waits for it, and an in-order queue on it.
pub(crate) fn late(seed: u64) -> (Arc<DelayedBackend>, Queue) {
    let delayed = DelayedBackend::new(Arc::new(HostBackend::new()), seed).with_max_delay(1 << 40);
    let delayed = Arc::new(delayed);
    let runtime = Runtime::with_backend(delayed.clone()).unwrap();
    (delayed, runtime.default_queue(&runtime.default_device().unwrap()).unwrap())
}

/// Another in-order queue of the same context and device.
pub(crate) fn beside(queue: &Queue) -> Queue {
    queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap()
}

/// Memory of the runtime, not of a pool.
pub(crate) fn direct(queue: &Queue, kind: UsmKind, len_bytes: usize) -> UsmBuffer {
    UsmBuffer::allocate_in(&DirectResource, queue, kind, len_bytes).unwrap()
}

/// A pool over the runtime, and what counts its slabs.
pub(crate) fn pool(options: PoolOptions) -> (Arc<StatisticsResource>, PoolResource) {
    let upstream = Arc::new(StatisticsResource::new(Arc::new(DirectResource)));
    (Arc::clone(&upstream), PoolResource::new(upstream, options))
}

/// Memory of a pool.
pub(crate) fn allocate(pool: &PoolResource, queue: &Queue, kind: UsmKind, len_bytes: usize) -> UsmBuffer {
    UsmBuffer::allocate_in(pool, queue, kind, len_bytes).unwrap()
}

/// Runs a test for every kind of memory on the queues of all backends.
pub(crate) fn each(test: impl Fn(&Queue, UsmKind)) {
    for queue in queues() {
        for kind in UsmKind::ALL {
            test(&queue, kind);
        }
    }
}

/// Queues of every place that copies can go to: for each backend two contexts on one device and two parts of that device in one
/// context, and two more host devices.
pub(crate) fn places() -> Vec<Queue> {
    let mut places = queues();
    for queue in queues() {
        let context = Context::new(from_ref(queue.device())).unwrap();
        places.push(context.create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap());
        places.extend(parts(queue.device()));
    }
    let gpus = [HostDevice::new(DeviceType::Gpu), HostDevice::new(DeviceType::Gpu)];
    let simulated = Runtime::new(RuntimeOptions::new().host_only().host_devices(gpus));
    places.extend(simulated.devices().iter().map(|device| simulated.default_queue(device).unwrap()));
    places
}

/// In-order queues of one context on two parts of a device, or none where it has no parts.
pub(crate) fn parts(device: &Device) -> Vec<Queue> {
    if device.info().max_sub_devices < 2 {
        eprintln!("{} has no parts", device.filter_string());
        return Vec::new();
    }
    let parts = device.create_sub_devices(&Partition::ByCounts(vec![1, 1])).unwrap();
    let context = Context::new(&parts).unwrap();
    parts.iter().map(|part| context.create_queue(part, QueueProperties::IN_ORDER).unwrap()).collect()
}

/// New memory with this content.
pub(crate) fn buffer(queue: &Queue, kind: UsmKind, bytes: &[u8]) -> UsmBuffer {
    let buffer = UsmBuffer::allocate(queue, kind, bytes.len()).unwrap();
    buffer.copy_from_host(bytes, 0).unwrap();
    buffer
}

/// Bytes that do not repeat soon.
pub(crate) fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i + seed) % 251) as u8 ^ (i >> 8) as u8).collect()
}
