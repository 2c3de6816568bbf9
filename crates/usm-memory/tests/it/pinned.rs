//! Copies between a GPU and host memory, which go through pinned slots: every length around a piece, failures, slow devices, and busy
//! helpers.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::{Arc, Barrier};
use std::thread;

use usm_memory::UsmBuffer;
use usm_memory::usm_core::backend::Backend;
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{DelayedBackend, Fault, FaultyBackend};
use usm_memory::usm_core::{DeviceType, HostDevice, Queue, Runtime, RuntimeOptions, UsmKind, bulk};

/// Bytes of the longest pieces.
const PIECE: usize = 2 << 20;

fn gpu() -> HostDevice {
    HostDevice::new(DeviceType::Gpu)
}

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i + seed) * 31 % 251) as u8).collect()
}

/// There and back, at an offset, with bytes on each side that stay.
fn there_and_back(queue: &Queue, len: usize) {
    let buffer = UsmBuffer::allocate(queue, UsmKind::Device, len + 16).unwrap();
    buffer.fill(&[7]).unwrap();
    let sent = bytes(len, 3);
    buffer.copy_from_host(&sent, 8).unwrap();
    let mut back = vec![0; len];
    buffer.copy_to_host(&mut back, 8).unwrap();
    assert!(back == sent, "{len}");
    let all = buffer.to_vec().unwrap();
    assert!(all[..8] == [7; 8] && all[len + 8..] == [7; 8], "{len}");
}

#[test]
fn every_length_around_a_piece() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu()]));
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for len in [
        1,
        5000,
        16 << 10,
        (16 << 10) + 1,
        64 << 10,
        (64 << 10) + 1,
        300_000,
        (1 << 20) - 1,
        (1 << 20) + 5,
        2 * PIECE + 1,
        17 * PIECE + 4097,
    ] {
        there_and_back(&queue, len);
    }
}

#[test]
fn copies_do_not_wait_for_helpers_that_are_busy() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([gpu()]));
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let threads = bulk::num_threads();
    let (taken, done) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads + 1)));
    let work = {
        let (taken, done) = (Arc::clone(&taken), Arc::clone(&done));
        move |_| {
            taken.wait();
            done.wait();
        }
    };
    // Each thread takes one part and keeps it.
    let outside = thread::spawn(move || bulk::share(threads, threads, work));
    taken.wait();
    there_and_back(&queue, 17 * PIECE + 4097);
    done.wait();
    outside.join().unwrap();
}

/// A GPU behind a backend for tests.
fn queue_of(backend: Arc<dyn Backend>) -> Queue {
    let runtime = Runtime::with_backend(backend).unwrap();
    let devices = runtime.devices();
    let device = devices.iter().find(|device| device.info().device_type == DeviceType::Gpu).unwrap();
    runtime.default_queue(device).unwrap()
}

#[test]
fn slots_are_reused_only_when_the_device_is_done() {
    for seed in 0..3 {
        let backend = Arc::new(HostBackend::with_devices(&[gpu()]));
        let delayed = Arc::new(DelayedBackend::new(backend, seed));
        let queue = queue_of(Arc::clone(&delayed) as _);
        there_and_back(&queue, 2 << 20);
        there_and_back(&queue, 5 * PIECE + 100);
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn each_failure_is_an_error_that_leaves_nothing_under_way() {
    let backend = Arc::new(HostBackend::with_devices(&[gpu()]));
    let delayed = Arc::new(DelayedBackend::new(backend, 1));
    let faulty = Arc::new(FaultyBackend::new(Arc::clone(&delayed) as _));
    let queue = queue_of(Arc::clone(&faulty) as _);
    let len = 4 * PIECE + 5;
    let buffer = common::direct(&queue, UsmKind::Device, len);
    let mut host = bytes(len, 1);
    for to_device in [true, false] {
        for at in 1.. {
            faulty.arm(Fault::at(at));
            let copied =
                if to_device { buffer.copy_from_host(&host, 0) } else { buffer.copy_to_host(&mut host, 0) };
            let failures = faulty.failures();
            faulty.disarm();
            if failures == 0 {
                copied.unwrap();
                break;
            }
            assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()), "{at}");
        }
    }
    there_and_back(&queue, len);
}
