//! Copies that are larger than one piece of staging memory, with small and with large gaps, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::Arc;

use common::{is_interpreted, recorded};
use usm_array::usm_core::backend::host::HostBackend;
use usm_array::usm_core::testing::{Method, RecordingBackend};
use usm_array::usm_core::{
    Aspects, Context, Partition, Queue, QueueProperties, Runtime, RuntimeOptions, UsmKind,
};
use usm_array::usm_memory::resource::{DefaultScope, DirectResource, LimitingResource};
use usm_array::{Casting, CopyMode, Dtype, Element, Layout, Order, SliceItem, UsmArray};

/// Also protected memory that only copies of a queue reach, as that of a GPU without kernels.
fn places() -> Vec<(Queue, UsmKind)> {
    let backend = RecordingBackend::new(Arc::new(HostBackend::new())).without_host_tasks();
    let runtime = Runtime::with_backend(Arc::new(backend)).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    assert!(!queue.runs_host_tasks());
    // The stand-in of the CUDA driver interprets kernels: these sizes would take minutes there.
    let places = common::places().into_iter().filter(|(queue, _)| !is_interpreted(queue));
    let mut places: Vec<_> = places.chain([(queue, UsmKind::Device)]).collect();
    // Device memory as that of a GPU, whose kernels do not reach the memory of the process: with `USM_STRICT_DEVICE=1`.
    let of_gpu = recorded(Aspects::USM_SYSTEM_ALLOCATIONS).map(|(_, queue)| (queue, UsmKind::Device));
    places.extend(of_gpu);
    places
}

fn every(step: isize) -> SliceItem {
    SliceItem::Slice { start: None, stop: None, step }
}

/// 9 MiB in 3 axes: several pieces.
const SHAPE: [usize; 3] = [24, 384, 128];

fn counting(queue: &Queue, kind: UsmKind) -> (UsmArray, Vec<u64>) {
    let numbers: Vec<u64> = (0..SHAPE.iter().product::<usize>() as u64).collect();
    (UsmArray::from_slice(queue, kind, &SHAPE, &numbers).unwrap(), numbers)
}

/// Views whose elements are known by a formula on their indices.
type Case = (&'static str, fn(&UsmArray) -> UsmArray, fn(usize, usize, usize) -> [usize; 3]);

const CASES: [Case; 5] = [
    ("every other column", |a| a.slice(&[every(1), every(1), every(2)]).unwrap(), |i, j, k| [i, j, 2 * k]),
    (
        "every other plane, large gaps",
        |a| a.slice(&[every(2), every(1), every(1)]).unwrap(),
        |i, j, k| [2 * i, j, k],
    ),
    (
        "a column of each plane",
        |a| a.slice(&[every(1), every(-300), every(1)]).unwrap(),
        |i, j, k| [i, 383 - 300 * j, k],
    ),
    ("axes reversed", UsmArray::transpose, |i, j, k| [k, j, i]),
    (
        "backwards",
        |a| a.slice(&[every(-1), every(-1), every(-1)]).unwrap(),
        |i, j, k| [23 - i, 383 - j, 127 - k],
    ),
];

/// The indices in the whole array that the elements of a view have, in row-major order.
fn places_of(view: &UsmArray, index: fn(usize, usize, usize) -> [usize; 3]) -> Vec<usize> {
    let [a, b, c] = view.shape() else { panic!("three axes") };
    let mut all = Vec::with_capacity(view.size());
    for i in 0..*a {
        for j in 0..*b {
            for k in 0..*c {
                let [x, y, z] = index(i, j, k);
                all.push((x * SHAPE[1] + y) * SHAPE[2] + z);
            }
        }
    }
    all
}

#[test]
fn reading_in_pieces() {
    let arrays: Vec<_> = places().into_iter().map(|(queue, kind)| counting(&queue, kind)).collect();
    for (name, view, index) in CASES {
        // As element `i` of the whole array is `i`.
        let expected: Vec<u64> =
            places_of(&view(&arrays[0].0), index).into_iter().map(|place| place as u64).collect();
        for (array, _) in &arrays {
            let (view, kind) = (view(array), array.kind());
            assert!(view.to_vec::<u64>().unwrap() == expected, "{name}, {kind}");
            assert!(view.copy().unwrap().to_vec::<u64>().unwrap() == expected, "{name}, {kind}");
        }
    }
}

/// The elements of the whole array, those at the given places with new values.
fn with(numbers: &[u64], places: &[usize], values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut all = numbers.to_vec();
    places.iter().zip(values).for_each(|(&place, value)| all[place] = value);
    all
}

#[test]
fn writing_in_pieces_leaves_the_gaps_alone() {
    let arrays: Vec<_> = places().into_iter().map(|(queue, kind)| counting(&queue, kind)).collect();
    for (name, view, index) in CASES {
        let (first, numbers) = &arrays[0];
        let places = places_of(&view(first), index);
        let values: Vec<u64> = (0..places.len() as u64).map(|i| i ^ 0x5a5a_0000_0000).collect();
        let nines = vec![9_u32; places.len()];
        let copied = with(numbers, &places, values.iter().copied());
        let [cast, filled] = [9, 3].map(|value| with(numbers, &places, places.iter().map(|_| value)));
        for (array, _) in &arrays {
            let (queue, kind, whole) = (array.queue(), array.kind(), array.copy().unwrap());
            let view = view(&whole);
            let source = UsmArray::from_slice(queue, UsmKind::Host, view.shape(), &values).unwrap();
            view.assign(&source).unwrap();
            assert!(whole.to_vec::<u64>().unwrap() == copied, "{name}, {kind}");

            // From the same kind, cast on the way, and a value everywhere.
            let small = UsmArray::from_slice(queue, kind, view.shape(), &nines).unwrap();
            view.assign_cast(&small, Casting::Unsafe).unwrap();
            assert!(whole.to_vec::<u64>().unwrap() == cast, "{name}, {kind}");
            view.fill(3_u64).unwrap();
            assert!(whole.to_vec::<u64>().unwrap() == filled, "{name}, {kind}");
        }
    }
}

/// Host memory in any order of its axes, forwards and backwards, to views in any order, and the other way round.
#[test]
fn host_memory_in_pieces() {
    let orders = [([0, 1, 2], 1), ([2, 1, 0], 1), ([2, 0, 1], -1)];
    let places = places().into_iter().filter(|(_, kind)| *kind == UsmKind::Device);
    let arrays: Vec<_> = places.map(|(queue, kind)| counting(&queue, kind)).collect();
    for (name, view, index) in CASES.into_iter().filter(|(name, ..)| !name.contains("plane")) {
        let (first, numbers) = &arrays[0];
        let (first, places) = (view(first), places_of(&view(first), index));
        let values: Vec<u64> = (0..places.len() as u64).map(|i| i ^ 0x5a5a_0000_0000).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        for (order, step) in orders {
            let axes = order.map(|axis| first.shape()[axis as usize]);
            let dense = Layout::contiguous(&axes, Order::C).unwrap();
            let mut back = [0; 3];
            order.into_iter().enumerate().for_each(|(place, axis)| back[axis as usize] = place as isize);
            let layout = dense.permute(&back).unwrap().slice(&[every(step); 3]).unwrap();
            let moved = layout.offsets().map(|offset| values[offset as usize]);
            let expected = with(numbers, &places, moved);
            for (array, _) in &arrays {
                let whole = array.copy().unwrap();
                view(&whole).copy_from_host_strided(&bytes, Dtype::U64, &layout).unwrap();
                assert!(whole.to_vec::<u64>().unwrap() == expected, "{name}, {order:?}, {step}");
            }
        }
    }
}

/// A kernel sorts the elements where there is one, also one that does not reach the memory of the process.
#[test]
fn kernels_sort_what_goes_to_device_memory_and_comes_from_there() {
    for hidden in [Aspects::empty(), Aspects::USM_SYSTEM_ALLOCATIONS] {
        let Some((recording, queue)) = recorded(hidden) else { return };
        let array = UsmArray::zeros(&queue, UsmKind::Device, &[1500, 1400], Dtype::F64).unwrap();
        let bytes: Vec<u8> = (0..array.size_bytes()).map(|i| ((i * 7) >> 3) as u8).collect();
        let reaches_all = queue.device().info().has(Aspects::USM_SYSTEM_ALLOCATIONS);
        let pieces = if reaches_all { 1 } else { array.size_bytes().div_ceil(4 << 20) };
        recording.clear();
        array.transpose().copy_from_host_contiguous(&bytes).unwrap();
        assert_eq!(recording.count(Method::SubmitKernel), pieces);
        assert!(array.transpose().to_bytes().unwrap() == bytes);
        let half = array.slice(&[every(1), every(-2)]).unwrap();
        recording.clear();
        let found = half.to_bytes().unwrap();
        assert_eq!(recording.count(Method::SubmitKernel), pieces.div_ceil(2));
        assert!(found == half.copy().unwrap().to_bytes().unwrap());
    }
}

/// Where staging memory is missing, also for the second of two buffers, another executor does all of the copy.
#[test]
fn without_host_usm_no_kernel_packs() {
    let Some((recording, queue)) = recorded(Aspects::USM_SYSTEM_ALLOCATIONS) else {
        return;
    };
    let array = UsmArray::zeros(&queue, UsmKind::Device, &[1500, 1400], Dtype::F64).unwrap();
    let bytes: Vec<u8> = (0..array.size_bytes()).map(|i| ((i * 7) >> 3) as u8).collect();
    for limit_bytes in [0, 4 << 20] {
        let limited = Arc::new(LimitingResource::new(Arc::new(DirectResource), limit_bytes));
        let _scope = DefaultScope::enter(std::slice::from_ref(queue.device()), limited);
        recording.clear();
        array.transpose().copy_from_host_contiguous(&bytes).unwrap();
        assert!(array.transpose().to_bytes().unwrap() == bytes);
        assert_eq!(recording.count(Method::SubmitKernel), 0, "{limit_bytes}");
    }
}

/// Copies that find no memory for what they put aside: the last steps of docs/decisions/0006-out-of-memory.md.
#[test]
fn copies_without_temporary_memory_are_right() {
    type Copy = (&'static str, fn(&UsmArray, &UsmArray));
    const COPIES: [Copy; 5] = [
        ("of bytes in common, dense", |a, _| {
            let flat = a.reshape(&[-1], Order::C, CopyMode::Never).unwrap();
            flat.slice((7..,)).unwrap().assign(&flat.slice((..-7,)).unwrap()).unwrap();
        }),
        ("of a few bytes in common", |a, _| {
            let row = a.slice((0, 0)).unwrap();
            row.slice((2..,)).unwrap().assign(&row.slice((..-2,)).unwrap()).unwrap();
        }),
        ("of bytes in common, strided", |a, _| {
            let (to, from) = ((every(1), 1.., every(2)), (every(1), ..-1, every(2)));
            a.slice(to).unwrap().assign(&a.slice(from).unwrap()).unwrap();
        }),
        ("from host memory, strided", |a, _| {
            let column = a.slice((every(1), every(1), 2)).unwrap();
            let bytes: Vec<u8> = (0..column.size_bytes()).map(|i| i as u8).collect();
            column.copy_from_host_contiguous(&bytes).unwrap();
        }),
        ("of elements that are cast to a narrow dtype", |a, narrow| {
            narrow.assign_cast(a, Casting::Unsafe).unwrap();
        }),
    ];
    let arrays = |queue: &Queue, kind| {
        let numbers: Vec<u64> = (0..24 * 30 * 16).map(|i| i % 200).collect();
        let a = UsmArray::from_slice(queue, kind, &[24, 30, 16], &numbers).unwrap();
        let narrow = UsmArray::zeros(queue, kind, a.shape(), Dtype::F8E4M3Fn).unwrap();
        (a, narrow)
    };
    let host = Runtime::new(RuntimeOptions::new().host_only());
    let host = host.default_queue(host.host_device()).unwrap();
    // Devices of runtimes of their own, so that the scope below is for no other test.
    let no_tasks = RecordingBackend::new(Arc::new(HostBackend::new())).without_host_tasks();
    let no_tasks = Runtime::with_backend(Arc::new(no_tasks)).unwrap();
    let mut queues = vec![host.clone(), no_tasks.default_queue(&no_tasks.default_device().unwrap()).unwrap()];
    queues.extend(recorded(Aspects::empty()).map(|(_, queue)| queue));
    for (name, copy) in COPIES {
        let (a, narrow) = arrays(&host, UsmKind::Shared);
        copy(&a, &narrow);
        let expected = [a.to_bytes().unwrap(), narrow.to_bytes().unwrap()];
        for queue in &queues {
            let (a, narrow) = arrays(queue, UsmKind::Device);
            let nothing = Arc::new(LimitingResource::new(Arc::new(DirectResource), 0));
            let scope = DefaultScope::enter(std::slice::from_ref(queue.device()), nothing);
            assert!(UsmArray::zeros(queue, UsmKind::Device, &[1], Dtype::U8).is_err());
            copy(&a, &narrow);
            let found = [a.to_bytes().unwrap(), narrow.to_bytes().unwrap()];
            assert!(found == expected, "{name}, {}", queue.device().filter_string());
            drop(scope);
        }
    }
}

/// Memory of one device whose transfers are submitted to a queue of another: kernels may not reach it, copies of the queue do.
#[test]
fn kernels_stay_away_from_memory_of_another_device() {
    for hidden in [Aspects::empty(), Aspects::USM_SYSTEM_ALLOCATIONS] {
        let Some((recording, queue)) = recorded(hidden) else { return };
        if queue.device().info().max_sub_devices < 2 {
            eprintln!("this device has no parts");
            return;
        }
        let parts = queue.device().create_sub_devices(&Partition::ByCounts(vec![1, 1])).unwrap();
        let context = Context::new(&parts).unwrap();
        let queues: Vec<Queue> =
            parts.iter().map(|part| context.create_queue(part, QueueProperties::IN_ORDER).unwrap()).collect();
        let own = UsmArray::zeros(&queues[0], UsmKind::Device, &[1500, 1400], Dtype::F64).unwrap();
        let bytes: Vec<u8> = (0..own.size_bytes()).map(|i| ((i * 7) >> 3) as u8).collect();
        for (array, uses_kernels) in [(own.on_queue(&queues[1]).unwrap(), false), (own.clone(), true)] {
            let view = array.transpose();
            recording.clear();
            view.copy_from_host_contiguous(&bytes).unwrap();
            assert_eq!(recording.count(Method::SubmitKernel) > 0, uses_kernels, "to the device");
            recording.clear();
            assert!(array.slice(&[every(1), every(-1)]).unwrap().to_bytes().unwrap().len() == bytes.len());
            view.fill(1.5).unwrap();
            view.assign(&view.copy_to(array.queue(), UsmKind::Host).unwrap()).unwrap();
            assert_eq!(recording.count(Method::SubmitKernel) > 0, uses_kernels, "from there, and fills");
            view.copy_from_host_contiguous(&bytes).unwrap();
            assert!(view.to_bytes().unwrap() == bytes);
        }
    }
}

#[test]
fn broadcast_sources_in_pieces() {
    for (queue, kind) in places() {
        let row = UsmArray::from_slice(&queue, kind, &[512], &(0..512).collect::<Vec<i64>>()).unwrap();
        let target = UsmArray::zeros(&queue, kind, &[1500, 1024], Dtype::F64).unwrap();
        let half = target.slice(&[every(1), every(2)]).unwrap();
        half.assign_cast(&row, Casting::Unsafe).unwrap();
        let found = target.to_vec::<f64>().unwrap();
        for (i, row) in found.chunks(1024).enumerate() {
            let expected = |k: usize| if k.is_multiple_of(2) { (k / 2) as f64 } else { 0.0 };
            assert!((0..1024).all(|k| row[k] == expected(k)), "row {i}, {kind}");
        }
    }
}

#[test]
fn overlapping_in_pieces_is_as_if_copied_first() {
    for (queue, kind) in places() {
        let (original, _) = counting(&queue, kind);
        let array = original.copy().unwrap();
        for (to, from) in [(0..20, 4..24), (4..24, 0..20)] {
            let part = |range: &std::ops::Range<usize>| SliceItem::Slice {
                start: Some(range.start as isize),
                stop: Some(range.end as isize),
                step: 1,
            };
            // Equal strides, then one side mirrored, then both halves of one pattern.
            for mirrored in [every(2), every(-2)] {
                array.assign(&original).unwrap();
                let target = array.slice(&[part(&to), every(1), every(2)]).unwrap();
                let source = array.slice(&[part(&from), every(1), mirrored]).unwrap();
                let values = source.to_vec::<u64>().unwrap();
                let before = array.to_vec::<u64>().unwrap();
                target.assign(&source).unwrap();
                assert!(target.to_vec::<u64>().unwrap() == values, "{to:?} from {from:?}, {kind}");
                let after = array.to_vec::<u64>().unwrap();
                let odd = |all: &[u64]| all.iter().skip(1).step_by(2).copied().collect::<Vec<_>>();
                assert!(odd(&after) == odd(&before), "the columns between, {kind}");
            }
        }
    }
}

#[test]
fn results_of_1_mib_on_threads() {
    results_on_threads::<u8, u16>((1 << 20) - 1);
}

#[test]
fn results_of_4_mib_on_threads() {
    results_on_threads::<u8, u16>((4 << 20) + 3);
}

#[test]
fn results_of_9_mib_on_threads() {
    results_on_threads::<u32, u64>((9 << 18) + 1);
}

/// So many elements, every other one of a row, and twice as many, cast to the wide type.
fn results_on_threads<T: Element + From<u8>, Wide: Element + From<T>>(len: usize) {
    let numbers: Vec<T> = (0..2 * len).map(|i| T::from((i % 251) as u8)).collect();
    let expected: Vec<T> = numbers.iter().copied().step_by(2).collect();
    let expected_wide: Vec<Wide> = numbers.iter().copied().map(Wide::from).collect();
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2 * len], &numbers).unwrap();
        let half = array.slice(&[every(2)]).unwrap();
        assert!(half.copy().unwrap().to_vec::<T>().unwrap() == expected, "{len}, {kind}");
        let wide = array.astype(Wide::DTYPE, CopyMode::Always).unwrap();
        assert!(wide.to_vec::<Wide>().unwrap() == expected_wide, "{len}, {kind}");
    }
}
