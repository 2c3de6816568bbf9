//! The queues that tests run on: one a backend.
#![allow(clippy::panic, clippy::unwrap_used, dead_code)]

use usm_memory::usm_core::{BackendId, Queue, Runtime, UsmKind};

/// The default queue of a SYCL device, or `None` with the reason printed. With `USM_REQUIRE_SYCL=1` a missing device fails.
pub(crate) fn sycl_queue() -> Option<Queue> {
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

/// The default queue of the host device.
pub(crate) fn host_queue() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// Queues of all backends.
pub(crate) fn queues() -> Vec<Queue> {
    std::iter::once(host_queue()).chain(sycl_queue()).collect()
}

/// Runs a test for every kind of memory on the queues of all backends.
pub(crate) fn each(test: impl Fn(&Queue, UsmKind)) {
    for queue in queues() {
        for kind in UsmKind::ALL {
            test(&queue, kind);
        }
    }
}
