//! Two threads, each with a queue of its own, run one kernel on one buffer. Nobody locks, and nobody waits in between.
//!
//! The library orders kernels that use the same memory, on any queue and from any thread.
//!
//! Needs a device that compiles OpenCL C: `pip install "dpctl>=0.22,<0.24" intel-opencl-rt` in the active venv makes the CPU one.
//!
//! ```text
//! cargo run -p usm-memory --example two_queues
//! ```

use std::panic::resume_unwind;
use std::thread;

use usm_memory::usm_core::{Device, Kernel, KernelBundle, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{Result, TypedBuffer, submit_kernel};

/// Reads and writes each number, so two of these kernels at once would lose additions.
const SOURCE: &str = "kernel void add(global uint *x, uint by) { x[get_global_id(0)] += by; }";
const COUNT: usize = 1000;
const KERNELS: u32 = 50;

/// The first device that builds the kernel.
fn build() -> Option<(Device, Kernel)> {
    Runtime::global().devices().into_iter().find_map(|device| {
        let queue = Runtime::global().default_queue(&device).ok()?;
        let bundle = KernelBundle::from_opencl_source(queue.context(), &device, SOURCE, "").ok()?;
        Some((device, bundle.kernel("add").ok()?))
    })
}

/// Submits the kernel many times, and returns while the last ones may still run.
fn submit_all(queue: &Queue, kernel: &Kernel, numbers: &TypedBuffer<u32>, by: u32) -> Result<()> {
    for _ in 0..KERNELS {
        let arguments = [numbers.as_buffer().into(), by.into()];
        // SAFETY: 1. The kernel takes a pointer and a `uint`. 2. Each work-item changes one of the `COUNT` numbers in the buffer.
        unsafe { submit_kernel(queue, kernel, &arguments, COUNT, &[]) }?;
    }
    Ok(())
}

/// What both threads together added to each number.
fn added(device: &Device, kernel: &Kernel) -> Result<Vec<u32>> {
    let first = Runtime::global().default_queue(device)?;
    let second = first.context().create_queue(device, QueueProperties::default())?;
    let numbers = TypedBuffer::<u32>::allocate(&first, UsmKind::Device, COUNT)?;
    numbers.fill(0)?;
    thread::scope(|scope| {
        let both = [(&first, 1), (&second, 100)].map(|(queue, by)| {
            let numbers = numbers.clone(); // the same memory
            scope.spawn(move || submit_all(queue, kernel, &numbers, by))
        });
        both.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    numbers.to_vec() // waits for the kernels of both queues
}

fn main() -> Result<()> {
    let Some((device, kernel)) = build() else {
        println!("no device compiles OpenCL C here:\n{}", Runtime::global().doctor());
        return Ok(());
    };
    let numbers = added(&device, &kernel)?;
    let kernels = 2 * KERNELS;
    println!("{kernels} kernels of two queues on {}: each number is {}", device.filter_string(), numbers[0]);
    Ok(())
}

#[test]
fn no_addition_is_lost() {
    let Some((device, kernel)) = build() else {
        assert!(std::env::var_os("USM_REQUIRE_SYCL").is_none(), "{}", Runtime::global().doctor());
        return println!("not tested: no device compiles OpenCL C here");
    };
    let numbers = added(&device, &kernel).unwrap();
    assert_eq!(numbers, [KERNELS * 101; COUNT]);
}
