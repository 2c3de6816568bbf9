//! What all integration tests share: the queues and kinds of memory to test on

#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../src/layout/brute_force.rs"]
mod brute_force;
pub(crate) mod cast;

use std::sync::Arc;

use proptest::prelude::*;
use usm_array::usm_core::backend::Backend;
use usm_array::usm_core::testing::RecordingBackend;
use usm_array::usm_core::{Aspects, BackendId, Queue, Runtime, UsmKind};
use usm_array::{BufferSource, Element, Layout, Order, SliceItem, UsmArray};
pub(crate) use usm_core::testing::queues;

pub(crate) use self::brute_force::indices;

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

/// A queue of the real device whose calls are recorded, if there is one, without some of its aspects.
pub(crate) fn recorded(hidden: Aspects) -> Option<(Arc<RecordingBackend>, Queue)> {
    queues().iter().find(|queue| queue.backend_id() == BackendId::Sycl)?;
    let backend: Arc<dyn Backend> = Arc::clone(Runtime::global().sycl_backend().unwrap());
    let recording = Arc::new(RecordingBackend::new(backend).without_aspects(hidden));
    let runtime = Runtime::with_backend(recording.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    Some((recording, queue))
}

/// Whether the device is of the stand-in of the CUDA driver, whose interpreter takes minutes where a GPU takes seconds.
pub(crate) fn is_interpreted(queue: &Queue) -> bool {
    queue.backend_id() == BackendId::Cuda && std::env::var_os("USM_CUDA_DRIVER").is_some()
}

/// An array with a layout over the given elements.
pub(crate) fn strided<T: Element>(queue: &Queue, kind: UsmKind, layout: &Layout, memory: &[T]) -> UsmArray {
    let base = UsmArray::from_slice(queue, kind, &[memory.len()], memory).unwrap();
    UsmArray::builder(layout.shape(), T::DTYPE)
        .strides(layout.strides())
        .offset(layout.offset())
        .build(BufferSource::SharedWith(&base))
        .unwrap()
}

/// Where each element is, by the formula of the container specification, in row-major order.
pub(crate) fn displacements(layout: &Layout) -> Vec<usize> {
    brute_force::displacements(layout).into_iter().map(|place| usize::try_from(place).unwrap()).collect()
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
