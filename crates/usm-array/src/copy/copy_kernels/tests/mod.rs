//! Kernels against a brute-force reference on the real SYCL device, and what happens where there are none
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod casts;
mod life;
pub(super) mod reader;
mod reference;

use proptest::prelude::ProptestConfig;
use usm_core::testing::{cuda_queue, sycl_queue};
use usm_memory::usm_core::{Error, Event, KernelBundle, Queue, QueueProperties, Runtime, UsmKind};

use super::{Elements, KernelWork};
use crate::copy::plan::CopyPlan;
use crate::kernel_engine::{Kernels, SIZES, all_modules};
use reference::{Axis, Case, Job};

fn kinds(queue: &Queue) -> impl Iterator<Item = UsmKind> {
    let info = queue.device().info();
    [UsmKind::Device, UsmKind::Shared, UsmKind::Host].into_iter().filter(|kind| info.supports(*kind))
}

/// Queues of all backends that have kernels. The stand-in for the CUDA driver interprets them, which takes its time.
fn kernel_queues() -> impl Iterator<Item = Queue> {
    sycl_queue().into_iter().chain(cuda_queue())
}

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % below
    }
}

/// Axes of some rank: the target is a permuted array with gaps, walked either way, the source anything.
fn random_axes(numbers: &mut Numbers, rank: usize) -> Vec<Axis> {
    let longest = [400, 60, 16, 8, 5, 4, 3, 3][rank - 1];
    let mut next = 1 + numbers.next(3).cast_signed();
    let mut axes: Vec<Axis> = (0..rank)
        .map(|_| {
            let count = 1 + numbers.next(longest);
            let dst = if numbers.next(4) == 0 { -next } else { next };
            next *= count.cast_signed() + numbers.next(2).cast_signed();
            let src = [0, 1, -1, 2, 3, 7, -2, 16][numbers.next(8)];
            (count, dst, src)
        })
        .collect();
    for i in (1..rank).rev() {
        axes.swap(i, numbers.next(i + 1));
    }
    axes
}

#[test]
fn any_loops_of_any_rank_in_any_kind_of_memory() {
    let Some(queue) = sycl_queue() else { return };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let kinds: Vec<_> = kinds(&queue).collect();
    // Half of the cases are copies, half of them fills.
    for round in 0..ProptestConfig::default().cases as usize / 2 / SIZES.len() {
        for item_bytes in SIZES {
            let axes = random_axes(&mut numbers, 1 + round % 8);
            let (dst, src) = (kinds[numbers.next(kinds.len())], kinds[numbers.next(kinds.len())]);
            let case = Case { axes, item_bytes, dst, src };
            case.check(&queue, Job::Copy);
            case.check(&queue, Job::Fill);
        }
    }
}

#[test]
fn transposes_around_the_edges_of_blocks() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for (cols, rows) in
            [(16, 16), (31, 33), (33, 31), (64, 64), (63, 65), (65, 257), (129, 63), (20, 1025)]
        {
            for (sign, gap) in [(1, 0), (-1, 3)] {
                let (width, height) = (cols as isize + gap, rows as isize + gap);
                let axes = vec![
                    (3, width * rows as isize, height * cols as isize),
                    (rows, width, sign),
                    (cols, 1, sign * height),
                ];
                let (dst, src) = (UsmKind::Device, UsmKind::Device);
                Case { axes, item_bytes, dst, src }.check(&queue, Job::Copy);
            }
        }
    }
}

/// Rows and columns: around blocks of 1024 columns, long rows, and short rows, which are taken in blocks of several.
const ROWS: [(usize, usize); 10] =
    [(1, 1), (1, 15), (1, 16), (2, 17), (3, 31), (33, 33), (1, 1024), (2, 1025), (3, 5003), (5000, 3)];

#[test]
fn rows_around_the_edges_of_blocks() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for src in [1, -1, 0, 2, 3, -2] {
            for (rows, cols) in ROWS {
                let axes = vec![(rows, cols as isize + 1, 5), (cols, 1, src)];
                let (axes, dst, src) = (axes.clone(), UsmKind::Device, UsmKind::Device);
                let case = Case { axes, item_bytes, dst, src };
                case.check(&queue, Job::Copy);
                case.check(&queue, Job::Fill);
            }
        }
    }
}

/// Records of a few elements more than are taken: runs that begin and end anywhere in a line, with others around them.
#[test]
fn short_rows_out_of_records() {
    for queue in kernel_queues() {
        for (row, pitch) in [(2_isize, 3_isize), (3, 4), (4, 5), (4, 8), (5, 7), (7, 7), (10, 11), (11, 13)] {
            for (rows, gap, shift) in [(2100_isize, 0, 0), (2731, 1, 0), (4096, 128, 3), (2500, 77, -1)] {
                for item_bytes in [1, 2] {
                    let axes = vec![
                        (2, rows * row + gap, rows * pitch + shift),
                        (rows.cast_unsigned(), row, pitch),
                        (row.cast_unsigned(), 1, 1),
                    ];
                    let (dst, src) = (UsmKind::Device, UsmKind::Device);
                    Case { axes, item_bytes, dst, src }.check(&queue, Job::Copy);
                }
            }
        }
    }
}

/// Rows of one element, and such that are the same: several places get one vector.
#[test]
fn broadcast_rows_and_columns() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for (rows, cols) in [(2, 100), (5, 1000), (33, 257), (9, 4096)] {
            for (pitch, row, col) in [(cols, 0, 1), (cols, 1, 0), (cols + 1, 0, 1), (cols + 16, 0, 0)] {
                let axes = vec![(rows, pitch as isize, row), (cols, 1, col)];
                let (dst, src) = (UsmKind::Device, UsmKind::Device);
                Case { axes, item_bytes, dst, src }.check(&queue, Job::Copy);
            }
        }
    }
}

/// Addresses that are no multiples of the size: elements are moved as smaller ones.
#[test]
fn misaligned_elements_are_copied() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = Kernels::new();
    let block = queue.allocate(UsmKind::Shared, 1 << 12).unwrap();
    let start = block.as_ptr().as_ptr();
    let bytes: Vec<u8> = (0..1 << 12).map(|i| (i * 7 + i / 256) as u8).collect();
    for (dst, src, item_bytes) in [(1, 2048, 8), (4, 2050, 16), (8, 2048, 16), (2, 2052, 4), (3, 2049, 2)] {
        for axes in [&[(100, 1, 1)][..], &[(60, 2, 1)], &[(60, 1, -2)], &[(5, 20, 1), (9, 2, 5)]] {
            // SAFETY: the whole block, waited for.
            unsafe { queue.memcpy(start, bytes.as_ptr(), bytes.len(), &[]) }.unwrap().wait().unwrap();
            let plan = reference::plan(axes);
            let mut expected = bytes.clone();
            let [to, from] =
                reference::layouts(axes).map(|layout| crate::layout::brute_force::displacements(&layout));
            for (to, from) in to.into_iter().zip(from) {
                let (to, from) = (dst + to as usize * item_bytes, src + from as usize * item_bytes);
                expected[to..to + item_bytes].copy_from_slice(&bytes[from..from + item_bytes]);
            }
            let elements = Elements::of_size(item_bytes);
            let (to, from) = (start.wrapping_add(dst), start.wrapping_add(src));
            // SAFETY: within the halves of the block, waited for.
            unsafe { kernels.copy(&queue, &plan, elements, to, from, &[]) }.unwrap().wait().unwrap();
            // SAFETY: shared memory that nothing uses any more.
            let found = unsafe { std::slice::from_raw_parts(start, bytes.len()) };
            assert!(found == expected, "{item_bytes} bytes at {dst} from {src}, {axes:?}");
        }
    }
}

/// More loops than a kernel has are several launches.
#[test]
fn ten_loops_are_launches_of_eight() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        let axes: Vec<Axis> =
            (0..10).map(|i| (2 + i / 8, 4_isize.pow(i as u32), 3 + 2 * i as isize)).collect();
        let (dst, src) = (UsmKind::Device, UsmKind::Device);
        let case = Case { axes, item_bytes, dst, src };
        case.check(&queue, Job::Copy);
        case.check(&queue, Job::Fill);
    }
}

/// A kernel of each family of modules.
const KERNELS: [&str; 21] = [
    "long_rows",
    "rows",
    "short_rows",
    "select",
    "elements",
    "tile",
    "tile_box",
    "window",
    "window_box",
    "cast_tile",
    "split2",
    "split3",
    "split4",
    "join2",
    "join3",
    "join4",
    "gather",
    "integers",
    "check",
    "reduce",
    "relate",
];

/// Every module has been run by the tests above only if it can be chosen; this one builds all of them.
#[test]
#[ignore = "takes minutes: `cargo xtask verify modules`"]
fn every_module_builds() {
    let Some(queue) = sycl_queue() else { return };
    let on_device = Kernels::new().on_device(&queue);
    for module in all_modules() {
        assert!(KERNELS.iter().any(|name| on_device.kernel(module, name).is_ok()), "{module:?}");
    }
}

/// The host backend looks at the module before it says that it has no compiler.
#[test]
fn every_module_is_spirv() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for module in all_modules() {
        // SAFETY: valid modules, promise 1; the host backend builds none.
        let refused =
            unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), &module.spirv(), "") };
        assert!(matches!(refused, Err(Error::NotSupported { .. })), "{refused:?}");
    }
}

impl Kernels {
    /// Sets the elements of a plan.
    ///
    /// # Safety
    /// Those of [`Launches::submit`](super::Launches::submit).
    unsafe fn fill(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        element: &[u8],
        dst: *mut u8,
        after: &[Event],
    ) -> usm_memory::Result<Event> {
        let launches = self.launches(queue, KernelWork::Fill(element), plan, [dst.expose_provenance(), 0]);
        // SAFETY: the caller's promises 1 to 4.
        Ok(unsafe { launches.map_err(super::refused(queue))?.submit(queue, after) }?)
    }
}

fn other_context(queue: &Queue) -> Queue {
    let context = usm_memory::usm_core::Context::new(&[queue.device().clone()]).unwrap();
    context.create_queue(queue.device(), QueueProperties::default()).unwrap()
}
