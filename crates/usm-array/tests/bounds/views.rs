//! All views of small layouts, and views of layouts of extreme numbers

use usm_array::{Layout, LayoutError, Order, SliceItem};

use super::layouts::{distances, each_extreme, each_small, sizes};
use super::reference::{Map, check, each_index, place, reach, slice};
use super::{bound, is_long, tell};

/// What a view must be, or that there is none.
fn expect(found: Result<Layout, LayoutError>, map: Option<Map>, source: &Layout, count: &mut usize) {
    *count += 1;
    match (found, map) {
        (Ok(view), Some(map)) => map.check(&view, source),
        (Err(_), None) => {}
        (found, map) => panic!("{found:?} of {source:?} is not {map:?}"),
    }
}

/// The items that each axis gets in a product of them: each has its own kind of arithmetic.
const ITEMS: [SliceItem; 9] = [
    SliceItem::FULL,
    SliceItem::Index(0),
    SliceItem::Index(-1),
    SliceItem::Slice { start: None, stop: None, step: -1 },
    SliceItem::Slice { start: Some(1), stop: None, step: 1 },
    SliceItem::Slice { start: None, stop: Some(-1), step: 2 },
    SliceItem::Slice { start: Some(-1), stop: Some(0), step: -1 },
    SliceItem::Slice { start: Some(2), stop: Some(1), step: 1 },
    SliceItem::NewAxis,
];

/// The view of some items, each of which takes one axis but a new one.
fn sliced(source: &Layout, items: &[SliceItem]) -> Option<Map> {
    let (mut map, mut axis) = (Map::new(), 0);
    for &item in items {
        match item {
            SliceItem::NewAxis => map.push(1, [0; 3]),
            SliceItem::Ellipsis => {
                let behind =
                    items.iter().filter(|item| !matches!(item, SliceItem::NewAxis | SliceItem::Ellipsis));
                let whole = source.ndim() - behind.count();
                for _ in 0..whole {
                    map.along(source.shape()[axis] as i128, axis, 0, 1);
                    axis += 1;
                }
            }
            SliceItem::Index(index) => {
                let size = *source.shape().get(axis)? as i128;
                let from_start = if index < 0 { index as i128 + size } else { index as i128 };
                map.start(axis, (0..size).contains(&from_start).then_some(from_start)?);
                axis += 1;
            }
            SliceItem::Slice { start, stop, step } => {
                let size = *source.shape().get(axis).filter(|_| step != 0)?;
                let (first, count, step) = slice((start, stop, step), size);
                map.along(count, axis, first, step);
                axis += 1;
            }
        }
    }
    for (axis, &size) in source.shape().iter().enumerate().skip(axis) {
        map.along(size as i128, axis, 0, 1);
    }
    Some(map)
}

/// All slices of the first axis with numbers up to a bound, and of all axes with the items above.
fn slices(source: &Layout, bound: isize, count: &mut usize) {
    if source.ndim() == 1 {
        let bounds = || std::iter::once(None).chain((-bound - 2..=bound + 2).map(Some));
        for start in bounds() {
            for stop in bounds() {
                for step in -bound - 2..=bound + 2 {
                    let item = SliceItem::Slice { start, stop, step };
                    expect(source.slice(&[item]), sliced(source, &[item]), source, count);
                }
            }
        }
        for index in -bound - 2..=bound + 2 {
            let item = SliceItem::Index(index);
            expect(source.slice(&[item]), sliced(source, &[item]), source, count);
        }
    }
    for len in 0..=source.ndim() {
        for number in 0..ITEMS.len().pow(len as u32) {
            let items: Vec<_> =
                (0..len).map(|place| ITEMS[number / ITEMS.len().pow(place as u32) % ITEMS.len()]).collect();
            expect(source.slice(&items), sliced(source, &items), source, count);
            if len < 3 {
                let items: Vec<_> = [&items[..], &[SliceItem::Ellipsis]].concat();
                expect(source.slice(&items), sliced(source, &items), source, count);
                let items: Vec<_> = [&[SliceItem::Ellipsis], &items[..len]].concat();
                let at = source.ndim() - items.iter().filter(|item| takes_axis(item)).count();
                let before: Vec<_> = [&vec![SliceItem::FULL; at][..], &items[1..]].concat();
                expect(source.slice(&items), sliced(source, &before), source, count);
            }
        }
    }
}

fn takes_axis(item: &SliceItem) -> bool {
    matches!(item, SliceItem::Index(_) | SliceItem::Slice { .. })
}

fn permutations(ndim: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..ndim {
        let longer = |order: Vec<usize>| {
            (0..ndim)
                .filter(|axis| !order.contains(axis))
                .map(|axis| [&order[..], &[axis]].concat())
                .collect()
        };
        all = all.into_iter().flat_map(|order| -> Vec<Vec<usize>> { longer(order) }).collect();
    }
    all
}

/// Views with the axes in another order, or in the other direction.
fn turned(source: &Layout, count: &mut usize) {
    let ndim = source.ndim();
    let signed = |axes: &[usize]| axes.iter().map(|&axis| axis.cast_signed()).collect::<Vec<_>>();
    let whole = Map::of(source);
    let reversed: Vec<_> = (0..ndim).rev().collect();
    expect(Ok(source.transpose()), Some(whole.in_order(&reversed)), source, count);
    for order in permutations(ndim) {
        expect(source.permute(&signed(&order)), Some(whole.in_order(&order)), source, count);
        for moved in 0..=ndim {
            // The first axes of the order go to the places of their numbers.
            let places: Vec<_> = (0..moved).collect();
            let rest = (0..ndim).filter(|axis| !order[..moved].contains(axis));
            let expected: Vec<_> = order[..moved].iter().copied().chain(rest).collect();
            let found = source.moveaxis(&signed(&order[..moved]), &signed(&places));
            expect(found, Some(whole.in_order(&expected)), source, count);
        }
    }
    let flipped = |axes: &[usize]| {
        let mut map = whole;
        for (axis, &size) in source.shape().iter().enumerate() {
            if axes.contains(&axis) {
                let mut steps = [0; 3];
                steps[axis] = -1;
                map.turn(axis, steps, size as i128 - 1);
            }
        }
        map
    };
    for set in 0..1 << ndim {
        let axes: Vec<_> = (0..ndim).filter(|axis| set >> axis & 1 == 1).collect();
        expect(source.flip(Some(&signed(&axes))), Some(flipped(&axes)), source, count);
    }
    for (first, second) in (0..ndim).flat_map(|first| (0..ndim).map(move |second| (first, second))) {
        let mut swapped: Vec<_> = (0..ndim).collect();
        swapped.swap(first, second);
        let axes = [first.cast_signed(), second.cast_signed() - ndim.cast_signed()];
        expect(source.swapaxes(axes[0], axes[1]), Some(whole.in_order(&swapped)), source, count);
        for quarters in -1..=2 {
            let expected = match quarters {
                _ if first == second => None,
                0 => Some(whole),
                1 => Some(flipped(&[second]).in_order(&swapped)),
                2 => Some(flipped(&[first, second])),
                _ => Some(flipped(&[first]).in_order(&swapped)),
            };
            expect(source.rot90(quarters, axes), expected, source, count);
        }
    }
}

/// The diagonals with so many elements skipped, by the definition: the index of both axes grows by one.
fn diagonal(source: &Layout, [rows, columns]: [usize; 2], offset: isize) -> Map {
    let (down, right) = ((-(offset as i128)).max(0), (offset as i128).max(0));
    let size = |axis: usize| source.shape()[axis] as i128;
    let mut map = Map::new();
    for axis in (0..source.ndim()).filter(|axis| ![rows, columns].contains(axis)) {
        map.along(size(axis), axis, 0, 1);
    }
    let mut steps = [0; 3];
    (steps[rows], steps[columns]) = (1, 1);
    map.push((size(rows) - down).min(size(columns) - right).max(0), steps);
    map.start(rows, down);
    map.start(columns, right);
    map
}

fn windows(source: &Layout, axis: usize, window: usize) -> Option<Map> {
    let mut map = Map::new();
    let last = (source.shape()[axis] as i128).checked_sub(window as i128).filter(|&last| last >= 0)?;
    for (other, &size) in source.shape().iter().enumerate() {
        map.along(if other == axis { last + 1 } else { size as i128 }, other, 0, 1);
    }
    map.along(window as i128, axis, 0, 1);
    Some(map)
}

fn broadcast(source: &Layout, shape: &[usize]) -> Option<Map> {
    let new = shape.len().checked_sub(source.ndim())?;
    let mut map = Map::new();
    for (place, &size) in shape.iter().enumerate() {
        match place.checked_sub(new) {
            Some(axis) if source.shape()[axis] == size => map.along(size as i128, axis, 0, 1),
            Some(axis) if source.shape()[axis] != 1 => return None,
            _ => map.push(size as i128, [0; 3]),
        }
    }
    let elements = shape.iter().try_fold(1_i128, |all, &size| all.checked_mul((size as i128).max(1)))?;
    (elements <= isize::MAX as i128).then_some(map)
}

/// Fails unless `as_strided` takes what lies between the ends of the source, and nothing else.
fn strided(source: &Layout, shape: &[usize], strides: &[isize], offset: isize, count: &mut usize) {
    *count += 1;
    let own = reach(shape, strides, 0);
    let is_empty = shape.contains(&0);
    let span = reach(source.shape(), source.strides(), 0).filter(|_| !source.is_empty());
    let is_inside = |(low, high): (i128, i128)| {
        span.is_some_and(|span| span.0 <= low + offset as i128 && high + offset as i128 <= span.1)
    };
    let found = source.as_strided(shape, strides, offset);
    let what = || format!("{shape:?} {strides:?} {offset} of {source:?}");
    match found {
        Ok(view) => {
            assert!(own.is_some_and(|own| is_empty || is_inside(own)), "{}", what());
            assert_eq!((view.shape(), view.strides()), (shape, strides), "{}", what());
            let start = if is_empty { 0 } else { offset as i128 };
            assert_eq!(view.offset() as i128, source.offset() as i128 + start, "{}", what());
            check(&view);
        }
        // An empty one may reach too far from where the source is.
        Err(_) => assert!(!own.is_some_and(|own| !is_empty && is_inside(own)), "{}", what()),
    }
}

/// All views of other shapes than slices and turns give.
fn reshaped(source: &Layout, bound: usize, count: &mut usize) {
    let ndim = source.ndim();
    for axis in 0..ndim {
        for window in 0..=bound + 1 {
            let found = source.sliding_window_view(&[window], Some(&[axis.cast_signed()]));
            expect(found, windows(source, axis, window), source, count);
        }
        let map = Map::of(source).in_order(&(0..ndim).filter(|&other| other != axis).collect::<Vec<_>>());
        for (i, part) in source.unstack(axis.cast_signed()).unwrap().enumerate() {
            let mut map = map;
            map.start(axis, i as i128);
            expect(Ok(part), Some(map), source, count);
        }
        for other in (0..ndim).filter(|&other| other != axis) {
            for offset in -bound.cast_signed() - 1..=bound.cast_signed() + 1 {
                let found = source.diagonal(offset, axis.cast_signed(), other.cast_signed());
                expect(found, Some(diagonal(source, [axis, other], offset)), source, count);
            }
        }
    }
    for place in 0..=ndim {
        let mut map = Map::new();
        for axis in 0..=ndim {
            match axis.cmp(&place) {
                std::cmp::Ordering::Less => map.along(source.shape()[axis] as i128, axis, 0, 1),
                std::cmp::Ordering::Equal => map.push(1, [0; 3]),
                std::cmp::Ordering::Greater => map.along(source.shape()[axis - 1] as i128, axis - 1, 0, 1),
            }
        }
        expect(source.expand_dims(&[place.cast_signed()]), Some(map), source, count);
    }
    let kept: Vec<_> = (0..ndim).filter(|&axis| source.shape()[axis] != 1).collect();
    expect(source.squeeze(None), Some(Map::of(source).in_order(&kept)), source, count);
    for len in ndim.saturating_sub(1)..=ndim + 1 {
        for number in 0..4_usize.pow(len as u32) {
            let shape: Vec<_> = (0..len).map(|axis| number >> (2 * axis) & 3).collect();
            expect(source.broadcast_to(&shape), broadcast(source, &shape), source, count);
        }
    }
    for order in [Order::C, Order::F] {
        for shape in factors(source.size(), 3) {
            *count += 1;
            check_reshape(source, &shape, order);
        }
    }
    if ndim < 2 {
        each_small(1, bound, &mut |target| {
            for offset in -4..=4 {
                strided(source, target.shape(), target.strides(), offset, count);
            }
        });
    }
}

/// All shapes of up to so many axes with this number of elements, sizes of 1 among them.
fn factors(size: usize, most_axes: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![vec![0], vec![0, 3], vec![0, 0, 2]];
    }
    let mut all = if size == 1 { vec![vec![]] } else { vec![] };
    for first in (1..=size).filter(|&first| most_axes > 0 && size.is_multiple_of(first)) {
        let rest = factors(size / first, most_axes - 1);
        all.extend(rest.into_iter().map(|rest| [&[first], &rest[..]].concat()));
    }
    all
}

/// Where all elements are, the index that varies fastest being the last one, or the first one.
fn places_in(layout: &Layout, order: Order) -> Vec<i128> {
    if order == Order::C {
        super::reference::places(layout)
    } else {
        super::reference::places(&layout.transpose())
    }
}

/// A view of another shape has the same elements in the same order, and there is one where any strides say where they are.
fn check_reshape(source: &Layout, shape: &[usize], order: Order) {
    let all = places_in(source, order);
    let given: Vec<_> = shape.iter().map(|size| size.cast_signed()).collect();
    let found = source.reshape_view(&given, order).unwrap();
    if let Some(view) = &found {
        check(view);
        assert_eq!(view.shape(), shape);
        assert_eq!(places_in(view, order), all, "{shape:?} {order:?} of {source:?}");
        return;
    }
    // No strides say it: those that one step along each axis has are wrong somewhere.
    let dense = Layout::contiguous(shape, order).unwrap();
    let at = |index: &[usize]| all[place(&dense, index) as usize];
    let zero = vec![0; shape.len()];
    let step = |axis: usize| {
        let mut one = zero.clone();
        one[axis] = 1;
        if shape[axis] > 1 { at(&one) - at(&zero) } else { 0 }
    };
    let steps: Vec<_> = (0..shape.len()).map(step).collect();
    let mut is_affine = true;
    each_index(shape, |index| {
        let expected = at(&zero) + index.iter().zip(&steps).map(|(&i, step)| i as i128 * step).sum::<i128>();
        is_affine &= expected == at(index);
    });
    assert!(!is_affine, "{source:?} has a view of shape {shape:?}");
}

#[test]
fn views_of_small_layouts_are_their_elements() {
    let (mut layouts, mut views) = (0, 0);
    let bounds = [0, bound(3), bound(2), bound(1)];
    for (ndim, &bound) in bounds.iter().enumerate() {
        each_small(ndim, bound, &mut |source| {
            layouts += 1;
            slices(source, bound.cast_signed(), &mut views);
            turned(source, &mut views);
            reshaped(source, bound, &mut views);
        });
    }
    tell(format!(
        "{views} views of {layouts} layouts of up to 3 axes, sizes and strides up to {}, element by element",
        bounds[3]
    ));
}

#[test]
fn views_of_extreme_layouts_are_their_definitions() {
    let mut views = 0;
    let (sizes, distances) = (sizes(is_long()), distances(is_long()));
    let few = match is_long() {
        true => super::layouts::distances(false),
        false => vec![0, 1, -1, 3, isize::MAX / 2, isize::MAX, isize::MIN],
    };
    let of_one_axis = each_extreme(1, &mut |source| {
        for &step in &distances {
            for &start in &few {
                let (start, stop) = (Some(start), None);
                for item in [(start, stop, step), (stop, start, step)] {
                    let (start, stop, step) = item;
                    let item = SliceItem::Slice { start, stop, step };
                    expect(source.slice(&[item]), sliced(source, &[item]), source, &mut views);
                }
            }
        }
        for &start in &few {
            for &stop in &few {
                for step in [1, -1, 2, isize::MIN] {
                    let item = SliceItem::Slice { start: Some(start), stop: Some(stop), step };
                    expect(source.slice(&[item]), sliced(source, &[item]), source, &mut views);
                }
            }
        }
        for &index in &distances {
            let item = SliceItem::Index(index);
            expect(source.slice(&[item]), sliced(source, &[item]), source, &mut views);
        }
        for &size in &sizes {
            expect(source.broadcast_to(&[size]), broadcast(source, &[size]), source, &mut views);
            expect(source.broadcast_to(&[size, 2]), broadcast(source, &[size, 2]), source, &mut views);
            let found = source.sliding_window_view(&[size], Some(&[0]));
            // The windows may have too many elements.
            let count = source.shape()[0].wrapping_sub(size).wrapping_add(1);
            let fits = reach(&[count, size], &[0, 0], 0).is_some();
            expect(found, windows(source, 0, size).filter(|_| fits), source, &mut views);
            if source.is_empty() && size < 1 << 63 {
                for order in [Order::C, Order::F] {
                    views += 1;
                    let view = source.reshape_view(&[0, size.cast_signed()], order).unwrap().unwrap();
                    assert_eq!((view.shape(), view.offset()), (&[0, size][..], source.offset()));
                    check(&view);
                }
            }
        }
        for &stride in &few {
            for &size in &few {
                for &offset in &few {
                    strided(source, &[size.cast_unsigned()], &[stride], offset, &mut views);
                }
            }
        }
        turned(source, &mut views);
    });
    let of_two = each_extreme(2, &mut |source| {
        if source.shape().iter().all(|&size| size > 3) && !is_long() {
            return;
        }
        turned(source, &mut views);
        for &offset in &few {
            expect(source.diagonal(offset, 0, 1), Some(diagonal(source, [0, 1], offset)), source, &mut views);
        }
        for items in [[0, 3], [3, 3], [4, 5], [2, 7], [6, 1]] {
            let items = items.map(|item| ITEMS[item]);
            expect(source.slice(&items), sliced(source, &items), source, &mut views);
        }
    });
    let layouts = of_one_axis[0] + of_two[0];
    assert!(layouts > 1000 && views > 10_000);
    tell(format!("{views} views of {layouts} layouts of numbers around the limits of 64 bits"));
}
