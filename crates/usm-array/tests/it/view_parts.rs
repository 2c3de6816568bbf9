//! Parts of views, their iterators, and single elements, against indices one by one

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{displacements, indices, layouts, places, strided};
use proptest::prelude::*;
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{Runtime, UsmKind};
use usm_array::{Bool8, Dtype, Error, Layout, LayoutError, Scalar, SliceItem, UsmArray};

/// An array whose elements are the numbers of their places.
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
    fn parts_are_those_of_the_layout(layout in layouts(), axis in 0_usize..3, window in 0_usize..3) {
        let array = numbered(&layout, UsmKind::Shared);
        let view = array.view::<i32>().unwrap();
        let all = numbers(&layout);
        prop_assert_eq!(view.to_vec().unwrap(), &all[..]);
        prop_assert_eq!(view.transpose().to_vec().unwrap(), numbers(&layout.transpose()));

        let indexed: Vec<_> = view.indexed_iter().map(|(index, x)| (index.to_vec(), x)).collect();
        let expected: Vec<_> = indices(layout.shape()).into_iter().zip(all.iter().copied()).collect();
        prop_assert_eq!(indexed, expected);
        let backwards: Vec<i32> = view.iter().rev().collect();
        prop_assert!(backwards.iter().rev().eq(&all));

        let parallel: Vec<i32> = view.par_iter().collect();
        prop_assert_eq!(&parallel, &all);
        let parallel: Vec<i32> = view.par_iter().with_min_len(3).rev().collect();
        prop_assert_eq!(parallel, backwards);

        if axis < layout.ndim() {
            let signed = axis.cast_signed();
            let places: Vec<Layout> = layout.unstack(signed).unwrap().collect();
            let expected: Vec<Vec<i32>> = places.iter().map(numbers).collect();
            let found: Vec<_> = view.axis_iter(signed).unwrap().map(|part| part.to_vec().unwrap()).collect();
            prop_assert_eq!(&found, &expected);
            let found: Vec<_> = view.par_axis_iter(signed).unwrap().map(|part| part.to_vec().unwrap()).collect();
            prop_assert_eq!(&found, &expected);
            for (i, expected) in expected.iter().enumerate() {
                prop_assert_eq!(&view.index_axis(signed, i.cast_signed()).unwrap().to_vec().unwrap(), expected);
            }

            let lanes: Vec<_> = view.lanes(signed).unwrap().map(|lane| lane.to_vec().unwrap()).collect();
            let moved = numbers(&layout.moveaxis(&[signed], &[-1]).unwrap());
            let size = layout.shape()[axis];
            let count = layout.shape().iter().enumerate().filter(|&(k, _)| k != axis).map(|(_, n)| n).product::<usize>();
            let expected: Vec<_> = (0..count).map(|k| moved[k * size..(k + 1) * size].to_vec()).collect();
            prop_assert_eq!(lanes, expected);
        } else {
            prop_assert!(view.axis_iter(axis.cast_signed()).is_err());
            prop_assert!(view.lanes(axis.cast_signed()).is_err());
        }

        let shape: Vec<usize> = layout.shape().iter().map(|&n| n.min(window)).collect();
        let windows: Vec<_> = view.windows(&shape).unwrap().map(|window| window.to_vec().unwrap()).collect();
        let places: Vec<usize> = layout.shape().iter().zip(&shape).map(|(n, w)| n - w + 1).collect();
        let expected: Vec<Vec<i32>> = indices(&places)
            .iter()
            .map(|place| {
                let at = |index: &Vec<usize>| index.iter().zip(place).map(|(i, p)| i + p).collect::<Vec<_>>();
                indices(&shape).iter().map(|index| view.get(&at(index)).unwrap()).collect()
            })
            .collect();
        prop_assert_eq!(windows, expected);
    }

    #[test]
    fn parts_are_changed_where_they_are(layout in common::injective_layouts(), axis in 0_usize..3) {
        let array = numbered(&layout, UsmKind::Host);
        let mut view = array.view_mut::<i32>().unwrap();
        view.indexed_map_in_place(|index, x| x + index.iter().sum::<usize>() as i32);
        let sums = indices(layout.shape()).into_iter().map(|index| index.iter().sum::<usize>() as i32);
        let mut expected: Vec<i32> = numbers(&layout).into_iter().zip(sums).map(|(x, sum)| x + sum).collect();
        prop_assert_eq!(view.to_vec().unwrap(), &expected[..]);
        if axis < layout.ndim() {
            view.for_each_axis_mut(axis.cast_signed(), |k, mut part| part.map_in_place(|x| 1000 * k as i32 + x)).unwrap();
            for (x, index) in expected.iter_mut().zip(indices(layout.shape())) {
                *x += 1000 * index[axis] as i32;
            }
            prop_assert_eq!(view.to_vec().unwrap(), expected);
        }
    }

    #[test]
    fn one_element_at_each_index(layout in layouts()) {
        let array = numbered(&layout, UsmKind::Device);
        for (index, expected) in indices(layout.shape()).into_iter().zip(numbers(&layout)) {
            let from_start: Vec<isize> = index.iter().map(|i| i.cast_signed()).collect();
            let from_end: Vec<isize> = from_start.iter().zip(layout.shape()).map(|(i, n)| i - n.cast_signed()).collect();
            prop_assert_eq!(array.get_scalar(&from_start).unwrap(), Scalar::Int(expected.into()));
            prop_assert_eq!(array.get_scalar(&from_end).unwrap(), Scalar::Int(expected.into()));
        }
    }
}

#[test]
fn parts_of_parts() {
    let layout = Layout::contiguous(&[3, 4, 5], usm_array::Order::C).unwrap();
    let array = numbered(&layout, UsmKind::Shared);
    let view = array.view::<i32>().unwrap();
    let matrix = view.index_axis(0, 1).unwrap();
    let row = matrix
        .slice(&[SliceItem::Index(-1), SliceItem::Slice { start: None, stop: None, step: -2 }])
        .unwrap();
    assert_eq!(row.to_vec().unwrap(), [39, 37, 35]);
    let mut lanes = row.axis_iter(0).unwrap();
    assert_eq!((lanes.len(), lanes.next_back().unwrap().get(&[]).unwrap(), lanes.len()), (3, 35, 2));
    assert!(view.index_axis(0, 3).is_err() && view.index_axis(3, 0).is_err());
    assert!(array.view_mut::<i32>().is_err(), "parts keep the guard of the view");
    drop(lanes);
    drop(view);
    let mut view = array.view_mut::<i32>().unwrap();
    let mut matrix = view.index_axis_mut(0, 1).unwrap();
    matrix.transpose_mut().index_axis_mut(0, 0).unwrap().map_in_place(|_| -1);
    assert_eq!(matrix.as_view().index_axis(1, 0).unwrap().to_vec().unwrap(), [-1; 4]);
    assert_eq!(view.iter().filter(|&x| x == -1).count(), 4);
}

#[test]
fn parts_in_every_place() {
    for (queue, kind) in places() {
        let elements: Vec<i32> = (0..24).collect();
        let array = UsmArray::from_slice(&queue, kind, &[2, 3, 4], &elements).unwrap();
        if !array.is_host_accessible() {
            let kinds = (array.view::<i32>().unwrap_err(), array.view_mut::<i32>().unwrap_err());
            assert!(matches!(kinds, (Error::NotHostAccessible { .. }, Error::NotHostAccessible { .. })));
            continue;
        }
        let view = array.view::<i32>().unwrap();
        assert_eq!(view.par_iter().map(i64::from).sum::<i64>(), 276, "{kind}");
        let lanes: Vec<i32> = view.lanes(1).unwrap().map(|lane| lane.iter().sum()).collect();
        assert_eq!(lanes, [12, 15, 18, 21, 48, 51, 54, 57], "{kind}");
        let planes: Vec<i32> = view.par_axis_iter(-1).unwrap().map(|plane| plane.iter().sum()).collect();
        assert_eq!(planes, [60, 66, 72, 78], "{kind}");
        let windows: Vec<i32> = view.windows(&[2, 3, 3]).unwrap().map(|window| window.iter().sum()).collect();
        assert_eq!(windows, [198, 216], "{kind}");
        let refused = [
            view.axis_iter(3).unwrap_err(),
            view.lanes(3).unwrap_err(),
            view.index_axis(3, 0).unwrap_err(),
            view.par_axis_iter(3).map(|_| ()).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.to_string(), "axis: axis 3 is out of bounds for 3 axes, allowed are -3 to 2");
        }
        drop(view);
        let mut view = array.view_mut::<i32>().unwrap();
        view.for_each_axis_mut(2, |k, mut plane| plane.map_in_place(|x| x - k as i32)).unwrap();
        view.indexed_map_in_place(|index, x| x - 12 * index[0] as i32 - 4 * index[1] as i32);
        drop(view);
        assert_eq!(array.to_vec::<i32>().unwrap(), [0; 24], "{kind}");
    }
}

#[test]
fn every_dtype_and_place_has_single_elements() {
    for (queue, kind) in places() {
        for dtype in Dtype::ALL {
            let array = UsmArray::zeros(&queue, kind, &[2, 3], dtype).unwrap();
            let value = match dtype.kind() {
                _ if dtype.is_narrow() => Scalar::Float(-1.5),
                'b' => Scalar::Bool(true),
                'f' => Scalar::Float(-1.5),
                'c' => Scalar::Complex(Complex64::new(1.5, -2.0)),
                _ => Scalar::Int(77),
            };
            array.set_scalar(&[-1, 1], value).unwrap();
            assert_eq!(array.get_scalar(&[1, 1]).unwrap(), value, "{dtype} {kind}");
            assert_eq!(array.count_nonzero_total().unwrap(), 1, "{dtype} {kind}");
        }
        let array = UsmArray::zeros(&queue, kind, &[2, 3], Dtype::U8).unwrap();
        for (index, size) in [([2, 0], 2), ([-3, 0], 2), ([isize::MIN, 0], 2), ([0, isize::MAX], 3)] {
            let error = array.get_scalar(&index).unwrap_err();
            assert!(
                matches!(error, Error::Layout(LayoutError::IndexOutOfBounds { size: n, .. }) if n == size)
            );
        }
        assert!(matches!(array.get_scalar(&[0]), Err(Error::Layout(LayoutError::IndexLength { .. }))));
        assert!(matches!(array.set_scalar(&[0, 0], Scalar::Int(256)), Err(Error::ScalarRange { .. })));
        assert!(matches!(array.read_only().set_scalar(&[0, 0], Scalar::Int(1)), Err(Error::ReadOnly)));
        let scalar = UsmArray::full(&queue, kind, &[], Bool8::TRUE).unwrap();
        assert_eq!(scalar.get_scalar(&[]).unwrap(), Scalar::Bool(true));
        assert!(UsmArray::zeros(&queue, kind, &[0], Dtype::U8).unwrap().get_scalar(&[0]).is_err());
    }
}

#[test]
fn equal_and_nearly_equal_views() {
    let (queue, _) = places().remove(0);
    let make = |values: &[f64]| UsmArray::from_slice(&queue, UsmKind::Host, &[values.len()], values).unwrap();
    let (a, b) = (make(&[1.0, f64::INFINITY, 3.0]), make(&[1.0, f64::INFINITY, 3.5]));
    let (a, b) = (a.view::<f64>().unwrap(), b.view::<f64>().unwrap());
    assert!(a == a && a != b);
    assert!(a.abs_diff_eq(&b, 0.5) && !a.abs_diff_eq(&b, 0.4));
    let nan = make(&[f64::NAN]);
    let nan = nan.view::<f64>().unwrap();
    assert!(nan != nan && !nan.abs_diff_eq(&nan, f64::INFINITY));
    let ends = UsmArray::from_slice(&queue, UsmKind::Host, &[2], &[i64::MIN, i64::MAX]).unwrap();
    let ends = ends.view::<i64>().unwrap();
    let flipped = ends.slice(&[SliceItem::Slice { start: None, stop: None, step: -1 }]).unwrap();
    assert!(ends.abs_diff_eq(&flipped, 2_f64.powi(64)) && !ends.abs_diff_eq(&flipped, 2_f64.powi(63)));
    assert!(ends != ends.slice(&[SliceItem::NewAxis]).unwrap(), "another shape");
}

/// Large enough for blocks, streaming stores and several threads.
#[test]
fn large_views_are_copied_to_and_from_slices() {
    let (rows, columns) = (600, 900);
    let whole = Layout::contiguous(&[rows, columns], usm_array::Order::C).unwrap();
    let (half, every) =
        (columns.cast_signed() / 2, |step| SliceItem::Slice { start: None, stop: None, step });
    let first = SliceItem::Slice { start: None, stop: Some(half), step: 1 };
    let parts = [
        whole.clone(),
        whole.slice(&[SliceItem::FULL, first]).unwrap(),
        whole.slice(&[every(-1), every(2)]).unwrap(),
        whole.transpose(),
        whole.slice(&[every(3), every(-1)]).unwrap().transpose(),
    ];
    for layout in parts {
        let array = numbered(&layout, UsmKind::Shared);
        let expected = numbers(&layout);
        let mut view = array.view_mut::<i32>().unwrap();
        assert!(view.to_vec().unwrap() == expected, "{layout:?}");
        let changed: Vec<i32> = expected.iter().rev().map(|x| x - 5).collect();
        view.copy_from_slice(&changed).unwrap();
        assert!(view.iter().eq(changed.iter().copied()), "{layout:?}");
        drop(view);
        let shape = [layout.required_len()];
        let all = UsmArray::builder(&shape, Dtype::I32);
        let all = all.build(usm_array::BufferSource::Existing(array.buffer().clone())).unwrap();
        let mut wanted: Vec<i32> = (0..shape[0] as i32).collect();
        displacements(&layout).into_iter().zip(&changed).for_each(|(place, &x)| wanted[place] = x);
        assert!(all.to_vec::<i32>().unwrap() == wanted, "{layout:?}: what lies between is unchanged");
    }
}

#[cfg(feature = "ndarray")]
mod nd {
    use super::*;
    use usm_array::ArrayViewMut;

    proptest! {
        #[test]
        fn ndarray_sees_the_same_elements(layout in layouts()) {
            let array = numbered(&layout, UsmKind::Shared);
            let view = array.view::<i32>().unwrap();
            let nd = view.as_ndarray();
            prop_assert_eq!(nd.shape(), layout.shape());
            prop_assert_eq!(nd.iter().copied().collect::<Vec<_>>(), numbers(&layout));
            let back = UsmArray::from_ndarray(array.queue(), UsmKind::Device, &nd).unwrap();
            prop_assert_eq!(back.shape(), layout.shape());
            prop_assert_eq!(back.to_ndarray::<i32>().unwrap(), nd);
        }

        #[test]
        fn ndarray_changes_the_same_elements(layout in common::injective_layouts()) {
            let array = numbered(&layout, UsmKind::Host);
            let mut view = array.view_mut::<i32>().unwrap();
            view.as_ndarray_mut().unwrap().mapv_inplace(|x| x + 1000);
            let expected: Vec<i32> = numbers(&layout).into_iter().map(|x| x + 1000).collect();
            prop_assert_eq!(view.to_vec().unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn views_of_ndarray_go_both_ways(layout in layouts()) {
            let array = numbered(&layout, UsmKind::Shared);
            let view = array.view::<i32>().unwrap();
            let nd: ndarray::ArrayViewD<'_, i32> = (&view).try_into().unwrap();
            let back = usm_array::ArrayView::try_from(nd.view()).unwrap();
            prop_assert_eq!(&back, &view);
            prop_assert_eq!(back.to_vec().unwrap(), numbers(&layout));
            prop_assert_eq!(back.as_ndarray(), nd.view());
            prop_assert_eq!(back.transpose().to_vec().unwrap(), view.transpose().to_vec().unwrap());
            prop_assert!(back.as_slice().is_none_or(|slice| slice == numbers(&layout)));
        }
    }

    proptest! {
        #[test]
        fn mutable_views_of_ndarray_are_changed_where_they_are(layout in common::injective_layouts()) {
            let array = numbered(&layout, UsmKind::Shared);
            let mut expected = numbers(&layout);
            {
                let mut guard = array.view_mut::<i32>().unwrap();
                let mut nd = guard.as_ndarray_mut().unwrap();
                let mut view = ArrayViewMut::try_from(nd.view_mut()).unwrap();
                prop_assert_eq!(view.shape(), layout.shape());
                prop_assert_eq!(view.to_vec().unwrap(), &expected[..]);
                view.map_in_place(|x| 10 * x);
                view.iter_mut().unwrap().for_each(|x| *x += 1);
                expected.iter_mut().for_each(|x| *x = 10 * *x + 1);
                prop_assert_eq!(view.as_view().to_vec().unwrap(), &expected[..]);
                for index in indices(layout.shape()).iter().take(3) {
                    prop_assert_eq!(view[index.as_slice()], view.get(index).unwrap());
                }
                // To ndarray again, from the view over its memory.
                view.as_ndarray_mut().unwrap().mapv_inplace(|x| -x);
                expected.iter_mut().for_each(|x| *x = -*x);
                prop_assert_eq!(nd.iter().copied().collect::<Vec<_>>(), &expected[..]);
                let reversed: Vec<i32> = expected.iter().rev().copied().collect();
                ArrayViewMut::try_from(nd.view_mut()).unwrap().copy_from_slice(&reversed).unwrap();
                expected = reversed;
            }
            prop_assert_eq!(array.to_vec::<i32>().unwrap(), expected);
        }
    }

    #[test]
    fn mutable_views_of_ndarray_are_parts_of_a_matrix() {
        let mut matrix = ndarray::Array2::from_shape_fn((40, 30), |(i, j)| (100 * i + j) as f64);
        let mut expected = matrix.clone();
        {
            let mut view = ArrayViewMut::try_from(matrix.slice_mut(ndarray::s![..;-2, 1..;-3])).unwrap();
            assert_eq!((view.shape(), view[[0, 0]], view[[1, 2]]), (&[20, 10][..], 3929.0, 3723.0));
            let mut corner = view.slice_mut(usm_array::s![..2, -1]).unwrap();
            corner.map_in_place(|x| -x);
            // On another thread.
            std::thread::scope(|scope| {
                scope
                    .spawn(|| view.index_axis_mut(0, 5).unwrap().copy_from_slice(&[7.0; 10]))
                    .join()
                    .unwrap()
                    .unwrap();
            });
        }
        let mut wanted = expected.slice_mut(ndarray::s![..;-2, 1..;-3]);
        wanted.slice_mut(ndarray::s![..2, -1]).mapv_inplace(|x| -x);
        wanted.row_mut(5).fill(7.0);
        assert_eq!(matrix, expected);
    }

    #[test]
    fn mutable_views_of_ndarray_are_refused() {
        let mut many = ndarray::ArrayD::<i32>::zeros(ndarray::IxDyn(&[1; 65]));
        let refused = ArrayViewMut::try_from(many.view_mut()).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::TooManyAxes { found: 65 })));

        // Without elements, and without axes.
        let mut none = ndarray::Array3::<f32>::zeros((3, 0, 2));
        let mut none = ArrayViewMut::try_from(none.slice_mut(ndarray::s![..;-1, .., ..])).unwrap();
        none.map_in_place(|_| unreachable!());
        none.copy_from_slice(&[]).unwrap();
        assert_eq!((none.to_vec().unwrap(), none.iter_mut().unwrap().len()), (vec![], 0));
        let mut one = ndarray::arr0(1_u8);
        ArrayViewMut::try_from(one.view_mut()).unwrap().set(&[], 2).unwrap();
        assert_eq!(one.into_scalar(), 2);

        // Broadcast strides: safe code of ndarray makes no such view, and ours is none of ndarray's.
        let mut memory = [1, 2, 3];
        let broadcast = || ndarray::ShapeBuilder::strides((2, 3), (0, 1));
        assert!(ndarray::ArrayViewMut2::from_shape(broadcast(), &mut memory).is_err());
        // Unsafe code can, unless ndarray was built with debug assertions, which panic.
        let start = std::panic::AssertUnwindSafe(memory.as_mut_ptr());
        let refused = std::panic::catch_unwind(|| {
            // SAFETY: three elements of a vector that lives; no reference to any of them is made.
            let shared = unsafe { ndarray::ArrayViewMut2::from_shape_ptr(broadcast(), *start) };
            ArrayViewMut::try_from(shared).map(|_| ())
        });
        assert!(refused.is_err() || matches!(refused, Ok(Err(Error::SharedElements { .. }))));
        let layout = Layout::new(&[2, 3], Some(&[0, 1]), 0, usm_array::Order::C).unwrap();
        let array = numbered(&layout, UsmKind::Host);
        let mut view = array.view_mut::<i32>().unwrap();
        assert!(matches!(view.as_ndarray_mut(), Err(Error::SharedElements { .. })));
        // The last one counts.
        view.copy_from_slice(&[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(view.to_vec().unwrap(), [4, 5, 6, 4, 5, 6]);
    }

    #[test]
    fn views_of_ndarray_have_their_number_of_axes() {
        let layout = Layout::contiguous(&[2, 3], usm_array::Order::C).unwrap();
        let array = numbered(&layout, UsmKind::Host);
        {
            let view = array.view::<i32>().unwrap();
            let matrix = ndarray::ArrayView2::try_from(&view).unwrap();
            assert_eq!(matrix[[1, 2]], 5);
            let refused = ndarray::ArrayView3::<i32>::try_from(&view).unwrap_err();
            assert!(matches!(refused, Error::AxisCount { found: 2, expected: 3 }));
        }
        let mut view = array.view_mut::<i32>().unwrap();
        ndarray::ArrayViewMut2::try_from(&mut view).unwrap()[[0, 1]] = -1;
        let refused = ndarray::ArrayViewMut1::<i32>::try_from(&mut view).unwrap_err();
        assert!(matches!(refused, Error::AxisCount { found: 2, expected: 1 }));
        assert_eq!(view.to_vec().unwrap(), [0, -1, 2, 3, 4, 5]);

        let many = ndarray::ArrayD::<i32>::zeros(ndarray::IxDyn(&[1; 65]));
        let refused = usm_array::ArrayView::try_from(many.view()).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::TooManyAxes { found: 65 })));
        let none = ndarray::Array2::<f32>::zeros((3, 0));
        assert!(usm_array::ArrayView::try_from(none.view()).unwrap().iter().next().is_none());
    }

    /// The version that the documentation states.
    #[test]
    fn the_version_of_ndarray_is_stated() {
        let workspace = include_str!("../../../../Cargo.toml");
        let version =
            workspace.split("\nndarray = { version = \"").nth(1).unwrap().split('"').next().unwrap();
        for text in [include_str!("../../src/lib.rs"), include_str!("../../README.md")] {
            assert!(text.contains(&format!("`ndarray` {version}")), "{version}");
        }
        assert_eq!(
            std::any::TypeId::of::<usm_array::ndarray::Ix2>(),
            std::any::TypeId::of::<ndarray::Ix2>(),
            "the re-exported one is the one of the views"
        );
    }

    #[test]
    fn ndarray_in_every_place() {
        for (queue, kind) in places() {
            let matrix = ndarray::arr2(&[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
            let array = UsmArray::from_ndarray(&queue, kind, &matrix.t()).unwrap();
            assert_eq!(array.transpose().to_ndarray::<f32>().unwrap(), matrix.clone().into_dyn(), "{kind}");
            if array.is_host_accessible() {
                let mut view = array.view_mut::<f32>().unwrap();
                view.as_ndarray_mut().unwrap().mapv_inplace(|x| 2.0 * x);
                drop(view);
                let view = array.view::<f32>().unwrap();
                assert_eq!(view.as_ndarray(), (2.0 * &matrix.t()).into_dyn(), "{kind}");
            }
        }
    }

    #[test]
    fn ndarray_sees_huge_broadcasts_and_nothing() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let one = UsmArray::from_slice(&queue, UsmKind::Host, &[1], &[7_i64]).unwrap();
        let wide = one.broadcast_to(&[1 << 30, 1 << 29]).unwrap();
        let view = wide.view::<i64>().unwrap();
        assert_eq!(view.as_ndarray()[[(1 << 30) - 1, 5].as_slice()], 7);
        let nothing = UsmArray::zeros(&queue, UsmKind::Host, &[3, 0, 2], Dtype::C128).unwrap();
        let view = nothing.view::<Complex64>().unwrap();
        assert_eq!((view.as_ndarray().shape(), view.as_ndarray().len()), (&[3, 0, 2][..], 0));
    }

    #[test]
    fn shared_elements_are_not_written_through_references() {
        for (strides, is_shared) in
            [([1, 1], true), ([0, 1], true), ([3, 2], true), ([-3, 1], false), ([1, 2], false)]
        {
            let layout = Layout::with_automatic_offset(&[2, 3], Some(&strides), usm_array::Order::C).unwrap();
            let array = numbered(&layout, UsmKind::Host);
            let mut view = array.view_mut::<i32>().unwrap();
            let found = view.as_ndarray_mut();
            assert_eq!(matches!(found, Err(Error::SharedElements { .. })), is_shared, "{strides:?}");
        }
    }
}
