//! Overlaps against enumeration and against layouts whose answer is known

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::Order;
use super::super::brute_force::{displacements, small_layouts};
use super::*;

fn layout(shape: &[usize], strides: &[isize], offset: isize) -> Layout {
    Layout::new(shape, Some(strides), offset, Order::C).expect("valid")
}

fn bytes<'a>(layout: &'a Layout, itemsize_bytes: usize, address: usize) -> StridedBytes<'a> {
    StridedBytes { layout, itemsize_bytes, address }
}

fn exactly(a: StridedBytes<'_>, b: StridedBytes<'_>) -> Overlap {
    let found = Overlap::between(a, b, usize::MAX);
    assert_eq!(found, Overlap::between(b, a, usize::MAX), "symmetric");
    found
}

const ADDRESS: usize = 0x1000;

#[test]
fn interleaved_views_do_not_overlap() {
    let even = layout(&[4, 5], &[20, 2], 0);
    let odd = layout(&[4, 5], &[20, 2], 1);
    assert_eq!(exactly(bytes(&even, 8, ADDRESS), bytes(&odd, 8, ADDRESS)), Overlap::No);
    let backwards = odd.flip(None).expect("all axes");
    assert_eq!(exactly(bytes(&even, 8, ADDRESS), bytes(&backwards, 8, ADDRESS)), Overlap::No);
    // Half an element further on they meet.
    assert_eq!(exactly(bytes(&even, 8, ADDRESS), bytes(&odd, 8, ADDRESS + 4)), Overlap::Yes);
    // The real and the imaginary parts of complex numbers.
    let complex = layout(&[3, 3], &[3, 1], 0);
    let (re, im) = (complex.part(false).expect("small"), complex.part(true).expect("small"));
    assert_eq!(exactly(bytes(&re, 8, ADDRESS), bytes(&im, 8, ADDRESS)), Overlap::No);
    assert_eq!(exactly(bytes(&complex, 16, ADDRESS), bytes(&im, 8, ADDRESS)), Overlap::Yes);
}

#[test]
fn nothing_overlaps_with_no_elements() {
    let (one, none) = (layout(&[], &[], 0), layout(&[0, 3], &[1, 1], 0));
    assert_eq!(exactly(bytes(&one, 1, ADDRESS), bytes(&none, 1, ADDRESS)), Overlap::No);
    // Elements without bytes, between the first and the last one of an array.
    let some = layout(&[3], &[2], 0);
    assert_eq!(exactly(bytes(&some, 4, ADDRESS), bytes(&one, 0, ADDRESS + 8)), Overlap::No);
    assert_eq!(none.internal_overlap(0), Overlap::No);
    assert_eq!(one.internal_overlap(0), Overlap::No);
}

#[test]
fn items_of_any_size_do_not_overflow() {
    let max = isize::MAX.cast_unsigned();
    let (up, down) = (layout(&[2], &[isize::MAX - 1], 0), layout(&[2], &[1 - isize::MAX], isize::MAX - 1));
    for address in [0, 1, usize::MAX] {
        let (up, down) = (bytes(&up, max, 0), bytes(&down, max, address));
        let expected = if address < max { Overlap::Yes } else { Overlap::No };
        assert_eq!(exactly(up, down), expected, "{address}");
    }
    for itemsize in [max + 1, usize::MAX] {
        assert_eq!(exactly(bytes(&up, itemsize, 0), bytes(&down, 1, usize::MAX)), Overlap::Maybe);
    }
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let far = layout(&[2, 2], &[isize::MAX / 2, -(isize::MAX / 2)], 0);
    assert_eq!(far.internal_overlap(usize::MAX), Overlap::Yes);
    let near = layout(&[2], &[isize::MAX - 1], 0);
    assert_eq!(near.internal_overlap(usize::MAX), Overlap::No);
    let (far, near) = (bytes(&far, 16, usize::MAX), bytes(&near, 16, 0));
    assert_eq!(exactly(far, near), Overlap::No);
    assert_eq!(exactly(near, near), Overlap::Yes);
    let unit = layout(&[1], &[isize::MIN], 0);
    assert_eq!(exactly(bytes(&unit, 16, 0), near), Overlap::Yes);
    assert_eq!(unit.internal_overlap(usize::MAX), Overlap::No);
}

#[test]
fn usual_layouts_need_little_work() {
    let whole = Layout::contiguous(&[64, 65, 66], Order::C).expect("small");
    let items = |start, step| super::super::SliceItem::Slice { start: Some(start), stop: None, step };
    let a = whole.slice(&[items(0, 2), items(1, 1), items(0, 3)]).expect("valid");
    let b = whole.slice(&[items(1, 2), items(1, 1), items(0, 3)]).expect("valid");
    let c = whole.slice(&[items(0, 2), items(1, 1), items(1, 3)]).expect("valid");
    for (a, b) in [(&a, &b), (&a, &c), (&b, &c)] {
        let found = Overlap::between(bytes(a, 8, ADDRESS), bytes(b, 8, ADDRESS), 64);
        assert_eq!(found, Overlap::No);
        assert_eq!(Overlap::between(bytes(a, 8, ADDRESS), bytes(a, 8, ADDRESS), 64), Overlap::Yes);
    }
    for view in [&whole, &a, &b.transpose(), &c.flip(None).expect("all axes")] {
        assert_eq!(view.internal_overlap(0), Overlap::No);
    }
    let windows = whole.sliding_window_view(&[3, 3, 3], None).expect("fits");
    assert_eq!(windows.internal_overlap(0), Overlap::Yes);
    assert_eq!(whole.broadcast_to(&[2, 64, 65, 66]).expect("fits").internal_overlap(0), Overlap::Yes);
}

#[test]
fn many_axes_are_exact() {
    let shape = [2; 40];
    let whole = Layout::contiguous(&shape, Order::C).expect("fits");
    let strides: Vec<isize> = whole.strides().iter().map(|&stride| 2 * stride).collect();
    let even = layout(&shape, &strides, 0);
    let odd = layout(&shape, &strides, 1);
    assert_eq!(exactly(bytes(&even, 4, ADDRESS), bytes(&odd, 4, ADDRESS)), Overlap::No);
    assert_eq!(exactly(bytes(&whole, 4, ADDRESS), bytes(&odd, 4, ADDRESS)), Overlap::Yes);
    assert_eq!(even.internal_overlap(usize::MAX), Overlap::No);
    assert_eq!(even.transpose().internal_overlap(usize::MAX), Overlap::No);
}

fn addresses(of: StridedBytes<'_>) -> HashSet<i128> {
    let size = of.itemsize_bytes as i128;
    let first = displacements(of.layout).into_iter().map(|place| of.address as i128 + place * size);
    first.flat_map(|first| first..first + size).collect()
}

proptest! {

    #[test]
    fn overlaps_are_found_exactly(
        a in small_layouts(), b in small_layouts(), sizes in [0_u32..5, 0_u32..5], apart in 0_usize..90,
    ) {
        let a = bytes(&a, 1 << sizes[0], ADDRESS);
        let b = bytes(&b, 1 << sizes[1], ADDRESS + apart);
        let expected = !addresses(a).is_disjoint(&addresses(b));
        prop_assert_eq!(exactly(a, b), if expected { Overlap::Yes } else { Overlap::No });
        let limited = Overlap::between(a, b, 1);
        prop_assert!(limited.is_possible() || !expected);
        prop_assert!(limited != Overlap::Yes || expected);
    }

    #[test]
    fn internal_overlaps_are_found_exactly(layout in small_layouts()) {
        let places = displacements(&layout);
        let different: HashSet<i128> = places.iter().copied().collect();
        let expected = if different.len() < places.len() { Overlap::Yes } else { Overlap::No };
        prop_assert_eq!(layout.internal_overlap(usize::MAX), expected);
        let limited = layout.internal_overlap(1);
        prop_assert!(limited == expected || limited == Overlap::Maybe);
    }
}

#[test]
fn a_limit_is_kept() {
    // Strides without a pattern, all of about one size: the hard case of the problem.
    let strides: Vec<isize> = (0..20).map(|k: isize| (1 << 40) + k * k * k * 7919 + 14 * k).collect();
    let hard = layout(&[3; 20], &strides, 0);
    assert_eq!(hard.internal_overlap(Overlap::DEFAULT_WORK_LIMIT), Overlap::Maybe);
    assert!(Overlap::Maybe.is_possible() && Overlap::Yes.is_possible() && !Overlap::No.is_possible());
}
