//! Narrow floating-point dtypes: every pattern of bits, and operations beside `f64`, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{is_interpreted, places};
use usm_array::half::bf16;
use usm_array::usm_core::{Queue, Runtime, UsmKind};
use usm_array::{
    Bool8, Casting, CopyMode, CreateOptions, Dtype, Error, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Scalar,
    SliceItem, UsmArray,
};

const NARROW: [Dtype; 5] =
    [Dtype::BF16, Dtype::F8E4M3Fn, Dtype::F8E4M3Fnuz, Dtype::F8E5M2, Dtype::F8E5M2Fnuz];

/// All patterns of bits of a dtype.
fn all(queue: &Queue, kind: UsmKind, dtype: Dtype) -> UsmArray {
    let array = match dtype {
        Dtype::BF16 => {
            let bits: Vec<u16> = (0..=u16::MAX).collect();
            UsmArray::from_slice(queue, kind, &[bits.len()], &bits).unwrap()
        }
        _ => {
            let bits: Vec<u8> = (0..=u8::MAX).collect();
            UsmArray::from_slice(queue, kind, &[bits.len()], &bits).unwrap()
        }
    };
    array.reinterpret(dtype).unwrap()
}

/// The numbers of an array, one by one, without casts of arrays.
fn numbers(array: &UsmArray) -> Vec<f64> {
    let bytes = array.to_bytes().unwrap();
    let number = |bytes| match Scalar::from_bytes(array.dtype(), bytes).unwrap() {
        Scalar::Float(number) => number,
        other => panic!("{other:?}"),
    };
    bytes.chunks(array.itemsize_bytes()).map(number).collect()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn every_number_stays_in_longer_floats_and_comes_back() {
    for (queue, kind) in places() {
        for dtype in NARROW {
            let array = all(&queue, kind, dtype);
            let expected = numbers(&array);
            for (longer, holds_all) in
                [(Dtype::F16, dtype != Dtype::BF16), (Dtype::F32, true), (Dtype::F64, true)]
            {
                let cast = array.astype(longer, CopyMode::Always).unwrap();
                if !holds_all {
                    continue;
                }
                let found = numbers(&cast);
                assert!(found.iter().zip(&expected).all(|(&a, &b)| same(a, b)), "{dtype} {longer} {kind}");
                let back = cast.astype(dtype, CopyMode::Always).unwrap();
                let found = numbers(&back);
                assert!(found.iter().zip(&expected).all(|(&a, &b)| same(a, b)), "{longer} {dtype} {kind}");
            }
            // Strided on both sides, in place.
            let halves = SliceItem::Slice { start: None, stop: None, step: -2 };
            let (from, to) = (
                array.slice(&[halves]).unwrap(),
                UsmArray::zeros(&queue, kind, &[expected.len()], Dtype::F32).unwrap(),
            );
            let to = to.slice(&[halves]).unwrap();
            to.assign_cast(&from, Casting::Safe).unwrap();
            let expected: Vec<f64> = expected.iter().rev().step_by(2).copied().collect();
            assert!(numbers(&to).iter().zip(&expected).all(|(&a, &b)| same(a, b)), "{dtype} {kind}");
        }
    }
}

#[test]
fn narrow_dtypes_become_each_other_by_way_of_binary32() {
    for (queue, kind) in places() {
        for from in NARROW {
            let array = all(&queue, kind, from);
            let floats = array.astype(Dtype::F32, CopyMode::Always).unwrap();
            for to in Dtype::ALL {
                // From bfloat16 to binary16 NaN loses its bits.
                if (from, to) == (Dtype::BF16, Dtype::F16) || from == to {
                    continue;
                }
                let found = array.astype(to, CopyMode::Always).unwrap();
                let expected = floats.astype(to, CopyMode::Always).unwrap();
                assert_eq!(found.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{from} {to} {kind}");
            }
        }
    }
}

#[test]
fn matrices_are_transposed_and_cast() {
    for (queue, kind) in places() {
        let n = if is_interpreted(&queue) { 67 } else { 131 };
        for dtype in NARROW {
            let values: Vec<f32> = (0..n * n).map(|i| ((i * 7919) % 401) as f32 / 8.0 - 25.0).collect();
            let floats = UsmArray::from_slice(&queue, kind, &[n, n], &values).unwrap();
            let narrow = floats.matrix_transpose().unwrap().astype(dtype, CopyMode::Always).unwrap();
            let expected = floats.astype(dtype, CopyMode::Always).unwrap();
            let expected = expected.matrix_transpose().unwrap().copy().unwrap();
            assert_eq!(narrow.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{dtype} {kind}");
            let halves = narrow.matrix_transpose().unwrap().astype(Dtype::F16, CopyMode::Always).unwrap();
            let expected = narrow.astype(Dtype::F16, CopyMode::Always).unwrap();
            let expected = expected.matrix_transpose().unwrap().copy().unwrap();
            assert_eq!(halves.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{dtype} {kind}");
        }
    }
}

#[test]
fn reductions_are_those_of_the_numbers() {
    for (queue, kind) in places() {
        for dtype in NARROW {
            let values: Vec<f32> = (0..24 * 40).map(|i| ((i * 37) % 17) as f32 - 8.0).collect();
            let floats = UsmArray::from_slice(&queue, kind, &[24, 40], &values).unwrap();
            let array = floats.astype(dtype, CopyMode::Always).unwrap();
            for axes in [None, Some(&[0][..]), Some(&[1])] {
                let check = |found: UsmArray, expected: UsmArray| {
                    let expected = expected.astype(dtype, CopyMode::IfNeeded).unwrap();
                    assert_eq!((found.dtype(), found.shape()), (dtype, expected.shape()), "{dtype} {kind}");
                    assert_eq!(
                        found.to_bytes().unwrap(),
                        expected.to_bytes().unwrap(),
                        "{dtype} {kind} {axes:?}"
                    );
                };
                let exact = array.astype(Dtype::F32, CopyMode::Always).unwrap();
                check(array.sum(axes, false, None).unwrap(), exact.sum(axes, false, None).unwrap());
                check(array.min(axes, true).unwrap(), exact.min(axes, true).unwrap());
                check(array.max(axes, true).unwrap(), exact.max(axes, true).unwrap());
                let wide = array.sum(axes, false, Some(Dtype::F64)).unwrap();
                let expected = exact.sum(axes, false, Some(Dtype::F64)).unwrap();
                assert_eq!(wide.to_bytes().unwrap(), expected.to_bytes().unwrap());
                for (found, expected) in [
                    (array.all(axes, false), exact.all(axes, false)),
                    (array.any(axes, false), exact.any(axes, false)),
                    (array.count_nonzero(axes, false), exact.count_nonzero(axes, false)),
                ] {
                    assert_eq!(found.unwrap().to_bytes().unwrap(), expected.unwrap().to_bytes().unwrap());
                }
            }
            assert_eq!(array.sum_total().unwrap(), array.sum(None, false, None).unwrap().item().unwrap());
            assert_eq!(array.max_total().unwrap(), Scalar::Float(8.0));
        }
        // The byte of a negative zero is a NaN: neither zero nor less than another.
        let nan = UsmArray::from_slice(
            &queue,
            kind,
            &[2],
            &[F8E5M2Fnuz::from_bits(0x80), F8E5M2Fnuz::from_f32(1.0)],
        );
        let nan = nan.unwrap();
        assert_eq!(nan.count_nonzero_total().unwrap(), 2);
        assert_eq!(nan.isnan().unwrap().to_vec::<Bool8>().unwrap(), [Bool8::TRUE, Bool8::FALSE]);
        assert!(matches!(nan.min_total().unwrap(), Scalar::Float(least) if least.is_nan()));
        let mask = nan.astype(Dtype::Bool, CopyMode::Always).unwrap();
        assert_eq!(mask.to_vec::<Bool8>().unwrap(), [Bool8::TRUE; 2]);
    }
}

#[test]
fn ranges_are_rounded_from_binary32() {
    for (queue, kind) in places() {
        for dtype in NARROW {
            let new = CreateOptions::new(&queue, kind);
            let ends = (Scalar::Float(-1.0), Scalar::Float(1.0));
            let pairs = [Some(dtype), Some(Dtype::F32)].map(|dtype| {
                let new = dtype.map_or(new, |dtype| new.dtype(dtype));
                let range = new.arange(Scalar::Int(0), Scalar::Int(40), Scalar::Int(3)).unwrap();
                [new.linspace(ends.0, ends.1, 51, true).unwrap(), range]
            });
            let [narrow, floats] = pairs;
            for (narrow, floats) in narrow.iter().zip(&floats) {
                let expected = floats.astype(dtype, CopyMode::Always).unwrap();
                assert_eq!((narrow.dtype(), narrow.kind()), (dtype, kind));
                assert_eq!(narrow.to_bytes().unwrap(), expected.to_bytes().unwrap());
            }
        }
    }
}

#[test]
fn elements_are_values_of_rust() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    macro_rules! check {
        ($($ty:ty: $dtype:ident;)*) => {$(
            let values = [1.5_f32, -2.0, 0.0].map(<$ty>::from_f32);
            let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &values).unwrap();
            assert_eq!(array.dtype(), Dtype::$dtype);
            assert_eq!(array.to_vec::<$ty>().unwrap(), values);
            assert_eq!(array.view::<$ty>().unwrap().iter().collect::<Vec<_>>(), values);
            assert_eq!(array.get_scalar(&[0]).unwrap(), Scalar::Float(1.5));
            assert_eq!(array.to_string(), "[ 1.5 -2.   0. ]");
            assert_eq!(
                array.repr("array", &usm_array::PrintOptions::default()).unwrap(),
                format!("array([ 1.5, -2. ,  0. ], dtype={})", Dtype::$dtype)
            );
            array.fill(values[0]).unwrap();
            array.fill_scalar(Scalar::Int(2)).unwrap();
            assert_eq!(array.to_vec::<$ty>().unwrap(), [<$ty>::from_f32(2.0); 3]);
        )*};
    }
    check! {
        bf16: BF16;
        F8E4M3Fn: F8E4M3Fn;
        F8E4M3Fnuz: F8E4M3Fnuz;
        F8E5M2: F8E5M2;
        F8E5M2Fnuz: F8E5M2Fnuz;
    }
}

#[test]
fn interfaces_without_a_name_for_them_say_so() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for dtype in NARROW {
        let array = UsmArray::zeros(&queue, UsmKind::Shared, &[3], dtype).unwrap();
        let error = array.interface().unwrap_err();
        assert!(matches!(error, Error::NotDescribed { found, .. } if found == dtype));
        assert!(error.to_string().contains(dtype.name()) && error.to_string().contains("DLPack"), "{error}");
    }
}
