//! Operations on memory that host code does not reach are kernels: few of them, and nothing but answers comes to the host.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::Arc;

use usm_array::usm_core::backend::Backend;
use usm_array::usm_core::testing::{Method, RecordingBackend};
use usm_array::usm_core::{BackendId, Queue, Runtime, UsmKind};
use usm_array::usm_memory::resource::{self, DirectResource, PoolOptions, PoolResource};
use usm_array::{
    Bool8, CopyMode, CreateOptions, Dtype, IndexItem, IndexMode, Order, Repeats, Scalar, SliceItem, UsmArray,
    where_,
};

/// Queues of devices whose calls are recorded: those of which host code does not reach the memory.
fn recorded() -> Vec<(Arc<RecordingBackend>, Queue)> {
    let record = |backend| {
        let recording = Arc::new(RecordingBackend::new(backend));
        let runtime = Runtime::with_backend(recording.clone()).unwrap();
        // Memory that is not of a pool waits for its work where it is dropped.
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        resource::set_default_resource(&runtime.default_device().unwrap(), Arc::new(pool));
        let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
        let memory = UsmArray::zeros(&queue, UsmKind::Device, &[1], Dtype::U8).unwrap();
        (!memory.is_host_reachable()).then_some((recording, queue))
    };
    let backends: Vec<Arc<dyn Backend>> = sycl().into_iter().chain(cuda()).collect();
    backends.into_iter().filter_map(record).collect()
}

fn sycl() -> Option<Arc<dyn Backend>> {
    common::queues().iter().find(|queue| queue.backend_id() == BackendId::Sycl)?;
    Some(Arc::clone(Runtime::global().sycl_backend().unwrap()))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<Arc<dyn Backend>> {
    None
}

/// The driver, or its stand-in, as the runtime finds it.
#[cfg(feature = "cuda")]
fn cuda() -> Option<Arc<dyn Backend>> {
    use usm_array::usm_core::backend::cuda::{CudaBackend, LIBRARY};

    common::queues().iter().find(|queue| queue.backend_id() == BackendId::Cuda)?;
    let driver = std::env::var_os("USM_CUDA_DRIVER").unwrap_or_else(|| LIBRARY.into());
    // SAFETY: the process has loaded this driver already.
    Some(Arc::new(unsafe { CudaBackend::load(&driver, 0) }.unwrap()))
}

/// A matrix of 64 × 64 numbers, counted from 0.
fn matrix(queue: &Queue) -> UsmArray {
    let values: Vec<f32> = (0..4096_u16).map(f32::from).collect();
    UsmArray::from_slice(queue, UsmKind::Device, &[64, 64], &values).unwrap()
}

/// Operations, their kernels, and how often their results are waited for.
#[test]
fn each_operation_is_so_many_kernels_and_waits() {
    for (recording, queue) in recorded() {
        count_kernels_and_waits(&recording, &queue);
    }
}

fn count_kernels_and_waits(recording: &RecordingBackend, queue: &Queue) {
    let a = matrix(queue);
    let indices: Vec<i64> = (0..64).map(|i| i * 7 % 64).collect();
    let index = UsmArray::from_slice(queue, UsmKind::Device, &[64], &indices).unwrap();
    let twice = UsmArray::from_slice(queue, UsmKind::Device, &[3], &[5_i64, 2, 5]).unwrap();
    let b = a.slice((..3, ..)).unwrap().copy().unwrap();
    let (other, mask) = (matrix(queue), a.greater(100).unwrap());
    let [large, huge] = [4097, 1 << 18 | 1]
        .map(|len| UsmArray::from_slice(queue, UsmKind::Device, &[len], &vec![1_i64; len]).unwrap());
    let [large_mask, huge_mask] = [&large, &huge].map(|array| array.equal(1).unwrap());
    let new = CreateOptions::new(queue, UsmKind::Device);
    let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
    let turned = a.transpose().slice(&[backwards]).unwrap();
    type Operation<'a> = (&'a str, [usize; 2], Box<dyn Fn() + 'a>);
    let operations: [Operation<'_>; 26] = [
        ("==", [1, 0], Box::new(|| drop(a.equal(&turned).unwrap()))),
        ("isfinite", [1, 0], Box::new(|| drop(turned.isfinite().unwrap()))),
        ("and", [1, 0], Box::new(|| drop(a.logical_and(&turned).unwrap()))),
        ("isclose", [1, 0], Box::new(|| drop(a.isclose(&turned, usm_array::Tolerance::default()).unwrap()))),
        ("sum", [1, 0], Box::new(|| drop(a.sum(None, false, None).unwrap()))),
        ("sum of columns", [1, 0], Box::new(|| drop(a.sum(Some(&[0]), false, None).unwrap()))),
        ("max", [1, 0], Box::new(|| drop(turned.max(Some(&[1]), false).unwrap()))),
        ("all", [1, 1], Box::new(|| assert!(!a.is_all().unwrap()))),
        ("take", [1, 1], Box::new(|| drop(a.take(&index, Some(1), IndexMode::Raise).unwrap()))),
        ("take of rows", [1, 1], Box::new(|| drop(a.get_index(&[(&index).into()]).unwrap()))),
        // No integer is outside.
        ("take, wrapped", [1, 0], Box::new(|| drop(a.take(&index, Some(1), IndexMode::Wrap).unwrap()))),
        // Put together, then read.
        (
            "take along",
            [2, 1],
            Box::new(|| {
                let along = index.expand_dims(&[1]).unwrap();
                drop(a.take_along_axis(&along, Some(1), IndexMode::Raise).unwrap());
            }),
        ),
        // Checked and written, without a wait in between.
        ("put", [2, 1], Box::new(|| a.set_index(&[(&index).into()], Scalar::Float(1.0)).unwrap())),
        ("put of rows", [2, 1], Box::new(|| a.set_index(&[(&index).into()], &other).unwrap())),
        // The same, which writes nothing; then the last ones are found, and written.
        ("put twice", [4, 1], Box::new(|| a.set_index(&[(&twice).into()], &b).unwrap())),
        ("a[mask]", [1, 1], Box::new(|| drop(a.get_index(&[(&mask).into()]).unwrap()))),
        ("a[mask] = 1", [1, 0], Box::new(|| a.set_index(&[(&mask).into()], Scalar::Int(1)).unwrap())),
        ("count", [1, 1], Box::new(|| assert_eq!(mask.count_nonzero_total().unwrap(), 3995))),
        // Counted, then moved.
        (
            "a[mask] of several groups",
            [2, 1],
            Box::new(|| drop(large.get_index(&[(&large_mask).into()]).unwrap())),
        ),
        // Counted and summed up, then moved.
        ("a[mask] of 2 MiB", [3, 1], Box::new(|| drop(huge.get_index(&[(&huge_mask).into()]).unwrap()))),
        // Found, and the indices along both axes.
        ("nonzero", [3, 1], Box::new(|| drop(mask.nonzero().unwrap()))),
        ("where", [1, 0], Box::new(|| drop(where_(&mask, &a, Scalar::Int(0)).unwrap()))),
        (
            "arange",
            [1, 0],
            Box::new(|| {
                drop(new.arange(Scalar::Int(0), Scalar::Int(99), Scalar::Int(1)).unwrap());
            }),
        ),
        (
            "linspace",
            [1, 0],
            Box::new(|| {
                drop(new.linspace(Scalar::Int(0), Scalar::Float(1.0), 99, true).unwrap());
            }),
        ),
        ("tril", [1, 0], Box::new(|| drop(turned.tril(1).unwrap()))),
        ("repeat", [1, 0], Box::new(|| drop(a.repeat(Repeats::Counts(&[3; 64]), Some(0)).unwrap()))),
    ];
    for (name, expected, operation) in operations {
        queue.wait().unwrap();
        recording.clear();
        operation();
        let found = [Method::SubmitKernel, Method::Wait].map(|method| recording.count(method));
        assert_eq!(found, expected, "{name} on {:?}", queue.device());
    }
}

#[test]
fn large_masks_and_sums_are_of_several_groups() {
    for (_, queue) in recorded() {
        move_large_masks(&queue);
    }
}

fn move_large_masks(queue: &Queue) {
    // More than the groups of one level have, and no whole tile at the end.
    let most = if common::is_interpreted(queue) { 40 * 4096 + 5 } else { 4096 * 4096 + 4097 };
    let lens = [4095_usize, 4097, most];
    for len in lens {
        let bits: Vec<Bool8> = (0..len).map(|i| (i % 3 == 1 || i % 1000 == 7).into()).collect();
        let mask = UsmArray::from_slice(queue, UsmKind::Device, &[len], &bits).unwrap();
        let expected: Vec<i64> = (0..len as i64).filter(|i| i % 3 == 1 || i % 1000 == 7).collect();
        assert_eq!(mask.nonzero().unwrap()[0].to_vec::<i64>().unwrap(), expected, "{len}");
        let numbers: Vec<i64> = (0..len as i64).collect();
        let numbers = UsmArray::from_slice(queue, UsmKind::Device, &[len], &numbers).unwrap();
        assert_eq!(numbers.get_index(&[(&mask).into()]).unwrap().to_vec::<i64>().unwrap(), expected, "{len}");
        let sum = (0..len as i128).sum();
        assert_eq!(numbers.sum_total().unwrap(), Scalar::Int(sum), "{len}");
        assert_eq!(mask.count_nonzero_total().unwrap(), expected.len(), "{len}");
        let values: Vec<i64> = expected.iter().map(|i| -i).collect();
        let values = UsmArray::from_slice(queue, UsmKind::Device, &[values.len()], &values).unwrap();
        numbers.set_index(&[(&mask).into()], &values).unwrap();
        assert_eq!(
            numbers.get_index(&[(&mask).into()]).unwrap().to_vec::<i64>().unwrap(),
            values.to_vec::<i64>().unwrap()
        );
        numbers.set_index(&[(&mask).into()], Scalar::Int(5)).unwrap();
        let (least, greatest) = (numbers.min_total().unwrap(), numbers.max_total().unwrap());
        let others = (0..len as i128).rev().find(|i| i % 3 != 1 && i % 1000 != 7).unwrap();
        assert_eq!((least, greatest), (Scalar::Int(0), Scalar::Int(others)), "{len}");
    }
}

#[test]
fn masks_move_elements_of_every_size_forwards_and_backwards() {
    for (_, queue) in recorded() {
        move_every_size(&queue);
    }
}

fn move_every_size(queue: &Queue) {
    let host = Runtime::global().default_queue(Runtime::global().host_device()).unwrap();
    let numbers: Vec<u16> = (0..999).map(|i| i * 31 % 1009).collect();
    for dtype in Dtype::ALL {
        let [there, here] = [(queue, UsmKind::Device), (&host, UsmKind::Shared)].map(|(queue, kind)| {
            let all = UsmArray::from_slice(queue, kind, &[999], &numbers).unwrap();
            let all = all.astype(dtype, CopyMode::Always).unwrap();
            let mask = UsmArray::from_slice(queue, kind, &[999], &numbers).unwrap().greater(400).unwrap();
            let step = SliceItem::Slice { start: None, stop: None, step: -3 };
            let (part, mask) = (all.slice(&[step]).unwrap(), mask.slice(&[step]).unwrap());
            let read = part.get_index(&[(&mask).into()]).unwrap();
            let values = read.slice(&[SliceItem::Slice { start: None, stop: None, step: -1 }]).unwrap();
            part.set_index(&[(&mask).into()], &values).unwrap();
            let rest = part.get_index(&[IndexItem::from(&mask.logical_not().unwrap())]).unwrap();
            part.set_index(&[(&mask.logical_not().unwrap()).into()], Scalar::Bool(true)).unwrap();
            [read, rest, all].map(|array| array.to_bytes().unwrap())
        });
        assert_eq!(there, here, "{dtype}");
    }
}

/// More elements than one work-item, one group, and one row have: what kernels do is what the host does.
#[test]
fn batches_of_elements_are_moved_whole_or_not_at_all() {
    for (_, queue) in recorded() {
        let row = if common::is_interpreted(&queue) { [260] } else { [1500] };
        let cases = [
            (&row[..], Dtype::F32),
            (&row, Dtype::C128),
            (&[300, 5], Dtype::U8),
            (&[7, 90], Dtype::F64),
            (&[3, 40, 7], Dtype::I16),
            (&[2, 30, 3, 2], Dtype::C128),
        ];
        for (shape, dtype) in cases {
            for axis in 0..shape.len().min(2) {
                move_batches(&queue, shape, dtype, axis);
            }
        }
    }
}

fn move_batches(queue: &Queue, shape: &[usize], dtype: Dtype, axis: usize) {
    let host = Runtime::global().default_queue(Runtime::global().host_device()).unwrap();
    let (len, axis_len) = (shape.iter().product::<usize>(), shape[axis] as i64);
    let axis = axis.cast_signed();
    // Each place of the axis is named, from either end, and some of them often.
    let least = if common::is_interpreted(queue) { 300 } else { 700 };
    let mut numbers: Vec<i64> =
        (0..least.max(2 * axis_len)).map(|i| i * 37 % (2 * axis_len) - axis_len).collect();
    let mut picked = shape.to_vec();
    picked[axis.cast_unsigned()] = numbers.len();
    let index_dtype = if axis_len > 100 { Dtype::I16 } else { Dtype::I8 };
    let run = |queue: &Queue, kind, numbers: &[i64], index_dtype| {
        let new = CreateOptions::new(queue, kind);
        let counting = |shape: &[usize]| {
            let len = shape.iter().product::<usize>() as i128;
            let numbers = new.arange(Scalar::Int(0), Scalar::Int(len), Scalar::Int(1)).unwrap();
            let shape: Vec<isize> = shape.iter().map(|&size| size.cast_signed()).collect();
            let numbers = numbers.astype(dtype, CopyMode::Always).unwrap();
            numbers.reshape(&shape, Order::C, CopyMode::IfNeeded).unwrap()
        };
        let (array, values) = (counting(shape), counting(&picked));
        let index = UsmArray::from_slice(queue, kind, &[numbers.len()], numbers).unwrap();
        let index = index.astype(index_dtype, CopyMode::IfNeeded).unwrap();
        let taken = array.take(&index, Some(axis), IndexMode::Raise).map(|taken| taken.to_bytes().unwrap());
        let put = array.put_on_axis(&index, &values, axis, IndexMode::Raise);
        let wrapped = array.take(&index, Some(axis), IndexMode::Wrap).unwrap().to_bytes().unwrap();
        (taken.map_err(|e| e.to_string()), put.map_err(|e| e.to_string()), array.to_bytes().unwrap(), wrapped)
    };
    let both = |numbers: &[i64], index_dtype| {
        let there = run(queue, UsmKind::Device, numbers, index_dtype);
        assert_eq!(there, run(&host, UsmKind::Shared, numbers, index_dtype), "{shape:?} {dtype} {axis}");
        there
    };
    let (taken, put, changed, _) = both(&numbers, index_dtype);
    assert!(taken.is_ok() && put.is_ok());
    let before = run(&host, UsmKind::Shared, &[], Dtype::I64).2;
    assert_ne!(changed, before, "{len} elements were written");
    for (at, outside) in [(0, -axis_len - 1), (257, axis_len), (numbers.len() - 1, i64::MIN)] {
        let inside = std::mem::replace(&mut numbers[at], outside);
        let (taken, put, unchanged, _) = both(&numbers, Dtype::I64);
        assert!(taken.is_err() && put.is_err());
        assert_eq!(unchanged, before, "an index outside at {at}");
        numbers[at] = inside;
    }
}
