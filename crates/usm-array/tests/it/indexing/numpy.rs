//! Results of NumPy 2.4, written down: shapes with the rule where picked places go, elements, and what is refused

use usm_array::{Dtype, IndexItem, SliceItem};

use super::reference::pick;
use super::{Item, counting, integers};
use crate::common::places;

/// Shape of an array of 0, 1, 2, …; the index; shape and elements of the result, or "error". `T` and `F` are booleans.
const TABLE: &[&str] = &[
    "2 3 4 | [1, 0, 1] | 3 3 4 | 12 13 14 15 16 17 18 19 20 21 22 23 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23",
    "2 3 4 | :, [0, 2] | 2 2 4 | 0 1 2 3 8 9 10 11 12 13 14 15 20 21 22 23",
    "2 3 4 | ..., [0, -1] | 2 3 2 | 0 3 4 7 8 11 12 15 16 19 20 23",
    "2 3 4 | 0, :, [1, 2] | 2 3 | 1 5 9 2 6 10",
    "2 3 4 | :, 0, [1, 2] | 2 2 | 1 2 13 14",
    "2 3 4 | [1, 0], :, [1, 2] | 2 3 | 13 17 21 2 6 10",
    "2 3 4 | [1, 0], 2 | 2 4 | 20 21 22 23 8 9 10 11",
    "2 3 4 | :, None, [1, 2] | 2 1 2 4 | 4 5 6 7 8 9 10 11 16 17 18 19 20 21 22 23",
    "2 3 4 | [0, 1], None, [1, 2] | 2 1 4 | 4 5 6 7 20 21 22 23",
    "2 3 4 | None, [0, 1], [1, 2] | 1 2 4 | 4 5 6 7 20 21 22 23",
    "2 3 4 | :, [0, 1], ..., [1, 2] | 2 2 | 1 13 6 18",
    "2 3 4 | :, [[0], [2]], [1, 3] | 2 2 2 | 1 3 9 11 13 15 21 23",
    "2 3 4 | [[[0]], [[1]]], [[0], [2]], [1, 3] | 2 2 2 | 1 3 9 11 13 15 21 23",
    "2 3 4 2 | :, [[0], [2]], ::-1, [1, 0] | 2 2 2 4 | 7 5 3 1 31 29 27 25 6 4 2 0 30 28 26 24 23 21 19 17 47 45 43 41 22 20 18 16 46 44 42 40",
    "2 3 4 2 | :, [[0], [2]], [1, 0], ::-1 | 2 2 2 2 | 3 2 1 0 19 18 17 16 27 26 25 24 43 42 41 40",
    "2 3 4 2 | ..., [1, 1, 0], 3, 1 | 2 3 | 15 15 7 39 39 31",
    "2 3 4 2 | 1, ..., [1, 1, 0], : | 3 3 2 | 26 27 34 35 42 43 26 27 34 35 42 43 24 25 32 33 40 41",
    "2 3 4 2 | 1, [1, 1, 0], ..., 0 | 3 4 | 32 34 36 38 32 34 36 38 24 26 28 30",
    "2 3 4 2 | 1:, 2, [1, 1, 0] | 1 3 2 | 42 43 42 43 40 41",
    "2 3 4 2 3 | :, [2, 0], :, [1, 0], 0 | 2 2 4 | 51 57 63 69 123 129 135 141 0 6 12 18 72 78 84 90",
    "2 3 4 2 3 | 0, [2, 0], :, 1:, [-1] | 2 4 1 | 53 59 65 71 5 11 17 23",
    "2 3 | T | 1 2 3 | 0 1 2 3 4 5",
    "2 3 | F | 0 2 3 | ",
    "2 3 | :, T | 2 1 3 | 0 1 2 3 4 5",
    "2 3 | :, F, 1 | 2 0 | ",
    "2 3 | T, T | 1 2 3 | 0 1 2 3 4 5",
    "2 3 | :, T, [1, 2] | 2 2 | 1 2 4 5",
    "2 3 | T, :, [1, 2] | 2 2 | 1 4 2 5",
    "2 3 | F, [0] | 0 3 | ",
    "2 3 | 0, :, T | 1 3 | 0 1 2",
    "2 3 | ..., T | 2 3 1 | 0 1 2 3 4 5",
    "2 3 | 0, T, ..., None | 1 3 1 | 0 1 2",
    " | T | 1 | 0",
    " | F | 0 | ",
    " | ..., T, None | 1 1 | 0",
    "3 | [T, F, T] | 2 | 0 2",
    "3 2 | [T, F, T] | 2 2 | 0 1 4 5",
    "2 3 | :, [T, F, T] | 2 2 | 0 2 3 5",
    "2 3 | [F, F] | 0 3 | ",
    "2 3 | [[T, F, T], [F, T, T]] | 4 | 0 2 4 5",
    "2 3 2 | [[T, F, T], [F, T, T]] | 4 2 | 0 1 4 5 8 9 10 11",
    "2 2 3 | :, [[T, F, T], [F, T, T]] | 2 4 | 0 2 4 5 6 8 10 11",
    "2 2 3 | 0, [[T, F, T]] | error",
    "2 3 4 | [T, T], :, [1, 2] | 2 3 | 1 5 9 14 18 22",
    "2 3 4 | [T, T], [T, F, T] | 2 4 | 0 1 2 3 20 21 22 23",
    "2 3 4 | [T, F], [T, F, T] | 2 4 | 0 1 2 3 8 9 10 11",
    "2 3 4 | [[1], [0]], [T, F, T] | 2 2 4 | 12 13 14 15 20 21 22 23 0 1 2 3 8 9 10 11",
    "2 3 4 | [T, F], [T, T, T], None, [3] | 3 1 | 3 7 11",
    "2 3 4 | [0, 1], [0, 1, 2] | error",
    "2 3 4 | [T, T], [T, T, T] | error",
    "2 3 | [2] | error",
    "2 3 | :, [-4] | error",
    "2 3 | [0], [0], [0] | error",
    "2 3 | ..., [0], ... | error",
    "2 3 | [T, F, F] | error",
    "2 3 | :, [T, F] | error",
    "2 3 | [[T, F], [T, F]] | error",
    "2 3 | [0], 3 | error",
    "2 3 | [0], [0, 1], None | 2 1 | 0 1",
    "0 3 | [0] | error",
    "0 3 | :, [2, 0] | 0 2 | ",
    "0 3 | :, [3] | error",
    "2 0 3 | [1, 1], :, [[2], [0]] | 2 2 0 | ",
    "2 0 3 | [1, 1], [0] | error",
];

#[test]
fn results_are_those_of_numpy() {
    let places = places();
    for row in TABLE {
        let columns: Vec<&str> = row.split('|').collect();
        let shape = numbers::<usize>(columns[0]);
        let items = parse(columns[1]);
        let expected =
            (columns[2].trim() != "error").then(|| (numbers(columns[2]), numbers::<i64>(columns[3])));
        check_reference(row, &shape, &items, expected.as_ref());
        for place in &places {
            let array = counting(place, &shape, Dtype::I32);
            let index: Vec<IndexItem<'_>> = items.iter().map(Item::on_host).collect();
            let found = array.get_index(&index);
            let found = found.map(|result| (result.shape().to_vec(), integers(&result)));
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{row}: {found:?}");
            let arrays: Vec<_> = items.iter().map(|item| item.array(place, Dtype::I8)).collect();
            let index: Vec<IndexItem<'_>> = arrays
                .iter()
                .zip(&items)
                .map(|(array, item)| array.as_ref().map_or_else(|| item.on_host(), IndexItem::from))
                .collect();
            let found = array.get_index(&index).map(|result| (result.shape().to_vec(), integers(&result)));
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{row} with arrays: {found:?}");
        }
    }
}

/// What the random tests compare with must itself be right.
fn check_reference(row: &str, shape: &[usize], items: &[Item], expected: Option<&(Vec<usize>, Vec<i64>)>) {
    let found = pick(shape, items).map(|(result, sources)| {
        let flat =
            |index: &Vec<usize>| index.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n as i64 + i as i64);
        (result, sources.iter().map(flat).collect::<Vec<_>>())
    });
    assert_eq!(found.as_ref(), expected, "reference: {row}");
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Items between commas that are in no bracket.
fn parse(text: &str) -> Vec<Item> {
    let mut depth = 0;
    let items = text.split(|letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    });
    items.map(|item| parse_item(item.trim())).collect()
}

fn parse_item(text: &str) -> Item {
    match text {
        "..." => Item::Basic(SliceItem::Ellipsis),
        "None" => Item::Basic(SliceItem::NewAxis),
        _ if text.starts_with('[') || text == "T" || text == "F" => {
            let mut shape = vec![];
            nested_shape(text, &mut shape);
            let leaves = text.split(|letter| "[], ".contains(letter)).filter(|leaf| !leaf.is_empty());
            let leaves: Vec<&str> = leaves.collect();
            if leaves.iter().all(|leaf| matches!(*leaf, "T" | "F")) {
                Item::Mask { shape, values: leaves.iter().map(|&leaf| leaf == "T").collect() }
            } else {
                Item::Integers { shape, values: leaves.iter().map(|leaf| leaf.parse().unwrap()).collect() }
            }
        }
        _ if text.contains(':') => {
            let bounds: Vec<Option<isize>> = text.split(':').map(|bound| bound.parse().ok()).collect();
            let step = bounds.get(2).copied().flatten().unwrap_or(1);
            Item::Basic(SliceItem::Slice { start: bounds[0], stop: bounds[1], step })
        }
        _ => Item::Basic(SliceItem::Index(text.parse().unwrap())),
    }
}

/// The shape of nested lists, all of which are as long as the first one of their level.
fn nested_shape(text: &str, shape: &mut Vec<usize>) {
    let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else { return };
    let mut depth = 0;
    let parts: Vec<&str> = inner
        .split(|letter| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            letter == ',' && depth == 0
        })
        .collect();
    shape.push(parts.len());
    nested_shape(parts[0].trim(), shape);
}
