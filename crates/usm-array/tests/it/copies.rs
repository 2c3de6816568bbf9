//! Copies of random layouts against brute force, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::{displacements, indices, injective_layouts, layouts, places};
use proptest::prelude::*;
use usm_array::num_complex::Complex;
use usm_array::usm_core::{Queue, Runtime, RuntimeOptions, UsmKind};
use usm_array::usm_memory::{Operand, OperandAccess, Stripes, UsmBuffer};
use usm_array::{Element, Layout, Order, SliceItem, UsmArray};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(places);

fn place() -> impl Strategy<Value = (Queue, UsmKind)> {
    prop::sample::select(&PLACES[..])
}

/// An array of a layout over its own memory, which holds 0, 1, 2, … as far as the elements go.
fn counting<T: Element>(
    (queue, kind): &(Queue, UsmKind),
    layout: &Layout,
    value: fn(usize) -> T,
) -> UsmArray {
    let numbers: Vec<T> = (0..layout.required_len()).map(value).collect();
    let whole = UsmArray::from_slice(queue, *kind, &[numbers.len()], &numbers).unwrap();
    UsmArray::from_parts(whole.buffer().clone(), T::DTYPE, layout.clone(), 0).unwrap()
}

fn flat<T: Element>(array: &UsmArray) -> Vec<T> {
    let len = array.buffer().len_bytes() / size_of::<T>();
    let layout = Layout::contiguous(&[len], Order::C).unwrap();
    UsmArray::from_parts(array.buffer().clone(), T::DTYPE, layout, 0).unwrap().to_vec().unwrap()
}

fn reads_what_is_there<T: Element>(place: &(Queue, UsmKind), layout: &Layout, value: fn(usize) -> T) {
    let array = counting(place, layout, value);
    let expected: Vec<T> = displacements(layout).into_iter().map(value).collect();
    assert_eq!(array.to_vec::<T>().unwrap(), expected);
    let copy = array.copy().unwrap();
    assert!(copy.is_c_contiguous() && copy.kind() == array.kind() && copy.queue() == array.queue());
    assert_eq!(copy.to_vec::<T>().unwrap(), expected);
    if array.is_host_accessible() {
        let view = array.view::<T>().unwrap();
        assert_eq!(view.to_vec().unwrap(), expected);
        for (index, value) in indices(layout.shape()).iter().zip(expected) {
            assert_eq!(view.get(index).unwrap(), value);
        }
    } else {
        assert!(array.view::<T>().is_err());
    }
}

fn writes_where_it_should<T: Element>(place: &(Queue, UsmKind), layout: &Layout, value: fn(usize) -> T) {
    let array = counting(place, layout, value);
    let mut expected: Vec<T> = flat(&array);
    let values: Vec<T> = (0..array.size()).map(|i| value(100 + i)).collect();
    for (place, &value) in displacements(layout).into_iter().zip(&values) {
        expected[place] = value;
    }
    let source = UsmArray::from_slice(array.queue(), UsmKind::Host, array.shape(), &values).unwrap();
    let mut bytes = vec![0; source.size_bytes()];
    source.copy_to_host_contiguous(&mut bytes).unwrap();
    array.copy_from_host_contiguous(&bytes).unwrap();
    assert_eq!(flat::<T>(&array), expected);

    for place in displacements(layout) {
        expected[place] = value(7);
    }
    array.fill(value(7)).unwrap();
    assert_eq!(flat::<T>(&array), expected);
}

/// As many elements as their span has places, but some twice, and others not at all.
#[test]
fn what_lies_between_repeated_elements_stays() {
    for place in &*PLACES {
        for (shape, strides) in [([2, 2], [3, 0]), ([3, 3], [2, 2])] {
            let layout = Layout::new(&shape, Some(&strides), 0, Order::C).unwrap();
            let mut expected: Vec<i32> = (0..layout.required_len() as i32).collect();
            let filled = counting(place, &layout, |i| i as i32);
            displacements(&layout).into_iter().for_each(|place| expected[place] = 7);
            filled.fill(7).unwrap();
            assert_eq!(flat::<i32>(&filled), expected);

            let assigned = counting(place, &layout, |i| i as i32);
            assigned.assign(&counting(place, &layout, |i| 100 + i as i32)).unwrap();
            let mut expected: Vec<i32> = (0..layout.required_len() as i32).collect();
            displacements(&layout).into_iter().for_each(|place| expected[place] = 100 + place as i32);
            assert_eq!(flat::<i32>(&assigned), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn reading_equals_brute_force(place in place(), layout in layouts()) {
        reads_what_is_there(&place, &layout, |i| i as u8);
        reads_what_is_there(&place, &layout, |i| i as i16);
        reads_what_is_there(&place, &layout, |i| i as f32);
        reads_what_is_there(&place, &layout, |i| i as i64);
        reads_what_is_there(&place, &layout, |i| Complex::new(i as f64, -(i as f64)));
    }

    #[test]
    fn writing_equals_brute_force(place in place(), layout in injective_layouts()) {
        writes_where_it_should(&place, &layout, |i| i as u8);
        writes_where_it_should(&place, &layout, |i| i as i16);
        writes_where_it_should(&place, &layout, |i| i as f32);
        writes_where_it_should(&place, &layout, |i| i as i64);
        writes_where_it_should(&place, &layout, |i| Complex::new(i as f64, -(i as f64)));
    }

    #[test]
    fn assigning_between_any_places_equals_brute_force(
        (from, to) in (place(), place()),
        (layout, source_strides) in injective_layouts().prop_flat_map(|layout| {
            let strides = prop::collection::vec(-9_isize..=9, layout.ndim());
            (Just(layout), strides)
        }),
        repeat in any::<u8>(),
    ) {
        // Some axes of the source have size 1 and are repeated, some leading ones are missing.
        let missing = repeat as usize % 4 % (layout.ndim() + 1);
        let shape: Vec<usize> = layout.shape()[missing..].iter().enumerate()
            .map(|(axis, &n)| if repeat >> (axis + 2) & 1 == 1 { 1 } else { n })
            .collect();
        let source_layout =
            Layout::with_automatic_offset(&shape, Some(&source_strides[missing..]), Order::C).unwrap();
        let source = counting(&from, &source_layout, |i| i as i32 + 1000);
        let target = counting(&to, &layout, |i| i as i32);

        let mut expected: Vec<i32> = flat(&target);
        let broadcast = source_layout.broadcast_to(layout.shape()).unwrap();
        for (to, from) in displacements(&layout).into_iter().zip(displacements(&broadcast)) {
            expected[to] = from as i32 + 1000;
        }
        target.assign(&source).unwrap();
        prop_assert_eq!(flat::<i32>(&target), expected);
    }

    /// Source and target in the same memory, interleaved or on top of each other.
    #[test]
    fn overlapping_assignment_is_as_if_copied_first(
        place in place(),
        layout in injective_layouts(),
        shift in 0_isize..6,
        (reverse, transpose) in any::<(bool, bool)>(),
    ) {
        let mut source_layout = layout.with_offset(layout.offset() + shift).unwrap();
        if transpose {
            source_layout = source_layout.transpose();
        }
        if reverse {
            let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
            source_layout = source_layout.slice(&vec![backwards; layout.ndim()]).unwrap();
        }
        let len = layout.required_len().max(source_layout.required_len());
        let whole = counting(&place, &Layout::contiguous(&[len], Order::C).unwrap(), |i| i as u32);
        let array = |layout: &Layout| {
            UsmArray::from_parts(whole.buffer().clone(), whole.dtype(), layout.clone(), 0).unwrap()
        };
        let Ok(broadcast) = source_layout.broadcast_to(layout.shape()) else {
            prop_assert!(array(&layout).assign(&array(&source_layout)).is_err());
            return Ok(());
        };
        let mut expected: Vec<u32> = (0..len as u32).collect();
        for (to, from) in displacements(&layout).into_iter().zip(displacements(&broadcast)) {
            expected[to] = from as u32;
        }
        array(&layout).assign(&array(&source_layout)).unwrap();
        prop_assert_eq!(flat::<u32>(&whole), expected);
    }
}

#[test]
fn another_host_runtime_is_another_context() {
    let other = Runtime::new(RuntimeOptions::new());
    let queue = other.default_queue(other.host_device()).unwrap();
    let layout = Layout::with_automatic_offset(&[3, 4], Some(&[-1, 5]), Order::C).unwrap();
    for place in PLACES.iter() {
        for kind in common::KINDS {
            let source = counting(place, &layout, |i| i as f64);
            let target = UsmArray::empty(&queue, kind, &[4, 3], source.dtype()).unwrap().transpose();
            assert_ne!(source.context(), target.context());
            target.assign(&source).unwrap();
            assert_eq!(target.to_vec::<f64>().unwrap(), source.to_vec::<f64>().unwrap());
        }
    }
}

#[test]
fn bytes_beside_and_between_stay_as_they_are() {
    for (queue, kind) in PLACES.iter() {
        let buffer = UsmBuffer::allocate(queue, *kind, 40).unwrap();
        buffer.fill(&[9]).unwrap();
        let layout = Layout::new(&[2, 2], Some(&[10, 3]), 4, Order::C).unwrap();
        let array = UsmArray::from_parts(buffer.clone(), usm_array::Dtype::U16, layout, 0).unwrap();
        array.copy_from_host_contiguous(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let mut expected = vec![9; 40];
        for (place, bytes) in [(8, [0, 1]), (14, [2, 3]), (28, [4, 5]), (34, [6, 7])] {
            expected[place..place + 2].copy_from_slice(&bytes);
        }
        assert_eq!(buffer.to_vec().unwrap(), expected);
    }
}

#[test]
fn large_arrays_in_many_orders() {
    for place in PLACES.iter() {
        let shape = [7, 64, 33];
        let whole = Layout::contiguous(&shape, Order::C).unwrap();
        for axes in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
            let layout = whole.permute(&axes).unwrap();
            let array = counting(place, &layout, |i| i as u32);
            let expected: Vec<u32> = displacements(&layout).into_iter().map(|p| p as u32).collect();
            assert_eq!(array.copy().unwrap().to_vec::<u32>().unwrap(), expected);
        }
    }
}

#[test]
fn arrays_without_elements_copy_nothing() {
    for (queue, kind) in PLACES.iter() {
        let empty = UsmArray::zeros(queue, *kind, &[3, 0], usm_array::Dtype::F64).unwrap();
        assert_eq!(empty.buffer().len_bytes(), 8);
        assert_ne!(empty.interface().unwrap().address, 0);
        assert_eq!(empty.to_vec::<f64>().unwrap(), [0.0; 0]);
        empty.copy_from_host_contiguous(&[]).unwrap();
        empty.assign(&empty.transpose().transpose()).unwrap();
        empty.fill(1.0).unwrap();
        assert_eq!(empty.copy().unwrap().shape(), [3, 0]);
        if empty.is_host_accessible() {
            assert_eq!(empty.view::<f64>().unwrap().iter().len(), 0);
            assert!(empty.view_mut::<f64>().unwrap().set(&[0, 0], 1.0).is_err());
        }
    }
}

#[test]
fn operations_of_host_code_on_elements_apart_do_not_wait_for_each_other() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let matrix = UsmArray::zeros(&queue, UsmKind::Shared, &[256, 64], f64::DTYPE).unwrap();
    let columns = |first: isize| matrix.slice((.., SliceItem::range(Some(first), None, 4))).unwrap();
    let bytes = Operand {
        stripes: Stripes::covering(8, [(256, 512), (16, 32)].into_iter()),
        ..Operand::written(matrix.buffer(), 0..256 * 512 - 24)
    };
    let [access] = OperandAccess::all([&bytes]).unwrap();
    columns(1).fill(1.0).unwrap();
    columns(2).assign(&columns(1)).unwrap();
    columns(3).assign(&columns(2)).unwrap();
    // This thread would wait for itself.
    for refused in [columns(0).fill(5.0), columns(1).assign(&columns(0)), matrix.fill(5.0)] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("borrowed for writing"), "{error}");
    }
    drop(access);
    let found = matrix.to_vec::<f64>().unwrap();
    assert!(found.chunks(4).all(|row| row == [0.0, 1.0, 1.0, 1.0]));
    columns(0).assign(&columns(3)).unwrap();
    assert!(matrix.to_vec::<f64>().unwrap().iter().all(|&one| one == 1.0));
}
