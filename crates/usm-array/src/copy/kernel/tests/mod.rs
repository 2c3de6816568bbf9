//! Kernels against a brute-force reference on the real SYCL device, and what happens where there are none
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod choice;
mod life;
mod measure;
mod reference;

use usm_core::testing::sycl_queue;
use usm_memory::usm_core::{Queue, QueueProperties, UsmKind};

use super::nest::{Job, Sharing};
use super::variant::MODULES;
use crate::copy::plan::Loop;
use crate::layout::brute_force::campaign;
use reference::Case;

fn kinds(queue: &Queue) -> impl Iterator<Item = UsmKind> {
    let info = queue.device().info();
    [UsmKind::Device, UsmKind::Shared, UsmKind::Host].into_iter().filter(|kind| info.supports(*kind))
}

const SIZES: [usize; 5] = [1, 2, 4, 8, 16];
const SHARINGS: [Sharing; 2] = [Sharing::Items, Sharing::Groups];

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

/// Loops of some rank: the target is a permuted array with gaps, walked either way, the source anything.
fn random_loops(numbers: &mut Numbers, rank: usize) -> Vec<Loop> {
    let longest = [400, 60, 16, 8, 5, 4, 3, 3][rank - 1];
    let mut next = 1 + numbers.next(3).cast_signed();
    let mut loops: Vec<Loop> = (0..rank)
        .map(|_| {
            let count = 1 + numbers.next(longest);
            let dst = if numbers.next(4) == 0 { -next } else { next };
            next *= count.cast_signed() + numbers.next(2).cast_signed();
            let src = [0, 1, -1, 2, 3, 7, -2, 16][numbers.next(8)];
            Loop { count, dst, src }
        })
        .collect();
    for i in (1..rank).rev() {
        loops.swap(i, numbers.next(i + 1));
    }
    loops
}

#[test]
fn any_loops_of_any_rank_in_any_kind_of_memory() {
    let Some(queue) = sycl_queue() else { return };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let kinds: Vec<_> = kinds(&queue).collect();
    // Half of the cases are copies, half of them fills.
    for round in 0..campaign().cases as usize / 2 / SIZES.len() {
        for item_bytes in SIZES {
            let loops = random_loops(&mut numbers, 1 + round % 8);
            let sharing = SHARINGS[numbers.next(2)];
            let (dst, src) = (kinds[numbers.next(kinds.len())], kinds[numbers.next(kinds.len())]);
            let case = Case { loops, item_bytes, sharing, dst, src };
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
            [(16, 16), (15, 17), (17, 15), (64, 64), (63, 65), (65, 257), (129, 63), (20, 1025)]
        {
            for (sign, gap) in [(1, 0), (-1, 3)] {
                let (width, height) = (cols as isize + gap, rows as isize + gap);
                let loops = vec![
                    Loop { count: 3, dst: width * rows as isize, src: height * cols as isize },
                    Loop { count: rows, dst: width, src: sign },
                    Loop { count: cols, dst: 1, src: sign * height },
                ];
                for sharing in SHARINGS {
                    let case = Case {
                        loops: loops.clone(),
                        item_bytes,
                        sharing,
                        dst: UsmKind::Device,
                        src: UsmKind::Device,
                    };
                    case.check(&queue, Job::Copy);
                }
            }
        }
    }
}

/// Rows and columns: around vectors of 16, around blocks of 16,384 columns, and short rows, which are taken in blocks of 1024 × 16.
const ROWS: [(usize, usize); 9] =
    [(1, 1), (1, 15), (1, 16), (2, 17), (3, 31), (2, 33), (1, 16_384), (2, 16_385), (5000, 3)];

#[test]
fn rows_around_the_edges_of_blocks_with_the_strides_that_have_kernels() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for src in [1, -1, 0, 2, 3, -2] {
            for (rows, cols) in ROWS {
                let loops = vec![
                    Loop { count: rows, dst: cols as isize + 1, src: 5 },
                    Loop { count: cols, dst: 1, src },
                ];
                for sharing in SHARINGS {
                    let case = Case {
                        loops: loops.clone(),
                        item_bytes,
                        sharing,
                        dst: UsmKind::Device,
                        src: UsmKind::Device,
                    };
                    case.check(&queue, Job::Copy);
                    case.check(&queue, Job::Fill);
                }
            }
        }
    }
}

#[test]
fn large_rows_that_begin_and_end_anywhere_in_a_line() {
    let Some(queue) = sycl_queue() else { return };
    for src in [1, -3] {
        // Each row begins one element further in its line than the one before.
        let loops = vec![Loop { count: 1025, dst: 1033, src: 7 }, Loop { count: 1031, dst: 1, src }];
        let sharing = super::Sharing::Items;
        let case = Case { loops, item_bytes: 8, sharing, dst: UsmKind::Device, src: UsmKind::Device };
        case.check(&queue, Job::Copy);
    }
}

#[test]
fn lines_of_transposes_that_begin_and_end_anywhere() {
    let Some(queue) = sycl_queue() else { return };
    for item_bytes in SIZES {
        for (cols, rows) in [(16_usize, 16), (17, 33), (23, 65), (71, 257), (129, 40), (31, 300), (8, 8)] {
            // Rows are whole lines apart, and each of the planes begins some elements further in its line than the one before.
            let (row_dst, col_src) = (cols.next_multiple_of(16) as isize, rows as isize + 3);
            let loops = vec![
                Loop { count: 17, dst: row_dst * rows as isize + 1, src: col_src * cols as isize },
                Loop { count: rows, dst: row_dst, src: 1 },
                Loop { count: cols, dst: 1, src: col_src },
            ];
            let (sharing, dst, src) = (Sharing::Items, UsmKind::Device, UsmKind::Host);
            Case { loops, item_bytes, sharing, dst, src }.check(&queue, Job::CopyPiece);
        }
    }
}

/// Every module has been run by the tests above only if it can be chosen; this one builds all of them.
#[test]
fn every_module_builds() {
    let Some(queue) = sycl_queue() else { return };
    let kernels = super::StridedKernels::new();
    let place = kernels.place(&queue);
    for (variant, module) in MODULES {
        let kernel = place.kernel(*variant).unwrap_or_else(|reason| panic!("{variant:?}: {reason}"));
        let pointers =
            if matches!(variant.family, super::Family::Fill | super::Family::FillLanes) { 3 } else { 2 };
        assert_eq!(kernel.info().num_args, pointers + 28, "{variant:?}, {} bytes", module.len());
    }
}

fn other_context(queue: &Queue) -> Queue {
    let context = usm_memory::usm_core::Context::new(&[queue.device().clone()]).unwrap();
    context.create_queue(queue.device(), QueueProperties::default()).unwrap()
}
