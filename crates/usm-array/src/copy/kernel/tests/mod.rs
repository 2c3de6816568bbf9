//! Kernels against a brute-force reference on the real SYCL device, and what happens where there are none
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod choice;
mod life;
mod reference;

use usm_core::testing::sycl_queue;
use usm_memory::usm_core::{Queue, QueueProperties, UsmKind};

use super::Job;
use crate::device::SIZES;
use crate::layout::brute_force::campaign;
use reference::{Axis, Case};

fn kinds(queue: &Queue) -> impl Iterator<Item = UsmKind> {
    let info = queue.device().info();
    [UsmKind::Device, UsmKind::Shared, UsmKind::Host].into_iter().filter(|kind| info.supports(*kind))
}

/// Work-items of a group on a CPU and on other devices.
const LANES: [usize; 2] = [1, 64];

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
    for round in 0..campaign().cases as usize / 2 / SIZES.len() {
        for item_bytes in SIZES {
            let axes = random_axes(&mut numbers, 1 + round % 8);
            let (dst, src) = (kinds[numbers.next(kinds.len())], kinds[numbers.next(kinds.len())]);
            let lanes = LANES[numbers.next(2)];
            let case = Case { axes, item_bytes, lanes, dst, src };
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
                for lanes in LANES {
                    let (axes, dst, src) = (axes.clone(), UsmKind::Device, UsmKind::Device);
                    Case { axes, item_bytes, lanes, dst, src }.check(&queue, Job::Copy);
                }
            }
        }
    }
}

/// Rows and columns: around blocks of 1024 columns, and short rows, which are taken in blocks of several.
const ROWS: [(usize, usize); 9] =
    [(1, 1), (1, 15), (1, 16), (2, 17), (3, 31), (33, 33), (1, 1024), (2, 1025), (5000, 3)];

#[test]
fn rows_around_the_edges_of_blocks() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for src in [1, -1, 0, 2, 3, -2] {
            for (rows, cols) in ROWS {
                let axes = vec![(rows, cols as isize + 1, 5), (cols, 1, src)];
                for lanes in LANES {
                    let (axes, dst, src) = (axes.clone(), UsmKind::Device, UsmKind::Device);
                    let case = Case { axes, item_bytes, lanes, dst, src };
                    case.check(&queue, Job::Copy);
                    case.check(&queue, Job::Fill);
                }
            }
        }
    }
}

/// Every module has been run by the tests above only if it can be chosen; this one builds all of them.
#[test]
fn every_module_builds() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = crate::device::Kernels::new();
    let on_device = kernels.on_device(&queue);
    for (job, ends) in [(Job::Copy, 2), (Job::Fill, 3)] {
        for size in SIZES {
            let kernel = super::kernel(&on_device, job, size)
                .unwrap_or_else(|reason| panic!("{job:?} of {size} bytes: {reason}"));
            assert_eq!(kernel.info().num_args, ends + 28, "{job:?} of {size} bytes");
        }
    }
}

fn other_context(queue: &Queue) -> Queue {
    let context = usm_memory::usm_core::Context::new(&[queue.device().clone()]).unwrap();
    context.create_queue(queue.device(), QueueProperties::default()).unwrap()
}
