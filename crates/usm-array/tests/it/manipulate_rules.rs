//! What joining, repeating and rolling refuse; queues and kinds; sizes and ranks beyond the usual

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::places;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CopyMode, Dtype, Error, LayoutError, Order, Repeats, SliceItem, UsmArray, coerced_kind};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(places);

#[test]
fn joins_refuse_what_does_not_fit() {
    for (queue, kind) in PLACES.iter() {
        let zeros = |shape: &[usize]| UsmArray::zeros(queue, *kind, shape, Dtype::U8).unwrap();
        let (a, b, c, scalar) = (zeros(&[2, 3]), zeros(&[2, 4]), zeros(&[2]), zeros(&[]));
        let concat = |arrays: &[&UsmArray], axis| UsmArray::concat(arrays, axis).unwrap_err().to_string();
        let stack = |arrays: &[&UsmArray], axis| UsmArray::stack(arrays, axis).unwrap_err().to_string();
        assert_eq!(concat(&[], Some(0)), "arrays: found none, allowed are one and more");
        assert_eq!(stack(&[], 0), "arrays: found none, allowed are one and more");
        assert_eq!(
            concat(&[&a, &a, &b], Some(0)),
            "arrays[2]: found size 4 of axis 1, allowed is 3, as arrays[0] has"
        );
        assert_eq!(concat(&[&a, &c], Some(0)), "arrays[1]: found 1 axes, allowed are 2, as arrays[0] has");
        assert_eq!(stack(&[&a, &b], 0), "arrays[1]: found size 4 of axis 1, allowed is 3, as arrays[0] has");
        assert_eq!(concat(&[&a], Some(2)), "axis: axis 2 is out of bounds for 2 axes, allowed are -2 to 1");
        assert_eq!(stack(&[&a], 3), "axis: axis 3 is out of bounds for 3 axes, allowed are -3 to 2");
        assert_eq!(concat(&[&scalar], Some(0)), "axis: axis 0 is out of bounds for 0 axes, allowed are none");
        assert_eq!(UsmArray::concat(&[&scalar, &a], None).unwrap().shape(), [7]);
        assert_eq!(UsmArray::stack(&[&scalar, &scalar], 0).unwrap().shape(), [2]);
        let full = zeros(&[1; 64]);
        assert!(matches!(
            UsmArray::stack(&[&full], 0),
            Err(Error::Layout(LayoutError::TooManyAxes { found: 65 }))
        ));
        let repeated = scalar.broadcast_to(&[1 << 62]).unwrap();
        let many = [&repeated; 5];
        assert!(matches!(
            UsmArray::concat(&many, Some(0)),
            Err(Error::Layout(LayoutError::TooManyElements { .. }))
        ));
        assert!(UsmArray::concat(&many, None).is_err());
    }
}

#[test]
fn compute_follows_data() {
    use UsmKind::{Device, Host, Shared};
    for a in common::KINDS {
        assert_eq!(coerced_kind([a]), Some(a));
        for b in common::KINDS {
            let expected = if a == Device || b == Device {
                Device
            } else if a == Shared || b == Shared {
                Shared
            } else {
                Host
            };
            assert_eq!(coerced_kind([a, b]), Some(expected));
        }
    }
    let other = usm_array::usm_core::Runtime::new(usm_array::usm_core::RuntimeOptions::new());
    let other = other.default_queue(other.host_device()).unwrap();
    for (queue, kind) in PLACES.iter() {
        let here = UsmArray::zeros(queue, *kind, &[2], Dtype::I64).unwrap();
        let there = UsmArray::zeros(&other, *kind, &[2], Dtype::I64).unwrap();
        let error = UsmArray::concat(&[&here, &here, &there], Some(0)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "arrays[2] is on another queue ({other}) than arrays[0] ({queue}); `on_queue` or `copy_to` moves an array"
            )
        );
        assert!(UsmArray::stack(&[&there, &here], 0).is_err());
        let error = here.repeat(Repeats::Array(&there), Some(0)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("repeats is on another queue ({other}) than x")), "{error}");
    }
}

#[test]
fn counts_and_shifts_that_do_not_pair_up() {
    for (queue, kind) in PLACES.iter() {
        let array =
            UsmArray::from_fn(queue, *kind, &[2, 3], |index| (3 * index[0] + index[1]) as u8).unwrap();
        let repeat = |repeats, axis| array.repeat(repeats, axis).unwrap_err().to_string();
        assert_eq!(
            repeat(Repeats::Counts(&[1, 2]), Some(1)),
            "repeats: found 2 counts, allowed are 3, one for each place along the axis, or 1"
        );
        assert_eq!(
            repeat(Repeats::Counts(&[]), None),
            "repeats: found 0 counts, allowed are 6, one for each place along the axis, or 1"
        );
        assert!(repeat(Repeats::Each(1), Some(2)).starts_with("axis: axis 2 is out of bounds"));
        let counts = UsmArray::from_slice(queue, *kind, &[3], &[1_i16, 0, -2]).unwrap();
        assert_eq!(repeat(Repeats::Array(&counts), Some(1)), "repeats[2]: found -2, allowed are 0 and more");
        let floats = counts.astype(Dtype::F32, CopyMode::Always).unwrap();
        assert_eq!(
            repeat(Repeats::Array(&floats), Some(1)),
            "repeats: found an array of float32 with 1 axes, allowed are integers with at most one axis"
        );
        assert!(repeat(Repeats::Array(&array), Some(1)).contains("uint8 with 2 axes"));
        for times in [usize::MAX, 1 << 62] {
            assert!(array.repeat(Repeats::Each(times), Some(0)).is_err());
            assert!(array.repeat(Repeats::Counts(&[times, times]), Some(0)).is_err());
            assert!(array.tile(&[times, times]).is_err());
            assert!(array.tile(&[2, times]).is_err());
        }
        let one = UsmArray::full(queue, *kind, &[], 2_i32).unwrap();
        let twice = array.repeat(Repeats::Array(&one), None).unwrap();
        assert_eq!(twice.to_vec::<u8>().unwrap(), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);

        let roll =
            |shifts: &[isize], axes: Option<&[isize]>| array.roll(shifts, axes).unwrap_err().to_string();
        assert_eq!(
            roll(&[1, 2, 3], Some(&[0, 1])),
            "shift: found 3 shifts for 2 axes, allowed are 2, or 1 of one of them"
        );
        assert!(roll(&[1], Some(&[-3])).starts_with("axis: axis -3 is out of bounds for 2 axes"));
        // numpy.roll(x, (1, 2), axis=-1)
        assert_eq!(array.roll(&[1, 2], Some(&[-1])).unwrap().to_vec::<u8>().unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(array.roll(&[], None).unwrap().to_vec::<u8>().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn many_counts_go_through_the_host_in_pieces() {
    for (queue, kind) in PLACES.iter() {
        // Places of 8, 600, 40,000 and 36 bytes, some never, some often.
        for (shape, axis, often) in [
            (vec![20_000, 2], 0, 5),
            (vec![3, 900, 25, 2], 1, 5),
            (vec![7, 10_000], 0, 40),
            (vec![9, 4], 1, 9_000),
        ] {
            let value =
                |index: &[usize]| index.iter().fold(0_u32, |sum, &i| sum.wrapping_mul(20_011) + i as u32);
            let array = UsmArray::from_fn(queue, *kind, &shape, value).unwrap();
            let counts: Vec<usize> =
                (0..shape[axis]).map(|i| if i % 1000 == 1 { often } else { i % 3 }).collect();
            let from: Vec<usize> = counts.iter().enumerate().flat_map(|(i, &count)| vec![i; count]).collect();
            let found = array.repeat(Repeats::Counts(&counts), Some(axis.cast_signed())).unwrap();
            let mut expected_shape = shape.clone();
            expected_shape[axis] = from.len();
            assert_eq!(found.shape(), expected_shape);
            let expected = UsmArray::from_fn(queue, UsmKind::Host, &expected_shape, |index| {
                let mut index = index.to_vec();
                index[axis] = from[index[axis]];
                value(&index)
            });
            assert!(found.to_bytes().unwrap() == expected.unwrap().to_bytes().unwrap(), "{shape:?}");
        }
    }
}

#[test]
fn up_to_64_axes() {
    for (queue, kind) in PLACES.iter() {
        let mut shape = vec![1; 64];
        (shape[3], shape[40], shape[63]) = (2, 3, 2);
        let numbers: Vec<u16> = (0..12).collect();
        let array = UsmArray::from_slice(queue, *kind, &shape, &numbers).unwrap().flip(None).unwrap();
        let mut times = vec![1; 64];
        (times[0], times[40]) = (2, 2);
        let small = [2, 3, 2];
        let twin = UsmArray::from_slice(queue, *kind, &small, &numbers).unwrap().flip(None).unwrap();
        let values = |array: UsmArray| array.to_vec::<u16>().unwrap();
        let tiled = values(twin.tile(&[2, 1, 2, 1]).unwrap());
        assert_eq!(values(array.tile(&times).unwrap()), tiled);
        let twice = Repeats::Each(2);
        assert_eq!(
            values(array.repeat(twice, Some(40)).unwrap()),
            values(twin.repeat(twice, Some(1)).unwrap())
        );
        let rolled = values(twin.roll(&[1, 1, 1], Some(&[0, 1, 2])).unwrap());
        assert_eq!(values(array.roll(&[1], Some(&(0..64).collect::<Vec<_>>())).unwrap()), rolled);
        let joined = UsmArray::concat(&[&array, &array], Some(3)).unwrap();
        assert_eq!(values(joined), values(UsmArray::concat(&[&twin, &twin], Some(0)).unwrap()));
        let first = joined_half(&array);
        assert_eq!(values(first.reshape(&[-1], Order::C, CopyMode::IfNeeded).unwrap()).len(), 6);
    }
}

fn joined_half(array: &UsmArray) -> UsmArray {
    let mut items = vec![SliceItem::FULL; 64];
    items[3] = SliceItem::Slice { start: None, stop: Some(1), step: 1 };
    array.slice(&items).unwrap()
}
