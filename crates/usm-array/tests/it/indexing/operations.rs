//! take, put, along an axis, nonzero, extract, place and where against brute force

use proptest::prelude::*;
use usm_array::usm_core::{Queue, Runtime, UsmKind};
use usm_array::{Bool8, Dtype, IndexItem, IndexMode, Scalar, SliceItem, UsmArray, coerced_kind, where_};

use super::{config, counting, integers, place};
use crate::common::indices;

/// An array of 0, 1, 2, … in row-major order that is not contiguous: every other place along each axis, last axis first.
fn spread(place: &(Queue, UsmKind), shape: &[usize], dtype: Dtype) -> UsmArray {
    let outer: Vec<usize> = shape.iter().rev().map(|&n| 2 * n).collect();
    let whole = UsmArray::zeros(&place.0, place.1, &outer, dtype).unwrap();
    let every_other = SliceItem::Slice { start: None, stop: None, step: 2 };
    let array = whole.slice(&vec![every_other; shape.len()]).unwrap().transpose();
    array.assign(&counting(place, shape, dtype)).unwrap();
    array
}

fn queue_of_host() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(runtime.host_device()).unwrap()
}

fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..5, 1..4)
}

const MODES: [IndexMode; 3] = [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip];

fn place_of(index: i64, size: usize, mode: IndexMode) -> usize {
    let size = size as i64;
    (match mode {
        IndexMode::Raise => (index + size) % size,
        IndexMode::Wrap => index.rem_euclid(size),
        IndexMode::Clip => index.clamp(0, size - 1),
    }) as usize
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    prop::sample::select(&[Dtype::U8, Dtype::I16, Dtype::F32, Dtype::F64, Dtype::C128][..])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn take_and_put(
        (place, from) in (place(), place()),
        shape in shapes(),
        dtype in dtypes(),
        axis in 0_usize..3,
        numbers in prop::collection::vec(-20_i64..20, 0..7),
        mode in prop::sample::select(&MODES[..]),
        strided in any::<bool>(),
        value_count in 0_usize..5,
    ) {
        let array = if strided { spread(&place, &shape, dtype) } else { counting(&place, &shape, dtype) };
        let elements = integers(&array);
        let axis = axis % shape.len();
        let n = shape[axis];
        let fits = |size: usize| numbers.iter().all(|&i| (-(size as i64)..size as i64).contains(&i));
        let on_device = UsmArray::from_slice(&from.0, from.1, &[numbers.len()], &numbers).unwrap();

        let taken = array.take(&on_device, Some(axis as isize - shape.len() as isize), mode);
        if mode == IndexMode::Raise && !fits(n) {
            prop_assert!(taken.is_err());
        } else {
            let taken = taken.unwrap();
            let mut result = shape.clone();
            result[axis] = numbers.len();
            prop_assert_eq!(taken.shape(), &result[..]);
            let source = |mut index: Vec<usize>| {
                index[axis] = place_of(numbers[index[axis]], n, mode);
                elements[flat(&index, &shape)]
            };
            prop_assert_eq!(integers(&taken), indices(&result).into_iter().map(source).collect::<Vec<_>>());
        }

        let size = elements.len();
        let refused = mode == IndexMode::Raise && !fits(size);
        let taken = array.take(&numbers[..], None, mode);
        let places: Vec<usize> = numbers.iter().map(|&i| place_of(i, size, mode)).collect();
        prop_assert_eq!(taken.is_err(), refused);
        if let Ok(taken) = taken {
            prop_assert_eq!(integers(&taken), places.iter().map(|&place| elements[place]).collect::<Vec<_>>());
        }
        if mode != IndexMode::Raise || fits(n) {
            let array = counting(&place, &shape, dtype);
            let mut picked = shape.clone();
            picked[axis] = numbers.len();
            let mut expected = elements.clone();
            indices(&picked).into_iter().enumerate().for_each(|(i, mut index)| {
                index[axis] = place_of(numbers[index[axis]], n, mode);
                expected[flat(&index, &shape)] = i as i64;
            });
            array.put_on_axis(&on_device, &counting(&from, &picked, Dtype::I16), axis as isize, mode).unwrap();
            prop_assert_eq!(integers(&array), expected);
        }
        let values: Vec<i64> = (0..value_count as i64).map(|i| 100 + i).collect();
        let value_array = UsmArray::from_slice(&from.0, from.1, &[value_count], &values).unwrap();
        let mut expected = elements.clone();
        if !refused && value_count > 0 {
            places.iter().zip(values.iter().cycle()).for_each(|(&place, &value)| expected[place] = value);
        }
        prop_assert_eq!(array.put(&on_device, &value_array, mode).is_err(), refused);
        prop_assert_eq!(integers(&array), expected);
    }

    #[test]
    fn along_an_axis(
        (place, from) in (place(), place()),
        shape in shapes(),
        dtype in dtypes(),
        axis in 0_usize..3,
        (count, ones) in (0_usize..4, any::<u8>()),
        seeds in prop::collection::vec(0_usize..1000, 64),
        mode in prop::sample::select(&MODES[..]),
        strided in any::<bool>(),
    ) {
        let array = if strided { spread(&place, &shape, dtype) } else { counting(&place, &shape, dtype) };
        let elements = integers(&array);
        let axis = axis % shape.len();
        let n = shape[axis];
        let mut of: Vec<usize> =
            shape.iter().enumerate().map(|(k, &n)| if ones >> k & 1 == 1 { 1 } else { n }).collect();
        of[axis] = count;
        // Outside of the axis only where the mode admits that.
        let reach = if mode == IndexMode::Raise { n } else { 3 * n };
        let numbers: Vec<i64> =
            (0..of.iter().product()).map(|i| (seeds[i % 64] % (2 * reach)) as i64 - reach as i64).collect();
        let at = UsmArray::from_slice(&from.0, from.1, &of, &numbers).unwrap();
        let mut result = shape.clone();
        result[axis] = count;
        let sources: Vec<usize> = indices(&result).into_iter().map(|mut index| {
            let which: Vec<usize> = index.iter().zip(&of).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            index[axis] = place_of(numbers[flat(&which, &of)], n, mode);
            flat(&index, &shape)
        }).collect();
        let taken = array.take_along_axis(&at, Some(axis as isize), mode).unwrap();
        prop_assert_eq!(taken.shape(), &result[..]);
        prop_assert_eq!(integers(&taken), sources.iter().map(|&source| elements[source]).collect::<Vec<_>>());
        let host = IndexItem::Integers { values: &numbers, shape: Some(&of) };
        let again = array.take_along_axis(host, Some(axis as isize), mode).unwrap();
        prop_assert_eq!(integers(&again), integers(&taken));

        let values = counting(&from, &result, Dtype::U8);
        let mut expected = elements;
        sources.iter().enumerate().for_each(|(i, &source)| expected[source] = i as i64);
        array.put_along_axis(&at, &values, Some(axis as isize), mode).unwrap();
        prop_assert_eq!(integers(&array), expected);
    }

    #[test]
    fn conditions(
        (place, from) in (place(), place()),
        shape in prop::collection::vec(0_usize..5, 1..4),
        dtype in dtypes(),
        seeds in prop::collection::vec(0_u8..3, 64),
        strided in any::<bool>(),
        value_count in 0_usize..5,
    ) {
        let array = if strided { spread(&place, &shape, dtype) } else { counting(&place, &shape, dtype) };
        let elements = integers(&array);
        let bits: Vec<f32> = (0..elements.len()).map(|i| [0.0, -0.0, f32::NAN][seeds[i % 64] as usize]).collect();
        let condition = UsmArray::from_slice(&from.0, from.1, &shape, &bits).unwrap();
        let all = indices(&shape);
        let chosen: Vec<usize> = (0..bits.len()).filter(|&i| bits[i] != 0.0).collect();

        let nonzero = condition.nonzero().unwrap();
        prop_assert_eq!(nonzero.len(), shape.len());
        for (axis, along) in nonzero.iter().enumerate() {
            prop_assert_eq!((along.dtype(), along.kind()), (Dtype::I64, from.1));
            prop_assert_eq!(integers(along), chosen.iter().map(|&i| all[i][axis] as i64).collect::<Vec<_>>());
        }
        let rows = condition.argwhere().unwrap();
        prop_assert_eq!(rows.shape(), [chosen.len(), shape.len()]);
        let expected: Vec<i64> = chosen.iter().flat_map(|&i| all[i].iter().map(|&k| k as i64)).collect();
        prop_assert_eq!(integers(&rows), expected);
        prop_assert_eq!(condition.count_nonzero_total().unwrap(), chosen.len());

        let extracted: Vec<i64> = chosen.iter().map(|&i| elements[i]).collect();
        prop_assert_eq!(integers(&array.extract(&condition).unwrap()), extracted.clone());
        // The indices of nonzero are an index.
        let index: Vec<IndexItem<'_>> = nonzero.iter().map(IndexItem::from).collect();
        prop_assert_eq!(integers(&array.get_index(&index).unwrap()), extracted);

        let values: Vec<i64> = (0..value_count as i64).map(|i| 100 + i).collect();
        let value_array = UsmArray::from_slice(&from.0, from.1, &[value_count], &values).unwrap();
        let refused = value_count == 0 && !chosen.is_empty();
        let mut expected = elements;
        if !refused {
            chosen.iter().zip(values.iter().cycle()).for_each(|(&i, &value)| expected[i] = value);
        }
        prop_assert_eq!(array.place(&condition, &value_array).is_err(), refused);
        prop_assert_eq!(integers(&array), expected);
    }

    #[test]
    fn choosing(
        places in [place(), place(), place()],
        shape in prop::collection::vec(0_usize..4, 0..4),
        cuts in [(0_usize..4, any::<u8>()), (0_usize..4, any::<u8>()), (0_usize..4, any::<u8>())],
        (dtype_x, dtype_y) in (dtypes(), dtypes()),
        seed in any::<u64>(),
        strided in any::<bool>(),
    ) {
        let cut = |(missing, ones): (usize, u8)| -> Vec<usize> {
            let missing = if missing > shape.len() { 0 } else { missing };
            shape[missing..].iter().enumerate().map(|(k, &n)| if ones >> k & 1 == 1 { 1 } else { n }).collect()
        };
        let [of_condition, of_x, of_y] = cuts.map(cut);
        let common = usm_array::broadcast_shapes(&[&of_condition, &of_x, &of_y]).unwrap();
        let bits: Vec<u8> = (0..of_condition.iter().product::<usize>()).map(|i| (seed >> (i % 64) & 1) as u8 * 2).collect();
        let condition = UsmArray::from_slice(&places[0].0, places[0].1, &of_condition, &bits).unwrap();
        let make = if strided { spread } else { counting };
        let (x, y) = (make(&places[1], &of_x, dtype_x), make(&places[2], &of_y, dtype_y));
        let chosen = where_(&condition, &x, &y).unwrap();
        prop_assert_eq!(chosen.shape(), &common[..]);
        let kind = coerced_kind(places.iter().map(|place| place.1)).unwrap();
        prop_assert_eq!((chosen.dtype(), chosen.kind()), (dtype_x.promote(dtype_y), kind));
        let at = |index: &[usize], of: &[usize]| {
            let index: Vec<usize> = index[common.len() - of.len()..].iter().zip(of)
                .map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            flat(&index, of)
        };
        let expected: Vec<i64> = indices(&common).iter().map(|index| {
            if bits[at(index, &of_condition)] != 0 { at(index, &of_x) as i64 } else { at(index, &of_y) as i64 }
        }).collect();
        prop_assert_eq!(integers(&chosen), expected);
        let with_scalar = where_(&condition, Scalar::Int(7), &y).unwrap();
        prop_assert_eq!(with_scalar.dtype(), dtype_y);
    }
}

#[test]
fn numbers_take_part_by_kind() {
    for place in super::PLACES.iter() {
        let condition = counting(place, &[2], Dtype::Bool);
        let of = |x, y| where_(&condition, x, y).map(|chosen| (chosen.dtype(), integers(&chosen)));
        let defaults = usm_array::default_dtypes(condition.device());
        assert_eq!(of(Scalar::Int(5), Scalar::Bool(false)).unwrap(), (Dtype::I64, vec![0, 5]));
        assert_eq!(of(Scalar::Bool(true), Scalar::Bool(false)).unwrap(), (Dtype::Bool, vec![0, 1]));
        assert_eq!(of(Scalar::Int(5), Scalar::Float(2.0)).unwrap(), (defaults.real_floating, vec![2, 5]));
        let bytes = counting(place, &[2], Dtype::U8);
        assert_eq!(where_(&condition, &bytes, Scalar::Int(200)).unwrap().to_vec::<u8>().unwrap(), [200, 1]);
        assert!(where_(&condition, &bytes, Scalar::Int(300)).is_err());
    }
}

#[test]
fn arrays_without_axes() {
    for place in super::PLACES.iter() {
        let one = counting(place, &[], Dtype::I32);
        one.fill(5_i32).unwrap();
        assert_eq!(one.argwhere().unwrap().shape(), [1, 0]);
        assert_eq!(one.count_nonzero_total().unwrap(), 1);
        assert!(one.nonzero().is_err());
        assert_eq!(integers(&one.take(-1, None, IndexMode::Raise).unwrap()), [5]);
        assert!(one.take(0, Some(0), IndexMode::Raise).is_err());
        assert_eq!(integers(&one.extract(&one).unwrap()), [5]);
        one.set_index(&[true.into()], Scalar::Int(6)).unwrap();
        one.set_index(&[false.into()], Scalar::Int(7)).unwrap();
        assert_eq!(integers(&one), [6]);
        one.put(&[0], Scalar::Int(8), IndexMode::Raise).unwrap();
        assert_eq!(integers(&where_(&one, &one, &one).unwrap()), [8]);
        let table = counting(place, &[2, 3], Dtype::I32);
        assert_eq!(integers(&table.take_along_axis(&[5, -6], None, IndexMode::Raise).unwrap()), [5, 0]);
        assert_eq!(table.take(-1, Some(1), IndexMode::Raise).unwrap().shape(), [2]);
    }
}

/// Negative and large numbers of every integer dtype, alone and among others, at places where all of them are looked at at once.
#[test]
fn integers_far_outside_of_an_axis() {
    const SIZE: i128 = 5;
    let place = (queue_of_host(), UsmKind::Shared);
    let array = counting(&place, &[SIZE as usize], Dtype::U8);
    for dtype in Dtype::ALL.into_iter().filter(|dtype| matches!(dtype.kind(), 'i' | 'u')) {
        let limits = usm_array::iinfo(dtype).unwrap();
        let near = [-6, -5, -1, 0, 4, 5, 6, 250];
        let numbers = [limits.min, limits.min + 1, limits.max - 1, limits.max].into_iter().chain(near);
        for number in numbers.filter(|number| (limits.min..=limits.max).contains(number)) {
            for before in [0, 9] {
                let mut values = vec![Scalar::Int(2); before];
                values.push(Scalar::Int(number));
                let new = usm_array::CreateOptions::new(&place.0, place.1).dtype(dtype);
                let indices = new.numbers(&[values.len()], &values).unwrap();
                for mode in MODES {
                    let expected = match mode {
                        IndexMode::Raise if !(-SIZE..SIZE).contains(&number) => None,
                        IndexMode::Raise | IndexMode::Wrap => Some(number.rem_euclid(SIZE)),
                        IndexMode::Clip => Some(number.clamp(0, SIZE - 1)),
                    };
                    let found = array.take(&indices, None, mode);
                    let found = found.map(|found| integers(&found).last().map(|&last| i128::from(last)));
                    assert_eq!(found.ok().flatten(), expected, "{number} of {dtype}, {mode:?}");
                    let target = counting(&place, &[SIZE as usize], Dtype::U8);
                    let put = target.put(&indices, Scalar::Int(77), mode);
                    assert_eq!(put.is_ok(), expected.is_some(), "{number} of {dtype}, {mode:?}");
                    if expected.is_none() {
                        assert_eq!(integers(&target), [0, 1, 2, 3, 4], "nothing was written");
                    }
                }
            }
        }
    }
}

/// As many indices as there are elements, with and without a refused one at the end.
#[test]
fn many_places() {
    const LEN: usize = 200_003;
    let queue = queue_of_host();
    let order: Vec<i64> = (0..LEN as i64).map(|i| i * 7919 % LEN as i64 - LEN as i64 * (i % 2)).collect();
    let target = UsmArray::zeros(&queue, UsmKind::Shared, &[LEN], Dtype::I64).unwrap();
    let values: Vec<i64> = (1..=LEN as i64).collect();
    let values = UsmArray::from_slice(&queue, UsmKind::Shared, &[LEN], &values).unwrap();
    let mut refused = order.clone();
    refused[LEN - 1] = LEN as i64;
    assert!(target.put(&refused[..], &values, IndexMode::Raise).is_err());
    assert_eq!(target.count_nonzero_total().unwrap(), 0, "nothing was written");
    target.put(&order[..], &values, IndexMode::Raise).unwrap();
    let mut expected = vec![0; LEN];
    (1..).zip(&order).for_each(|(value, &index)| expected[index.rem_euclid(LEN as i64) as usize] = value);
    assert_eq!(target.to_vec::<i64>().unwrap(), expected);
    // The last of several values for one element.
    let twice: Vec<i64> = (0..LEN as i64).map(|i| i / 2).collect();
    target.put(&twice[..], &values, IndexMode::Raise).unwrap();
    let found = target.to_vec::<i64>().unwrap();
    assert!((0..LEN / 2).all(|i| found[i] == 2 * i as i64 + 2));
}

/// Kernels move rows in units of up to 16 bytes where the addresses allow it. An access of a GPU to a unit at another address loses the
/// device for the process.
#[test]
fn units_are_aligned_at_any_offset_of_a_view() {
    let bytes: Vec<u8> = (0..4 * 40).collect();
    let row = |row: usize, from: usize| bytes[row * 40 + from..][..16].to_vec();
    for place @ (queue, kind) in super::PLACES.iter() {
        let whole = UsmArray::from_slice(queue, *kind, &[4, 40], &bytes).unwrap();
        let rows = UsmArray::from_slice(queue, *kind, &[3], &[2_i64, 0, 3]).unwrap();
        for from in 0..20 {
            let columns = from as isize..from as isize + 16;
            let view = whole.slice((.., columns.clone())).unwrap();
            let picked = view.get_index(&[(&rows).into()]).unwrap();
            assert_eq!(
                picked.to_vec::<u8>().unwrap(),
                [row(2, from), row(0, from), row(3, from)].concat(),
                "{place:?}"
            );
            for to in [0, from, 19 - from] {
                let target = UsmArray::zeros(queue, *kind, &[4, 40], Dtype::U8).unwrap();
                let part = target.slice((.., to as isize..to as isize + 16)).unwrap();
                part.set_index(&[(&rows).into()], &view.slice((0..3, ..)).unwrap()).unwrap();
                let written = part.to_vec::<u8>().unwrap();
                let expected = [row(1, from), vec![0; 16], row(0, from), row(2, from)].concat();
                assert_eq!(written, expected, "{place:?}");
            }
            let mask: Vec<Bool8> = (0..40).map(|i| Bool8::from_byte(u8::from(i % 3 == 1))).collect();
            let mask = UsmArray::from_slice(queue, *kind, &[40], &mask).unwrap();
            let mask = mask.slice((columns.clone(),)).unwrap();
            let found = whole.slice((1, columns)).unwrap().get_index(&[(&mask).into()]).unwrap();
            let expected: Vec<u8> = (from..from + 16).filter(|i| i % 3 == 1).map(|i| 40 + i as u8).collect();
            assert_eq!(found.to_vec::<u8>().unwrap(), expected, "{place:?}");
        }
    }
}
