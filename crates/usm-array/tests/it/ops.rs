//! Operations, classes, logic and closeness against a slow reference: every pair of dtypes, every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::cmp::Ordering;

use common::places;
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{Queue, Runtime, UsmKind};
use usm_array::{
    ArrayOrScalar, Bool8, Dtype, Error, IndexMode, Scalar, SliceItem, Tolerance, UsmArray, coerced_kind,
    where_,
};

/// Values at the edges of a dtype, all of them exact in it.
fn edges(dtype: Dtype) -> Vec<Scalar> {
    let two = 2_f64;
    let reals: Vec<f64> = match dtype {
        Dtype::F16 => vec![65504.0, -65504.0, two.powi(-24), 2048.0],
        Dtype::BF16 => vec![(2.0 - two.powi(-7)) * two.powi(127), two.powi(-133), 256.0],
        Dtype::F8E4M3Fn => vec![448.0, -448.0, two.powi(-9), 15.0],
        Dtype::F8E4M3Fnuz => vec![240.0, -240.0, two.powi(-10), 15.0],
        Dtype::F8E5M2 => vec![57344.0, -57344.0, two.powi(-16), 7.0],
        Dtype::F8E5M2Fnuz => vec![57344.0, -57344.0, two.powi(-17), 7.0],
        Dtype::F32 => vec![f64::from(f32::MAX), two.powi(-149), two.powi(24), two.powi(63), two.powi(64)],
        _ => vec![f64::MAX, 5e-324, two.powi(53), two.powi(63), -two.powi(63), two.powi(64), 0.1],
    };
    let common = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    let has_infinity = !dtype.is_narrow() || matches!(dtype, Dtype::BF16 | Dtype::F8E5M2);
    let is_unsigned = matches!(dtype, Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz);
    // The NaN of a format without a negative zero has its bits, so its sign is set.
    let is_exact = |value: &f64| {
        (has_infinity || !value.is_infinite())
            && (!is_unsigned || value.is_nan() == value.is_sign_negative() || *value < 0.0)
    };
    let reals: Vec<f64> = [&reals[..], &common].concat().into_iter().filter(is_exact).collect();
    match dtype.kind() {
        _ if dtype.is_narrow() => reals.into_iter().map(Scalar::Float).collect(),
        'b' => vec![Scalar::Bool(false), Scalar::Bool(true)],
        'f' => reals.into_iter().map(Scalar::Float).collect(),
        'c' => {
            let parts = [0.0, -1.0, 0.5, f64::INFINITY, f64::NAN, two.powi(53)];
            let pairs = parts.iter().flat_map(|&re| [0.0, -0.0, 1.0, f64::NAN].map(|im| (re, im)));
            pairs.map(|(re, im)| Scalar::Complex(Complex64::new(re, im))).collect()
        }
        kind => {
            let bits = dtype.itemsize_bytes() * 8;
            let (low, high) = if kind == 'i' {
                (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1)
            } else {
                (0, (1 << bits) - 1)
            };
            let values = [low, low + 1, -1, 0, 1, 2, 100, (1 << 53) + 1, high - 1, high];
            values.into_iter().filter(|value| (low..=high).contains(value)).map(Scalar::Int).collect()
        }
    }
}

/// An array of values that the dtype holds.
fn array(queue: &Queue, kind: UsmKind, dtype: Dtype, values: &[Scalar]) -> UsmArray {
    let runtime = Runtime::global();
    let host = runtime.default_queue(runtime.host_device()).unwrap();
    let staged = UsmArray::empty(&host, UsmKind::Shared, &[values.len()], dtype).unwrap();
    for (i, &value) in values.iter().enumerate() {
        staged.slice(&[SliceItem::Index(i.cast_signed())]).unwrap().fill_scalar(value).unwrap();
    }
    let array = staged.copy_to(queue, kind).unwrap();
    assert_eq!(array.kind(), kind);
    array
}

fn booleans(array: &UsmArray) -> Vec<bool> {
    array.to_vec::<Bool8>().unwrap().into_iter().map(bool::from).collect()
}

fn whole(value: Scalar) -> Option<i128> {
    match value {
        Scalar::Bool(value) => Some(value.into()),
        Scalar::Int(value) => Some(value),
        _ => None,
    }
}

fn real(value: Scalar) -> f64 {
    match value {
        Scalar::Float(value) => value,
        other => whole(other).unwrap() as f64,
    }
}

fn complex(value: Scalar) -> Complex64 {
    match value {
        Scalar::Complex(value) => value,
        other => Complex64::new(real(other), 0.0),
    }
}

/// An integer beside a real number: every finite `f64` below 2¹⁰⁰ is a whole number and a fraction.
fn order_beside_real(int: i128, real: f64) -> Option<Ordering> {
    if real.is_nan() {
        return None;
    }
    if real.abs() >= 2_f64.powi(100) {
        return Some(if real > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let floor = real.floor();
    let fraction = if real > floor { Ordering::Less } else { Ordering::Equal };
    Some(int.cmp(&(floor as i128)).then(fraction))
}

fn order(a: Scalar, b: Scalar) -> Option<Ordering> {
    match (a, b) {
        (Scalar::Complex(_), _) | (_, Scalar::Complex(_)) => {
            (complex(a) == complex(b)).then_some(Ordering::Equal)
        }
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Float(a), b) => order_beside_real(whole(b).unwrap(), a).map(Ordering::reverse),
        (a, Scalar::Float(b)) => order_beside_real(whole(a).unwrap(), b),
        (a, b) => whole(a).partial_cmp(&whole(b)),
    }
}

type Operation = fn(&UsmArray, ArrayOrScalar<'_>) -> usm_array::Result<UsmArray>;

type Holds = fn(Option<Ordering>) -> bool;

const COMPARISONS: [(&str, Operation, Holds); 6] = [
    ("equal", |a, b| a.equal(b), |order| order == Some(Ordering::Equal)),
    ("not_equal", |a, b| a.not_equal(b), |order| order != Some(Ordering::Equal)),
    ("less", |a, b| a.less(b), |order| order == Some(Ordering::Less)),
    ("less_equal", |a, b| a.less_equal(b), |order| order.is_some_and(|order| order != Ordering::Greater)),
    ("greater", |a, b| a.greater(b), |order| order == Some(Ordering::Greater)),
    ("greater_equal", |a, b| a.greater_equal(b), |order| order.is_some_and(|order| order != Ordering::Less)),
];

#[test]
fn every_pair_of_dtypes_compares_by_value() {
    for (queue, kind) in places() {
        for a_dtype in Dtype::ALL {
            for b_dtype in Dtype::ALL {
                let (a_values, b_values) = (edges(a_dtype), edges(b_dtype));
                let a = array(&queue, kind, a_dtype, &a_values).expand_dims(&[1]).unwrap();
                let b = array(&queue, kind, b_dtype, &b_values);
                let is_complex = [a_dtype, b_dtype].iter().any(|dtype| dtype.kind() == 'c');
                for (name, compare, holds) in COMPARISONS {
                    let found = compare(&a, ArrayOrScalar::Array(&b));
                    if is_complex && !matches!(name, "equal" | "not_equal") {
                        assert!(matches!(found, Err(Error::DtypeNotAllowed { .. })), "{name} {found:?}");
                        continue;
                    }
                    let found = found.unwrap();
                    assert_eq!((found.kind(), found.dtype()), (kind, Dtype::Bool));
                    assert_eq!(found.shape(), [a_values.len(), b_values.len()]);
                    let pairs = a_values.iter().flat_map(|&a| b_values.iter().map(move |&b| (a, b)));
                    for ((a, b), found) in pairs.zip(booleans(&found)) {
                        assert_eq!(found, holds(order(a, b)), "{a_dtype} {a} {name} {b_dtype} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn values_take_the_dtype_of_their_kind() {
    let (queue, _) = places().remove(0);
    let case = |dtype, values: &[Scalar], other: ArrayOrScalar<'_>| {
        let array = array(&queue, UsmKind::Shared, dtype, values);
        (booleans(&array.equal(other).unwrap()), booleans(&array.less(other).unwrap()))
    };
    let yes_no = |a: bool, b: bool| (vec![a], vec![b]);
    // Rounded as an element.
    assert_eq!(case(Dtype::F32, &[Scalar::Float(0.1)], 0.1.into()), yes_no(true, false));
    assert_eq!(case(Dtype::F64, &[Scalar::Float(f64::from(0.1_f32))], 0.1.into()), yes_no(false, false));
    assert_eq!(case(Dtype::F16, &[Scalar::Float(2048.0)], 2049.into()), yes_no(true, false));
    let narrow = Scalar::Float(f64::from(usm_array::half::bf16::from_f32(0.1)));
    assert_eq!(case(Dtype::BF16, &[narrow], 0.1.into()), yes_no(true, false));
    // Not as the NaN that it would be as an element.
    assert_eq!(case(Dtype::F8E4M3Fn, &[Scalar::Float(448.0)], 1000.0.into()), yes_no(false, true));
    assert_eq!(
        case(Dtype::F8E4M3Fn, &[Scalar::Float(448.0)], ArrayOrScalar::from(-1000)),
        yes_no(false, false)
    );
    assert_eq!(case(Dtype::F8E5M2Fnuz, &[Scalar::Float(1.0)], f64::INFINITY.into()), yes_no(false, true));
    // Integers as they are, however large.
    assert_eq!(case(Dtype::U8, &[Scalar::Int(44)], 300.into()), yes_no(false, true));
    assert_eq!(case(Dtype::U8, &[Scalar::Int(255)], ArrayOrScalar::from(-1)), yes_no(false, false));
    assert_eq!(case(Dtype::I64, &[Scalar::Int(i64::MAX.into())], (1_i128 << 63).into()), yes_no(false, true));
    assert_eq!(
        case(Dtype::U64, &[Scalar::Int(u64::MAX.into())], i128::from(u64::MAX).into()),
        yes_no(true, false)
    );
    assert_eq!(case(Dtype::Bool, &[Scalar::Bool(true)], 2.into()), yes_no(false, true));
    assert_eq!(case(Dtype::Bool, &[Scalar::Bool(true)], true.into()), yes_no(true, false));
    assert_eq!(case(Dtype::I8, &[Scalar::Int(1)], 1.5.into()), yes_no(false, true));
    assert_eq!(case(Dtype::I64, &[Scalar::Int((1 << 53) + 1)], 2_f64.powi(53).into()), yes_no(false, false));
    let one = array(&queue, UsmKind::Shared, Dtype::F64, &[Scalar::Float(1.0)]);
    assert_eq!(booleans(&one.equal(Complex64::new(1.0, 0.0)).unwrap()), [true]);
    assert!(one.less(Complex64::new(1.0, 0.0)).is_err());
}

#[test]
fn classes_and_truth_of_every_dtype() {
    for (queue, kind) in places() {
        for dtype in Dtype::ALL {
            let values = edges(dtype);
            let array = array(&queue, kind, dtype, &values);
            let parts = |value: &Scalar| match *value {
                Scalar::Complex(z) => vec![z.re, z.im],
                other => vec![real(other)],
            };
            let any = |class: fn(f64) -> bool| -> Vec<bool> {
                values.iter().map(|value| parts(value).into_iter().any(class)).collect()
            };
            assert_eq!(booleans(&array.isnan().unwrap()), any(f64::is_nan), "{dtype}");
            assert_eq!(booleans(&array.isinf().unwrap()), any(f64::is_infinite), "{dtype}");
            let not_finite: Vec<bool> = booleans(&array.isfinite().unwrap()).iter().map(|is| !is).collect();
            assert_eq!(not_finite, any(|part| !part.is_finite()), "{dtype}");
            match array.signbit() {
                Ok(signs) => assert_eq!(booleans(&signs), any(f64::is_sign_negative), "{dtype}"),
                Err(error) => assert!(
                    dtype.kind() == 'c' && matches!(error, Error::DtypeNotAllowed { .. }),
                    "{dtype} {error}"
                ),
            }
            let truth: Vec<bool> = any(|part| part != 0.0);
            let not: Vec<bool> = truth.iter().map(|truth| !truth).collect();
            assert_eq!(booleans(&array.logical_not().unwrap()), not, "{dtype}");
            assert_eq!(array.count_nonzero_total().unwrap(), truth.iter().filter(|&&truth| truth).count());
        }
    }
}

#[test]
fn logic_takes_everything_and_bits_only_booleans() {
    let (no, yes) = (Bool8::FALSE, Bool8::TRUE);
    let table = [(false, false), (false, true), (true, false), (true, true)];
    for (queue, kind) in places() {
        // A byte that is neither 0 nor 1 is true.
        let a = UsmArray::from_slice(&queue, kind, &[4], &[no, no, Bool8::from_byte(2), yes]).unwrap();
        let b = UsmArray::from_slice(&queue, kind, &[4], &[no, Bool8::from_byte(128), no, yes]).unwrap();
        let numbers = UsmArray::from_slice(&queue, kind, &[4], &[0.0, f64::NAN, -0.0, 3.0]).unwrap();
        type Table = fn(bool, bool) -> bool;
        let operations: [(Operation, Operation, Table); 3] = [
            (|a, b| a.logical_and(b), |a, b| a.bitwise_and(b), |a, b| a && b),
            (|a, b| a.logical_or(b), |a, b| a.bitwise_or(b), |a, b| a || b),
            (|a, b| a.logical_xor(b), |a, b| a.bitwise_xor(b), |a, b| a != b),
        ];
        for (logical, bitwise, expected) in operations {
            let with = |b: bool| table.map(|(a, _)| expected(a, b));
            assert_eq!(
                booleans(&logical(&a, ArrayOrScalar::Array(&b)).unwrap()),
                table.map(|(a, b)| expected(a, b))
            );
            assert_eq!(
                booleans(&bitwise(&a, ArrayOrScalar::Array(&b)).unwrap()),
                table.map(|(a, b)| expected(a, b))
            );
            assert_eq!(
                booleans(&logical(&a, ArrayOrScalar::Array(&numbers)).unwrap()),
                table.map(|(a, b)| expected(a, b))
            );
            assert_eq!(booleans(&logical(&a, (-0.5).into()).unwrap()), with(true));
            assert_eq!(booleans(&bitwise(&a, false.into()).unwrap()), with(false));
            assert!(matches!(
                bitwise(&a, ArrayOrScalar::Array(&numbers)),
                Err(Error::DtypeNotAllowed { .. })
            ));
            assert!(matches!(
                bitwise(&numbers, ArrayOrScalar::Array(&a)),
                Err(Error::DtypeNotAllowed { .. })
            ));
            assert!(matches!(bitwise(&a, 1.into()), Err(Error::ScalarKind { .. })));
        }
        assert_eq!(booleans(&a.equal(&b).unwrap()), [true, false, false, true]);
        assert_eq!(booleans(&a.bitwise_invert().unwrap()), [true, true, false, false]);
        assert!(numbers.bitwise_invert().is_err());
    }
}

#[test]
fn closeness() {
    let inf = f64::INFINITY;
    for (queue, kind) in places() {
        let a = [1.0, 1.0, inf, inf, 1.0, f64::NAN, 1e300, 100.0, -0.0];
        let b = [1.0 + 1e-6, 1.1, inf, -inf, inf, f64::NAN, inf, 99.0, 1e-9];
        let expected = [true, false, true, false, false, false, false, false, true];
        let make = |values: &[f64]| UsmArray::from_slice(&queue, kind, &[values.len()], values).unwrap();
        let (x, y) = (make(&a), make(&b));
        assert_eq!(booleans(&x.isclose(&y, Tolerance::default()).unwrap()), expected);
        let complex = |array: &UsmArray| array.astype(Dtype::C128, usm_array::CopyMode::Always).unwrap();
        assert_eq!(booleans(&complex(&x).isclose(&y, Tolerance::default()).unwrap()), expected);
        // The second operand counts for the relative part.
        let wide = Tolerance { relative: 0.01, absolute: 0.0, equal_nan: true };
        assert!(!make(&[100.0]).allclose(&make(&[99.0]), wide).unwrap());
        assert!(make(&[99.0]).allclose(&make(&[100.0]), wide).unwrap());
        assert!(booleans(&x.isclose(&y, wide).unwrap())[5]);
        assert!(x.allclose(&x, wide).unwrap() && !x.allclose(&x, Tolerance::default()).unwrap());
        assert!(make(&[]).allclose(1.0, wide).unwrap());
        assert!(x.array_equal(&complex(&x), true).unwrap() && !x.array_equal(&x, false).unwrap());
        assert!(!x.array_equal(&y, true).unwrap());
        assert!(!make(&[1.0]).array_equal(&make(&[1.0, 1.0]), true).unwrap(), "no broadcasting");
        assert!(x.isclose(&make(&[1.0, 2.0]), wide).is_err(), "shapes do not broadcast");
    }
}

#[test]
fn large_and_strided_operands_go_block_by_block() {
    let (rows, columns) = (37, 9001);
    let values: Vec<i32> = (0..rows * columns).map(|i| (i * 7919 % 1000) as i32).collect();
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[rows, columns], &values).unwrap();
        let step = |step| SliceItem::Slice { start: None, stop: None, step };
        let view = array.slice(&[step(-2), step(3)]).unwrap();
        let row = array.slice(&[SliceItem::Index(3), step(3)]).unwrap();
        let found = booleans(&view.less(&row).unwrap());
        let at = |i: usize, j: usize| values[i * columns + j];
        let mut expected = vec![];
        for i in (0..rows).rev().step_by(2) {
            expected.extend((0..columns).step_by(3).map(|j| at(i, j) < at(3, j)));
        }
        assert!(found == expected, "{kind}");
        let transposed = booleans(&array.transpose().greater_equal(500).unwrap());
        let mut columns_first = (0..columns).flat_map(|j| (0..rows).map(move |i| at(i, j) >= 500));
        assert!(transposed.iter().all(|&found| columns_first.next() == Some(found)), "{kind}");
    }
}

#[test]
fn operands_without_elements_and_without_axes() {
    for (queue, kind) in places() {
        let empty = UsmArray::zeros(&queue, kind, &[0, 3], Dtype::F32).unwrap();
        let scalar = UsmArray::full(&queue, kind, &[], 2_u16).unwrap();
        assert_eq!(empty.equal(&scalar).unwrap().shape(), [0, 3]);
        assert_eq!(scalar.less(&empty).unwrap().shape(), [0, 3]);
        assert_eq!(empty.isnan().unwrap().shape(), [0, 3]);
        let result = scalar.greater(1.5).unwrap();
        assert_eq!((result.shape(), booleans(&result)), (&[][..], vec![true]));
    }
}

#[test]
fn memory_that_is_written_is_refused() {
    let (queue, _) = places().remove(0);
    let array = UsmArray::zeros(&queue, UsmKind::Shared, &[4], Dtype::F32).unwrap();
    let view = array.view_mut::<f32>().unwrap();
    assert!(matches!(array.equal(1.0), Err(Error::Memory(_))));
    assert!(matches!(array.sum(None, false, None), Err(Error::Memory(_))));
    drop(view);
    assert!(array.equal(0.0).unwrap().is_all().unwrap());
}

#[test]
fn results_are_in_memory_of_the_kind_that_follows_from_the_operands() {
    let places = places();
    for (queue, a_kind) in &places {
        for (_, b_kind) in places.iter().filter(|(other, _)| other == queue) {
            let a = UsmArray::from_slice(queue, *a_kind, &[3], &[1_i64, 0, 2]).unwrap();
            let b = UsmArray::from_slice(queue, *b_kind, &[3], &[1_i64, 2, 0]).unwrap();
            let kind = coerced_kind([*a_kind, *b_kind]).unwrap();
            let is_so = |name: &str, result: usm_array::Result<UsmArray>, expected: [bool; 3]| {
                let result = result.unwrap();
                assert_eq!((result.kind(), result.queue()), (kind, queue), "{name} of {a_kind} and {b_kind}");
                assert_eq!(booleans(&result), expected, "{name} of {a_kind} and {b_kind}");
            };
            is_so("equal", a.equal(&b), [true, false, false]);
            is_so("less", a.less(&b), [false, true, false]);
            is_so("greater_equal", a.greater_equal(&b), [true, false, true]);
            is_so("logical_and", a.logical_and(&b), [true, false, false]);
            is_so("isclose", a.isclose(&b, Tolerance::default()), [true, false, false]);
            let integers = |name: &str, result: usm_array::Result<UsmArray>, expected: &[i64]| {
                let result = result.unwrap();
                assert_eq!((result.kind(), result.queue()), (kind, queue), "{name} of {a_kind} and {b_kind}");
                assert_eq!(result.to_vec::<i64>().unwrap(), expected, "{name} of {a_kind} and {b_kind}");
            };
            integers("where", where_(&a, &b, Scalar::Int(7)), &[1, 7, 0]);
            integers("take", a.take(&b, None, IndexMode::Raise), &[0, 2, 1]);
            integers("take_along_axis", a.take_along_axis(&b, Some(0), IndexMode::Raise), &[0, 2, 1]);
            integers("extract", a.extract(&b), &[1, 0]);
        }
    }
}
