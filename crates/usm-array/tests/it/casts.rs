//! Every dtype to every other one, against a slow conversion, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::cast::{bytes_of, convert, same};
use common::places;
use usm_array::usm_core::UsmKind;
use usm_array::{Casting, CopyMode, Dtype, Error, Layout, Order, Scalar, SliceItem, UsmArray};

/// Values at the edges of all dtypes, as far as the dtype has them.
fn edges(dtype: Dtype) -> Vec<Scalar> {
    let powers = (0..65).step_by(8).flat_map(|bits| [-1, 0, 1].map(|low| (1_i128 << bits >> 1) + low));
    let ints: Vec<i128> = powers.flat_map(|value| [value, -value]).collect();
    let floats =
        [0.0, -0.0, 0.5, 1.5, 2.5, -1.25, 255.5, 65504.0, 65520.0, 1e10, -1e10, 1e30, 1e300, f64::NAN];
    let floats =
        [&floats[..], &[f64::INFINITY, f64::NEG_INFINITY, 5e-8, 1e-310, 1.000_488_281_250_000_2]].concat();
    let floats: Vec<f64> = floats.into_iter().chain(ints.iter().map(|&i| i as f64)).collect();
    match dtype {
        Dtype::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        narrow if narrow.is_narrow() => floats.into_iter().map(Scalar::Float).collect(),
        Dtype::F16 | Dtype::F32 | Dtype::F64 => floats.into_iter().map(Scalar::Float).collect(),
        Dtype::C64 | Dtype::C128 => {
            let pairs = floats.iter().flat_map(|&re| [(re, 0.0), (re, -1.5), (0.0, re)]);
            pairs.map(|(re, im)| Scalar::Complex(usm_array::num_complex::Complex64::new(re, im))).collect()
        }
        _ => {
            let bits = dtype.itemsize_bytes() * 8;
            let (low, high) = match dtype.kind() {
                'i' => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                _ => (0, (1_i128 << bits) - 1),
            };
            let inside = ints.into_iter().chain([low, high]).filter(|value| (low..=high).contains(value));
            inside.map(Scalar::Int).collect()
        }
    }
}

#[test]
fn every_pair_of_dtypes_on_every_kind_of_memory() {
    for (queue, kind) in places() {
        for from in Dtype::ALL {
            // Read back as they are stored: in the source's own precision.
            let stored = edges(from).into_iter().map(|value| bytes_of(value, from));
            let stored: Vec<Vec<u8>> = stored.collect();
            let source = UsmArray::empty(&queue, kind, &[stored.len()], from).unwrap();
            source.copy_from_host_contiguous(&stored.concat()).unwrap();
            let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
            let reversed = source.slice(&[backwards]).unwrap();
            for to in Dtype::ALL {
                let expected: Vec<Vec<u8>> = stored
                    .iter()
                    .map(|bytes| match from == to {
                        true => bytes.clone(),
                        false => bytes_of(convert(Scalar::from_bytes(from, bytes).unwrap(), to), to),
                    })
                    .collect();
                let found = source.astype(to, CopyMode::Always).unwrap();
                assert!(found.is_c_contiguous() && found.dtype() == to && found.kind() == kind);
                let check = |found: &UsmArray, expected: &mut dyn Iterator<Item = &Vec<u8>>| {
                    let found = found.to_bytes().unwrap();
                    for ((i, found), expected) in found.chunks(to.itemsize_bytes()).enumerate().zip(expected)
                    {
                        assert!(
                            same(found, expected, to),
                            "{from} {:?} to {to}: {found:?}, {expected:?}",
                            stored[i]
                        );
                    }
                };
                check(&found, &mut expected.iter());
                found.assign_cast(&reversed, Casting::Unsafe).unwrap();
                check(&found.slice(&[backwards]).unwrap(), &mut expected.iter());
            }
        }
    }
}

#[test]
fn external_booleans_become_zero_or_one_when_cast() {
    for (queue, kind) in places() {
        let bytes = UsmArray::from_slice(&queue, kind, &[4], &[0_u8, 1, 2, 255]).unwrap();
        let layout = Layout::contiguous(&[4], Order::C).unwrap();
        let bools = UsmArray::from_parts(bytes.buffer().clone(), Dtype::Bool, layout, 0).unwrap();
        assert_eq!(bools.astype(Dtype::U8, CopyMode::Always).unwrap().to_vec::<u8>().unwrap(), [0, 1, 1, 1]);
        assert_eq!(
            bools.astype(Dtype::F64, CopyMode::IfNeeded).unwrap().to_vec::<f64>().unwrap(),
            [0., 1., 1., 1.]
        );
    }
}

#[test]
fn what_is_not_allowed_changes_nothing() {
    for (queue, kind) in places() {
        let floats = UsmArray::from_slice(&queue, kind, &[2], &[1.5_f64, 2.5]).unwrap();
        let ints = UsmArray::from_slice(&queue, UsmKind::Host, &[2], &[7_i32, 8]).unwrap();
        assert!(matches!(ints.assign(&floats), Err(Error::SourceDtype { .. })));
        for casting in [Casting::No, Casting::Equiv, Casting::Safe, Casting::SameKind] {
            let refused = ints.assign_cast(&floats, casting).unwrap_err();
            assert!(matches!(refused, Error::CastNotAllowed { from: Dtype::F64, to: Dtype::I32, .. }));
            let message = format!("'{casting}', which does not allow float64 to become int32");
            assert!(refused.to_string().contains(&message), "{refused}");
        }
        floats.assign_cast(&ints, Casting::Safe).unwrap();
        assert_eq!(floats.to_vec::<f64>().unwrap(), [7.0, 8.0]);
        floats.copy_from_host_contiguous(&[1.5_f64, 2.5].map(f64::to_ne_bytes).concat()).unwrap();
        assert!(matches!(ints.read_only().assign_cast(&floats, Casting::Unsafe), Err(Error::ReadOnly)));
        let refused = floats.astype(Dtype::I32, CopyMode::Never);
        assert!(matches!(refused, Err(Error::CopyNeeded { found: Dtype::F64, expected: Dtype::I32 })));
        assert_eq!(ints.to_vec::<i32>().unwrap(), [7, 8]);

        let itself = floats.astype(Dtype::F64, CopyMode::IfNeeded).unwrap();
        assert_eq!(itself.address(), floats.address());
        let copied = floats.astype(Dtype::F64, CopyMode::Always).unwrap();
        assert_ne!(copied.address(), floats.address());
        ints.assign_cast(&floats, Casting::Unsafe).unwrap();
        assert_eq!(ints.to_vec::<i32>().unwrap(), [1, 2]);
    }
}

#[test]
fn casting_within_one_memory_is_as_if_copied_first() {
    for (queue, kind) in places() {
        let bytes: Vec<u8> = (0..160).collect();
        let whole = UsmArray::from_slice(&queue, kind, &[160], &bytes).unwrap();
        let part = |dtype: Dtype, offset: isize| {
            let layout = Layout::new(&[16], None, offset, Order::C).unwrap();
            UsmArray::from_parts(whole.buffer().clone(), dtype, layout, 0).unwrap()
        };
        // Sixteen u8 from byte 8 on become sixteen u32 from byte 16 on, and the other way round.
        part(Dtype::U32, 4).assign_cast(&part(Dtype::U8, 8), Casting::Unsafe).unwrap();
        let expected: Vec<u32> = (8..24).collect();
        assert_eq!(part(Dtype::U32, 4).to_vec::<u32>().unwrap(), expected);
        part(Dtype::U8, 10).assign_cast(&part(Dtype::U32, 4), Casting::Unsafe).unwrap();
        let found = part(Dtype::U8, 10).to_vec::<u8>().unwrap();
        assert_eq!(found, (8..24).collect::<Vec<u8>>());
        assert_eq!(whole.to_vec::<u8>().unwrap()[..10], bytes[..10]);
    }
}
