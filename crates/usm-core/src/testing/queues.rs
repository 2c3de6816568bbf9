//! The queues that tests run on: one a backend.
#![allow(clippy::unwrap_used, reason = "a test without its queue fails")]

use crate::{BackendId, Queue, QueueProperties, Runtime, UsmKind};

/// The default queue of a SYCL device, or `None` with the reason printed.
///
/// # Panics
/// With `USM_REQUIRE_SYCL=1` where there is no such device.
#[must_use]
pub fn sycl_queue() -> Option<Queue> {
    queue_of(BackendId::Sycl, "USM_REQUIRE_SYCL")
}

/// The default queue of a CUDA device, or `None` with the reason printed.
///
/// # Panics
/// With `USM_REQUIRE_CUDA=1` where there is no such device.
#[must_use]
pub fn cuda_queue() -> Option<Queue> {
    queue_of(BackendId::Cuda, "USM_REQUIRE_CUDA")
}

/// The default queue of the first device of a backend, which is required where the variable is set.
fn queue_of(backend: BackendId, required: &str) -> Option<Queue> {
    let runtime = Runtime::global();
    if let Some(device) = runtime.devices_of(backend).next() {
        return Some(runtime.default_queue(device).unwrap());
    }
    let reason = format!("no device of {backend}: {:#?}", runtime.status());
    assert!(std::env::var_os(required).is_none(), "{reason}");
    eprintln!("not tested, {reason}");
    None
}

/// The default queue of the host device.
#[must_use]
pub fn host_queue() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// A queue of the SYCL device whose memory is left to queues and kernels, as that of a GPU ([`Device::strict`](crate::Device::strict));
/// `None` where there is no SYCL device, or where all its queues are so.
#[must_use]
pub fn strict_queue() -> Option<Queue> {
    let device = sycl_queue()?.device().clone();
    if !device.host_reachable(UsmKind::Device) {
        return None;
    }
    let strict = device.strict().unwrap();
    Some(device.default_context().unwrap().create_queue(&strict, QueueProperties::IN_ORDER).unwrap())
}

/// Queues of all backends, and the [strict](strict_queue) one.
#[must_use]
pub fn queues() -> Vec<Queue> {
    std::iter::once(host_queue()).chain(sycl_queue()).chain(strict_queue()).chain(cuda_queue()).collect()
}
