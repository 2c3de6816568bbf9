//! Typed buffers of every kind on every backend: creation, guards, parts, conversions.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::each;
use usm_memory::resource::DirectResource;
use usm_memory::usm_core::UsmKind;
use usm_memory::{Error, Plain, TypedBuffer, UsmBuffer};

#[test]
fn elements_come_from_slices_vectors_and_iterators() {
    each(|queue, kind| {
        let of_slice = TypedBuffer::from_slice(queue, kind, &[1.5_f64, -0.0, f64::INFINITY]).unwrap();
        assert_eq!(of_slice.to_vec().unwrap(), [1.5, -0.0, f64::INFINITY]);
        assert_eq!((of_slice.len(), of_slice.as_buffer().len_bytes(), of_slice.kind()), (3, 24, kind));

        let of_vec = TypedBuffer::from_vec(queue, kind, vec![[1_u16, 2, 3], [4, 5, 6]]).unwrap();
        assert_eq!(of_vec.to_vec().unwrap(), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(of_vec.as_buffer().len_bytes(), 12);

        // An iterator that does not know how much it gives.
        let odd = (0..10_000_i64).filter(|i| i % 2 == 1);
        let of_iter = TypedBuffer::from_iter_in(queue, kind, odd.clone()).unwrap();
        assert!(of_iter.to_vec().unwrap().into_iter().eq(odd));

        let mut out = [0; 2];
        of_iter.slice(2..4).unwrap().copy_to_slice(&mut out).unwrap();
        assert_eq!(out, [5, 7]);
        assert!(matches!(of_iter.copy_to_slice(&mut out), Err(Error::LengthMismatch { dst_bytes: 16, .. })));
        assert!(of_iter.copy_from_slice(&out).is_err());
    });
}

#[test]
fn every_plain_type_round_trips() {
    fn round_trip<T: Plain + PartialEq + std::fmt::Debug>(values: [T; 2]) {
        each(|queue, kind| {
            let typed = TypedBuffer::from_slice(queue, kind, &values).unwrap();
            assert_eq!(typed.to_vec().unwrap(), values);
            typed.fill(values[1]).unwrap();
            assert_eq!(typed.to_vec().unwrap(), [values[1]; 2]);
        });
    }
    round_trip([u8::MIN, u8::MAX]);
    round_trip([u16::MIN, u16::MAX]);
    round_trip([u32::MIN, u32::MAX]);
    round_trip([u64::MIN, u64::MAX]);
    round_trip([usize::MIN, usize::MAX]);
    round_trip([i8::MIN, i8::MAX]);
    round_trip([i16::MIN, i16::MAX]);
    round_trip([i32::MIN, i32::MAX]);
    round_trip([i64::MIN, i64::MAX]);
    round_trip([isize::MIN, isize::MAX]);
    round_trip([f32::MIN, f32::MAX]);
    round_trip([f64::MIN, f64::MAX]);
    round_trip([[1_u8, 2, 3], [4, 5, 6]]);
    round_trip([[[1.0_f32; 2]; 3], [[2.0; 2]; 3]]);
}

#[test]
fn no_elements_have_an_address() {
    each(|queue, kind| {
        let empty = TypedBuffer::<u32>::from_slice(queue, kind, &[]).unwrap();
        assert!(empty.is_empty() && empty.as_buffer().address() != 0);
        assert_eq!(empty.to_vec().unwrap(), []);
        assert_eq!(empty.try_clone().unwrap().to_vec().unwrap(), []);
        empty.fill(1).unwrap();
        for len in [usize::MAX, usize::MAX / 4, usize::MAX / 8 + 1] {
            let refused = TypedBuffer::<u32>::allocate(queue, kind, len);
            assert!(matches!(refused, Err(Error::TooManyElements { element_bytes: 4, .. })), "{refused:?}");
        }
    });
}

#[test]
fn guards_are_slices_of_host_accessible_memory() {
    each(|queue, kind| {
        let typed = TypedBuffer::from_slice(queue, kind, &[1_u32, 2, 3, 4]).unwrap();
        if kind == UsmKind::Device {
            assert!(matches!(typed.read(), Err(Error::NotHostAccessible { kind: UsmKind::Device })));
            assert!(matches!(typed.write_range(0..1), Err(Error::NotHostAccessible { .. })));
            return;
        }
        let mut writing = typed.write_range(1..3).unwrap();
        writing[0] += 10;
        writing.reverse();
        assert_eq!(*writing, [3, 12]);
        assert!(matches!(typed.read(), Err(Error::BorrowConflict { held: "writing", .. })));
        let (also, reading) = (typed.read_range(3..4).unwrap(), typed.read_range(3..4).unwrap());
        assert_eq!((also[0], reading.len()), (4, 1));
        assert!(matches!(typed.write_range(3..4), Err(Error::BorrowConflict { held: "reading", .. })));
        drop((writing, also, reading));
        assert_eq!(*typed.read().unwrap(), [1, 3, 12, 4]);

        assert!(matches!(typed.read_only().write(), Err(Error::ReadOnly)));
        assert!(typed.read_range(3..5).is_err() && typed.read_range(5..5).is_err());
        assert!(typed.write_range(usize::MAX..usize::MAX).is_err());
        assert!(typed.read_range(4..4).unwrap().is_empty());
    });
}

#[test]
fn parts_share_and_copies_do_not() {
    each(|queue, kind| {
        let typed = TypedBuffer::from_iter_in(queue, kind, 0..8_i16).unwrap();
        let part = typed.slice(2..6).unwrap();
        let copy = part.try_clone().unwrap();
        let (low, high) = part.split_at(1).unwrap();
        low.fill(-1).unwrap();
        high.copy_from_slice(&[30, 40, 50]).unwrap();
        assert_eq!(typed.to_vec().unwrap(), [0, 1, -1, 30, 40, 50, 6, 7]);
        assert_eq!(typed.clone().to_vec().unwrap()[3], 30);
        assert_eq!(copy.to_vec().unwrap(), [2, 3, 4, 5]);
        for range in [0..9, 9..9, 0..usize::MAX, usize::MAX..usize::MAX] {
            assert!(matches!(typed.slice(range), Err(Error::OutOfBounds { .. })));
        }
        assert!(typed.split_at(9).is_err() && typed.split_at(usize::MAX).is_err());
    });
}

#[test]
fn bytes_become_elements_when_they_fit() {
    each(|queue, kind| {
        let bytes = UsmBuffer::allocate(queue, kind, 16).unwrap();
        bytes.copy_from_host(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], 0).unwrap();
        let typed: TypedBuffer<u32> = bytes.sub_buffer(4, 8).unwrap().try_into().unwrap();
        assert_eq!(typed.to_vec().unwrap(), [[4, 5, 6, 7], [8, 9, 10, 11]].map(u32::from_ne_bytes));
        assert!(UsmBuffer::from(typed).same_allocation(&bytes), "no copy");

        let refused = TypedBuffer::<u32>::from_buffer(bytes.sub_buffer(2, 8).unwrap());
        assert!(matches!(refused, Err(Error::Misaligned { align_bytes: 4, .. })));
        let refused = TypedBuffer::<u32>::from_buffer(bytes.sub_buffer(4, 7).unwrap());
        assert!(matches!(refused, Err(Error::PartialElement { len_bytes: 7, element_bytes: 4 })));
        let bytes = TypedBuffer::<[u8; 3]>::from_buffer(bytes.sub_buffer(1, 6).unwrap()).unwrap();
        assert_eq!(bytes.to_vec().unwrap(), [[1, 2, 3], [4, 5, 6]]);
    });
}

#[test]
fn alignment_of_own_types_is_kept() {
    #[derive(Clone, Copy)]
    #[repr(C, align(256))]
    struct Line([u8; 256]);
    // SAFETY: 256 bytes and nothing else.
    unsafe impl Plain for Line {}

    each(|queue, kind| {
        let direct = TypedBuffer::<Line>::allocate(queue, kind, 3).unwrap();
        let of_resource = TypedBuffer::<Line>::allocate_in(&DirectResource, queue, kind, 3).unwrap();
        for typed in [direct, of_resource] {
            assert!(typed.as_buffer().address().is_multiple_of(256));
            typed.copy_from_slice(&[Line([1; 256]), Line([2; 256]), Line([3; 256])]).unwrap();
            assert_eq!(typed.to_vec().unwrap()[1].0, [2; 256]);
        }
    });
}
