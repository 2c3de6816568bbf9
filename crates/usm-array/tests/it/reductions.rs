//! Reductions of random layouts along random axes against a slow reference, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{displacements, indices, is_interpreted, layouts, places, strided};
use proptest::prelude::*;
use usm_array::half::f16;
use usm_array::num_complex::Complex;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Bool8, Dtype, Element, Error, Layout, Scalar, SliceItem, UsmArray};

/// The elements that become each element of the result, and the shape of the result.
fn groups<T: Copy>(
    layout: &Layout,
    memory: &[T],
    gone: &[usize],
    keepdims: bool,
) -> (Vec<Vec<T>>, Vec<usize>) {
    let shape = layout.shape();
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !gone.contains(axis)).collect();
    let outer: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    let places = indices(shape).into_iter().zip(displacements(layout)).collect::<Vec<_>>();
    let groups = indices(&outer).into_iter().map(|index| {
        let belongs = |full: &[usize]| kept.iter().map(|&axis| full[axis]).eq(index.iter().copied());
        places.iter().filter(|(full, _)| belongs(full)).map(|&(_, place)| memory[place]).collect()
    });
    let groups = groups.collect();
    let reduced = (0..shape.len()).filter(|axis| keepdims || !gone.contains(axis));
    (groups, reduced.map(|axis| if gone.contains(&axis) { 1 } else { shape[axis] }).collect())
}

#[derive(Clone, Debug)]
struct Case {
    layout: Layout,
    axes: Option<Vec<isize>>,
    keepdims: bool,
}

impl Case {
    fn gone(&self) -> Vec<usize> {
        let ndim = self.layout.ndim().cast_signed();
        match &self.axes {
            None => (0..self.layout.ndim()).collect(),
            Some(axes) => axes.iter().map(|axis| axis.rem_euclid(ndim).cast_unsigned()).collect(),
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    layouts().prop_flat_map(|layout| {
        let ndim = layout.ndim();
        let axes =
            prop::sample::subsequence((0..ndim.cast_signed()).collect::<Vec<_>>(), 0..=ndim).prop_shuffle();
        let signed = (axes, any::<bool>()).prop_map(move |(axes, negative)| {
            let shift = if negative { ndim.cast_signed() } else { 0 };
            axes.into_iter().map(|axis| axis - shift).collect::<Vec<_>>()
        });
        (Just(layout), prop::option::of(signed), any::<bool>()).prop_map(|(layout, axes, keepdims)| Case {
            layout,
            axes,
            keepdims,
        })
    })
}

fn check<T: Element + Into<Scalar2>>(case: &Case, memory: &[T], queue: &Queue, kind: UsmKind) {
    let array = strided(queue, kind, &case.layout, memory);
    let (groups, shape) = groups(&case.layout, memory, &case.gone(), case.keepdims);
    let axes = case.axes.as_deref();
    let values = |group: &Vec<T>| group.iter().map(|&x| x.into().0).collect::<Vec<i128>>();

    let all = array.all(axes, case.keepdims).unwrap();
    assert_eq!((all.shape(), all.dtype(), all.kind()), (&shape[..], Dtype::Bool, kind));
    let expected: Vec<Bool8> =
        groups.iter().map(|group| values(group).iter().all(|&x| x != 0).into()).collect();
    assert_eq!(all.to_vec::<Bool8>().unwrap(), expected);
    let expected: Vec<Bool8> =
        groups.iter().map(|group| values(group).iter().any(|&x| x != 0).into()).collect();
    assert_eq!(array.any(axes, case.keepdims).unwrap().to_vec::<Bool8>().unwrap(), expected);
    let counts: Vec<i64> =
        groups.iter().map(|group| values(group).iter().filter(|&&x| x != 0).count() as i64).collect();
    assert_eq!(array.count_nonzero(axes, case.keepdims).unwrap().to_vec::<i64>().unwrap(), counts);

    let sums: Vec<i64> = groups.iter().map(|group| values(group).iter().sum::<i128>() as i64).collect();
    let found = array.sum(axes, case.keepdims, Some(Dtype::I64)).unwrap();
    assert_eq!((found.shape(), found.to_vec::<i64>().unwrap()), (&shape[..], sums));
    let default = array.sum(axes, case.keepdims, None).unwrap();
    let dtype = match T::DTYPE.kind() {
        'b' | 'i' => Dtype::I64,
        'u' => Dtype::U64,
        _ => T::DTYPE,
    };
    assert_eq!(default.dtype(), dtype);
    let cast = default.astype(Dtype::I64, usm_array::CopyMode::IfNeeded).unwrap();
    assert_eq!(cast.to_vec::<i64>().unwrap(), found.to_vec::<i64>().unwrap());

    for (extremes, pick) in [
        (array.min(axes, case.keepdims), Iterator::min as fn(std::vec::IntoIter<i128>) -> Option<i128>),
        (array.max(axes, case.keepdims), Iterator::max),
    ] {
        let expected: Option<Vec<i64>> = groups
            .iter()
            .map(|group| pick(values(group).into_iter()).map(|extreme| extreme as i64))
            .collect();
        let is_void = case.gone().iter().any(|&axis| case.layout.shape()[axis] == 0);
        match extremes {
            Err(Error::DtypeNotAllowed { .. }) => assert_eq!(T::DTYPE.kind(), 'c'),
            Err(Error::NothingToReduce { .. }) => assert!(is_void),
            Err(error) => panic!("{error}"),
            Ok(extremes) => {
                assert!(!is_void);
                assert_eq!((extremes.shape(), extremes.dtype()), (&shape[..], T::DTYPE));
                let cast = extremes.astype(Dtype::I64, usm_array::CopyMode::IfNeeded).unwrap();
                assert_eq!(Some(cast.to_vec::<i64>().unwrap()), expected);
            }
        }
    }
}

/// A small whole number, which all dtypes hold.
struct Scalar2(i128);

macro_rules! whole {
    ($($ty:ty: $value:expr;)*) => {$(
        impl From<$ty> for Scalar2 {
            fn from(x: $ty) -> Self {
                let value: fn($ty) -> i128 = $value;
                Self(value(x))
            }
        }
    )*};
}

whole! {
    Bool8: |x| x.to_bool().into();
    i8: Into::into;
    i64: Into::into;
    u8: Into::into;
    u32: Into::into;
    f16: |x| x.to_f64() as i128;
    f32: |x| x as i128;
    f64: |x| x as i128;
    Complex<f32>: |z| z.re as i128;
}

proptest! {
    #[test]
    fn reductions_of_random_layouts(case in cases(), seed in any::<u32>()) {
        let whole = |i: usize| (seed.rotate_left(i as u32 % 32).wrapping_mul(2_654_435_761) >> 27) as i8 - 12;
        let numbers: Vec<i8> = (0..case.layout.required_len()).map(|i| whole(i).max(if i % 3 == 0 { 0 } else { -9 })).collect();
        static PLACES: std::sync::LazyLock<Vec<(Queue, UsmKind)>> = std::sync::LazyLock::new(places);
        let (queue, kind) = &PLACES[seed as usize % PLACES.len()];
        macro_rules! elements {
            ($make:expr) => { check(&case, &numbers.iter().map($make).collect::<Vec<_>>(), queue, *kind) };
        }
        match seed % 9 {
            0 => elements!(|&x| Bool8::from_byte(x.unsigned_abs())),
            1 => elements!(|&x| x),
            2 => elements!(|&x| i64::from(x)),
            3 => elements!(|&x| x.unsigned_abs()),
            4 => elements!(|&x| u32::from(x.unsigned_abs())),
            5 => elements!(|&x| f16::from_f32(x.into())),
            6 => elements!(|&x| f32::from(x)),
            7 => elements!(|&x| f64::from(x)),
            _ => elements!(|&x| Complex::new(f32::from(x), 0.0)),
        }
    }
}

#[test]
fn large_arrays_along_each_axis() {
    for (queue, kind) in places() {
        let shape = if is_interpreted(&queue) { [3, 137, 257] } else { [3, 411, 257] };
        let values: Vec<u16> =
            (0..shape.iter().product::<usize>()).map(|i| (i * 40503 % 65521) as u16).collect();
        let array = UsmArray::from_slice(&queue, kind, &shape, &values).unwrap();
        for axis in 0..3 {
            let mut expected = vec![(0_u64, u16::MAX); values.len() / shape[axis]];
            let inner: usize = shape[axis + 1..].iter().product();
            for (i, &value) in values.iter().enumerate() {
                let place = i / (inner * shape[axis]) * inner + i % inner;
                expected[place].0 += u64::from(value);
                expected[place].1 = expected[place].1.min(value);
            }
            let axes = [axis.cast_signed()];
            let (sums, least): (Vec<_>, Vec<_>) = expected.into_iter().unzip();
            assert!(
                array.sum(Some(&axes), false, None).unwrap().to_vec::<u64>().unwrap() == sums,
                "{kind} {axis}"
            );
            assert!(
                array.min(Some(&axes), false).unwrap().to_vec::<u16>().unwrap() == least,
                "{kind} {axis}"
            );
        }
        let total: u64 = values.iter().map(|&x| u64::from(x)).sum();
        assert_eq!(array.sum_total().unwrap(), Scalar::Int(total.into()));
        let backwards = array.slice(&[SliceItem::Slice { start: None, stop: None, step: -1 }]).unwrap();
        assert_eq!(backwards.transpose().sum_total().unwrap(), Scalar::Int(total.into()));
        assert_eq!(array.max_total().unwrap(), Scalar::Int((*values.iter().max().unwrap()).into()));
        let zeros = values.iter().filter(|&&value| value == 0).count();
        assert_eq!(array.count_nonzero_total().unwrap(), values.len() - zeros);
        assert!(array.is_any().unwrap() && !array.is_all().unwrap(), "the first is 0");
    }
}

#[test]
fn nan_and_infinity() {
    for (queue, kind) in places() {
        let inf = f64::INFINITY;
        for nan_at in [0, 5, 40, 99] {
            let mut values = vec![1.0; 100];
            values[nan_at] = f64::NAN;
            for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
                let array = UsmArray::from_slice(&queue, kind, &[100], &values).unwrap();
                let array = array.astype(dtype, usm_array::CopyMode::Always).unwrap();
                for total in [array.min_total(), array.max_total(), array.sum_total()] {
                    assert!(matches!(total.unwrap(), Scalar::Float(x) if x.is_nan()), "{dtype} {nan_at}");
                }
            }
        }
        let total = |values: &[f64]| match UsmArray::from_slice(&queue, kind, &[values.len()], values) {
            Ok(array) => array.sum_total().unwrap(),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(total(&[inf, 1.0]), Scalar::Float(inf));
        assert!(matches!(total(&[inf, -inf]), Scalar::Float(x) if x.is_nan()));
        assert_eq!(total(&[f64::MAX, f64::MAX]), Scalar::Float(inf));
        let halves = UsmArray::full(&queue, kind, &[4], f16::MAX).unwrap();
        assert_eq!(halves.sum_total().unwrap(), Scalar::Float(inf), "rounded to float16 at the end");
        assert_eq!(
            halves.sum(None, false, Some(Dtype::F32)).unwrap().item().unwrap(),
            Scalar::Float(4.0 * 65504.0)
        );
        let low = UsmArray::from_slice(&queue, kind, &[2], &[-inf, inf]).unwrap();
        assert_eq!(
            (low.min_total().unwrap(), low.max_total().unwrap()),
            (Scalar::Float(-inf), Scalar::Float(inf))
        );
    }
}

#[test]
fn sums_are_as_exact_as_said() {
    // Multiples of 2⁻⁴⁰ whose sums an i128 holds, of very different sizes and signs.
    let (queue, _) = places().remove(0);
    let mut state = 1_u64;
    let units: Vec<i64> = (0..1_000_003)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state as i64) >> 11) >> (state % 50) // exact in a float64
        })
        .collect();
    let unit = 2_f64.powi(-40);
    let values: Vec<f64> = units.iter().map(|&x| x as f64 * unit).collect();
    let exact: i128 = units.iter().map(|&x| i128::from(x)).sum();
    let sizes: f64 = values.iter().map(|x| x.abs()).sum();
    let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[values.len()], &values).unwrap();
    let Scalar::Float(found) = array.sum_total().unwrap() else { panic!("no real number") };
    let found_units = (found / unit) as i128; // exact, as the unit is a power of two
    let error = (found_units - exact).unsigned_abs() as f64 * unit;
    assert!(error <= 41.0 * 2_f64.powi(-53) * sizes + unit, "{error} of {sizes}");
    // Just above the middle between 1 and the next half: rounded once.
    let halves = [1.0, 2_f64.powi(-11), 2_f64.powi(-24)].map(f16::from_f64);
    let halves = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &halves).unwrap();
    assert_eq!(halves.sum_total().unwrap(), Scalar::Float(1.0 + 2_f64.powi(-10)));
    // In float32, one after the other, 10 million times 0.1 is far off.
    let tenths = UsmArray::full(&queue, UsmKind::Shared, &[10_000_000], 0.1_f32).unwrap();
    assert_eq!(tenths.sum_total().unwrap(), Scalar::Float(f64::from((f64::from(0.1_f32) * 1e7) as f32)));
}

#[test]
fn dtypes_of_sums() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[3], &[1.75_f64, -2.75, 300.0]).unwrap();
        let sum = |dtype| array.sum(None, false, Some(dtype)).unwrap().item().unwrap();
        assert_eq!(sum(Dtype::I8), Scalar::Int(126), "each is cast first: 1 - 2 + 127");
        assert_eq!(sum(Dtype::F32), Scalar::Float(299.0));
        assert!(matches!(array.sum(None, false, Some(Dtype::Bool)), Err(Error::DtypeNotAllowed { .. })));
        let bytes = UsmArray::from_slice(&queue, kind, &[3], &[200_u8, 100, 3]).unwrap();
        assert_eq!(bytes.sum(None, false, Some(Dtype::U8)).unwrap().item().unwrap(), Scalar::Int(303 - 256));
        assert_eq!(bytes.sum(None, false, Some(Dtype::I8)).unwrap().item().unwrap(), Scalar::Int(47));
        let large = UsmArray::from_slice(&queue, kind, &[2], &[u64::MAX, 2]).unwrap();
        assert_eq!(large.sum_total().unwrap(), Scalar::Int(1), "wraps around");
        let Scalar::Float(sum) = large.sum(None, false, Some(Dtype::F64)).unwrap().item().unwrap() else {
            panic!("no real number")
        };
        assert_eq!(sum, 2_f64.powi(64));
    }
}

#[test]
fn reductions_of_nothing_and_of_one_element() {
    for (queue, kind) in places() {
        let empty = UsmArray::zeros(&queue, kind, &[0, 3], Dtype::F64).unwrap();
        assert_eq!(empty.sum(Some(&[0]), false, None).unwrap().to_vec::<f64>().unwrap(), [0.0; 3]);
        assert_eq!(empty.sum(Some(&[1]), false, None).unwrap().shape(), [0]);
        assert_eq!(empty.min(Some(&[1]), false).unwrap().shape(), [0], "of three elements, no times");
        for refused in [empty.min(None, false), empty.max(Some(&[0]), false)] {
            assert!(matches!(refused, Err(Error::NothingToReduce { .. })));
        }
        assert!(empty.is_all().unwrap() && !empty.is_any().unwrap());
        assert_eq!(empty.sum_total().unwrap(), Scalar::Float(0.0));
        let one = UsmArray::full(&queue, kind, &[], 7_i16).unwrap();
        assert_eq!((one.sum_total().unwrap(), one.max_total().unwrap()), (Scalar::Int(7), Scalar::Int(7)));
        assert_eq!(one.sum(None, true, None).unwrap().shape(), [0; 0]);
        let two = UsmArray::from_slice(&queue, kind, &[2], &[3_i16, 4]).unwrap();
        assert_eq!(two.max(Some(&[]), false).unwrap().to_vec::<i16>().unwrap(), [3, 4], "no axis to reduce");
        assert!(matches!(two.sum(Some(&[1]), false, None), Err(Error::Layout(_))));
        assert!(matches!(two.all(Some(&[0, -1]), false), Err(Error::Layout(_))));
    }
}
