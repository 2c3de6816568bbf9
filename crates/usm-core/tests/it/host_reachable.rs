//! Which memory host code of the library reaches without a queue: asked in child processes, since the environment decides.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::process::Command;

use usm_core::{BackendId, DeviceType, UsmKind};

const ROLE: &str = "USM_TEST_REACHABLE";
const STRICT: &str = "USM_STRICT_DEVICE";

#[test]
fn device_memory_is_reachable_where_it_is_memory_of_this_process() {
    if let Ok(role) = std::env::var(ROLE) {
        for queue in common::queues() {
            let device = queue.device();
            assert!(device.host_reachable(UsmKind::Host) && device.host_reachable(UsmKind::Shared));
            let is_cpu = device.filter_string().starts_with("opencl:cpu");
            if device.host_reachable(UsmKind::Device) {
                assert!(is_cpu && role == "loose", "{device:?}");
                touch(&queue);
            }
        }
        let sycl = common::sycl_queue().filter(|queue| queue.device().info().backend_name == "opencl");
        if let Some(queue) = sycl {
            let device = queue.device();
            let is_cpu = device.info().device_type == DeviceType::Cpu;
            assert_eq!(device.host_reachable(UsmKind::Device), is_cpu && role == "loose");
            let strict = device.strict().unwrap();
            assert!(strict == *device && !strict.host_reachable(UsmKind::Device), "the same device");
        }
        return;
    }
    for (role, strict) in [("loose", None), ("loose", Some("0")), ("strict", Some("1"))] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "host_reachable::device_memory_is_reachable_where_it_is_memory_of_this_process",
        ]);
        child.env(ROLE, role).env_remove(STRICT);
        if let Some(strict) = strict {
            child.env(STRICT, strict);
        }
        let output = child.output().unwrap();
        assert!(output.status.success(), "{role}, {strict:?}: {output:?}");
    }
}

/// What host code writes, a queue reads: the claim is true.
fn touch(queue: &usm_core::Queue) {
    assert_eq!(queue.backend_id(), BackendId::Sycl);
    let block = queue.allocate(UsmKind::Device, 8).unwrap();
    let mut read = [0_u8; 8];
    // SAFETY: a live block of eight bytes, which the device says is memory of this process.
    unsafe { block.as_ptr().write_bytes(7, 8) };
    // SAFETY: both are live and of eight bytes, and the wait ends the copy.
    unsafe { queue.memcpy(read.as_mut_ptr(), block.as_ptr().as_ptr(), 8, &[]) }.unwrap().wait().unwrap();
    assert_eq!(read, [7; 8]);
}
