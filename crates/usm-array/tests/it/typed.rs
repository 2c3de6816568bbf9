//! Typed arrays, slices of views, references to elements, and every way to iterate

use proptest::prelude::*;
use usm_array::usm_core::{Runtime, UsmKind};
use usm_array::{Dtype, Error, Layout, Order, SliceItem, TypedArray, UsmArray, s};

use crate::common::{displacements, indices, injective_layouts, layouts, places, strided};

fn numbered(layout: &Layout, kind: UsmKind) -> UsmArray {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let memory: Vec<i32> = (0..layout.required_len() as i32).collect();
    strided(&queue, kind, layout, &memory)
}

fn numbers(layout: &Layout) -> Vec<i32> {
    displacements(layout).into_iter().map(|place| place as i32).collect()
}

proptest! {
    #[test]
    fn iterators_agree_with_a_vector(
        layout in layouts(),
        steps in prop::collection::vec((0_u8..4, 0_usize..5), 0..12),
    ) {
        let array = numbered(&layout, UsmKind::Shared);
        let view = array.view::<i32>().unwrap();
        let expected = numbers(&layout);
        prop_assert_eq!(view.iter().fold(Vec::new(), |mut all, x| { all.push(x); all }), &expected[..]);
        prop_assert_eq!(view.iter().map(i64::from).sum::<i64>(), expected.iter().map(|&x| i64::from(x)).sum::<i64>());
        prop_assert_eq!(view.iter().rev().collect::<Vec<_>>(), expected.iter().rev().copied().collect::<Vec<_>>());
        prop_assert_eq!((view.iter().count(), view.iter().last()), (expected.len(), expected.last().copied()));
        let (mut found, mut wanted) = (view.iter(), expected.iter().copied());
        for (what, n) in steps {
            match what {
                0 => prop_assert_eq!(found.next(), wanted.next()),
                1 => prop_assert_eq!(found.next_back(), wanted.next_back()),
                2 => prop_assert_eq!(found.nth(n), wanted.nth(n)),
                _ => prop_assert_eq!(found.nth_back(n), wanted.nth_back(n)),
            }
            prop_assert_eq!(found.len(), wanted.len());
        }
        prop_assert_eq!(found.clone().fold(0, |sum, x| sum ^ x), wanted.clone().fold(0, |sum, x| sum ^ x));
        prop_assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }

    #[test]
    fn references_and_slices_are_the_elements(layout in layouts()) {
        let array = numbered(&layout, UsmKind::Host);
        let expected = numbers(&layout);
        {
            let view = array.view::<i32>().unwrap();
            prop_assert_eq!(view.as_slice().is_some(), layout.is_c_contiguous());
            prop_assert!(view.as_slice().is_none_or(|slice| slice == expected));
            for (index, &number) in indices(layout.shape()).iter().zip(&expected) {
                prop_assert_eq!(view[index.as_slice()], number);
            }
            let mut copied = vec![-1; expected.len()];
            view.copy_to_slice(&mut copied).unwrap();
            prop_assert_eq!(&copied, &expected);
            array.copy_to_slice(&mut copied).unwrap();
            prop_assert_eq!(&copied, &expected);
            copied.push(0);
            let is_refused = matches!(view.copy_to_slice(&mut copied), Err(Error::LengthMismatch { .. }));
            prop_assert!(is_refused);
        }
        let mut view = array.view_mut::<i32>().unwrap();
        prop_assert_eq!(view.as_slice_mut().is_some(), layout.is_c_contiguous());
        prop_assert!(view.as_slice().is_none_or(|slice| slice == expected));
        // Each index, even of elements that have several, has one reference at a time.
        for index in indices(layout.shape()) {
            view[index.as_slice()] = 7;
        }
        prop_assert_eq!(view.to_vec().unwrap(), vec![7; expected.len()]);
    }

    #[test]
    fn what_is_written_is_read(layout in injective_layouts(), front in 0_usize..4, back in 0_usize..4) {
        let array = numbered(&layout, UsmKind::Shared);
        let mut expected = numbers(&layout);
        let mut view = array.view_mut::<i32>().unwrap();
        view.map_in_place(|x| x + 1);
        expected.iter_mut().for_each(|x| *x += 1);
        prop_assert_eq!(view.to_vec().unwrap(), &expected[..]);
        {
            let (mut found, mut wanted) = (view.iter_mut().unwrap(), expected.iter_mut());
            for from_back in [vec![false; front], vec![true; back]].concat() {
                let next = if from_back { (found.next_back(), wanted.next_back()) } else { (found.next(), wanted.next()) };
                prop_assert_eq!(&next.0, &next.1);
                if let (Some(a), Some(b)) = next {
                    (*a, *b) = (-*a, -*b);
                }
            }
            prop_assert_eq!(found.len(), wanted.len());
            let next = (found.nth(1), wanted.nth(1));
            prop_assert_eq!(&next.0, &next.1);
            found.for_each(|x| *x *= 3);
            wanted.for_each(|x| *x *= 3);
        }
        prop_assert_eq!(view.to_vec().unwrap(), &expected[..]);
        expected.reverse();
        view.copy_from_slice(&expected).unwrap();
        prop_assert_eq!(view.to_vec().unwrap(), &expected[..]);
        let is_refused = matches!(view.copy_from_slice(&[0; 9999]), Err(Error::LengthMismatch { .. }));
        prop_assert!(is_refused);
        drop(view);
        expected.reverse();
        array.copy_from_slice(&expected).unwrap();
        prop_assert_eq!(array.to_vec::<i32>().unwrap(), expected);
    }
}

#[test]
fn no_two_references_lead_to_one_element() {
    for (strides, is_shared) in
        [([1, 1], true), ([0, 1], true), ([2, 1], true), ([3, 2], false), ([-3, 1], false), ([2, 5], false)]
    {
        let layout = Layout::with_automatic_offset(&[2, 3], Some(&strides), Order::C).unwrap();
        let array = numbered(&layout, UsmKind::Host);
        let mut view = array.view_mut::<i32>().unwrap();
        assert_eq!(matches!(view.iter_mut(), Err(Error::SharedElements { .. })), is_shared, "{strides:?}");
    }
}

#[test]
fn an_index_outside_of_a_view_panics_with_the_error_of_get() {
    let array = numbered(&Layout::contiguous(&[2, 3], Order::C).unwrap(), UsmKind::Host);
    let message = |call: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    };
    for index in [&[2, 0][..], &[0, 3], &[1], &[0, 0, 0], &[usize::MAX, 0]] {
        let expected = array.view::<i32>().unwrap().get(index).unwrap_err().to_string();
        assert_eq!(message(&|| _ = array.view::<i32>().unwrap()[index]), expected);
        assert_eq!(message(&|| _ = array.view_mut::<i32>().unwrap()[index]), expected);
        assert_eq!(message(&|| array.view_mut::<i32>().unwrap()[index] = 1), expected);
    }
    assert_eq!(array.view::<i32>().unwrap()[[1, 2]], 5);
    assert_eq!(array.slice(1).unwrap().view::<i32>().unwrap()[2], 5);
}

#[test]
fn typed_arrays_share_memory_and_keep_their_type() {
    for (queue, kind) in places() {
        let array = TypedArray::from_slice(&queue, kind, &[2, 3], &[1_i16, 2, 3, 4, 5, 6]).unwrap();
        let views = [
            (array.slice(s![.., ..;-1]).unwrap(), vec![3, 2, 1, 6, 5, 4]),
            (array.transpose(), vec![1, 4, 2, 5, 3, 6]),
            (array.permute(&[1, 0]).unwrap(), vec![1, 4, 2, 5, 3, 6]),
            (array.reshape_view(&[-1], Order::C).unwrap(), vec![1, 2, 3, 4, 5, 6]),
            (array.slice(-1).unwrap().broadcast_to(&[2, 3]).unwrap(), vec![4, 5, 6, 4, 5, 6]),
        ];
        for (view, expected) in views {
            assert_eq!(view.to_vec().unwrap(), expected);
            assert!(view.buffer().same_allocation(array.buffer()));
        }
        array.slice(SliceItem::range(None, None, 2)).unwrap().fill(9).unwrap();
        array.slice(1).unwrap().copy_from_slice(&[7, 7, 8]).unwrap();
        assert_eq!(array.to_vec().unwrap(), [9, 9, 9, 7, 7, 8]);
        let copy = array.transpose().copy_to(&queue, UsmKind::Host).unwrap();
        assert_eq!(copy.read().unwrap()[..], [9, 7, 9, 7, 9, 8]);

        let any: UsmArray = array.clone().into();
        assert!(matches!(
            any.typed::<u16>(),
            Err(Error::DtypeMismatch { found: Dtype::I16, expected: Dtype::U16 })
        ));
        assert_eq!(TypedArray::<i16>::try_from(any).unwrap().as_array().address(), array.address());
        assert_eq!(TypedArray::<f32>::zeros(&queue, kind, &[2]).unwrap().to_vec().unwrap(), [0.0; 2]);
        assert_eq!(TypedArray::full(&queue, kind, &[2], 1_u8).unwrap().to_vec().unwrap(), [1; 2]);
        assert_eq!(TypedArray::from_iter_in(&queue, kind, 0..3_u8).unwrap().to_vec().unwrap(), [0, 1, 2]);
        assert_eq!(TypedArray::<f64>::empty(&queue, kind, &[0, 2]).unwrap().to_vec().unwrap(), []);
    }
}

#[test]
fn slices_of_typed_arrays_are_guarded() {
    for (queue, kind) in places() {
        let array = TypedArray::from_slice(&queue, kind, &[2, 2], &[1_i64, 2, 3, 4]).unwrap();
        if !kind.is_host_accessible() {
            assert!(matches!(array.read(), Err(Error::NotHostAccessible { .. })));
            assert!(matches!(array.write(), Err(Error::NotHostAccessible { .. })));
            continue;
        }
        let mut writing = array.write().unwrap();
        writing[3] = 40;
        assert!(matches!(array.read(), Err(Error::Memory(_))));
        drop(writing);
        let (first, second) = (array.read().unwrap(), array.read().unwrap());
        assert_eq!((&first[..], &second[..]), (&[1, 2, 3, 40][..], &[1, 2, 3, 40][..]));
        assert!(matches!(array.write(), Err(Error::Memory(_))));
        assert!(matches!(array.transpose().read(), Err(Error::NotContiguous { .. })));
        drop((first, second));
        assert!(matches!(array.transpose().write(), Err(Error::NotContiguous { .. })));
        let locked: TypedArray<i64> = array.read_only().try_into().unwrap();
        assert!(matches!(locked.write(), Err(Error::ReadOnly)));
        assert!(TypedArray::<i64>::zeros(&queue, kind, &[0, 3]).unwrap().write().unwrap().is_empty());
    }
}

#[test]
fn the_error_of_another_type_names_the_type_to_write() {
    let array = numbered(&Layout::contiguous(&[2], Order::C).unwrap(), UsmKind::Host);
    let expected = "found elements of int32, allowed is float64; the Rust type of int32 is `i32`: write `::<i32>`, or values of that type";
    assert_eq!(array.fill(1.0).unwrap_err().to_string(), expected);
    assert_eq!(array.view::<f64>().unwrap_err().to_string(), expected);
    assert_eq!(array.typed::<f64>().unwrap_err().to_string(), expected);
    assert_eq!(Dtype::C128.rust_type(), "Complex<f64>");
}
