//! Layouts, slices of them, and whether two overlap, each against an enumeration of all elements in 128 bits.

use std::collections::BTreeSet;

use arbitrary::{Result, Unstructured};
use usm_array::{Layout, Order, Overlap, SliceItem, StridedBytes};

/// Most elements that are looked at one by one.
const MOST_ELEMENTS: usize = 1 << 10;

/// A number as likely to be small as large.
pub(crate) fn number(bytes: &mut Unstructured<'_>) -> Result<isize> {
    Ok(match bytes.int_in_range(0..=3)? {
        0 | 1 => bytes.int_in_range(-9..=9)?,
        2 => bytes.int_in_range(-70_000..=70_000)?,
        _ => bytes.arbitrary()?,
    })
}

/// The same, not negative, and mostly small.
pub(crate) fn size(bytes: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match bytes.int_in_range(0..=9)? {
        0 => bytes.arbitrary()?,
        1 => bytes.int_in_range(0..=70_000)?,
        _ => bytes.int_in_range(0..=5)?,
    })
}

/// Shape, strides and offset, of which no layout may exist.
pub(crate) fn parts(bytes: &mut Unstructured<'_>) -> Result<(Vec<usize>, Vec<isize>, isize)> {
    let num_axes = bytes.int_in_range(0..=5)?;
    let shape: Vec<_> = (0..num_axes).map(|_| size(bytes)).collect::<Result<_>>()?;
    let strides = (0..num_axes).map(|_| number(bytes)).collect::<Result<_>>()?;
    Ok((shape, strides, number(bytes)?))
}

/// Where all elements are, in the order of their indices, in elements; `None` for many of them.
pub(crate) fn elements(layout: &Layout) -> Option<Vec<i128>> {
    // Without elements, an axis may have any size.
    if layout.size() > MOST_ELEMENTS || layout.shape().iter().any(|&size| size > MOST_ELEMENTS) {
        return None;
    }
    let mut places: Vec<_> = (layout.size() > 0).then_some(layout.offset() as i128).into_iter().collect();
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        let along = |place: i128| (0..size).map(move |index| place + index as i128 * stride as i128);
        places = places.into_iter().flat_map(along).collect();
    }
    Some(places)
}

/// The first and the last place of an element by the strides alone; `None` without elements, and beyond 128 bits.
pub(crate) fn ends(shape: &[usize], strides: &[isize], offset: isize) -> Option<(i128, i128)> {
    let mut ends = (offset as i128, offset as i128);
    for (&size, &stride) in shape.iter().zip(strides) {
        let reach = (size as i128 - 1).checked_mul(stride as i128)?;
        match size {
            0 => return None,
            _ if reach < 0 => ends.0 = ends.0.checked_add(reach)?,
            _ => ends.1 = ends.1.checked_add(reach)?,
        }
    }
    Some(ends)
}

/// What exists is what was asked for, and its extent is that of its elements.
pub fn layouts(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (shape, strides, offset) = parts(bytes)?;
    let Ok(layout) = Layout::new(&shape, Some(&strides), offset, Order::C) else { return Ok(()) };
    assert_eq!((layout.shape(), layout.strides(), layout.offset()), (&shape[..], &strides[..], offset));
    let size = shape.iter().try_fold(1_i128, |size, &along| size.checked_mul(along as i128));
    assert_eq!(size, Some(layout.size() as i128));
    let found = layout.extent_with_offset().map(|extent| (extent.min as i128, extent.max as i128));
    assert_eq!(found, ends(&shape, &strides, offset).filter(|_| layout.size() > 0));
    if let Some(elements) = elements(&layout) {
        let first_and_last = elements.iter().min().copied().zip(elements.iter().max().copied());
        assert_eq!(found, first_and_last);
        assert!(layout.offsets().map(|place| place as i128).eq(elements.iter().copied()));
        let overlap = layout.internal_overlap(usize::MAX);
        let distinct: BTreeSet<_> = elements.iter().collect();
        assert_eq!(overlap.is_possible(), distinct.len() < elements.len());
    }
    Ok(())
}

fn item(bytes: &mut Unstructured<'_>) -> Result<SliceItem> {
    let mut bound =
        || -> Result<Option<isize>> { bytes.arbitrary::<bool>()?.then(|| number(bytes)).transpose() };
    let (start, stop) = (bound()?, bound()?);
    Ok(match bytes.int_in_range(0..=5)? {
        0 => SliceItem::Index(number(bytes)?),
        1 => SliceItem::NewAxis,
        2 => SliceItem::Ellipsis,
        _ => SliceItem::Slice { start, stop, step: number(bytes)? },
    })
}

/// The indices of `start:stop:step` along an axis, as Python's `slice.indices` says.
fn indices(start: Option<isize>, stop: Option<isize>, step: isize, size: usize) -> Vec<i128> {
    let (size, step) = (size as i128, step as i128);
    let (lowest, highest) = if step < 0 { (-1, size - 1) } else { (0, size) };
    let bound = |bound: isize| {
        let bound = bound as i128;
        (if bound < 0 { bound + size } else { bound }).clamp(lowest, highest)
    };
    let start = start.map_or(if step < 0 { highest } else { lowest }, bound);
    let stop = stop.map_or(if step < 0 { lowest } else { highest }, bound);
    let goes_on = |index: &i128| if step < 0 { *index > stop } else { *index < stop };
    std::iter::successors(Some(start), |index| Some(index + step)).take_while(goes_on).collect()
}

/// A slice of a layout has the elements that its items say, one by one.
pub fn slices(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (shape, strides, offset) = parts(bytes)?;
    let items: Vec<_> = (0..bytes.int_in_range(0..=6)?).map(|_| item(bytes)).collect::<Result<_>>()?;
    let Ok(layout) = Layout::new(&shape, Some(&strides), offset, Order::C) else { return Ok(()) };
    let Ok(sliced) = layout.slice(&items[..]) else { return Ok(()) };
    let (Some(_), Some(found)) = (elements(&layout), elements(&sliced)) else { return Ok(()) };
    let mut places: Vec<_> = (sliced.size() > 0).then_some(offset as i128).into_iter().collect();
    let mut axes = shape.iter().zip(&strides);
    let num_used =
        items.iter().filter(|item| matches!(item, SliceItem::Index(_) | SliceItem::Slice { .. })).count();
    let num_left = shape.len() - num_used;
    let has_ellipsis = items.iter().any(|item| matches!(item, SliceItem::Ellipsis));
    let whole = SliceItem::Slice { start: None, stop: None, step: 1 };
    let behind = if has_ellipsis { 0 } else { num_left };
    let items = items.iter().flat_map(|item| match item {
        SliceItem::Ellipsis => vec![whole; num_left],
        item => vec![*item],
    });
    for item in items.chain(vec![whole; behind]) {
        let along = match item {
            SliceItem::NewAxis | SliceItem::Ellipsis => continue,
            SliceItem::Index(index) => axes.next().map(|(&size, &stride)| {
                let index = index as i128;
                (vec![if index < 0 { index + size as i128 } else { index }], stride)
            }),
            SliceItem::Slice { start, stop, step } => {
                axes.next().map(|(&size, &stride)| (indices(start, stop, step, size), stride))
            }
        };
        let (indices, stride) = along.unwrap();
        let next = |place: i128| indices.iter().map(move |index| place + index * stride as i128);
        places = places.into_iter().flat_map(next).collect();
    }
    assert_eq!(found, places);
    Ok(())
}

/// No layout of [`overlaps`] has a byte at a lower address.
const LOWEST: usize = 95_000;
/// Their bytes lie in so many bytes from there on: 16 bytes of an element times four axes of three steps of up to 20.
const SPAN_BYTES: usize = 10_240;
/// A byte is a bit of such a number of them.
const BITS: usize = u64::BITS as usize;

/// Two layouts overlap where they have a byte in common.
pub fn overlaps(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut one = || -> Result<(Option<Layout>, usize, usize)> {
        let num_axes = bytes.int_in_range(0..=4)?;
        let shape: Vec<_> = (0..num_axes).map(|_| bytes.int_in_range(0..=4)).collect::<Result<_>>()?;
        let strides: Vec<_> = (0..num_axes).map(|_| bytes.int_in_range(-20..=20)).collect::<Result<_>>()?;
        let layout = Layout::new(&shape, Some(&strides), bytes.int_in_range(-9..=9)?, Order::C).ok();
        Ok((layout, 1 << bytes.int_in_range(0..=4)?, bytes.int_in_range(100_000..=100_040)?))
    };
    let (first, second) = (one()?, one()?);
    let (Some(first_layout), Some(second_layout)) = (&first.0, &second.0) else { return Ok(()) };
    let strided = |layout, (_, itemsize_bytes, address): &(_, usize, usize)| StridedBytes {
        layout,
        itemsize_bytes: *itemsize_bytes,
        address: *address,
    };
    let touched = |layout: &Layout, (_, itemsize_bytes, address): &(_, usize, usize)| -> Vec<u64> {
        let mut touched = vec![0; SPAN_BYTES / BITS];
        for place in elements(layout).unwrap() {
            let start = (*address as i128 + place * *itemsize_bytes as i128 - LOWEST as i128) as usize;
            let element = ((1_u128 << itemsize_bytes) - 1) << (start % BITS);
            touched[start / BITS] |= element as u64;
            touched[start / BITS + 1] |= (element >> BITS) as u64;
        }
        touched
    };
    let touched = (touched(first_layout, &first), touched(second_layout, &second));
    let expected = touched.0.iter().zip(&touched.1).any(|(first, second)| first & second != 0);
    let found = Overlap::between(strided(first_layout, &first), strided(second_layout, &second), usize::MAX);
    assert_eq!(found, if expected { Overlap::Yes } else { Overlap::No });
    Ok(())
}
