//! Slices against known values and against brute force

use proptest::prelude::*;

use super::super::Order;
use super::super::brute_force::{displacements, indices, small_layouts};
use super::*;

const fn range(start: Option<isize>, stop: Option<isize>, step: isize) -> SliceItem {
    SliceItem::Slice { start, stop, step }
}

/// The indices Python's `range(size)[start:stop:step]` has, one by one.
fn taken(size: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<usize> {
    let n = size as i128;
    let (low, high) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let place = |bound: isize| {
        let bound = if bound < 0 { bound as i128 + n } else { bound as i128 };
        bound.max(low).min(high)
    };
    let (first, last) = if step < 0 { (high, low) } else { (low, high) };
    let mut at = start.map_or(first, place);
    let stop = stop.map_or(last, place);
    let mut indices = vec![];
    while if step < 0 { at > stop } else { at < stop } {
        indices.push(at as usize);
        at += step as i128;
    }
    indices
}

fn vector(size: usize) -> Layout {
    Layout::contiguous(&[size], Order::C).expect("small")
}

#[test]
fn slices_of_a_range_are_those_of_python() {
    // Written down from Python: list(range(5))[start:stop:step].
    let (max, min) = (Some(isize::MAX), Some(isize::MIN));
    for (start, stop, step, expected) in [
        (None, None, 1, &[0, 1, 2, 3, 4][..]),
        (None, None, -1, &[4, 3, 2, 1, 0]),
        (Some(1), Some(4), 2, &[1, 3]),
        (Some(-2), None, 1, &[3, 4]),
        (None, Some(-2), 1, &[0, 1, 2]),
        (Some(10), None, 1, &[]),
        (Some(10), None, -2, &[4, 2, 0]),
        (Some(-10), Some(2), 1, &[0, 1]),
        (Some(-10), None, -1, &[]),
        (Some(3), Some(-1), -1, &[]),
        (Some(3), None, -1, &[3, 2, 1, 0]),
        (Some(3), Some(3), 1, &[]),
        (Some(4), Some(1), 1, &[]),
        (max, min, -1, &[4, 3, 2, 1, 0]),
        (min, max, 1, &[0, 1, 2, 3, 4]),
        (None, None, isize::MAX, &[0]),
        (None, None, isize::MIN, &[4]),
    ] {
        let view = vector(5).slice(&[range(start, stop, step)]).expect("valid");
        assert_eq!(view.offsets().collect::<Vec<_>>(), expected, "[{start:?}:{stop:?}:{step}]");
    }
}

#[test]
fn the_figure_with_negative_strides() {
    let view = vector(8).slice(&[range(Some(7), None, -2)]).expect("valid");
    assert_eq!((view.shape(), view.strides(), view.offset()), (&[4][..], &[-2][..], 7));
}

#[test]
fn an_empty_slice_stays_inside() {
    let view = vector(5).slice(&[range(Some(5), None, 1)]).expect("valid");
    assert_eq!((view.size(), view.offset()), (0, 0));
    let again = view.slice(&[range(None, None, -1)]).expect("valid");
    assert_eq!((again.size(), again.offset()), (0, 0));
}

#[test]
fn an_empty_layout_does_not_move() {
    let empty = Layout::contiguous(&[0, 9], Order::C).expect("small");
    let view = empty.slice(&[SliceItem::FULL, SliceItem::Index(8)]).expect("valid");
    assert_eq!((view.shape(), view.offset()), (&[0][..], 0));
}

#[test]
fn a_step_beyond_all_elements_keeps_a_stride_that_fits() {
    let layout = Layout::new(&[3], Some(&[4]), 0, Order::C).expect("small");
    let view = layout.slice(&[range(None, None, isize::MAX)]).expect("valid");
    assert_eq!((view.shape(), view.strides()), (&[1][..], &[4][..]));
}

#[test]
fn ellipsis_and_new_axes_go_where_they_stand() {
    use SliceItem::{Ellipsis, Index, NewAxis};
    let layout = Layout::contiguous(&[2, 3, 4], Order::C).expect("small");
    let sliced = |items: &[SliceItem]| {
        let view = layout.slice(items).expect("valid");
        (view.shape().to_vec(), view.strides().to_vec(), view.offset())
    };
    assert_eq!(sliced(&[]), (vec![2, 3, 4], vec![12, 4, 1], 0));
    assert_eq!(sliced(&[Ellipsis]), (vec![2, 3, 4], vec![12, 4, 1], 0));
    assert_eq!(sliced(&[Index(-1)]), (vec![3, 4], vec![4, 1], 12));
    assert_eq!(sliced(&[Ellipsis, Index(1)]), (vec![2, 3], vec![12, 4], 1));
    assert_eq!(sliced(&[NewAxis, Index(0), Ellipsis, NewAxis, Index(2)]), (vec![1, 3, 1], vec![0, 4, 0], 2));
    assert_eq!(sliced(&[Index(1), Index(2), Index(3), Ellipsis]), (vec![], vec![], 23));
}

#[test]
fn refusals_carry_the_numbers() {
    use SliceItem::{Ellipsis, Index, NewAxis};
    let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
    let out_of_bounds = |axis, index, size| LayoutError::IndexOutOfBounds { axis, index, size };
    assert_eq!(layout.slice(&[Index(0), Index(3)]), Err(out_of_bounds(1, 3, 3)));
    assert_eq!(layout.slice(&[Index(-3)]), Err(out_of_bounds(0, -3, 2)));
    assert_eq!(layout.slice(&[NewAxis, Ellipsis, Index(isize::MIN)]), Err(out_of_bounds(1, isize::MIN, 3)));
    assert_eq!(vector(0).slice(&[Index(0)]), Err(out_of_bounds(0, 0, 0)));
    assert_eq!(layout.slice(&[Index(0), range(None, None, 0)]), Err(LayoutError::ZeroStep { axis: 1 }));
    assert_eq!(
        layout.slice(&[Index(0), NewAxis, Index(0), SliceItem::FULL]),
        Err(LayoutError::TooManyIndices { ndim: 2, found: 3 })
    );
    assert_eq!(layout.slice(&[Ellipsis, NewAxis, Ellipsis]), Err(LayoutError::RepeatedEllipsis { found: 2 }));
    assert_eq!(layout.slice(&[NewAxis; MAX_NDIM]), Err(LayoutError::TooManyAxes { found: MAX_NDIM + 2 }));
    let most = [&[NewAxis; MAX_NDIM][..], &[Index(0), Index(0)]].concat();
    assert_eq!(layout.slice(&most).map(|view| view.ndim()), Ok(MAX_NDIM));
    let one_more = [&[Index(0)][..], &[NewAxis; MAX_NDIM]].concat();
    assert_eq!(layout.slice(&one_more), Err(LayoutError::TooManyAxes { found: MAX_NDIM + 1 }));
    let largest = Layout::contiguous(&[1; MAX_NDIM], Order::C).expect("small");
    let one_more = [Ellipsis, NewAxis];
    assert_eq!(largest.slice(&one_more), Err(LayoutError::TooManyAxes { found: MAX_NDIM + 1 }));
    // At once, and with all numbers.
    let many = vec![NewAxis; 1 << 20];
    assert_eq!(layout.slice(&many), Err(LayoutError::TooManyAxes { found: (1 << 20) + 2 }));
    // An error of the items as a whole comes before an error of one item.
    let all = LayoutError::TooManyIndices { ndim: 2, found: 3 };
    assert_eq!(layout.slice(&[Index(9), Index(0), Index(0)]), Err(all));
    let all = LayoutError::RepeatedEllipsis { found: 2 };
    assert_eq!(layout.slice(&[Index(9), Ellipsis, Ellipsis, Index(0), Index(0)]), Err(all));
}

fn bounds() -> impl Strategy<Value = Option<isize>> {
    prop::option::of(prop_oneof![-7_isize..8, any::<isize>()])
}

fn steps() -> impl Strategy<Value = isize> {
    // Mapped, not filtered: a million cases would run into the limit of rejected values.
    prop_oneof![-4_isize..5, any::<isize>()].prop_map(|step| if step == 0 { 1 } else { step })
}

/// Items that fit a layout with the given shape, with an ellipsis at some place or none.
fn fitting_items(shape: &[usize]) -> impl Strategy<Value = Vec<SliceItem>> + use<> {
    let of_axis = |&n: &usize| {
        let n = n.cast_signed();
        let slice = (bounds(), bounds(), steps()).prop_map(|(a, b, step)| range(a, b, step));
        if n == 0 {
            slice.boxed()
        } else {
            prop_oneof![2 => slice, 1 => (-n..n).prop_map(SliceItem::Index)].boxed()
        }
    };
    let items: Vec<_> = shape.iter().map(of_axis).collect();
    (items, any::<[u8; 3]>()).prop_map(|(mut items, [new_axis, cut, ellipsis])| {
        if new_axis % 2 == 0 {
            items.insert(new_axis as usize % (items.len() + 1), SliceItem::NewAxis);
        }
        if ellipsis % 3 == 0 {
            items.insert(ellipsis as usize % (items.len() + 1), SliceItem::Ellipsis);
        } else if cut % 4 == 0 {
            items.pop();
        }
        items
    })
}

/// The displacements a slice must have, found by taking each index of the source on its own.
fn expected(layout: &Layout, items: &[SliceItem]) -> (Vec<usize>, Vec<i128>) {
    let named =
        items.iter().filter(|item| matches!(item, SliceItem::Index(_) | SliceItem::Slice { .. })).count();
    let mut shape = vec![];
    let mut kept: Vec<Vec<usize>> = vec![];
    let fill = |shape: &mut Vec<usize>, kept: &mut Vec<Vec<usize>>| {
        for _ in named..layout.ndim() {
            let n = layout.shape()[kept.len()];
            shape.push(n);
            kept.push((0..n).collect());
        }
    };
    for &item in items {
        let axis = kept.len();
        match item {
            SliceItem::Index(i) => {
                let n = layout.shape()[axis].cast_signed();
                kept.push(vec![i.rem_euclid(n).cast_unsigned()]);
            }
            SliceItem::Slice { start, stop, step } => {
                let indices = taken(layout.shape()[axis], start, stop, step);
                shape.push(indices.len());
                kept.push(indices);
            }
            SliceItem::Ellipsis => fill(&mut shape, &mut kept),
            SliceItem::NewAxis => shape.push(1),
        }
    }
    if !items.contains(&SliceItem::Ellipsis) {
        fill(&mut shape, &mut kept);
    }
    let counts: Vec<usize> = kept.iter().map(Vec::len).collect();
    let places = indices(&counts).into_iter().map(|choice| {
        let steps = choice.iter().enumerate();
        let sum: i128 = steps.map(|(axis, &i)| kept[axis][i] as i128 * layout.strides()[axis] as i128).sum();
        layout.offset() as i128 + sum
    });
    (shape, places.collect())
}

proptest! {

    /// The keys that have ways of their own.
    #[test]
    fn short_ways_lead_to_the_same_views(layout in small_layouts(), more in 0_usize..6, index in -6_isize..6) {
        // Also with more axes than are kept inline.
        let mut shape = vec![1; more];
        shape.extend(layout.shape());
        let mut strides = vec![3; more];
        strides.extend(layout.strides());
        let deep = Layout::new(&shape, Some(&strides), layout.offset(), Order::C).unwrap();
        for layout in [layout, deep] {
            let view = layout.offset_at(index).map(|offset| layout.without_first_axis(offset));
            prop_assert_eq!(view, layout.slice(&[SliceItem::Index(index)]));
            let mut items = vec![SliceItem::FULL; layout.ndim()];
            items.push(SliceItem::NewAxis);
            let view = layout.slice(&[SliceItem::Ellipsis, SliceItem::NewAxis]);
            prop_assert_eq!(view, layout.slice(&items));
        }
    }

    #[test]
    fn slices_of_slices_equal_brute_force(
        (layout, first, second) in small_layouts().prop_flat_map(|layout| {
            let first = fitting_items(layout.shape());
            (Just(layout), first)
        }).prop_flat_map(|(layout, first)| {
            let view = layout.slice(&first).expect("fits");
            (Just(layout), Just(first), fitting_items(view.shape()))
        }),
    ) {
        let view = layout.slice(&first).expect("fits");
        let (shape, places) = expected(&layout, &first);
        prop_assert_eq!(view.shape(), &shape[..]);
        prop_assert_eq!(displacements(&view), places);

        let again = view.slice(&second).expect("fits");
        let (shape, places) = expected(&view, &second);
        prop_assert_eq!(again.shape(), &shape[..]);
        prop_assert_eq!(displacements(&again), places);
    }

    #[test]
    fn an_integer_is_taken_exactly_if_it_is_inside(size in 0_usize..6, index in prop_oneof![-8_isize..8, any::<isize>()]) {
        let n = size.cast_signed();
        let inside = (-n..n).contains(&index);
        prop_assert_eq!(vector(size).slice(&[SliceItem::Index(index)]).is_ok(), inside);
    }
}
