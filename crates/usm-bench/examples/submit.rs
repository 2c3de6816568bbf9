//! How long a submission to an NVIDIA GPU takes from Rust: of an empty kernel by usm-core, which is the driver's time and little more,
//! and of small operations on arrays.
//!
//! `cargo run --release -p usm-bench --example submit` prints medians. The operations take turns, so that a change of the
//! processor's clock meets all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program that measures ends at the first error"
)]

use std::time::Instant;

use usm_array::usm_core::{BackendId, KernelArgument, KernelBundle, NdRange, Queue, Runtime, UsmKind};
use usm_array::{Casting, Dtype, SliceItem, UsmArray};

/// Submissions between two waits.
const CALLS: u32 = 20;
/// Samples of each operation, after rounds that do not count.
const SAMPLES: usize = 501;
const WARM_UP: usize = 10;

const EMPTY: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .entry empty(.param .u64 number) { ret; }
";

type Operation<'a> = (&'a str, Box<dyn Fn() + 'a>);

fn main() {
    let runtime = Runtime::global();
    let device = runtime.devices_of(BackendId::Cuda).next().expect("no CUDA device").clone();
    let queue = runtime.default_queue(&device).unwrap();
    println!("{}, {CALLS} calls and a wait, medians of {SAMPLES} samples", device.info().name);

    // SAFETY: the kernel does nothing.
    let bundle = unsafe { KernelBundle::from_ptx(queue.context(), &device, EMPTY, "") }.unwrap();
    let empty = bundle.kernel("empty").unwrap();
    let array = |shape: &[usize], dtype| UsmArray::zeros(&queue, UsmKind::Device, shape, dtype).unwrap();
    let (a, wide) = (array(&[64, 64], Dtype::F32), array(&[64, 128], Dtype::F32));
    let (o, d) = (array(&[64, 64], Dtype::F32), array(&[64, 64], Dtype::F64));
    let transpose = a.transpose();
    let strided =
        wide.slice(&[SliceItem::Ellipsis, SliceItem::Slice { start: None, stop: None, step: 2 }]).unwrap();
    let operations: [Operation<'_>; 5] = [
        (
            "an empty kernel",
            Box::new(|| {
                let arguments = [KernelArgument::from(0_u64)];
                // SAFETY: the kernel has one argument, a number, and uses no memory.
                let event = unsafe { queue.submit_kernel(&empty, &arguments, NdRange::new(1024, 256), &[]) };
                drop(event.unwrap());
            }),
        ),
        ("a copy of a transpose", Box::new(|| o.assign(&transpose).unwrap())),
        ("a strided copy", Box::new(|| o.assign(&strided).unwrap())),
        ("a cast", Box::new(|| d.assign_cast(&a, Casting::Safe).unwrap())),
        ("a fill", Box::new(|| o.fill(1.5_f32).unwrap())),
    ];
    let mut samples = vec![Vec::with_capacity(SAMPLES); operations.len()];
    for round in 0..WARM_UP + SAMPLES {
        for ((_, operation), samples) in operations.iter().zip(&mut samples) {
            let microseconds = sample(&queue, operation);
            if round >= WARM_UP {
                samples.push(microseconds);
            }
        }
    }
    for ((name, _), samples) in operations.iter().zip(&mut samples) {
        samples.sort_unstable_by(f64::total_cmp);
        println!("{name}: {:.2} µs", samples[SAMPLES / 2]);
    }
}

/// The time of each call, in microseconds.
fn sample(queue: &Queue, operation: &dyn Fn()) -> f64 {
    queue.wait().unwrap();
    let start = Instant::now();
    for _ in 0..CALLS {
        operation();
    }
    let elapsed = start.elapsed();
    queue.wait().unwrap();
    elapsed.as_secs_f64() * 1e6 / f64::from(CALLS)
}
