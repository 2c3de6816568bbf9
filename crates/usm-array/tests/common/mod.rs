//! What all integration tests share: the queues and kinds of memory to test on

#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod cast;

use proptest::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Layout, Order, SliceItem};
pub(crate) use usm_core::testing::queues;

pub(crate) const KINDS: [UsmKind; 3] = [UsmKind::Host, UsmKind::Device, UsmKind::Shared];

/// Every kind of memory of every queue whose device supports it.
pub(crate) fn places() -> Vec<(Queue, UsmKind)> {
    let mut places = vec![];
    for queue in queues() {
        for kind in KINDS {
            if queue.device().info().supports(kind) {
                places.push((queue.clone(), kind));
            } else {
                println!("{:?} does not support {kind} memory", queue.device());
            }
        }
    }
    assert!(places.len() >= KINDS.len(), "the host backend supports all kinds");
    places
}

/// Ten thousand cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn campaign() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { ProptestConfig::default() } else { ProptestConfig::with_cases(10_000) }
}

/// The indices of a shape in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |prefixes, &n| {
        prefixes.iter().flat_map(|prefix| (0..n).map(move |i| [&prefix[..], &[i]].concat())).collect()
    })
}

/// Where each element is, by the formula of the container specification, in row-major order.
pub(crate) fn displacements(layout: &Layout) -> Vec<usize> {
    let place = |index: &Vec<usize>| {
        let steps = index.iter().zip(layout.strides());
        let sum: i128 = steps.map(|(&i, &stride)| i as i128 * stride as i128).sum();
        usize::try_from(layout.offset() as i128 + sum).unwrap()
    };
    indices(layout.shape()).iter().map(place).collect()
}

/// Small layouts of any signs, with gaps and repeats, whose lowest element is the first one.
pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    prop::collection::vec((0_usize..5, -9_isize..=9), 0..4).prop_map(|axes| {
        let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        Layout::with_automatic_offset(&shape, Some(&strides), Order::C).unwrap()
    })
}

/// Small layouts without two indices for one element: slices of a permuted contiguous one.
pub(crate) fn injective_layouts() -> impl Strategy<Value = Layout> {
    prop::collection::vec((0_usize..5, 1_usize..3, 0_usize..2, any::<bool>()), 0..4)
        .prop_flat_map(|axes| {
            (Just((0..axes.len().cast_signed()).collect::<Vec<_>>()).prop_shuffle(), Just(axes))
        })
        .prop_map(|(order, axes)| {
            let outer: Vec<usize> = axes.iter().map(|&(n, step, skip, _)| n * step + skip).collect();
            let items: Vec<SliceItem> = axes
                .iter()
                .map(|&(n, step, skip, backwards)| {
                    let (skip, step) = (skip.cast_signed(), step.cast_signed());
                    let forwards = (Some(skip), None, step);
                    let from_end = (Some(-1 - skip), None, -step);
                    let (start, stop, step) = if backwards && n > 0 { from_end } else { forwards };
                    SliceItem::Slice { start, stop, step }
                })
                .collect();
            let whole = Layout::contiguous(&outer, Order::C).unwrap();
            whole.slice(&items).unwrap().permute(&order).unwrap()
        })
}
