//! Reshaping against known values and against a search for strides

use proptest::prelude::*;

use super::super::brute_force::{displacements, indices};
use super::*;

fn layout(shape: &[usize], strides: &[isize]) -> Layout {
    Layout::new(shape, Some(strides), 0, Order::C).expect("small")
}

fn strides(layout: &Layout, shape: &[isize], order: Order) -> Option<Vec<isize>> {
    layout.reshape_view(shape, order).expect("a shape").map(|view| view.strides().to_vec())
}

#[test]
fn known_cases() {
    let c = layout(&[2, 3, 4], &[12, 4, 1]);
    assert_eq!(strides(&c, &[6, 4], Order::C), Some(vec![4, 1]));
    assert_eq!(strides(&c, &[-1], Order::C), Some(vec![1]));
    assert_eq!(strides(&c, &[4, 6], Order::C), Some(vec![6, 1]));
    assert_eq!(strides(&c, &[24, 1, 1], Order::C).map(|s| s[0]), Some(1));
    assert_eq!(strides(&c, &[-1], Order::F), None);
    assert_eq!(strides(&c.transpose(), &[12, 2], Order::F), Some(vec![1, 12]));
    // Gaps at the end of the rows: rows can be split, not merged.
    let gaps = layout(&[2, 4], &[6, 1]);
    assert_eq!(strides(&gaps, &[2, 2, 2], Order::C), Some(vec![6, 2, 1]));
    assert_eq!(strides(&gaps, &[8], Order::C), None);
    // Backwards.
    assert_eq!(strides(&layout(&[2, 3], &[-3, -1]), &[6], Order::C), Some(vec![-1]));
    // Repeated axes.
    assert_eq!(strides(&layout(&[4, 3], &[0, 1]), &[2, 2, 3], Order::C), Some(vec![0, 0, 1]));
    assert_eq!(strides(&layout(&[2, 3], &[0, 0]), &[6], Order::C), Some(vec![0]));
    assert_eq!(strides(&layout(&[4, 3], &[0, 1]), &[12], Order::C), None);
    // One element has every shape of one element.
    assert!(strides(&layout(&[], &[]), &[1, 1], Order::C).is_some());
    assert_eq!(strides(&layout(&[1, 1], &[5, 7]), &[], Order::F), Some(vec![]));
}

#[test]
fn without_elements_every_empty_shape_is_a_view() {
    let empty = layout(&[2, 0, 3], &[7, 5, 3]);
    for shape in [&[0][..], &[0, 9], &[3, 0, 2]] {
        assert!(empty.reshape_view(shape, Order::C).expect("a shape").is_some(), "{shape:?}");
    }
    assert_eq!(strides(&empty, &[-1, 4], Order::C), Some(vec![4, 1]));
    // 0 times anything is 0: -1 could be any size.
    assert!(matches!(empty.reshape_view(&[0, -1], Order::C), Err(LayoutError::ReshapeSize { size: 0, .. })));
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_the_numbers() {
    let six = layout(&[2, 3], &[3, 1]);
    for shape in [&[7][..], &[-1, 4], &[], &[0, -1], &[isize::MAX, 2], &[isize::MAX, isize::MAX, -1]] {
        let refused = LayoutError::ReshapeSize { size: 6, shape: shape.to_vec() };
        assert_eq!(six.reshape_view(shape, Order::C), Err(refused));
    }
    let refused = LayoutError::NegativeSize { argument: "shape", axis: 1, size: -2 };
    assert_eq!(six.reshape_view(&[3, -2], Order::C), Err(refused));
    let refused = LayoutError::RepeatedUnknownSize { shape: vec![-1, -1] };
    assert_eq!(six.reshape_view(&[-1, -1], Order::C), Err(refused));
    let one = layout(&[], &[]);
    assert_eq!(one.reshape_view(&[1; 65], Order::C), Err(LayoutError::TooManyAxes { found: 65 }));
}

/// Strides with which a shape reaches the given places in row-major order, found by trying: each stride is the distance of the
/// first step along its axis.
fn searched(places: &[i128], shape: &[usize]) -> Option<Vec<i128>> {
    let strides: Vec<i128> = (0..shape.len())
        .map(|axis| {
            let step: usize = shape[axis + 1..].iter().product();
            if shape[axis] > 1 { places[step] - places[0] } else { 0 }
        })
        .collect();
    let all = indices(shape);
    let reached = all.iter().map(|index| {
        let steps = index.iter().zip(&strides);
        places[0] + steps.map(|(&i, &stride)| i as i128 * stride).sum::<i128>()
    });
    reached.eq(places.iter().copied()).then_some(strides)
}

/// Layouts whose axes often go on where the one before ends, or are repeated.
fn nearly_contiguous() -> impl Strategy<Value = Layout> {
    prop::collection::vec((prop::sample::select(vec![1_usize, 2, 3, 4, 6]), 0_u8..8, -9_isize..10), 0..5)
        .prop_map(|axes| {
            let (mut shape, mut strides, mut step) = (vec![], vec![], 1_isize);
            for (size, kind, other) in axes {
                let stride = match kind {
                    0 => other,
                    1 => 0,
                    2 => -step,
                    _ => step,
                };
                shape.insert(0, size);
                strides.insert(0, stride);
                step = stride * size.cast_signed();
            }
            Layout::new(&shape, Some(&strides), 0, Order::C).expect("small")
        })
}

/// The factors of a size in some order, merged here and there, with a few ones between them.
fn shapes_of(size: usize) -> impl Strategy<Value = Vec<usize>> {
    let mut factors = vec![];
    let mut rest = size;
    for prime in [2, 3, 5, 7, 11] {
        while rest > 0 && rest.is_multiple_of(prime) {
            factors.push(prime);
            rest /= prime;
        }
    }
    factors.extend([1, 1]);
    let merges = prop::collection::vec(any::<bool>(), factors.len());
    (Just(factors).prop_shuffle(), merges).prop_map(|(factors, merges)| {
        let mut shape: Vec<usize> = vec![];
        for (factor, merge) in factors.into_iter().zip(merges) {
            match shape.last_mut() {
                Some(last) if merge => *last *= factor,
                _ => shape.push(factor),
            }
        }
        shape
    })
}

proptest! {

    #[test]
    fn a_view_exists_exactly_if_there_are_strides_for_it(
        (layout, shape) in nearly_contiguous().prop_flat_map(|layout| {
            let size = layout.size();
            (Just(layout), shapes_of(size))
        }),
        unknown in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut given: Vec<isize> = shape.iter().map(|&n| n.cast_signed()).collect();
        if let Some(unknown) = unknown {
            let axis = unknown.index(given.len());
            given[axis] = -1;
        }
        let places = displacements(&layout);
        let view = layout.reshape_view(&given, Order::C).expect("a shape");
        prop_assert_eq!(view.is_some(), searched(&places, &shape).is_some());
        if let Some(view) = view {
            prop_assert_eq!(view.shape(), &shape[..]);
            prop_assert_eq!(displacements(&view), places);
        }
        // In column-major order it is the same with all axes reversed.
        let reversed: Vec<isize> = given.iter().rev().copied().collect();
        let mirrored = layout.transpose().reshape_view(&reversed, Order::F).expect("a shape");
        let view = layout.reshape_view(&given, Order::C).expect("a shape");
        prop_assert_eq!(mirrored.map(|m| displacements(&m.transpose())), view.map(|v| displacements(&v)));
    }
}
