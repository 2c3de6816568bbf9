//! Cases of criterion alone: rows and elements by index arrays, beside plain loops over slices.

use std::hint::black_box;
use std::ops::Range;

use usm_array::usm_core::UsmKind;
use usm_array::{Element, IndexItem, IndexMode, UsmArray};

use super::stage::{Case, Contender, OURS, queue};

const ROWS: usize = 1_000_000;
const COLUMNS: usize = 8;

/// Rows or elements of an array of these numbers by places, to or from another array of them; and a plain loop over the numbers.
fn case<T: Element, R: 'static, S: 'static>(
    name: &str,
    shape: &'static [usize],
    number: fn(usize) -> T,
    ours: fn(&UsmArray, &[i64], &UsmArray) -> R,
    plain: fn(&mut [T], &[i64], &[T]) -> S,
) -> Case {
    Case::new(format!("index/{name}"), move || {
        let mut numbers: Vec<T> = (0..shape.iter().product()).map(number).collect();
        let array = || UsmArray::from_slice(&queue(), UsmKind::Shared, shape, &numbers).unwrap();
        let (array, other, others) = (array(), array(), numbers.clone());
        let places: Vec<i64> = (0..shape[0]).map(|i| (i * 7919 % shape[0]) as i64).collect();
        let of_loop = places.clone();
        let plain = move || plain(&mut numbers, black_box(&of_loop), &others);
        vec![
            Contender::timed(OURS, move || ours(&array, black_box(&places), &other)),
            Contender::timed("plain loop", plain),
        ]
    })
}

fn row(place: i64) -> Range<usize> {
    place as usize * COLUMNS..(place as usize + 1) * COLUMNS
}

fn mask() -> Vec<Contender> {
    let numbers: Vec<f32> = (0..4 * ROWS).map(|i| i as f32).collect();
    let array = UsmArray::from_slice(&queue(), UsmKind::Shared, &[4 * ROWS], &numbers).unwrap();
    let mask: Vec<bool> = (0..4 * ROWS).map(|i| i * 7919 % 3 == 0).collect();
    let of_loop = mask.clone();
    let plain = move || {
        let pairs = black_box(&of_loop).iter().zip(&numbers);
        pairs.filter(|&(&holds, _)| holds).map(|(_, &number)| number).collect::<Vec<_>>()
    };
    let ours = move || array.get_index(&[IndexItem::from(&mask[..])]).unwrap();
    vec![Contender::timed(OURS, ours), Contender::timed("plain loop", plain)]
}

pub(crate) fn cases() -> Vec<Case> {
    let take_rows = case(
        "take 1e6 rows of 8 f8",
        &[ROWS, COLUMNS],
        |i| i as f64,
        |array, places, _| array.take(places, Some(0), IndexMode::Raise).unwrap(),
        |_, places, others| {
            let mut result = vec![0.0; ROWS * COLUMNS];
            let rows = result.chunks_exact_mut(COLUMNS).zip(places);
            rows.for_each(|(to, &place)| to.copy_from_slice(&others[row(place)]));
            result
        },
    );
    let set_rows = case(
        "set_index of 1e6 rows of 8 f8",
        &[ROWS, COLUMNS],
        |i| i as f64,
        |array, places, others| array.set_index(&[IndexItem::from(places)], others).unwrap(),
        |numbers, places, others| {
            let rows = others.chunks_exact(COLUMNS).zip(places);
            rows.for_each(|(from, &place)| numbers[row(place)].copy_from_slice(from));
        },
    );
    let take = case(
        "take 4e6 f4",
        &[4 * ROWS],
        |i| i as f32,
        |array, places, _| array.take(places, None, IndexMode::Raise).unwrap(),
        |_, places, others| places.iter().map(|&place| others[place as usize]).collect::<Vec<_>>(),
    );
    vec![take_rows, set_rows, take, Case::new("index/mask of 4e6 f4", mask)]
}
