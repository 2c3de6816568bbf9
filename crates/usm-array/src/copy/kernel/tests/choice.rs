//! From plans to the numbers of a kernel, and the modules, without a device

use super::super::nest::{MAX_LOOPS, Nest};
use super::reference::{Axis, plan};
use crate::copy::plan::Loop;
use crate::device::{STRIDED_COPY, STRIDED_FILL};
use usm_memory::usm_core::{Error, KernelBundle, Runtime};

fn nest(axes: &[Axis]) -> Nest {
    Nest::new(&plan(axes), 4, 1).unwrap()
}

#[test]
fn the_rows_of_a_transpose_are_where_the_source_is_dense() {
    let rows_and_blocks = |axes: &[Axis]| {
        let nest = nest(axes);
        (nest.loops[1].src, nest.block_cols, nest.block_rows)
    };
    assert_eq!(rows_and_blocks(&[(300, 200, 1), (200, 1, 300)]), (1, 32, 32));
    assert_eq!(rows_and_blocks(&[(300, 1000, 2), (9, 100, -1), (100, 1, 700)]), (-1, 32, 9));
    assert_eq!(rows_and_blocks(&[(300, 400, 200), (200, 1, 1)]), (200, 200, 5));
    assert_eq!(rows_and_blocks(&[(300, 400, 0), (200, 1, 1)]), (0, 200, 5));
    assert_eq!(rows_and_blocks(&[(5000, 1, 3)]), (0, 1024, 1));
    // The others stay in their order.
    let axes = [(2, 48, 5), (2, 24, 50), (2, 12, 1), (2, 6, 500), (3, 2, 10)];
    let counted: Vec<isize> = nest(&axes).loops.iter().map(|axis| axis.src).collect();
    assert_eq!(counted, [10, 1, 500, 50, 5, 0, 0, 0]);
}

#[test]
fn nests_have_the_loops_of_their_plan() {
    let eight: Vec<Axis> = (0..8).map(|i| (2, 3_isize.pow(i), 5_isize.pow(7 - i))).collect();
    let mut loops = nest(&eight).loops.to_vec();
    loops.sort_by_key(|axis| axis.dst);
    let expected: Vec<Loop> = eight.iter().map(|&(count, dst, src)| Loop { count, dst, src }).collect();
    assert_eq!(loops, expected);
    let nine: Vec<Axis> = (0..=MAX_LOOPS as u32).map(|i| (2, 3_isize.pow(i), 5_isize.pow(8 - i))).collect();
    assert_eq!(Nest::new(&plan(&nine), 4, 1), None);
}

#[test]
fn the_groups_take_all_blocks() {
    for axes in [
        &[(1, 1, 1)][..],
        &[(1 << 30, 1, 1)],
        &[(3, 4096, 1), (4096, 1, 3)],
        &[(3, 40_000, 1), (11, 3003, 3), (9, 333, 5), (7, 47, 0)],
    ] {
        for units in [0, 1, 64, usize::MAX] {
            let nest = Nest::new(&plan(axes), units, 1).unwrap();
            assert!(nest.groups >= 1 && nest.per_group >= 1, "{nest:?}");
            assert!(nest.groups * nest.per_group >= nest.blocks, "{nest:?}");
            assert!((nest.groups - 1) * nest.per_group < nest.blocks, "{nest:?}");
            assert!(nest.block_cols * nest.block_rows <= 1 << 10, "{nest:?}");
        }
    }
}

/// The host backend looks at the module before it says that it has no compiler.
#[test]
fn every_module_is_spirv() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for module in STRIDED_COPY.iter().chain(&STRIDED_FILL) {
        // SAFETY: valid modules, promise 1; the host backend builds none.
        let refused = unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), module.spirv, "") };
        assert!(matches!(refused, Err(Error::NotSupported { .. })), "{refused:?}");
        let name = b"strided\0";
        assert!(module.spirv.windows(name.len()).any(|bytes| bytes == name));
    }
}
