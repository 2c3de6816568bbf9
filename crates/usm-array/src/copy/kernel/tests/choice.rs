//! Which kernel a copy gets, without a device

use super::super::nest::{Job, Nest, Sharing};
use super::super::variant::{Family, MODULES};
use crate::copy::plan::Loop;
use usm_memory::usm_core::{Error, KernelBundle, Runtime};

/// Count, stride in the target and in the source.
type Axis = (usize, isize, isize);

fn loops(loops: &[Axis]) -> Vec<Loop> {
    loops.iter().map(|&(count, dst, src)| Loop { count, dst, src }).collect()
}

fn nest(axes: &[Axis], item_bytes: usize) -> Nest {
    Nest::new(&loops(axes), item_bytes, Job::Copy, Sharing::Items, 4).unwrap()
}

#[test]
fn the_strides_choose_the_kernel() {
    let families: [(&[Axis], usize, Family); 22] = [
        (&[(1000, 1, 1)], 1, Family::Dense),
        (&[(1000, 1, -1)], 16, Family::Reversed),
        (&[(1000, -1, 1)], 8, Family::Reversed),
        (&[(1000, 1, 0)], 4, Family::Repeated),
        (&[(1000, 1, 2)], 4, Family::Even),
        (&[(1000, 1, 2)], 8, Family::Rows),
        (&[(1000, 1, 3)], 4, Family::Rows),
        (&[(1000, 2, 1)], 4, Family::Rows),
        (&[(300, 200, 1), (200, 1, 300)], 8, Family::Transpose),
        (&[(300, 200, -1), (200, 1, 300)], 1, Family::Transpose),
        (&[(300, 200, 1), (200, 1, 300)], 16, Family::Rows),
        (&[(300, 5, 1), (5, 1, 300)], 4, Family::Rows),
        (&[(1 << 10, 1 << 10, 1), (1 << 10, 1, 1 << 10)], 8, Family::StreamTranspose),
        (&[(1 << 10, 1032, 1), (1 << 10, 1, 1 << 10)], 8, Family::StreamTranspose),
        (&[(1 << 11, 1032, 1), (1 << 10, 1, 1 << 11)], 4, Family::Transpose),
        (&[(1 << 12, 1 << 12, 1), (1 << 12, 1, 1 << 12)], 2, Family::Transpose),
        (&[(300, 300, 400), (300, 1, 1)], 4, Family::Dense),
        (&[(1, 1, 1)], 4, Family::Rows),
        (&[(1 << 20, 1, -3)], 8, Family::Stream),
        (&[(1 << 20, 1, 1)], 16, Family::Dense),
        (&[(1 << 12, 1 << 9, 1 << 10), (1 << 9, 1, 0)], 8, Family::Stream),
        (&[((1 << 20) - 1, 1, 2)], 8, Family::Rows),
    ];
    for (axes, item_bytes, family) in families {
        assert_eq!(nest(axes, item_bytes).variant.family, family, "{axes:?} {item_bytes}");
    }
}

#[test]
fn pieces_go_past_the_caches_as_their_whole_does() {
    let of = |axes: &[Axis], item_bytes| {
        let nest = Nest::new(&loops(axes), item_bytes, Job::CopyPiece, Sharing::Items, 4).unwrap();
        nest.variant.family
    };
    assert_eq!(of(&[(300, 208, 1), (200, 1, 300)], 8), Family::StreamTranspose);
    assert_eq!(of(&[(300, 208, 1), (200, 1, 300)], 4), Family::StreamTranspose);
    assert_eq!(of(&[(300, 208, 1), (200, 1, 300)], 1), Family::Transpose);
    assert_eq!(of(&[(300, 201, 1), (200, 1, 300)], 8), Family::Transpose);
    assert_eq!(of(&[(1000, 1, 2)], 8), Family::Stream);
}

#[test]
fn what_no_kernel_can_do_says_why() {
    let nine = vec![Loop { count: 2, dst: 1, src: 1 }; 9];
    let copy =
        |loops: &[Loop], item_bytes| Nest::new(loops, item_bytes, Job::Copy, Sharing::Items, 4).unwrap_err();
    assert_eq!(copy(&nine, 4), "kernels have at most 8 loops");
    assert_eq!(copy(&nine[..1], 3), "no kernel has elements of this size");
    assert_eq!(copy(&nine[..1], 0), "no kernel has elements of this size");
    assert_eq!(copy(&loops(&[(0, 1, 1)]), 4), "a loop without steps");
    assert_eq!(copy(&loops(&[(3, isize::MIN, 1)]), 4), "displacements that no address has");
    assert_eq!(copy(&loops(&[(usize::MAX, 1, 0), (usize::MAX, 3, 0)]), 4), "more elements than memory has");
}

#[test]
fn the_groups_take_all_blocks() {
    for axes in [
        &[(1, 1, 1)][..],
        &[(1 << 30, 1, 1)],
        &[(3, 4096, 1), (4096, 1, 3)],
        &[(7, 999, 0), (9, 111, 5), (11, 10, 3), (3, 3, 1)],
    ] {
        for sharing in super::SHARINGS {
            for job in [Job::Copy, Job::Fill] {
                for units in [0, 1, 64, usize::MAX] {
                    let nest = Nest::new(&loops(axes), 4, job, sharing, units).unwrap();
                    assert!(nest.groups >= 1 && nest.per_group >= 1, "{nest:?}");
                    assert!(nest.groups * nest.per_group >= nest.blocks, "{nest:?}");
                    assert!((nest.groups - 1) * nest.per_group < nest.blocks, "{nest:?}");
                    assert!(nest.block_cols * nest.block_rows <= 1 << 14, "{nest:?}");
                }
            }
        }
    }
}

/// The host backend looks at the module before it says that it has no compiler.
#[test]
fn every_module_is_spirv() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for (variant, module) in MODULES {
        // SAFETY: valid modules, promise 1; the host backend builds none.
        let refused = unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), module, "") };
        assert!(matches!(refused, Err(Error::NotSupported { .. })), "{variant:?}: {refused:?}");
        let name = b"strided\0";
        assert!(module.windows(name.len()).any(|bytes| bytes == name), "{variant:?}");
    }
}
