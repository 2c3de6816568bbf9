//! Large strided copies and fills of device memory are one kernel each, where the device has kernels.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::recorded;
use usm_array::usm_core::testing::Method;
use usm_array::usm_core::{Aspects, Queue, UsmKind};
use usm_array::{BufferSource, Dtype, Scalar, SliceItem, UsmArray};

const BACKWARDS: SliceItem = SliceItem::Slice { start: None, stop: None, step: -2 };

fn numbers(queue: &Queue, rows: usize, columns: usize) -> (Vec<u32>, UsmArray) {
    numbers_of_kind(queue, UsmKind::Device, rows, columns)
}

fn numbers_of_kind(queue: &Queue, kind: UsmKind, rows: usize, columns: usize) -> (Vec<u32>, UsmArray) {
    let values: Vec<u32> = (0..rows * columns).map(|i| i as u32).collect();
    let array = UsmArray::from_slice(queue, kind, &[rows, columns], &values).unwrap();
    (values, array)
}

#[test]
fn arrays_are_for_kernels_where_host_code_reaches_no_element_and_kernels_have_double() {
    for (queue, kind) in common::places() {
        let (_, array) = numbers_of_kind(&queue, kind, 3, 4);
        assert_eq!(array.is_for_kernels(), !array.is_host_reachable() && !queue.runs_host_tasks());
    }
    for (hidden, is_for_kernels) in [(Aspects::empty(), true), (Aspects::FP64, false)] {
        let Some((recording, queue)) = recorded(hidden) else { return };
        let (_, array) = numbers(&queue, 3, 4);
        assert_eq!(array.is_for_kernels(), is_for_kernels, "without {hidden:?}");
        assert_eq!(array.sum_total().unwrap(), Scalar::Int(66));
        assert_eq!(recording.count(Method::SubmitKernel) > 0, is_for_kernels);
    }
}

#[test]
fn large_ones_are_one_kernel_and_small_ones_none() {
    let Some((recording, queue)) = recorded(Aspects::empty()) else { return };
    for (rows, columns, kernels) in [(701, 811, 1), (7, 11, 0)] {
        let (values, array) = numbers(&queue, rows, columns);
        recording.clear();
        let transposed = array.transpose().copy().unwrap();
        let expected: Vec<u32> =
            (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c)).map(|i| values[i]).collect();
        assert_eq!(transposed.to_vec::<u32>().unwrap(), expected);
        assert_eq!(recording.count(Method::SubmitKernel), kernels, "{rows} × {columns}");

        let every_other = array.slice(&[SliceItem::FULL, BACKWARDS]).unwrap();
        recording.clear();
        every_other.fill(9_u32).unwrap();
        let is_filled = |i: usize| (columns - 1 - i % columns).is_multiple_of(2);
        let expected: Vec<u32> =
            values.iter().enumerate().map(|(i, &v)| if is_filled(i) { 9 } else { v }).collect();
        assert_eq!(recording.count(Method::SubmitKernel), kernels, "{rows} × {columns}");
        assert_eq!(array.to_vec::<u32>().unwrap(), expected);
    }
}

#[test]
fn targets_with_an_element_at_two_indices_take_the_other_way() {
    let Some((recording, queue)) = recorded(Aspects::empty()) else { return };
    let (_, array) = numbers(&queue, 600, 600);
    let source = array.transpose();
    let memory = UsmArray::zeros(&queue, UsmKind::Device, &[600 * 600], Dtype::U32).unwrap();
    let windows = UsmArray::builder(&[600, 600], Dtype::U32)
        .strides(&[599, 1])
        .build(BufferSource::SharedWith(&memory))
        .unwrap();
    recording.clear();
    windows.assign(&source).unwrap();
    assert_eq!(recording.count(Method::SubmitKernel), 0);
    assert_eq!(memory.to_vec::<u32>().unwrap()[..3], [0, 600, 1200]);
}

#[test]
fn sources_of_another_context_come_over_first() {
    let Some((recording, queue)) = recorded(Aspects::empty()) else { return };
    let (values, array) = numbers(&queue, 800, 800);
    let other = usm_array::usm_core::Context::new(std::slice::from_ref(queue.device())).unwrap();
    let there = other.create_queue(queue.device(), queue.properties()).unwrap();
    recording.clear();
    let transposed = UsmArray::empty(&there, UsmKind::Device, &[800, 800], Dtype::U32).unwrap();
    transposed.assign(&array.transpose()).unwrap();
    assert_eq!(recording.count(Method::SubmitKernel), 1, "the source is dense");
    recording.clear();
    let every_other = [SliceItem::FULL, BACKWARDS];
    transposed.slice(&every_other).unwrap().assign(&array.transpose().slice(&every_other).unwrap()).unwrap();
    assert_eq!(recording.count(Method::SubmitKernel), 2, "one on each side");
    assert_eq!(transposed.transpose().to_vec::<u32>().unwrap(), values);
}
