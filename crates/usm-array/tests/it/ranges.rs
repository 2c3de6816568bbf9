//! arange and linspace against exact integers and fractions, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::places;
use proptest::prelude::*;
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CreateError, CreateOptions, Dtype, Error, Scalar, UsmArray, iinfo};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(places);

const FLOATING: [Dtype; 5] = [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];

fn place() -> impl Strategy<Value = (Queue, UsmKind)> {
    prop::sample::select(&PLACES[..])
}

fn integer_dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.into_iter().filter(|d| matches!(d.kind(), 'i' | 'u')).collect::<Vec<_>>())
}

fn scalars(array: &UsmArray) -> Vec<Scalar> {
    let bytes = array.to_bytes().unwrap();
    bytes.chunks(array.itemsize_bytes()).map(|b| Scalar::from_bytes(array.dtype(), b).unwrap()).collect()
}

fn integers(array: &UsmArray) -> Vec<i128> {
    let integer = |scalar| match scalar {
        Scalar::Int(value) => value,
        other => panic!("{other:?} in {}", array.dtype()),
    };
    scalars(array).into_iter().map(integer).collect()
}

fn reals(array: &UsmArray) -> Vec<f64> {
    let real = |scalar| match scalar {
        Scalar::Float(value) => value,
        Scalar::Complex(value) => {
            assert_eq!(value.im, 0.0);
            value.re
        }
        other => panic!("{other:?} in {}", array.dtype()),
    };
    scalars(array).into_iter().map(real).collect()
}

fn int(value: i128) -> Scalar {
    Scalar::Int(value)
}

fn float(value: f64) -> Scalar {
    Scalar::Float(value)
}

fn floor_div(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

proptest! {
    #[test]
    fn ranges_of_integers_are_exact(
        (queue, kind) in place(),
        dtype in integer_dtype(),
        (start, steps, far, rest) in any::<(u64, i64, bool, u64)>(),
        count in 0_i128..40,
        as_real in any::<bool>(),
    ) {
        let limits = iinfo(dtype).unwrap();
        let width = limits.max - limits.min;
        let start = limits.min + start as i128 % (width + 1);
        // Half of the steps are small, and some of the numbers leave the dtype.
        let step = if far { steps as i128 % (width / 8) } else { steps as i128 % 5 };
        prop_assume!(step != 0);
        let stop = start + step * count - step.signum() * (rest as i128 % step.abs());
        let mut expected = vec![];
        let mut next = start;
        while if step > 0 { next < stop } else { next > stop } {
            expected.push(next);
            next += step;
        }
        let new = CreateOptions::new(&queue, kind).dtype(dtype);
        // A stop between integers is the same as the next one.
        let stop = match as_real && stop.abs() < 1 << 50 {
            true => float(stop as f64 - step.signum() as f64 * 0.25),
            false => int(stop),
        };
        let found = new.arange(int(start), stop, int(step));
        if expected.iter().all(|value| (limits.min..=limits.max).contains(value)) {
            let found = found.unwrap();
            prop_assert_eq!((found.dtype(), found.kind(), found.ndim()), (dtype, kind, 1));
            prop_assert_eq!(integers(&found), expected);
        } else {
            prop_assert!(matches!(found, Err(Error::ScalarRange { .. })), "{:?}", found);
        }
    }

    #[test]
    fn ranges_of_eighths_are_exact(
        (queue, kind) in place(),
        dtype in prop::sample::select(&FLOATING[..]),
        (start, stop) in (-1600_i128..1600, -1600_i128..1600),
        step in (1_i128..400, any::<bool>()).prop_map(|(step, up)| if up { step } else { -step }),
    ) {
        let steps = (0..4000).take_while(|i| if step > 0 { start + i * step < stop } else { start + i * step > stop });
        let expected: Vec<f64> = steps.map(|i| (start + i * step) as f64 / 8.0).collect();
        let eighths = |value: i128| float(value as f64 / 8.0);
        let new = CreateOptions::new(&queue, kind).dtype(dtype);
        let found = new.arange(eighths(start), eighths(stop), eighths(step)).unwrap();
        prop_assert_eq!(found.dtype(), dtype);
        prop_assert_eq!(reals(&found), expected);
    }

    #[test]
    fn integers_between_two_ends_are_rounded_down(
        (queue, kind) in place(),
        dtype in integer_dtype(),
        (start, stop) in any::<(u64, u64)>(),
        (num, endpoint) in (0_usize..60, any::<bool>()),
    ) {
        let limits = iinfo(dtype).unwrap();
        let width = limits.max - limits.min + 1;
        let (start, stop) = (limits.min + start as i128 % width, limits.min + stop as i128 % width);
        let steps = (if endpoint { num.saturating_sub(1) } else { num }).max(1) as i128;
        let expected: Vec<i128> = (0..num as i128).map(|i| start + floor_div(i * (stop - start), steps)).collect();
        let new = CreateOptions::new(&queue, kind).dtype(dtype);
        let found = new.linspace(int(start), int(stop), num, endpoint).unwrap();
        prop_assert_eq!(integers(&found), expected);
    }

    /// Ends are thousandths: each number is within a few roundings of the fraction it should be.
    #[test]
    fn numbers_between_two_ends_are_where_they_should_be(
        (queue, kind) in place(),
        dtype in prop::sample::select(&FLOATING[..]),
        (start, stop) in (-9_000_000_i128..9_000_000, -9_000_000_i128..9_000_000),
        (num, endpoint) in (0_usize..200, any::<bool>()),
    ) {
        let (first, last) = (start as f64 / 1000.0, stop as f64 / 1000.0);
        let new = CreateOptions::new(&queue, kind).dtype(dtype);
        let found = reals(&new.linspace(float(first), float(last), num, endpoint).unwrap());
        prop_assert_eq!(found.len(), num);
        let steps = (if endpoint { num.saturating_sub(1) } else { num }).max(1) as i128;
        let eps = match dtype {
            Dtype::F16 => 2_f64.powi(-11),
            Dtype::F32 | Dtype::C64 => 2_f64.powi(-24),
            _ => 2_f64.powi(-53),
        };
        let largest = first.abs().max(last.abs());
        for (i, &found) in found.iter().enumerate() {
            let exact = (start * steps + i as i128 * (stop - start)) as f64 / (1000 * steps) as f64;
            let tolerance = eps * exact.abs() + 4.0 * f64::EPSILON * largest + 2_f64.powi(-25);
            prop_assert!((found - exact).abs() <= tolerance, "{} at {}, not {}", found, i, exact);
        }
        let rounded = |value| reals(&new.full(&[], float(value)).unwrap())[0];
        if num > 0 && dtype != Dtype::F16 {
            prop_assert_eq!(found[0], rounded(first));
        }
        if endpoint && num > 1 && dtype != Dtype::F16 {
            prop_assert_eq!(found[num - 1], rounded(last));
        }
    }
}

#[test]
fn lengths_are_those_of_numpy() {
    // Written down from NumPy 2.4.
    let infinity = f64::INFINITY;
    for ((start, stop, step), len) in [
        ((0.0, 1.0, 0.1), 10),
        ((1.0, 1.3, 0.1), 4),
        ((0.0, 5.0, infinity), 1),
        ((0.0, 5.0, -infinity), 0),
        ((0.0, -5.0, infinity), 0),
        ((0.0, 1e-320, 1e300), 1),
        ((3.0, 3.0, 1.0), 0),
        ((0.0, -1.0, 0.25), 0),
    ] {
        for (queue, kind) in PLACES.iter() {
            let new = CreateOptions::new(queue, *kind);
            let found = new.arange(float(start), float(stop), float(step)).unwrap();
            assert_eq!((found.shape(), found.dtype()), (&[len][..], Dtype::F64), "{start} {stop} {step}");
            assert_eq!(reals(&found).first(), (len > 0).then_some(&start));
        }
    }
}

#[test]
fn dtypes_follow_from_the_numbers() {
    let (queue, kind) = &PLACES[0];
    let new = CreateOptions::new(queue, *kind);
    let one = Scalar::Bool(true);
    assert_eq!(new.arange(int(0), int(3), one).unwrap().dtype(), Dtype::I64);
    assert_eq!(new.arange(one, one, one).unwrap().dtype(), Dtype::I64);
    assert_eq!(new.arange(int(0), float(3.0), int(1)).unwrap().dtype(), Dtype::F64);
    assert_eq!(new.linspace(int(0), int(3), 4, true).unwrap().dtype(), Dtype::F64);
    let complex = Scalar::Complex(Complex64::new(2.0, -4.0));
    let line = new.linspace(int(0), complex, 3, true).unwrap();
    let expected = [(0.0, 0.0), (1.0, -2.0), (2.0, -4.0)].map(|(re, im)| Complex64::new(re, im));
    assert_eq!(line.to_vec::<Complex64>().unwrap(), expected);
}

#[test]
fn long_ranges_go_through_several_chunks() {
    for (queue, kind) in PLACES.iter() {
        let new = CreateOptions::new(queue, *kind).dtype(Dtype::I32);
        let len = 2_500_000;
        let found = new.arange(int(5), int(5 + 3 * len), int(3)).unwrap().to_vec::<i32>().unwrap();
        assert_eq!(found.len(), len as usize);
        assert!(found.iter().enumerate().all(|(i, &value)| value == 5 + 3 * i as i32));
        let line = new.linspace(int(0), int(len - 1), len as usize, true).unwrap();
        assert!(line.to_vec::<i32>().unwrap().into_iter().eq(0..len as i32));
    }
}

#[test]
fn integers_between_real_ends() {
    for (queue, kind) in PLACES.iter() {
        let new = CreateOptions::new(queue, *kind).dtype(Dtype::I8);
        // numpy.linspace(-1.5, 2, 4, dtype=int8)
        let found = new.linspace(float(-1.5), int(2), 4, true).unwrap();
        assert_eq!(found.to_vec::<i8>().unwrap(), [-2, -1, 0, 2]);
    }
}

/// Whole numbers of `float32` are rounded once, around 2^24 and at the ends of 32 bits, where they are computed in another way.
#[test]
fn whole_numbers_of_float32() {
    const MAX: i128 = i32::MAX as i128;
    const MIN: i128 = i32::MIN as i128;
    for (queue, kind) in places() {
        let new = CreateOptions::new(&queue, kind).dtype(Dtype::F32);
        for (start, len, step) in [
            (0, 3_i128, 1),
            (0, 70_001, 1),
            ((1 << 24) - 500, 1001, 1),
            (-(1 << 24) - 501, 1001, 3),
            (MAX - 100, 101, 1),
            (MAX - 100, 103, 1),
            (MAX, 1, MAX),
            (MIN, 2, MAX),
            (MIN + 1000, 1001, -1),
            (MIN + 1000, 1003, -1),
            (MIN, 3, MAX),
            (MAX, 3, MIN),
            (5, 1 << 16, 32_768),
            (MAX + 1, 5, -1),
            (1 << 60, 5, 1 << 40),
            (7, 0, 1),
        ] {
            let found = new.arange(int(start), int(start + len * step), int(step)).unwrap();
            let expected: Vec<f32> = (0..len).map(|i| (start + i * step) as f64 as f32).collect();
            assert!(found.to_vec::<f32>().unwrap() == expected, "{len} from {start} by {step}, {kind}");
        }
    }
}

#[test]
fn what_has_no_numbers_is_refused() {
    let create = |error: Error| match error {
        Error::Create(error) => error,
        other => panic!("{other}"),
    };
    for (queue, kind) in PLACES.iter() {
        let new = CreateOptions::new(queue, *kind);
        let message = |start, stop, step| new.arange(start, stop, step).unwrap_err().to_string();
        assert_eq!(message(int(0), int(3), int(0)), "step: found 0, allowed is every other number");
        assert_eq!(
            message(int(0), float(3.0), float(-0.0)),
            "step: found -0.0, allowed is every other number"
        );
        let error = create(new.arange(int(0), float(f64::NAN), int(1)).unwrap_err());
        assert!(matches!(error, CreateError::NoLength { start: Scalar::Int(0), .. }));
        for (stop, step) in [
            (float(f64::INFINITY), int(1)),
            (float(1e300), float(0.5)),
            (int(1 << 70), int(1)),
            (int(i128::MAX), int(1)),
        ] {
            let error = create(new.arange(int(0), stop, step).unwrap_err());
            assert!(matches!(error, CreateError::TooLong { .. }), "{stop} {step}: {error}");
        }
        assert!(new.arange(int(i128::MIN), int(i128::MAX), int(i128::MAX)).is_err());
        // Fits into a count, but not into memory.
        let huge = new.arange(int(0), int(1 << 61), int(1)).unwrap_err();
        assert!(matches!(huge, Error::TooManyBytes { .. } | Error::Memory(_)), "{huge}");

        let ints = new.dtype(Dtype::U8);
        let error = ints.arange(float(0.5), int(3), int(1)).unwrap_err();
        assert_eq!(error.to_string(), "start: found 0.5, allowed for uint8 are whole numbers");
        assert!(matches!(
            create(ints.arange(int(0), int(3), float(0.5)).unwrap_err()),
            CreateError::NotWhole { argument: "step", .. }
        ));
        assert_eq!(ints.arange(int(0), int(256), int(1)).unwrap().size(), 256);
        let error = ints.arange(int(0), int(257), int(1)).unwrap_err();
        assert!(matches!(error, Error::ScalarRange { found: Scalar::Int(256), dtype: Dtype::U8 }));
        assert!(matches!(ints.arange(int(-1), int(3), int(1)), Err(Error::ScalarRange { .. })));
        assert!(matches!(ints.linspace(int(0), int(256), 3, true), Err(Error::ScalarRange { .. })));
        assert!(matches!(ints.linspace(float(f64::NAN), int(2), 3, true), Err(Error::ScalarRange { .. })));
        let complex = Scalar::Complex(Complex64::new(0.0, 1.0));
        assert_eq!(
            new.arange(int(0), complex, int(1)).unwrap_err().to_string(),
            "stop: found 0+1i, allowed are real numbers"
        );
        assert!(matches!(
            create(ints.linspace(complex, int(1), 2, true).unwrap_err()),
            CreateError::NotReal { argument: "start", .. }
        ));
        let booleans = new.dtype(Dtype::Bool);
        assert_eq!(
            create(booleans.arange(int(0), int(2), int(1)).unwrap_err()),
            CreateError::NotNumeric { found: Dtype::Bool }
        );
        assert!(booleans.linspace(int(0), int(2), 3, true).is_err());
    }
}
