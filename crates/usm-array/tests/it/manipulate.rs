//! Arrays joined, repeated, rolled and reshaped, against brute force on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::{displacements, indices, places};
use proptest::prelude::*;
use usm_array::half::bf16;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{
    CopyMode, Dtype, Error, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Layout, LayoutError, Order, Repeats,
    Scalar, UsmArray, coerced_kind,
};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(places);

fn place() -> impl Strategy<Value = (Queue, UsmKind)> {
    prop::sample::select(&PLACES[..])
}

/// Any strides, of both signs and 0, and whether the array is read-only.
type Strided = (Vec<isize>, bool);

fn strided(ndim: usize) -> impl Strategy<Value = Strided> {
    (prop::collection::vec(-9_isize..=9, ndim), any::<bool>())
}

/// What is expected: a shape and its elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
struct Host {
    shape: Vec<usize>,
    elements: Vec<u8>,
}

impl Host {
    fn from_fn(shape: &[usize], element: impl Fn(&[usize]) -> u8) -> Self {
        Self { shape: shape.to_vec(), elements: indices(shape).iter().map(|index| element(index)).collect() }
    }

    fn at(&self, index: &[usize]) -> u8 {
        assert_eq!(index.len(), self.shape.len());
        self.elements[index.iter().zip(&self.shape).fold(0, |flat, (&i, &n)| flat * n + i)]
    }

    /// The same numbers as elements of a dtype, in which narrow ones are rounded.
    fn rounded(mut self, dtype: Dtype) -> Self {
        let round = |value: f32| match dtype {
            Dtype::BF16 => bf16::from_f32(value).to_f32(),
            Dtype::F8E4M3Fn => F8E4M3Fn::from_f32(value).to_f32(),
            Dtype::F8E4M3Fnuz => F8E4M3Fnuz::from_f32(value).to_f32(),
            Dtype::F8E5M2 => F8E5M2::from_f32(value).to_f32(),
            Dtype::F8E5M2Fnuz => F8E5M2Fnuz::from_f32(value).to_f32(),
            _ => value,
        };
        self.elements.iter_mut().for_each(|value| *value = round((*value).into()) as u8);
        self
    }

    fn of(array: &UsmArray) -> Self {
        let value = |bytes| match Scalar::from_bytes(array.dtype(), bytes).unwrap() {
            Scalar::Bool(value) => u8::from(value),
            Scalar::Int(value) => value as u8,
            Scalar::Float(value) => value as u8,
            Scalar::Complex(value) => value.re as u8,
            other => panic!("{other:?}"),
        };
        let bytes = array.to_bytes().unwrap();
        let elements = bytes.chunks(array.itemsize_bytes()).map(value).collect();
        Self { shape: array.shape().to_vec(), elements }
    }
}

/// An array with the given strides over memory that holds small numbers, and the same by the formula of the specification.
fn counting(
    (queue, kind): &(Queue, UsmKind),
    shape: &[usize],
    (strides, read_only): &Strided,
    dtype: Dtype,
) -> (UsmArray, Host) {
    let layout = Layout::with_automatic_offset(shape, Some(strides), Order::C).unwrap();
    let number = |place: usize| {
        match dtype {
            Dtype::Bool => u8::from(!place.is_multiple_of(3)),
            narrow if narrow.is_narrow() => (place % 9) as u8, // more would be rounded
            _ => (place % 101) as u8,
        }
    };
    let numbers: Vec<u8> = (0..layout.required_len().max(1)).map(number).collect();
    let whole = UsmArray::from_slice(queue, *kind, &[numbers.len()], &numbers).unwrap();
    let whole = whole.astype(dtype, CopyMode::IfNeeded).unwrap();
    let elements = displacements(&layout).into_iter().map(number).collect();
    let array = UsmArray::from_parts(whole.buffer().clone(), dtype, layout, 0).unwrap();
    let array = if *read_only { array.read_only() } else { array };
    (array, Host { shape: shape.to_vec(), elements })
}

/// The result is new writable memory of the kind and queue, in rows.
fn check(found: &UsmArray, expected: &Host, kind: UsmKind, source: &UsmArray) {
    check_memory(found, expected, kind, source);
    assert!(found.is_c_contiguous());
}

/// The result is new writable memory of the kind and queue, without gaps.
fn check_memory(found: &UsmArray, expected: &Host, kind: UsmKind, source: &UsmArray) {
    assert_eq!(&Host::of(found), expected);
    let in_memory = found.permute(&found.layout().memory_order()).unwrap();
    assert!(found.is_writable() && in_memory.is_c_contiguous());
    assert_eq!((found.kind(), found.queue()), (kind, source.queue()));
    assert!(!found.buffer().same_allocation(source.buffer()));
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..5, 0..5)
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(&Dtype::ALL[..])
}

type Part = (usize, Strided, UsmKind, Dtype);

/// A shape, one of its axes, and arrays which may have another size there.
fn parts() -> impl Strategy<Value = (Vec<usize>, usize, Vec<Part>)> {
    prop::collection::vec(0_usize..5, 1..5).prop_flat_map(|shape| {
        let ndim = shape.len();
        let part = (0_usize..4, strided(ndim), prop::sample::select(&common::KINDS[..]), dtype());
        (Just(shape), 0..ndim, prop::collection::vec(part, 1..5))
    })
}

proptest! {
    #[test]
    fn joined_along_an_axis_or_flat((queue, _) in place(), (shape, axis, parts) in parts(), from_end in any::<bool>()) {
        let mut arrays = vec![];
        let mut hosts = vec![];
        for (size, strided, kind, dtype) in &parts {
            let mut shape = shape.clone();
            shape[axis] = *size;
            let (array, host) = counting(&(queue.clone(), *kind), &shape, strided, *dtype);
            arrays.push(array);
            hosts.push(host);
        }
        let borrowed: Vec<&UsmArray> = arrays.iter().collect();
        let kind = coerced_kind(arrays.iter().map(UsmArray::kind)).unwrap();
        let mut joined_shape = shape.clone();
        joined_shape[axis] = parts.iter().map(|part| part.0).sum();
        let expected = Host::from_fn(&joined_shape, |index| {
            let mut index = index.to_vec();
            for host in &hosts {
                if index[axis] < host.shape[axis] {
                    return host.at(&index);
                }
                index[axis] -= host.shape[axis];
            }
            panic!("inside one of them")
        });
        let given = axis.cast_signed() - if from_end { shape.len().cast_signed() } else { 0 };
        let found = UsmArray::concat(&borrowed, Some(given)).unwrap();
        prop_assert_eq!(found.dtype(), widest(&parts));
        let expected = expected.rounded(widest(&parts));
        check_memory(&found, &expected, kind, &arrays[0]);

        let all: Vec<u8> = hosts.iter().flat_map(|host| host.elements.clone()).collect();
        let flat = UsmArray::concat(&borrowed, None).unwrap();
        let expected = Host { shape: vec![all.len()], elements: all }.rounded(widest(&parts));
        check(&flat, &expected, kind, &arrays[0]);
    }

    #[test]
    fn stacked_along_a_new_axis(
        (queue, _) in place(),
        (shape, _, parts) in parts(),
        place in 0_usize..6,
        from_end in any::<bool>(),
    ) {
        let place = place % (shape.len() + 1);
        let (arrays, hosts): (Vec<_>, Vec<_>) = parts.iter()
            .map(|(_, strided, kind, dtype)| counting(&(queue.clone(), *kind), &shape, strided, *dtype))
            .unzip();
        let borrowed: Vec<&UsmArray> = arrays.iter().collect();
        let mut stacked_shape = shape.clone();
        stacked_shape.insert(place, arrays.len());
        let expected = Host::from_fn(&stacked_shape, |index| {
            let mut index = index.to_vec();
            let number = index.remove(place);
            hosts[number].at(&index)
        });
        let given = place.cast_signed() - if from_end { shape.len().cast_signed() + 1 } else { 0 };
        let found = UsmArray::stack(&borrowed, given).unwrap();
        prop_assert_eq!(found.dtype(), widest(&parts));
        let expected = expected.rounded(widest(&parts));
        check(&found, &expected, coerced_kind(arrays.iter().map(UsmArray::kind)).unwrap(), &arrays[0]);
        for (piece, host) in found.unstack(given).unwrap().zip(hosts) {
            prop_assert_eq!(Host::of(&piece), host.rounded(widest(&parts)));
        }
    }

    #[test]
    fn tiles_lie_side_by_side(
        place in place(),
        dtype in dtype(),
        (shape, strided) in shapes().prop_flat_map(|shape| { let n = shape.len(); (Just(shape), strided(n)) }),
        repetitions in prop::collection::vec(0_usize..4, 0..5),
    ) {
        let (array, host) = counting(&place, &shape, &strided, dtype);
        let ndim = shape.len().max(repetitions.len());
        let pad = |sizes: &[usize]| [vec![1; ndim - sizes.len()], sizes.to_vec()].concat();
        let sizes: Vec<usize> = pad(&shape).iter().zip(pad(&repetitions)).map(|(&n, times)| n * times).collect();
        let skipped = ndim - shape.len();
        let expected = Host::from_fn(&sizes, |index| {
            let inside: Vec<usize> = index[skipped..].iter().zip(&shape).map(|(&i, &n)| i % n).collect();
            host.at(&inside)
        });
        check(&array.tile(&repetitions).unwrap(), &expected, place.1, &array);
    }

    #[test]
    fn elements_are_repeated(
        place in place(),
        dtype in dtype(),
        (shape, strided, axis, counts) in prop::collection::vec(0_usize..5, 1..5).prop_flat_map(|shape| {
            let ndim = shape.len();
            (Just(shape), strided(ndim), 0..ndim, prop::collection::vec(0_usize..4, 5))
        }),
        times in 0_usize..4,
        count_dtype in prop::sample::select(&[Dtype::I8, Dtype::I64, Dtype::U8, Dtype::U64, Dtype::I32][..]),
    ) {
        let (array, host) = counting(&place, &shape, &strided, dtype);
        let along = |counts: &[usize]| {
            let from: Vec<usize> = counts.iter().enumerate().flat_map(|(i, &count)| vec![i; count]).collect();
            let mut shape = shape.clone();
            shape[axis] = from.len();
            Host::from_fn(&shape, |index| {
                let mut index = index.to_vec();
                index[axis] = from[index[axis]];
                host.at(&index)
            })
        };
        let counts = &counts[..shape[axis]];
        let axis = axis.cast_signed();
        let repeat = |repeats: Repeats<'_>| array.repeat(repeats, Some(axis - shape.len().cast_signed())).unwrap();
        check(&repeat(Repeats::Each(times)), &along(&vec![times; counts.len()]), place.1, &array);
        check(&repeat(Repeats::Counts(&[times])), &along(&vec![times; counts.len()]), place.1, &array);
        if counts.len() != 1 {
            check(&repeat(Repeats::Counts(counts)), &along(counts), place.1, &array);
        }
        let bytes: Vec<u8> = counts.iter().map(|&count| count as u8).collect();
        let in_array = UsmArray::from_slice(&place.0, place.1, &[bytes.len()], &bytes).unwrap();
        let in_array = in_array.astype(count_dtype, CopyMode::Always).unwrap();
        check(&repeat(Repeats::Array(&in_array)), &along(counts), place.1, &array);

        let each = |n: usize| host.elements.iter().flat_map(|&e| vec![e; n]).collect::<Vec<_>>();
        let flat = array.repeat(Repeats::Each(times), None).unwrap();
        let elements = each(times);
        check(&flat, &Host { shape: vec![elements.len()], elements }, place.1, &array);
    }

    #[test]
    fn elements_are_rolled(
        place in place(),
        dtype in dtype(),
        (shape, strided, axes) in shapes().prop_flat_map(|shape| {
            let ndim = shape.len();
            let axis = 0..ndim.max(1).cast_signed();
            (Just(shape), strided(ndim), prop::collection::vec(axis, 0..if ndim == 0 { 1 } else { 4 }))
        }),
        shifts in prop::collection::vec(prop_oneof![-9_isize..9, Just(isize::MIN), Just(isize::MAX)], 4),
    ) {
        let (array, host) = counting(&place, &shape, &strided, dtype);
        let moved = |shifts: &[isize]| Host::from_fn(&shape, |index| {
            let mut from: Vec<i128> = index.iter().map(|&i| i as i128).collect();
            for (&axis, &shift) in axes.iter().zip(shifts) {
                from[axis.unsigned_abs()] -= shift as i128;
            }
            let from: Vec<usize> =
                from.iter().zip(&shape).map(|(&i, &n)| i.rem_euclid(n as i128) as usize).collect();
            host.at(&from)
        });
        let pairs = &shifts[..axes.len()];
        check(&array.roll(pairs, Some(&axes)).unwrap(), &moved(pairs), place.1, &array);
        let same = vec![shifts[0]; axes.len()];
        check(&array.roll(&shifts[..1], Some(&axes)).unwrap(), &moved(&same), place.1, &array);

        let len = host.elements.len() as i128;
        let total: i128 = shifts.iter().map(|&shift| shift as i128).sum();
        let elements = (0..len).map(|i| host.elements[(i - total).rem_euclid(len) as usize]).collect();
        let rolled = array.roll(&shifts, None).unwrap();
        prop_assert_eq!(Host::of(&rolled), Host { shape: shape.clone(), elements });
    }

    #[test]
    fn reshaped_by_a_view_or_a_copy(
        place in place(),
        dtype in dtype(),
        (shape, strided, split) in shapes().prop_flat_map(|shape| {
            let ndim = shape.len();
            (Just(shape), strided(ndim), any::<usize>())
        }),
        order in prop::sample::select(&[Order::C, Order::F][..]),
    ) {
        let (array, host) = counting(&place, &shape, &strided, dtype);
        let size = array.size();
        let divisors: Vec<usize> = (1..=size.max(1)).filter(|d| size.is_multiple_of(*d)).collect();
        let first = divisors[split % divisors.len()];
        let to = [first, size / first];
        // Elements in the order asked for, put into the new shape in the same order.
        let number = |index: &[usize], shape: &[usize]| {
            let axes: Vec<(usize, usize)> = index.iter().copied().zip(shape.iter().copied()).collect();
            let step = |flat: usize, &(i, n): &(usize, usize)| flat * n + i;
            if order == Order::C { axes.iter().fold(0, step) } else { axes.iter().rev().fold(0, step) }
        };
        let mut flat = vec![0; size];
        for (index, &element) in indices(&shape).iter().zip(&host.elements) {
            flat[number(index, &shape)] = element;
        }
        let expected = Host::from_fn(&to, |index| flat[number(index, &to)]);
        let wanted = [first.cast_signed(), if size == 0 { 0 } else { -1 }];
        let shares = |found: &UsmArray| found.buffer().same_allocation(array.buffer());

        let copy = array.reshape(&wanted, order, CopyMode::Always).unwrap();
        prop_assert_eq!(Host::of(&copy), expected.clone());
        prop_assert!(!shares(&copy) && copy.is_writable());
        let found = array.reshape(&wanted, order, CopyMode::IfNeeded).unwrap();
        prop_assert_eq!(Host::of(&found), expected.clone());
        match array.reshape(&wanted, order, CopyMode::Never) {
            Ok(view) => {
                prop_assert_eq!(Host::of(&view), expected);
                prop_assert!(shares(&view) && shares(&found) && view.is_writable() == array.is_writable());
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::Layout(LayoutError::NeedsCopy { .. })), "{}", error);
                prop_assert!(!shares(&found));
            }
        }
        let (ravelled, flattened) = (array.ravel(order).unwrap(), array.flatten(order).unwrap());
        let dense = if order == Order::C { array.is_c_contiguous() } else { array.is_f_contiguous() };
        prop_assert!(shares(&ravelled) == dense && !shares(&flattened));
        for found in [ravelled, flattened] {
            prop_assert!(found.is_c_contiguous());
            prop_assert_eq!(Host::of(&found).elements, flat.clone());
        }
    }
}

/// The promoted dtype of all, as the promotion of several operands has it.
fn widest(parts: &[Part]) -> Dtype {
    let operands: Vec<_> = parts.iter().map(|part| part.3.into()).collect();
    usm_array::result_type(&operands).unwrap()
}
