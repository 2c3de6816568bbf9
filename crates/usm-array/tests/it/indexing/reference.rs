//! NumPy's rules once more, slowly: for each element of the result the element of the array that it is

use usm_array::SliceItem;

use super::Item;
use crate::common::indices;

/// What picks from one axis, or makes one.
enum Part {
    NewAxis,
    /// A separator that makes no axis: an ellipsis for no axes.
    Nothing,
    /// These places, along an axis of the result.
    Places(Vec<usize>),
    /// An array of places; `None` picks from no axis.
    Array(Vec<usize>, Option<Vec<usize>>),
    /// One place.
    Integer(usize),
}

/// Shape of the result, and for each of its elements the index in the array. `None` if the index must be refused.
pub(crate) fn pick(shape: &[usize], items: &[Item]) -> Option<(Vec<usize>, Vec<Vec<usize>>)> {
    let parts = parts(shape, items)?;
    let has_arrays = parts.iter().any(|part| matches!(part, Part::Array(..)));
    let is_picked = |part: &Part| has_arrays && matches!(part, Part::Array(..) | Part::Integer(_));
    let common = common_shape(&parts)?;
    let picked: Vec<usize> = (0..parts.len()).filter(|&i| is_picked(&parts[i])).collect();
    let together = picked.windows(2).all(|pair| pair[0] + 1 == pair[1]);

    // Which axes of the result belong to which part; the common ones to the first picked part, or before all.
    let mut result = vec![];
    let mut axes_of = vec![0..0; parts.len()];
    let mut common_axes = 0..0;
    if !together {
        result.extend(&common);
        common_axes = 0..common.len();
    }
    for (i, part) in parts.iter().enumerate() {
        if together && picked.first() == Some(&i) {
            common_axes = result.len()..result.len() + common.len();
            result.extend(&common);
        }
        match part {
            Part::NewAxis => result.push(1),
            Part::Places(places) => {
                axes_of[i] = result.len()..result.len() + 1;
                result.push(places.len());
            }
            _ => {}
        }
    }
    let sources = indices(&result).into_iter().map(|index| {
        let common_index = &index[common_axes.clone()];
        let place = |(part, axes): (&Part, &std::ops::Range<usize>)| match part {
            Part::NewAxis | Part::Nothing | Part::Array(_, None) => None,
            Part::Places(places) => Some(places[index[axes.start]]),
            Part::Integer(place) => Some(*place),
            Part::Array(shape, Some(places)) => {
                let missing = common_index.len() - shape.len();
                let mut flat = 0;
                for (&n, &i) in shape.iter().zip(&common_index[missing..]) {
                    flat = flat * n + if n == 1 { 0 } else { i };
                }
                Some(places[flat])
            }
        };
        parts.iter().zip(&axes_of).filter_map(place).collect()
    });
    let sources = sources.collect();
    Some((result, sources))
}

fn parts(shape: &[usize], items: &[Item]) -> Option<Vec<Part>> {
    let named = |item: &Item| match item {
        Item::Basic(SliceItem::NewAxis | SliceItem::Ellipsis) => 0,
        Item::Mask { shape, .. } => shape.len(),
        _ => 1,
    };
    let rest = shape.len().checked_sub(items.iter().map(named).sum())?;
    let mut items = items.to_vec();
    match items.iter().filter(|item| matches!(item, Item::Basic(SliceItem::Ellipsis))).count() {
        0 => items.push(Item::Basic(SliceItem::Ellipsis)),
        1 => {}
        _ => return None,
    }
    let mut parts = vec![];
    let mut axis = 0;
    for item in &items {
        match item {
            Item::Basic(SliceItem::NewAxis) => parts.push(Part::NewAxis),
            Item::Basic(SliceItem::Ellipsis) => {
                parts.push(Part::Nothing);
                for _ in 0..rest {
                    parts.push(Part::Places((0..shape[axis]).collect()));
                    axis += 1;
                }
            }
            Item::Basic(SliceItem::Index(index)) => {
                parts.push(Part::Integer(inside(*index as i64, shape[axis])?));
                axis += 1;
            }
            Item::Basic(SliceItem::Slice { start, stop, step }) => {
                parts.push(Part::Places(slice(shape[axis], *start, *stop, *step)));
                axis += 1;
            }
            Item::Integers { shape: of, values } => {
                let places = values.iter().map(|&value| inside(value, shape[axis])).collect::<Option<_>>()?;
                parts.push(Part::Array(of.clone(), Some(places)));
                axis += 1;
            }
            Item::Mask { shape: of, values } => {
                if shape[axis..axis + of.len()] != of[..] {
                    return None;
                }
                let all = indices(of);
                let chosen: Vec<_> = all.iter().zip(values).filter(|&(_, &v)| v).map(|(i, _)| i).collect();
                for k in 0..of.len() {
                    parts.push(Part::Array(vec![chosen.len()], Some(chosen.iter().map(|i| i[k]).collect())));
                }
                if of.is_empty() {
                    parts.push(Part::Array(vec![chosen.len()], None));
                }
                axis += of.len();
            }
        }
    }
    Some(parts)
}

fn inside(index: i64, size: usize) -> Option<usize> {
    let size = size as i64;
    (-size <= index && index < size).then_some(if index < 0 { index + size } else { index } as usize)
}

/// The slice, by walking from the start and looking at every place.
fn slice(size: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<usize> {
    let size = size as isize;
    let (first, last) = if step > 0 { (0, size) } else { (size - 1, -1) };
    let bound = |bound: isize| if bound < 0 { bound + size } else { bound };
    let stop = stop.map_or(last, bound);
    let mut at = start.map_or(first, bound);
    at = if step > 0 { at.max(0) } else { at.min(size - 1) };
    let mut places = vec![];
    while (step > 0 && at < stop || step < 0 && at > stop) && (0..size).contains(&at) {
        places.push(at as usize);
        at += step;
    }
    places
}

fn common_shape(parts: &[Part]) -> Option<Vec<usize>> {
    let shapes =
        parts.iter().filter_map(|part| if let Part::Array(shape, _) = part { Some(shape) } else { None });
    let mut common: Vec<usize> = vec![];
    for shape in shapes {
        while common.len() < shape.len() {
            common.insert(0, 1);
        }
        let missing = common.len() - shape.len();
        for (to, &n) in common[missing..].iter_mut().zip(shape) {
            match (*to, n) {
                (a, b) if a == b => {}
                (1, b) => *to = b,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(common)
}
