//! Slow enumeration in wide integers, which the tests compare the arithmetic with

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{Layout, Order};

/// The indices of a shape in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |prefixes, &n| {
        prefixes.iter().flat_map(|prefix| (0..n).map(move |i| [&prefix[..], &[i]].concat())).collect()
    })
}

/// Where each element is, offset included, in row-major order, by the formula of the container
/// specification.
pub(crate) fn displacements(layout: &Layout) -> Vec<i128> {
    let axes = layout.shape().iter().zip(layout.strides());
    axes.fold(vec![layout.offset() as i128], |places, (&n, &stride)| {
        let along = |place| (0..n).map(move |i| place + i as i128 * stride as i128);
        places.into_iter().flat_map(along).collect()
    })
}

/// Fails unless each index of a view reaches the element of the source at the index from `back`, computed in wide integers.
pub(crate) fn assert_maps(
    view: &Layout,
    source: &Layout,
    back: impl Fn(&[usize]) -> Vec<usize>,
) -> Result<(), TestCaseError> {
    for (index, place) in indices(view.shape()).iter().zip(displacements(view)) {
        let from = back(index);
        prop_assert!(from.iter().zip(source.shape()).all(|(i, n)| i < n), "{:?} of {:?}", from, source);
        let steps = from.iter().zip(source.strides());
        let expected = source.offset() as i128 + steps.map(|(&i, &s)| i as i128 * s as i128).sum::<i128>();
        prop_assert_eq!((from.len(), place), (source.ndim(), expected), "{:?} of {:?}", index, view);
    }
    Ok(())
}

/// Layouts small enough to enumerate, of any sign and with repeats.
pub(crate) fn small_layouts() -> impl Strategy<Value = Layout> {
    prop::collection::vec((0_usize..5, -12_isize..=12), 0..5)
        .prop_flat_map(|axes| (Just(axes), -60_isize..60))
        .prop_map(|(axes, offset)| {
            let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
            Layout::new(&shape, Some(&strides), offset, Order::C).unwrap()
        })
}

/// Numbers of every magnitude, whether they make a layout or not.
pub(crate) fn wide_layouts() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, isize)> {
    let magnitude = |bits: u32| (0..bits).prop_map(|shift| 1_usize << shift);
    let size = (magnitude(64), 0_usize..3).prop_map(|(m, low)| (m - 1).saturating_add(low) % (1 << 63));
    let small_size = 0_usize..4;
    let stride = (any::<bool>(), magnitude(64), 0_usize..3).prop_map(|(negative, m, low)| {
        let value = (m - 1).saturating_add(low).cast_signed();
        if negative { value.wrapping_neg() } else { value }
    });
    let axis = (prop_oneof![size, small_size], stride.clone());
    (prop::collection::vec(axis, 0..4), stride).prop_map(|(axes, offset)| {
        let (shape, strides) = axes.into_iter().unzip();
        (shape, strides, offset)
    })
}
