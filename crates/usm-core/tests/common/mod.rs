//! The queues that tests run on: one a backend.
#![allow(clippy::panic, clippy::unwrap_used, dead_code)]

use usm_core::{BackendId, Queue, Runtime};

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

/// Kernels that the loopback library knows, too.
pub(crate) const KERNELS: &str = "
kernel void fill_u32(global uint *to, uint value) { to[get_global_id(0)] = value; }

kernel void copy_bytes(global uchar *to, global const uchar *from) {
    to[get_global_id(0)] = from[get_global_id(0)];
}

kernel void sum_u32(global uint *to, global const uint *from, local uint *scratch) {
    uint me = get_local_id(0);
    scratch[me] = from[get_global_id(0)];
    for (uint width = get_local_size(0) / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < width) scratch[me] += scratch[me + width];
    }
    if (me == 0) to[get_group_id(0)] = scratch[0];
}
";
