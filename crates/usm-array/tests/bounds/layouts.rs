//! All small layouts, and layouts of numbers around the limits of 64 bits

use std::collections::HashSet;

use usm_array::{CopyOrder, Dtype, Layout, Order, Overlap};

use super::reference::{check, places, reach};
use super::{bound, is_long, tell};

/// Calls a function with each layout of so many axes, of sizes up to a bound and strides up to it.
pub(crate) fn each_small(ndim: usize, bound: usize, job: &mut impl FnMut(&Layout)) {
    let mut shape = vec![0; ndim];
    let mut strides = vec![0; ndim];
    let strided = 2 * bound + 1;
    for number in 0..((bound + 1) * strided).pow(ndim as u32) {
        let mut rest = number;
        for axis in 0..ndim {
            shape[axis] = rest % (bound + 1);
            rest /= bound + 1;
            strides[axis] = (rest % strided).cast_signed() - bound.cast_signed();
            rest /= strided;
        }
        // The offset is only added.
        let offset = [0, 7, -5][number % 3];
        job(&Layout::new(&shape, Some(&strides), offset, Order::C).unwrap());
    }
}

/// Sizes where arithmetic goes wrong, few or many.
pub(crate) fn sizes(many: bool) -> Vec<usize> {
    let max = isize::MAX.cast_unsigned();
    let mut all = vec![0, 1, 2, 3, max, max - 1, max / 2, max / 2 + 1, max + 1, usize::MAX];
    if many {
        all.extend([2, 4, 8, 16].iter().flat_map(|itemsize| [0, 1].map(|more| max / itemsize + more)));
        all.extend([5, 1 << 31, (1 << 31) - 1, (1 << 31) + 1, 1 << 32, (1 << 32) - 1, 3_037_000_500]);
    }
    all
}

/// Strides and offsets where arithmetic goes wrong.
pub(crate) fn distances(many: bool) -> Vec<isize> {
    let mut all: Vec<isize> = sizes(many).iter().map(|&size| size.cast_signed()).collect();
    all.extend(sizes(many).iter().map(|&size| size.cast_signed().wrapping_neg()));
    all.extend([isize::MIN, isize::MIN + 1]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Calls a function with all layouts of so many axes of these numbers. Returns their number, and how many were none.
pub(crate) fn each_extreme(ndim: usize, job: &mut impl FnMut(&Layout)) -> [usize; 2] {
    let many = is_long() && ndim < 3;
    let (sizes, distances) = (sizes(many), distances(many));
    // Two or more axes take fewer offsets.
    let offsets = if ndim < 2 { distances.clone() } else { vec![0, 1, -1, isize::MAX - 1, isize::MIN] };
    let (mut taken, mut refused) = (0, 0);
    let (mut shape, mut strides) = (vec![0; ndim], vec![0; ndim]);
    for number in 0..(sizes.len() * distances.len()).pow(ndim as u32) {
        let mut rest = number;
        for axis in 0..ndim {
            shape[axis] = sizes[rest % sizes.len()];
            rest /= sizes.len();
            strides[axis] = distances[rest % distances.len()];
            rest /= distances.len();
        }
        for &offset in &offsets {
            let expected = reach(&shape, &strides, offset);
            let found = Layout::new(&shape, Some(&strides), offset, Order::C);
            assert_eq!(found.is_ok(), expected.is_some(), "{shape:?} {strides:?} {offset}");
            let Ok(found) = found else {
                refused += 1;
                continue;
            };
            taken += 1;
            check(&found);
            job(&found);
        }
    }
    [taken, refused]
}

/// All that a layout says of itself, as far as it needs no element.
fn check_sizes(layout: &Layout) {
    for dtype in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C128] {
        let bytes = layout.size() as i128 * dtype.itemsize_bytes() as i128;
        let expected = (bytes <= isize::MAX as i128).then_some(bytes as usize);
        assert_eq!(layout.size_bytes(dtype), expected, "{layout:?} {dtype}");
    }
    for order in [CopyOrder::C, CopyOrder::F, CopyOrder::Any, CopyOrder::Keep] {
        let packed = layout.packed(order).unwrap();
        check(&packed);
        assert_eq!((packed.shape(), packed.offset()), (layout.shape(), 0));
        assert_eq!(packed.required_len(), layout.size().max(1));
        assert!(order.is_of(&packed));
    }
    let automatic = Layout::with_automatic_offset(layout.shape(), Some(layout.strides()), Order::C);
    if let Ok(automatic) = automatic {
        check(&automatic);
        assert!(automatic.extent_with_offset().is_none_or(|extent| extent.min == 0), "{automatic:?}");
    } else {
        // Reachable from 0 on, it would begin above the largest number.
        assert!(reach(layout.shape(), layout.strides(), 0).is_none(), "{layout:?}");
    }
    for order in [Order::C, Order::F] {
        let dense = Layout::contiguous(layout.shape(), order).unwrap();
        check(&dense);
        assert!(if order == Order::C { dense.is_c_contiguous() } else { dense.is_f_contiguous() });
    }
}

/// All that a layout says of its elements.
fn check_elements(layout: &Layout) {
    let all = places(layout);
    assert!(layout.offsets().map(|place| place as i128).eq(all.iter().copied()), "{layout:?}");
    let counts_up =
        |all: &[i128]| all.iter().zip(layout.offset() as i128..).all(|(&place, expected)| place == expected);
    let (is_c, is_f) = (counts_up(&all), counts_up(&places(&layout.transpose())));
    assert_eq!((layout.is_c_contiguous(), layout.is_f_contiguous()), (is_c, is_f), "{layout:?}");
    assert_eq!(layout.is_contiguous(), is_c || is_f);
    assert_eq!(layout.is_f_contiguous_only(), is_f && !is_c);
    let distinct: HashSet<_> = all.iter().collect();
    let span = all.iter().max().zip(all.iter().min()).map_or(0, |(last, first)| last - first + 1);
    let is_dense = !all.is_empty() && distinct.len() == all.len() && span == all.len() as i128;
    assert_eq!(layout.is_dense(), is_dense, "{layout:?}");
    let overlap = layout.internal_overlap(usize::MAX);
    assert_eq!(overlap, if distinct.len() < all.len() { Overlap::Yes } else { Overlap::No }, "{layout:?}");
}

#[test]
fn small_layouts_are_their_elements() {
    let mut count = 0;
    let bounds = [0, bound(6), bound(3), bound(2)];
    for (ndim, &bound) in bounds.iter().enumerate() {
        each_small(ndim, bound, &mut |layout| {
            count += 1;
            check(layout);
            check_sizes(layout);
            check_elements(layout);
        });
    }
    tell(format!(
        "{count} layouts of up to 3 axes, sizes and strides up to {}, element by element",
        bounds[3]
    ));
}

#[test]
fn extreme_numbers_are_a_layout_where_they_fit() {
    // All of them take minutes with three axes.
    let (mut taken, mut refused) = (0, 0);
    for ndim in 1..=if is_long() { 3 } else { 2 } {
        let counts = each_extreme(ndim, &mut check_sizes);
        taken += counts[0];
        refused += counts[1];
    }
    assert!(taken > 1000 && refused > 1000);
    tell(format!("{taken} layouts of numbers around the limits of 64 bits, and {refused} refused ones"));
}
