//! How fast kernels are beside other ways, one after the other in alternation; the figures stand in `kernels/README.md`

use std::time::{Duration, Instant};

use super::super::{Launch, StridedKernels};
use super::sycl_queue;
use crate::copy::plan::CopyPlan;
use crate::{Dtype, SliceItem, UsmArray};
use usm_memory::usm_core::{Queue, UsmKind};

const BYTES: usize = 32 << 20;
const ROUNDS: usize = 15;

fn reversed() -> SliceItem {
    SliceItem::Slice { start: None, stop: None, step: -1 }
}

fn every_other() -> SliceItem {
    SliceItem::Slice { start: None, stop: None, step: 2 }
}

/// What is copied: a name, a shape, how it is sliced, how its axes are then permuted.
type Copy = (&'static str, Dtype, Vec<usize>, Vec<SliceItem>, Vec<isize>);

fn copies() -> Vec<Copy> {
    let n = |dtype: Dtype| BYTES / dtype.itemsize_bytes();
    let mut copies: Vec<Copy> = Vec::new();
    for dtype in [Dtype::U8, Dtype::F32, Dtype::F64, Dtype::C128] {
        copies.push(("a[::2]", dtype, vec![2 * n(dtype)], vec![every_other()], vec![0]));
    }
    for dtype in [Dtype::U8, Dtype::F64] {
        copies.push(("a[::-1]", dtype, vec![n(dtype)], vec![reversed()], vec![0]));
    }
    copies.push((
        "a[:, ::2]",
        Dtype::F64,
        vec![2048, 4096],
        vec![SliceItem::FULL, every_other()],
        vec![0, 1],
    ));
    copies.push((
        "(n, 4)[:, ::2]",
        Dtype::F64,
        vec![BYTES / 16, 4],
        vec![SliceItem::FULL, every_other()],
        vec![0, 1],
    ));
    for (dtype, shape) in [
        (Dtype::U8, [8192, 4096]),
        (Dtype::F32, [4096, 2048]),
        (Dtype::F64, [2048, 2048]),
        (Dtype::F64, [2300, 1823]),
        (Dtype::C128, [2048, 1024]),
    ] {
        copies.push(("a.T", dtype, shape.to_vec(), vec![], vec![1, 0]));
    }
    copies.push(("4 KiB of a[::2]", Dtype::F32, vec![2048], vec![every_other()], vec![0]));
    copies.push(("(2, 0, 1)", Dtype::F64, vec![64, 256, 256], vec![], vec![2, 0, 1]));
    copies.push(("reversed axes", Dtype::F32, vec![16, 32, 32, 16, 32], vec![], vec![4, 3, 2, 1, 0]));
    copies
}

fn timed(times: &mut Vec<Duration>, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    times.push(start.elapsed());
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn source(queue: &Queue, kind: UsmKind, (_, dtype, shape, items, order): &Copy) -> UsmArray {
    let whole = UsmArray::zeros(queue, kind, shape, *dtype).unwrap();
    let start = std::ptr::with_exposed_provenance_mut::<u8>(whole.buffer().address());
    // Pages that nobody has written to may all be the same one.
    // SAFETY: the bytes of the array; waited for.
    unsafe { queue.memset(start, 7, whole.size_bytes(), &[]) }.unwrap().wait().unwrap();
    whole.slice(items).unwrap().permute(order).unwrap()
}

/// A measurement, not a test: run it alone, with `--release --run-ignored only --no-capture`.
#[test]
#[ignore = "a measurement"]
fn figures() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = StridedKernels::new();
    println!(
        "| copy | kernel | build | queue memcpy | kernel / memcpy | host engine / memcpy | kernel / host engine |"
    );
    for copy in copies() {
        let dtype = copy.1;
        let n = dtype.itemsize_bytes();
        let src = source(&queue, UsmKind::Device, &copy);
        let dst = UsmArray::zeros(&queue, UsmKind::Device, src.shape(), dtype).unwrap();
        let shared_src = source(&queue, UsmKind::Shared, &copy);
        let shared_dst = UsmArray::zeros(&queue, UsmKind::Shared, src.shape(), dtype).unwrap();
        let plan = CopyPlan::new(dst.layout(), src.layout()).unwrap();
        let loops = plan.loops.to_vec();
        let to = std::ptr::with_exposed_provenance_mut::<u8>(dst.buffer().address());
        let from = std::ptr::with_exposed_provenance_mut::<u8>(src.buffer().address());
        let to_first = to.wrapping_offset(plan.dst_start * n.cast_signed());
        let from_first = from.wrapping_offset(plan.src_start * n.cast_signed());
        let kernel = || {
            // SAFETY: the elements of two arrays of their own, by P1; waited for.
            let launch =
                unsafe { kernels.copy_strided(&queue, to_first, from_first, &loops, n, &[]) }.unwrap();
            let Launch::Submitted(event) = launch else { panic!("{launch:?}") };
            event.wait().unwrap();
        };
        let start = Instant::now();
        kernel();
        let first = start.elapsed();
        let [mut by_kernel, mut by_memcpy, mut by_host] = [(); 3].map(|()| Vec::new());
        for _ in 0..ROUNDS {
            timed(&mut by_kernel, kernel);
            timed(&mut by_memcpy, || {
                // SAFETY: the first bytes of two arrays of their own; waited for.
                unsafe { queue.memcpy(to, from, dst.size_bytes(), &[]) }.unwrap().wait().unwrap();
            });
            timed(&mut by_host, || shared_dst.assign(&shared_src).unwrap());
        }
        let [kernel, memcpy, host] =
            [&mut by_kernel, &mut by_memcpy, &mut by_host].map(|times| median(times));
        let place = kernels.place(&queue);
        let nest = super::super::nest(&place, &loops, n, super::Job::Copy, place.sharing()).unwrap();
        println!(
            "| `{}` {dtype} | {:?} | {:.0} ms | {:.1} GB/s | {:.2} | {:.2} | {:.2} |",
            copy.0,
            nest.variant.family,
            (first.as_secs_f64() - kernel) * 1e3,
            2e-9 * dst.size_bytes() as f64 / memcpy,
            kernel / memcpy,
            host / memcpy,
            kernel / host,
        );
    }
}
