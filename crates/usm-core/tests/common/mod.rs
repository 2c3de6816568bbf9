//! The queues that tests run on: one a backend.
#![allow(dead_code, unused_imports)]

pub(crate) use usm_core::testing::{host_queue, queues, sycl_queue};

/// The argument of `scale_u32`.
#[derive(Clone, Copy, usm_core::DeviceCopyable)]
#[repr(C)]
pub(crate) struct Scale {
    pub(crate) factor: u32,
    pub(crate) offset: u32,
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

struct scale { uint factor; uint offset; };
kernel void scale_u32(global uint *to, struct scale scale) {
    size_t me = get_global_id(0);
    to[me] = to[me] * scale.factor + scale.offset;
}
";
