//! The queues that tests run on: one a backend.
#![allow(clippy::unwrap_used, reason = "a test without its queue fails")]

use crate::{BackendId, Queue, Runtime};

/// The default queue of a SYCL device, or `None` with the reason printed.
///
/// # Panics
/// With `USM_REQUIRE_SYCL=1` where there is no such device.
#[must_use]
pub fn sycl_queue() -> Option<Queue> {
    let runtime = Runtime::global();
    let device = runtime.devices().into_iter().find(|device| device.backend_id() == BackendId::Sycl);
    if let Some(device) = device {
        return Some(runtime.default_queue(&device).unwrap());
    }
    let reason = format!("no SYCL device: {:#?}", runtime.status());
    assert!(std::env::var_os("USM_REQUIRE_SYCL").is_none(), "{reason}");
    eprintln!("only the host backend is tested, {reason}");
    None
}

/// The default queue of a CUDA device, or `None` with the reason printed.
///
/// # Panics
/// With `USM_REQUIRE_CUDA=1` where there is no such device.
#[must_use]
pub fn cuda_queue() -> Option<Queue> {
    let runtime = Runtime::global();
    let device = runtime.devices().into_iter().find(|device| device.backend_id() == BackendId::Cuda);
    if let Some(device) = device {
        return Some(runtime.default_queue(&device).unwrap());
    }
    let reason = format!("no CUDA device: {:#?}", runtime.status());
    assert!(std::env::var_os("USM_REQUIRE_CUDA").is_none(), "{reason}");
    None
}

/// The default queue of the host device.
#[must_use]
pub fn host_queue() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// Queues of all backends.
#[must_use]
pub fn queues() -> Vec<Queue> {
    std::iter::once(host_queue()).chain(sycl_queue()).chain(cuda_queue()).collect()
}
