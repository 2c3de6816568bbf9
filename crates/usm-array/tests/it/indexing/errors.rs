//! What is refused: with the numbers, and before anything is written

use usm_array::{Dtype, Error, IndexError, IndexItem, IndexMode, Scalar, SliceItem, UsmArray, where_};

use super::{PLACES, counting, integers};

/// Nothing may be written by any of these, and the message must say what was found and what is allowed.
#[track_caller]
fn refused(array: &UsmArray, index: &[IndexItem<'_>], message: &str) {
    let before = integers(array);
    let found = array.get_index(index).unwrap_err().to_string();
    assert_eq!(found, message);
    let value = array.set_index(index, Scalar::Int(77)).unwrap_err().to_string();
    assert_eq!(value, message);
    assert_eq!(integers(array), before);
}

#[test]
fn places_that_are_broadcast_to_nothing_are_looked_at() {
    for place in PLACES.iter() {
        let array = counting(place, &[1, 2], Dtype::I32);
        let in_memory =
            |values: &[i64]| UsmArray::from_slice(&place.0, place.1, &[values.len()], values).unwrap();
        let (none, outside) = (in_memory(&[0]).equal(1).unwrap(), in_memory(&[2]));
        refused(
            &array,
            &[(&none).into(), (&outside).into()],
            "index 2 at position [0] of the index array is out of bounds for axis 1 of size 2, allowed are -2 to 1",
        );
        let empty = counting(place, &[0, 2], Dtype::I32);
        let outside = outside.expand_dims(&[0]).unwrap();
        assert!(empty.take_along_axis(&outside, Some(1), IndexMode::Raise).is_err());
    }
}

#[test]
fn messages_have_the_numbers() {
    for place in PLACES.iter() {
        let array = counting(place, &[2, 3], Dtype::I32);
        let all: IndexItem<'_> = SliceItem::FULL.into();
        let square = IndexItem::Integers { values: &[0, 1, 2, 3], shape: Some(&[2, 2]) };
        refused(
            &array,
            &[all, square],
            "index 3 at position [1, 1] of the index array is out of bounds for axis 1 of size 3, allowed are -3 to 2",
        );
        let huge = UsmArray::from_slice(&place.0, place.1, &[2], &[0, u64::MAX]).unwrap();
        refused(
            &array,
            &[(&huge).into()],
            "index 18446744073709551615 at position [1] of the index array is out of bounds for axis 0 of size 2, \
             allowed are -2 to 1",
        );
        refused(
            &array,
            &[(&[0, -3]).into()],
            "index -3 at position [1] of the index array is out of bounds for axis 0 of size 2, allowed are -2 to 1",
        );
        refused(
            &array,
            &[(&[0]).into(), 3.into()],
            "index 3 is out of bounds for axis 1 of size 3, allowed are -3 to 2",
        );
        refused(
            &array,
            &[all, (&[true, false]).into()],
            "mask has size 2 where axis 1 of the array has size 3, allowed are the same size and 0",
        );
        let many = IndexItem::Integers { values: &[0], shape: Some(&[usize::MAX, 2]) };
        refused(
            &array,
            &[many],
            "index array has 1 values for shape [18446744073709551615, 2], allowed are shapes that memory can hold",
        );
        refused(
            &array,
            &[(&[0]).into(), (&[0]).into(), (&[0]).into()],
            "found 3 indices and slices for 2 axes, allowed are at most 2",
        );
        let dots: IndexItem<'_> = SliceItem::Ellipsis.into();
        refused(&array, &[dots, (&[0]).into(), dots], "found 2 ellipses in one index, allowed is at most 1");
        refused(
            &array,
            &[(&[0, 1]).into(), (&[0, 1, 2]).into()],
            "index arrays: shape [3] of argument 1 does not broadcast with [2], the shape of those before, in axis -1; allowed is the \
             same size or a size of 1",
        );
        refused(
            &array,
            &[IndexItem::Integers { values: &[0, 1], shape: Some(&[3]) }],
            "index array has 2 values for shape [3], allowed are 3",
        );
        let floats = counting(place, &[2], Dtype::F32);
        refused(
            &array,
            &[(&floats).into()],
            "index array has elements of float32, allowed are integers and booleans",
        );
    }
}

#[test]
fn operations_refuse_before_they_write() {
    for place in PLACES.iter() {
        let array = counting(place, &[2, 3], Dtype::I32);
        let values = counting(place, &[4], Dtype::I32);
        let flat = array.put(&[0, 6], &values, IndexMode::Raise);
        let expected = IndexError::OutOfBounds { axis: None, index: 6, position: vec![1], size: 6 };
        assert!(matches!(flat, Err(Error::Index(found)) if found == expected));
        assert!(expected.to_string().contains("the flat array of size 6, allowed are -6 to 5"));
        assert!(array.set_index(&[(&[0]).into()], &values).is_err(), "does not broadcast");
        let unknown = Scalar::Float(1.5);
        assert!(matches!(array.set_index(&[(&[0]).into()], unknown), Err(Error::ScalarKind { .. })));
        assert!(matches!(array.put(&[0], unknown, IndexMode::Clip), Err(Error::ScalarKind { .. })));
        assert!(
            array.put_along_axis(&[0], Scalar::Int(7), Some(0), IndexMode::Raise).is_err(),
            "one axis, not two"
        );
        let pairs = IndexItem::Integers { values: &[0, 3], shape: Some(&[2, 1]) };
        assert!(array.put_along_axis(pairs, Scalar::Int(7), Some(1), IndexMode::Raise).is_err());
        assert!(array.put_along_axis(pairs, Scalar::Int(7), Some(2), IndexMode::Clip).is_err());
        assert!(array.place(&values, Scalar::Int(7)).is_err(), "another number of elements");
        assert!(array.extract(&values).is_err());
        assert!(where_(&array, &values, Scalar::Int(0)).is_err());
        for index in [IndexItem::FULL, SliceItem::NewAxis.into(), (&[true, false]).into(), true.into()] {
            let refused = |found: Result<UsmArray, Error>| {
                assert!(matches!(found, Err(Error::Index(IndexError::NotIntegers { .. }))));
            };
            refused(array.take(index, Some(0), IndexMode::Clip));
            refused(array.take(index, None, IndexMode::Wrap));
            refused(array.take_along_axis(index, Some(0), IndexMode::Raise));
        }
        let empty = counting(place, &[0, 3], Dtype::I32);
        for mode in [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip] {
            assert!(empty.take(&[0], Some(0), mode).is_err());
            assert!(empty.take(&[0], None, mode).is_err());
            assert!(empty.put(&[0], Scalar::Int(1), mode).is_err());
            assert!(empty.put_on_axis(&[0], Scalar::Int(1), 0, mode).is_err());
            assert_eq!(empty.take(&[0_i64; 0], Some(0), mode).unwrap().shape(), [0, 3]);
        }
        assert_eq!(integers(&array), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn read_only_arrays_stay_as_they_are() {
    for place in PLACES.iter() {
        let array = counting(place, &[2, 3], Dtype::I32);
        let shown = array.read_only();
        let one = Scalar::Int(1);
        let rows = IndexItem::Integers { values: &[0, 0], shape: Some(&[2, 1]) };
        for written in [
            shown.set_index(&[(&[0]).into()], one),
            shown.set_index(&[0.into()], one),
            shown.set_index(&[(&[0_i64; 0]).into()], one),
            shown.put(&[0], one, IndexMode::Raise),
            shown.put_along_axis(rows, one, Some(1), IndexMode::Wrap),
            shown.put_on_axis(&[0], one, 0, IndexMode::Raise),
            shown.place(&array, one),
            shown.get_index(&[0.into()]).unwrap().set_index(&[(&[0]).into()], one),
            array.broadcast_to(&[2, 2, 3]).unwrap().set_index(&[(&[0]).into()], one),
        ] {
            assert!(matches!(written, Err(Error::ReadOnly)), "{written:?}");
        }
        assert_eq!(integers(&array), [0, 1, 2, 3, 4, 5]);
        shown.get_index(&[(&[1]).into()]).unwrap().set_index(&[(&[0]).into()], one).unwrap();
    }
}

#[test]
fn borrowed_memory_is_an_error() {
    for place in PLACES.iter() {
        let array = counting(place, &[2, 3], Dtype::I32);
        let at = counting(place, &[2], Dtype::I64);
        let whole = 0..array.buffer().len_bytes();
        let reading = array.buffer().read_range(whole.clone()).unwrap();
        assert_eq!(array.get_index(&[(&at).into()]).unwrap().shape(), [2, 3]);
        assert!(matches!(array.set_index(&[(&at).into()], Scalar::Int(1)), Err(Error::Memory(_))));
        drop(reading);
        let writing = array.buffer().write_range(whole).unwrap();
        assert!(matches!(array.get_index(&[(&at).into()]), Err(Error::Memory(_))));
        assert!(matches!(array.nonzero(), Err(Error::Memory(_))));
        drop(writing);
        let writing = at.buffer().write_range(0..8).unwrap();
        assert!(matches!(array.get_index(&[(&at).into()]), Err(Error::Memory(_))));
        drop(writing);
        array.set_index(&[(&at).into()], Scalar::Int(1)).unwrap();
        assert_eq!(integers(&array), [1; 6]);
    }
}
