//! Everything is dropped right after the submit, in any order, and no memory is freed before the operations on it are complete.
//! One test alone in its process, since the counter of live allocations is global.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::collections::HashMap;
use std::slice::from_ref;
use std::sync::Arc;

use usm_memory::usm_core::backend::Backend;
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{DelayedBackend, Random, campaign};
use usm_memory::usm_core::{
    Context, Device, DeviceType, HostDevice, Queue, QueueProperties, Runtime, UsmKind, live_allocations,
};
use usm_memory::{Completion, Copy2d, UsmBuffer};

/// The number of schedules on each backend, where the variable `USM_TEST_SCHEDULES` has no other. `cargo xtask verify` sets it.
const SCHEDULES: usize = 1_000;
const LEN: usize = 96;

fn take<T>(random: &mut Random, from: &mut Vec<T>) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(random.below(from.len())))
}

/// A buffer and what it must hold once all transfers are complete.
struct Known {
    buffer: UsmBuffer,
    content: Vec<u8>,
}

/// A transfer, with what a download must give.
enum InFlight {
    Unit(Completion),
    Vector(Completion<Vec<u8>>, Vec<u8>),
}

impl InFlight {
    fn wait(self) {
        match self {
            Self::Unit(transfer) => transfer.wait().unwrap(),
            Self::Vector(transfer, expected) => assert_eq!(transfer.wait().unwrap(), expected),
        }
    }
}

#[derive(Default)]
struct Counts {
    transfers: usize,
    waited: usize,
    dropped: usize,
    checked: usize,
    pending_at_drop: usize,
}

/// One schedule: transfers on buffers of several contexts, and drops of anything between them.
fn schedule(delayed: &[Arc<DelayedBackend>], devices: &[Device], seed: u64, counts: &mut Counts) {
    let mut random = Random::new(seed);
    let mut contexts: Vec<Context> = (0..1 + random.below(3))
        .map(|i| Context::new(from_ref(&devices[i % devices.len()])).unwrap())
        .collect();
    let mut queues: Vec<Queue> = contexts
        .iter()
        .map(|context| {
            let device = &context.devices().unwrap()[0];
            let properties = [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER][random.below(2)];
            context.create_queue(device, properties).unwrap()
        })
        .collect();
    let mut buffers: HashMap<usize, Known> = HashMap::new();
    for i in 0..4 {
        let queue = &queues[random.below(queues.len())];
        let content: Vec<u8> = (0..LEN).map(|_| random.below(256) as u8).collect();
        let buffer = UsmBuffer::allocate(queue, UsmKind::ALL[random.below(3)], LEN).unwrap();
        buffer.copy_from_host(&content, 0).unwrap();
        buffers.insert(i, Known { buffer, content });
    }
    let mut flights: Vec<InFlight> = Vec::new();
    for _ in 0..12 {
        let keys: Vec<usize> = buffers.keys().copied().collect();
        match (random.below(10), keys.is_empty()) {
            (0, _) => drop(take(&mut random, &mut queues)),
            (1, _) => drop(take(&mut random, &mut contexts)),
            (2, false) => drop(buffers.remove(&keys[random.below(keys.len())])),
            (3, _) => {
                counts.pending_at_drop += delayed.iter().map(|backend| backend.pending()).sum::<usize>();
                counts.dropped += usize::from(take(&mut random, &mut flights).is_some());
            }
            (4, _) => {
                if let Some(flight) = take(&mut random, &mut flights) {
                    flight.wait();
                    counts.waited += 1;
                }
            }
            (_, true) => {}
            (what, false) => {
                counts.transfers += 1;
                let to = keys[random.below(keys.len())];
                let from = keys[random.below(keys.len())];
                let mut known = buffers.remove(&to).unwrap();
                let flight = submit(what, &mut known, buffers.get(&from), &mut random);
                buffers.insert(to, known);
                if random.below(4) == 0 {
                    counts.dropped += 1;
                    drop(flight);
                } else {
                    flights.push(flight);
                }
            }
        }
    }
    // The rest in a random order, and some results.
    while !(flights.is_empty() && queues.is_empty() && contexts.is_empty()) {
        match random.below(4) {
            0 => drop(take(&mut random, &mut queues)),
            1 => drop(take(&mut random, &mut contexts)),
            2 => drop(take(&mut random, &mut flights)),
            _ => {
                if let Some(flight) = take(&mut random, &mut flights) {
                    flight.wait();
                }
            }
        }
    }
    for known in buffers.into_values() {
        assert_eq!(known.buffer.to_vec().unwrap(), known.content, "seed {seed}");
        counts.checked += 1;
    }
}

/// Submits one transfer that changes or reads `known`, after all that was submitted on its operands.
fn submit(what: usize, known: &mut Known, source: Option<&Known>, random: &mut Random) -> InFlight {
    let (offset, other) = (random.below(40), random.below(40));
    let len = random.below(LEN - 40);
    match (what, source) {
        (5, _) => {
            let value = random.below(256) as u8;
            known.content[offset..offset + len].fill(value);
            let part = known.buffer.sub_buffer(offset, len).unwrap();
            InFlight::Unit(part.fill_async(&[value], &[]).unwrap())
        }
        (6, _) => {
            let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
            known.content[offset..offset + len].copy_from_slice(&bytes);
            let expected = bytes.clone();
            InFlight::Vector(known.buffer.copy_from_vec_async(bytes, offset, &[]).unwrap(), expected)
        }
        (7, _) => {
            let expected = known.content[offset..offset + len].to_vec();
            let part = known.buffer.sub_buffer(offset, len).unwrap();
            InFlight::Vector(part.to_vec_async(&[]).unwrap(), expected)
        }
        (8, Some(source)) => {
            let copy = Copy2d {
                dst_offset_bytes: offset,
                dst_pitch_bytes: 11,
                src_offset_bytes: other,
                src_pitch_bytes: 13,
                ..Copy2d::packed(4, 1 + random.below(11))
            };
            for row in 0..4 {
                let (to, from) = (offset + 11 * row, other + 13 * row);
                known.content[to..to + copy.row_bytes]
                    .copy_from_slice(&source.content[from..from + copy.row_bytes]);
            }
            InFlight::Unit(known.buffer.copy_2d_from_async(&source.buffer, copy, &[]).unwrap())
        }
        (_, Some(source)) => {
            known.content[offset..offset + len].copy_from_slice(&source.content[other..other + len]);
            let dst = known.buffer.sub_buffer(offset, len).unwrap();
            let src = source.buffer.sub_buffer(other, len).unwrap();
            InFlight::Unit(dst.copy_from_async(&src, &[]).unwrap())
        }
        // The source is the buffer itself: its parts may overlap.
        (_, None) => {
            known.content.copy_within(other..other + len, offset);
            let dst = known.buffer.sub_buffer(offset, len).unwrap();
            let src = known.buffer.sub_buffer(other, len).unwrap();
            InFlight::Unit(dst.copy_from_async(&src, &[]).unwrap())
        }
    }
}

fn run(bases: &[Arc<dyn Backend>], seeds: std::ops::Range<u64>) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        // Other tests of the process may keep memory.
        let live = live_allocations().count;
        let max_delay = [1, 7, 40, 1 << 40][(seed % 4) as usize];
        let delayed: Vec<_> = bases
            .iter()
            .map(|base| Arc::new(DelayedBackend::new(base.clone(), seed).with_max_delay(max_delay)))
            .collect();
        let devices: Vec<Device> = delayed
            .iter()
            .flat_map(|backend| Runtime::with_backend(backend.clone()).unwrap().devices().into_iter())
            .collect();
        schedule(&delayed, &devices, seed, &mut counts);
        for backend in &delayed {
            assert_eq!(backend.faults(), [], "seed {seed}");
            assert_eq!(backend.pending(), 0, "seed {seed}: whoever dropped a transfer has waited");
        }
        assert_eq!(live_allocations().count, live, "seed {seed}");
    }
    counts
}

/// The stand-in of the CUDA driver, and a backend over it.
#[cfg(feature = "cuda")]
fn cuda() -> Option<(cuda_loopback::Loopback, Arc<dyn Backend>)> {
    use usm_memory::usm_core::backend::cuda::CudaBackend;

    let driver = cuda_loopback::Loopback::new().unwrap();
    // SAFETY: the stand-in of the driver.
    let backend = unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap();
    Some((driver, Arc::new(backend)))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<((), Arc<dyn Backend>)> {
    None
}

#[test]
fn memory_is_freed_after_the_operations_on_it() {
    let host = |devices: &[HostDevice]| -> Arc<dyn Backend> { Arc::new(HostBackend::with_devices(devices)) };
    let two = [HostDevice::new(DeviceType::Cpu), HostDevice::new(DeviceType::Gpu)];
    let sycl = common::sycl_queue().map(|_| -> Arc<dyn Backend> {
        Arc::clone(Runtime::global().sycl_backend().unwrap()) as Arc<dyn Backend>
    });
    let cuda = cuda();
    let bases = [
        Some(("host", host(&two))),
        sycl.map(|backend| ("SYCL", backend)),
        cuda.as_ref().map(|(_, backend)| ("the stand-in of CUDA", Arc::clone(backend))),
    ];
    let schedules = campaign::number("USM_TEST_SCHEDULES", SCHEDULES);
    for (number, (name, backend)) in bases.into_iter().flatten().enumerate() {
        let first = (number * schedules) as u64;
        let counts = run(&[backend, host(&two[..1])], first..first + schedules as u64);
        // The schedules do what they are for.
        let often = |count: usize| count > schedules / 4;
        assert!(counts.transfers > 3 * schedules && often(counts.waited) && often(counts.dropped), "{name}");
        assert!(counts.checked > schedules && often(counts.pending_at_drop), "{name}");
        campaign::figure(&format!(
            "{schedules} schedules of transfers on {name}, {} transfers dropped, {} operations held back at a drop, 0 early \
             releases",
            counts.dropped, counts.pending_at_drop
        ))
        .unwrap();
    }
}
