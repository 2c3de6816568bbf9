//! Copies between the memory of two GPUs, on the stand-in of the CUDA driver: by one queue that reaches both.
#![cfg(all(target_os = "linux", feature = "cuda"))]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use cuda_loopback::Loopback;
use usm_memory::UsmBuffer;
use usm_memory::usm_core::backend::cuda::CudaBackend;
use usm_memory::usm_core::{Queue, Runtime, UsmKind};

const LEN: usize = 100_000;

/// A queue of each device of a driver with delays, and memory for each.
fn two(driver: &Loopback) -> ([Queue; 2], [UsmBuffer; 2]) {
    assert!(driver.set("DEVICES", 2).unwrap() && driver.set("DELAY_US", 5000).unwrap());
    // SAFETY: the stand-in of the driver.
    let backend = Arc::new(unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap());
    let runtime = Runtime::with_backend(backend).unwrap();
    let mut devices = runtime.devices();
    devices.retain(|device| device.filter_string().starts_with("cuda:"));
    let queues = [0, 1].map(|number| runtime.default_queue(&devices[number]).unwrap());
    let buffers = queues.each_ref().map(|queue| UsmBuffer::allocate(queue, UsmKind::Device, LEN).unwrap());
    (queues, buffers)
}

#[test]
fn one_queue_copies_in_the_order_of_both_sides() {
    let driver = Loopback::new().unwrap();
    let (queues, [first, second]) = two(&driver);
    for value in 0..5 {
        for (to, from) in [(&first, &second), (&second, &first)] {
            from.submit_fill(&[value]).unwrap();
            to.submit_copy_from(from).unwrap();
            from.submit_fill(&[100]).unwrap(); // after the copy has read
            assert_eq!(to.to_vec().unwrap(), vec![value; LEN]);
            let transfer = to.copy_from_async(from, &[]).unwrap();
            transfer.wait().unwrap();
            assert_eq!(to.to_vec().unwrap(), vec![100; LEN]);
        }
    }
    assert_eq!(driver.calls("cuMemcpyPeerAsync"), Ok(20));
    drop((queues, first, second));
    assert_eq!(driver.faults(), Vec::<String>::new());
}

#[test]
fn a_wait_for_the_queue_of_the_target_waits_for_the_copy() {
    let driver = Loopback::new().unwrap();
    let (queues, [first, second]) = two(&driver);
    let between = queues[1].with_peer(queues[0].device()).unwrap();
    for _ in 0..5 {
        second.submit_copy_from(&first).unwrap();
        queues[1].wait().unwrap();
        assert!(between.is_surely_idle());
        drop(second.copy_from_async(&first, &[]).unwrap());
        second.submit_copy_from(&first).unwrap();
        assert!(!between.is_surely_idle(), "no wait of the host");
        queues[1].wait().unwrap();
    }
}
