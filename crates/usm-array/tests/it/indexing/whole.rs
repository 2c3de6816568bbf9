//! Assignment within one memory, repeated indices, and arrays of many elements

use usm_array::{Dtype, IndexItem, IndexMode, SliceItem, UsmArray};

use super::{PLACES, counting, integers};

#[test]
fn values_from_the_same_memory_are_as_if_copied_first() {
    for place in PLACES.iter() {
        let array = counting(place, &[6], Dtype::I32);
        let part = |start, stop, step| array.slice(&[SliceItem::Slice { start, stop, step }]).unwrap();
        array.set_index(&[(&[1, 2, 3, 4, 5]).into()], &part(None, Some(5), 1)).unwrap();
        assert_eq!(integers(&array), [0, 0, 1, 2, 3, 4]);
        array.set_index(&[(&[0, 1, 2, 3, 4, 5]).into()], &part(None, None, -1)).unwrap();
        assert_eq!(integers(&array), [4, 3, 2, 1, 0, 0]);
        array.set_index(&[(&[true; 6]).into()], &part(Some(0), Some(1), 1)).unwrap();
        assert_eq!(integers(&array), [4; 6]);

        // The array is index, value and target at once.
        let all = UsmArray::from_slice(&place.0, place.1, &[4], &[3_i64, 2, 0, 1]).unwrap();
        all.set_index(&[(&all).into()], &all).unwrap();
        assert_eq!(integers(&all), [0, 1, 2, 3]);
        all.put(&all, &all.flip(None).unwrap(), IndexMode::Raise).unwrap();
        assert_eq!(integers(&all), [3, 2, 1, 0]);
        all.place(&all, &all).unwrap();
        assert_eq!(integers(&all), [3, 2, 1, 0]);
    }
}

#[test]
fn the_last_of_repeated_indices_wins() {
    for place in PLACES.iter() {
        let array = counting(place, &[3, 2], Dtype::I16);
        let values = counting(place, &[4, 2], Dtype::I64);
        array.set_index(&[(&[2, 0, 2, 0]).into()], &values).unwrap();
        assert_eq!(integers(&array), [6, 7, 2, 3, 4, 5]);
        array.put(&[1, 1, 1], &values, IndexMode::Raise).unwrap();
        assert_eq!(integers(&array), [6, 2, 2, 3, 4, 5]);
        let rows = IndexItem::Integers { values: &[0, 0, 0, 0, 0, 0], shape: Some(&[3, 2]) };
        array
            .put_along_axis(
                rows,
                &values.slice(&[SliceItem::Slice { start: None, stop: Some(3), step: 1 }]).unwrap(),
                Some(0),
                IndexMode::Raise,
            )
            .unwrap();
        assert_eq!(integers(&array), [4, 5, 2, 3, 4, 5]);
    }
}

#[test]
fn what_lies_between_elements_stays() {
    for place in PLACES.iter() {
        let whole = counting(place, &[10], Dtype::U8);
        let odd = whole.slice(&[SliceItem::Slice { start: Some(1), stop: None, step: 2 }]).unwrap();
        odd.set_index(&[(&[4, 1]).into()], &counting(place, &[2], Dtype::U8)).unwrap();
        assert_eq!(integers(&whole), [0, 1, 2, 1, 4, 5, 6, 7, 8, 0]);
    }
}

#[test]
fn rows_of_a_large_array() {
    for place in PLACES.iter() {
        let (rows, columns) = (5_000, 24);
        let array = counting(place, &[rows, columns], Dtype::I32);
        let picked: Vec<i64> = (0..rows as i64).map(|i| i * 7919 % rows as i64).collect();
        let at = UsmArray::from_slice(&place.0, place.1, &[rows], &picked).unwrap();
        let mut expected = picked.iter().flat_map(|&row| (0..24).map(move |k| row * 24 + k));
        let taken = array.take(&at, Some(0), IndexMode::Raise).unwrap();
        assert!(integers(&taken).into_iter().eq(&mut expected));
        // Back to where they came from.
        let copy = UsmArray::zeros(&place.0, place.1, array.shape(), array.dtype()).unwrap();
        copy.set_index(&[(&at).into()], &taken).unwrap();
        assert_eq!(integers(&copy), integers(&array));
        let columns_first = array.transpose().take(&at, Some(1), IndexMode::Raise).unwrap();
        assert_eq!(integers(&columns_first.transpose()), integers(&taken));
    }
}

/// Few rows far from each other, in both directions of the strides: only their pieces of device memory are copied.
#[test]
fn places_far_from_each_other() {
    for place in PLACES.iter() {
        let (rows, columns) = (3_000, 40);
        let whole = counting(place, &[rows, columns], Dtype::I32);
        let backwards = whole.flip(None).unwrap();
        let picked = [2_999, 0, 17, 18, -1, 1_500, 0];
        for array in [&whole, &backwards, &whole.transpose(), &backwards.transpose()] {
            let axis = array.shape().iter().position(|&n| n == rows).unwrap();
            let taken = array.take(&picked, Some(axis as isize), IndexMode::Raise).unwrap();
            let row = |array: &UsmArray, i: isize| {
                let item = SliceItem::Index(i);
                let items = if axis == 0 { vec![item] } else { vec![SliceItem::FULL, item] };
                array.slice(&items).unwrap()
            };
            for (i, &at) in picked.iter().enumerate() {
                assert_eq!(integers(&row(&taken, i as isize)), integers(&row(array, at as isize)));
            }
            // Each picked row changes, and nothing else does.
            let mut expected = integers(array);
            let index: Vec<IndexItem<'_>> =
                std::iter::repeat_n(IndexItem::FULL, axis).chain([IndexItem::from(&picked)]).collect();
            let values = UsmArray::zeros(&place.0, place.1, taken.shape(), Dtype::I32).unwrap();
            for (i, &at) in picked.iter().enumerate() {
                let at = if at < 0 { at + rows as i64 } else { at } as usize;
                row(&values, i as isize).fill(i as i32 - 9).unwrap();
                for k in 0..columns {
                    expected[if axis == 0 { at * columns + k } else { k * rows + at }] = i as i64 - 9;
                }
            }
            array.set_index(&index, &values).unwrap();
            assert_eq!(integers(array), expected);
            array.set_index(&index, &taken).unwrap();
        }
        assert_eq!(integers(&whole), integers(&counting(place, whole.shape(), Dtype::I32)));
    }
}
