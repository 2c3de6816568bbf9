//! Arrays converted to other dtypes, memory and orders; arrays of numbers; strided bytes of the host

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{places, queues};
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{QueueProperties, UsmKind};
use usm_array::{
    Conversion, CopyMode, CopyOrder, CreateOptions, Dtype, Error, Layout, LayoutError, Numbers, Order,
    Scalar, UsmArray,
};

const ORDERS: [CopyOrder; 4] = [CopyOrder::C, CopyOrder::F, CopyOrder::Any, CopyOrder::Keep];

#[test]
fn what_is_as_asked_is_not_copied() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2, 3], &[1_i16, 2, 3, 4, 5, 6]).unwrap();
        for copy in [CopyMode::IfNeeded, CopyMode::Never] {
            for order in [CopyOrder::C, CopyOrder::Any, CopyOrder::Keep] {
                let wanted = Conversion {
                    dtype: Some(Dtype::I16),
                    kind: Some(kind),
                    queue: Some(&queue),
                    order,
                    copy,
                    ..Conversion::default()
                };
                assert_eq!(array.converted(&wanted).unwrap().address(), array.address());
            }
        }
        let always = Conversion { copy: CopyMode::Always, ..Conversion::default() };
        let copy = array.converted(&always).unwrap();
        assert_ne!(copy.address(), array.address());
        assert_eq!(copy.to_vec::<i16>().unwrap(), array.to_vec::<i16>().unwrap());
    }
}

#[test]
fn any_queue_of_the_device_will_do_where_the_caller_says_so() {
    for (queue, kind) in places() {
        let other = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        let array = UsmArray::from_slice(&queue, kind, &[2], &[1_u8, 2]).unwrap();
        let moved = Conversion { queue: Some(&other), ..Conversion::default() };
        assert_eq!(array.converted(&moved).unwrap().queue(), &other);
        let stays = Conversion { any_queue: true, ..moved };
        assert!(array.is_as(&stays) && !array.is_as(&moved));
        let cast = array.converted(&Conversion { dtype: Some(Dtype::F32), ..stays }).unwrap();
        assert_eq!((cast.queue(), cast.to_vec::<f32>().unwrap()), (&queue, vec![1.0, 2.0]));
    }
}

#[test]
fn conversions_change_what_is_asked_and_keep_the_elements() {
    let places = places();
    for (queue, kind) in &places {
        let memory = UsmArray::from_slice(queue, *kind, &[4, 6], &(0..24_u8).collect::<Vec<_>>()).unwrap();
        let layout = Layout::new(&[3, 2], Some(&[2, -12]), 13, Order::C).unwrap();
        let array = UsmArray::from_parts(memory.buffer().clone(), Dtype::U8, layout, 0).unwrap();
        let expected = array.to_vec::<u8>().unwrap();
        for (to_queue, to_kind) in &places {
            for order in ORDERS {
                let wanted = Conversion {
                    dtype: Some(Dtype::F32),
                    kind: Some(*to_kind),
                    queue: Some(to_queue),
                    order,
                    ..Conversion::default()
                };
                let converted = array.converted(&wanted).unwrap();
                assert_eq!((converted.kind(), converted.queue()), (*to_kind, to_queue));
                let floats: Vec<f32> = expected.iter().map(|&value| value.into()).collect();
                assert_eq!(converted.to_vec::<f32>().unwrap(), floats);
                assert!(order.is_of(converted.layout()));
                let strides = if order == CopyOrder::F || order == CopyOrder::Keep { [1, 3] } else { [2, 1] };
                assert_eq!(converted.strides(), strides);
            }
        }
    }
}

#[test]
fn a_copy_that_is_not_allowed_is_named() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2, 2], &[1_u8, 2, 3, 4]).unwrap();
        let never = Conversion { copy: CopyMode::Never, ..Conversion::default() };
        let refused = |wanted: Conversion<'_>| array.converted(&wanted).unwrap_err();
        let dtype = refused(Conversion { dtype: Some(Dtype::U16), ..never });
        assert!(matches!(dtype, Error::CopyNeeded { found: Dtype::U8, expected: Dtype::U16 }));
        let other = if kind == UsmKind::Host { UsmKind::Shared } else { UsmKind::Host };
        let kinds = refused(Conversion { kind: Some(other), ..never });
        assert!(matches!(kinds, Error::MoveNeeded { reason: "memory of another kind" }));
        let order = refused(Conversion { order: CopyOrder::F, ..never });
        assert!(matches!(order, Error::MoveNeeded { reason: "another order of axes" }));
        for other in queues().iter().filter(|other| **other != queue) {
            let queues = refused(Conversion { queue: Some(other), ..never });
            assert!(matches!(queues, Error::MoveNeeded { reason: "memory of another queue" }));
        }
    }
}

#[test]
fn numbers_have_the_dtype_of_their_highest_kind() {
    let (yes, one, half) = (Scalar::Bool(true), Scalar::Int(1), Scalar::Float(0.5));
    let i = Scalar::Complex(Complex64::I);
    let large = Scalar::Int(u64::MAX.into());
    for (queue, kind) in places() {
        let new = CreateOptions::new(&queue, kind);
        for (numbers, dtype) in [
            (vec![], new.empty(&[]).unwrap().dtype()),
            (vec![yes], Dtype::Bool),
            (vec![yes, one], Dtype::I64),
            (vec![one, large], Dtype::U64),
            (vec![large, half], new.empty(&[]).unwrap().dtype()),
            (vec![one, half, i, yes], Dtype::C128),
        ] {
            let array = new.numbers(&[numbers.len()], &numbers).unwrap();
            assert_eq!(array.dtype(), dtype, "{numbers:?}");
            let given = new.dtype(Dtype::C128).numbers(&[numbers.len()], &numbers).unwrap();
            let cast = array.astype(Dtype::C128, CopyMode::Always).unwrap();
            assert_eq!(given.to_bytes().unwrap(), cast.to_bytes().unwrap());
        }
        let columns = new.order(Order::F).numbers(&[2, 2], &[one, yes, one, Scalar::Int(7)]).unwrap();
        assert_eq!((columns.strides(), columns.to_vec::<i64>().unwrap()), (&[1, 2][..], vec![1, 1, 1, 7]));
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_and_fractions_cut_off() {
    for queue in queues() {
        let new = CreateOptions::new(&queue, UsmKind::Device);
        let bytes = new.dtype(Dtype::U8);
        let reals = [1.9, -0.9, 255.9].map(Scalar::Float);
        assert_eq!(bytes.numbers(&[3], &reals).unwrap().to_vec::<u8>().unwrap(), [1, 0, 255]);
        let i = Scalar::Complex(Complex64::I);
        let one = Scalar::Int(1);
        for number in [256.0, -1.0, f64::NAN, f64::INFINITY].map(Scalar::Float) {
            let Err(Error::Number { index: 2, source }) = bytes.numbers(&[3], &[one, one, number]) else {
                panic!("{number} was taken")
            };
            assert!(matches!(*source, Error::ScalarRange { dtype: Dtype::U8, .. }), "{source}");
        }
        for (numbers, text) in [
            (vec![Scalar::Int(256)], "numbers[0]: 256 is out of range for elements of uint8"),
            (vec![one, i], "numbers[1]: cannot store 0+1i in elements of uint8"),
        ] {
            assert_eq!(bytes.numbers(&[numbers.len()], &numbers).unwrap_err().to_string(), text);
        }
        assert!(matches!(new.numbers(&[2], &[i]), Err(Error::LengthMismatch { .. })));
        let both = [Scalar::Int(u64::MAX.into()), Scalar::Int(-1)];
        assert!(matches!(new.numbers(&[2], &both), Err(Error::Number { index: 1, .. })));
    }
}

/// Numbers of one type become the elements, or get the refusal, that they have among numbers of any type.
#[test]
fn numbers_of_one_type_are_as_among_others() {
    let floats = [0.0, -0.0, 1.9, -1.9, 127.5, 255.9, 256.0, -129.0, 1e300, f64::NAN, f64::INFINITY];
    let ints = [0, 1, -1, 127, 128, 255, 256, -129, 1 << 40, i64::MAX, i64::MIN];
    let same = |new: &CreateOptions<'_>, found: Numbers<'_>, expected: &[Scalar]| {
        let made = [found, expected.into()].map(|numbers| new.numbers(&[expected.len()], numbers));
        let [found, expected] = made.map(|made| match made {
            Ok(array) => Ok((array.dtype(), array.to_bytes().unwrap())),
            Err(error) => Err(error.to_string()),
        });
        assert_eq!(found, expected);
    };
    for (queue, kind) in places() {
        let dtypes = Dtype::ALL.into_iter().map(Some).chain([None]);
        let new = CreateOptions::new(&queue, kind);
        for new in dtypes.map(|dtype| dtype.map_or(new, |dtype| new.dtype(dtype))) {
            for len in 0..=floats.len() {
                same(&new, (&floats[..len]).into(), &floats.map(Scalar::Float)[..len]);
                same(&new, (&ints[..len]).into(), &ints.map(|int| Scalar::Int(int.into()))[..len]);
            }
            for (float, int) in floats.iter().zip(&ints) {
                same(&new, (&[1.0, *float]).into(), &[Scalar::Float(1.0), Scalar::Float(*float)]);
                same(&new, (&vec![*int]).into(), &[Scalar::Int((*int).into())]);
            }
            same(&new, (&[true, false]).into(), &[true, false].map(Scalar::Bool));
        }
        let new = CreateOptions::new(&queue, kind);
        assert!(matches!(new.numbers(&[2], &[1.5]), Err(Error::LengthMismatch { .. })));
        assert!(matches!(new.numbers(&[2], &[true]), Err(Error::LengthMismatch { .. })));
    }
}

#[test]
fn strided_bytes_are_cast_and_checked() {
    let bytes: Vec<u8> = (0..12_i16).flat_map(i16::to_ne_bytes).collect();
    let layout = Layout::new(&[3, 2], Some(&[-4, 2]), 8, Order::C).unwrap();
    for (queue, kind) in places() {
        for dtype in [Dtype::I16, Dtype::F64] {
            let memory = UsmArray::zeros(&queue, kind, &[2, 3, 2], dtype).unwrap();
            let array = memory.transpose().transpose();
            array.copy_from_host_strided(&bytes, Dtype::I16, &layout).unwrap();
            let values = array.astype(Dtype::I16, CopyMode::Always).unwrap().to_vec::<i16>().unwrap();
            assert_eq!(values, [8, 10, 4, 6, 0, 2, 8, 10, 4, 6, 0, 2]);
            let short = array.copy_from_host_strided(&bytes[..20], Dtype::I16, &layout).unwrap_err();
            assert!(matches!(short, Error::OutOfBuffer { .. }));
            let wrong = Layout::contiguous(&[4], Order::C).unwrap();
            let refused = array.copy_from_host_strided(&bytes, Dtype::I16, &wrong).unwrap_err();
            assert!(matches!(refused, Error::Layout(LayoutError::NotBroadcastable { .. })));
            let frozen = array.read_only().copy_from_host_strided(&bytes, Dtype::I16, &layout);
            assert!(matches!(frozen, Err(Error::ReadOnly)));
        }
    }
}

/// Every second byte belongs to another thread, which writes it all the time.
#[test]
fn what_lies_between_the_elements_of_a_source_may_change() {
    use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

    const LEN: usize = 1 << 12;
    let bytes: Vec<AtomicU8> = (0..2 * LEN).map(|i| AtomicU8::new((i / 2 % 251) as u8)).collect();
    let expected: Vec<u8> = (0..LEN).map(|i| (i % 251) as u8).collect();
    let layout = Layout::new(&[LEN], Some(&[2]), 0, Order::C).unwrap();
    let stop = AtomicBool::new(false);
    let results: Vec<Vec<u8>> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                bytes.iter().skip(1).step_by(2).for_each(|gap| gap.store(7, Ordering::Relaxed));
            }
        });
        let copied = places().into_iter().map(|(queue, kind)| {
            let array = UsmArray::zeros(&queue, kind, &[LEN], Dtype::U8).unwrap();
            let start = bytes.as_ptr().cast::<u8>();
            // SAFETY: 1. all bytes are readable. 2. The thread writes the gaps only.
            unsafe { array.copy_from_host_memory(start, 2 * LEN - 1, Dtype::U8, &layout) }.unwrap();
            array.to_vec().unwrap()
        });
        let results = copied.collect();
        stop.store(true, Ordering::Relaxed);
        results
    });
    assert!(results.iter().all(|result| *result == expected));
}
