//! What the constructors refuse, and that nothing is allocated then

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{places, queues};
use usm_array::usm_core::UsmKind;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{BufferSource, CreateError, Dtype, Error, Layout, LayoutError, Order, SliceItem, UsmArray};

#[test]
fn a_given_offset_is_honoured_in_new_memory() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[2], Dtype::I32).offset(3).build(source).unwrap();
        assert_eq!(array.offset(), 3);
        assert_eq!(array.buffer().len_bytes(), 5 * 4);
        array.fill(1_i32).unwrap();
        assert_eq!(array.to_vec::<i32>().unwrap(), [1, 1]);
    }
}

#[test]
fn an_offset_that_leaves_elements_below_the_memory_is_refused() {
    let queue = &queues()[0];
    let source = BufferSource::Allocate { kind: UsmKind::Host, queue };
    let built = UsmArray::builder(&[2, 2], Dtype::U8).strides(&[2, -1]).offset(0).build(source);
    assert!(matches!(built, Err(Error::OutOfBuffer { min: -1, max: 2, offset: 0, .. })));
}

#[test]
fn elements_outside_existing_memory_are_refused_with_the_numbers() {
    for (queue, kind) in places() {
        let memory = UsmBuffer::allocate(&queue, kind, 64).unwrap();
        for (strides, offset, reach) in [
            (&[-2][..], 5, "from element -1 to 5"),
            (&[-2], 8, "from element 2 to 8"),
            (&[3], 0, "from element 0 to 9"),
            (&[1], -1, "from element -1 to 2"),
        ] {
            let error = UsmArray::builder(&[4], Dtype::F64)
                .strides(strides)
                .offset(offset)
                .build(BufferSource::Existing(memory.clone()))
                .unwrap_err()
                .to_string();
            for part in [
                reach,
                &format!("strides {strides:?}"),
                &format!("offset {offset}"),
                "elements 0 to 7 of the buffer of 64 bytes",
            ] {
                assert!(error.contains(part), "{error:?} lacks {part:?}");
            }
        }
        // The last element must be whole.
        let cut = memory.sub_buffer(0, 31).unwrap();
        let built = UsmArray::builder(&[4], Dtype::F64).build(BufferSource::Existing(cut));
        assert!(matches!(built, Err(Error::OutOfBuffer { max: 3, buffer_len_bytes: 31, .. })));
    }
}

#[test]
fn misaligned_memory_is_refused() {
    let queue = &queues()[0];
    let memory = UsmBuffer::allocate(queue, UsmKind::Shared, 64).unwrap();
    let build = |dtype, start| {
        let part = memory.sub_buffer(start, 32).unwrap();
        UsmArray::builder(&[2], dtype).build(BufferSource::Existing(part))
    };
    assert!(matches!(build(Dtype::F64, 4), Err(Error::BufferMisaligned { dtype: Dtype::F64, .. })));
    assert!(matches!(build(Dtype::C128, 4), Err(Error::BufferMisaligned { .. })));
    assert!(build(Dtype::C128, 8).is_ok(), "aligned like its parts");
    assert!(build(Dtype::C64, 4).is_ok(), "aligned like its parts");
    assert!(build(Dtype::U8, 1).is_ok());
}

#[test]
fn an_alignment_can_be_asked_for() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[3], Dtype::U8).align_bytes(4096).build(source.clone()).unwrap();
        assert!(array.address().is_multiple_of(4096));
        let refused = UsmArray::builder(&[3], Dtype::U8).align_bytes(3).build(source);
        assert!(matches!(refused, Err(Error::Memory(_))));
    }
}

#[test]
fn sizes_that_no_memory_has_are_refused_before_allocating() {
    let queue = &queues()[0];
    let build = |shape: &[usize], strides: Option<&[isize]>, dtype| {
        let source = BufferSource::Allocate { kind: UsmKind::Host, queue };
        let builder = UsmArray::builder(shape, dtype);
        match strides {
            Some(strides) => builder.strides(strides).build(source),
            None => builder.build(source),
        }
    };
    assert!(matches!(build(&[1 << 60, 2], None, Dtype::F64), Err(Error::TooManyBytes { .. })));
    assert!(matches!(build(&[2], Some(&[1 << 60][..]), Dtype::F64), Err(Error::TooManyBytes { .. })));
    // Every element at the same place, yet more bytes side by side than can be counted.
    assert!(matches!(build(&[1 << 60, 2], Some(&[0, 0]), Dtype::F64), Err(Error::TooManyBytes { .. })));
    assert!(matches!(
        build(&[1 << 32, 1 << 32], None, Dtype::U8),
        Err(Error::Layout(LayoutError::TooManyElements { .. }))
    ));
    assert!(matches!(
        build(&[2, 2], Some(&[1]), Dtype::U8),
        Err(Error::Layout(LayoutError::StridesLength { ndim: 2, found: 1 }))
    ));
}

#[test]
fn slices_of_another_length_are_refused() {
    for (queue, kind) in places() {
        let refused = UsmArray::from_slice(&queue, kind, &[2, 2], &[1_u8, 2, 3]);
        assert!(matches!(refused, Err(Error::LengthMismatch { found: 3, expected: 4, .. })));
        let overflow = UsmArray::from_slice(&queue, kind, &[1 << 63, 2], &[0_u8; 0]);
        assert!(matches!(overflow, Err(Error::Layout(LayoutError::TooManyElements { .. }))));
        let array = UsmArray::zeros(&queue, kind, &[2, 2], Dtype::U16).unwrap();
        assert!(matches!(
            array.copy_to_host_contiguous(&mut [0; 7]),
            Err(Error::LengthMismatch { found: 7, expected: 8, unit: "bytes", .. })
        ));
        assert!(matches!(
            array.copy_from_host_contiguous(&[0; 9]),
            Err(Error::LengthMismatch { found: 9, expected: 8, .. })
        ));
    }
}

#[test]
fn parts_that_lead_nowhere_are_refused() {
    let queue = &queues()[0];
    let buffer = || UsmBuffer::allocate(queue, UsmKind::Host, 16).unwrap();
    let one = Layout::contiguous(&[1], Order::C).unwrap();
    for origin in [isize::MIN, isize::MAX, isize::MAX / 8 + 1] {
        let refused = UsmArray::from_parts(buffer(), Dtype::F64, one.clone(), origin);
        assert!(matches!(refused, Err(Error::NoAddress { .. })), "{origin}");
    }
    let memory = buffer();
    let to_null = -(memory.address() / 8).cast_signed();
    let refused = UsmArray::from_parts(memory, Dtype::F64, one, to_null);
    assert!(matches!(refused, Err(Error::NoAddress { .. })));
    let empty = Layout::new(&[0], None, isize::MAX - 1, Order::C).unwrap();
    let refused = UsmArray::from_parts(buffer(), Dtype::F64, empty, 0);
    assert!(matches!(refused, Err(Error::NoAddress { .. })));
}

/// Arrays that are plainly valid are seen to be so in fewer steps than others, and arrays in boxes are made where they stay.
#[test]
fn all_ways_to_an_array_agree() {
    let queue = &queues()[0];
    let memory = UsmBuffer::allocate(queue, UsmKind::Host, 96).unwrap();
    let told = |built: Result<UsmArray, Error>| match built {
        Ok(array) => format!("{:?} at {:#x}", array.layout(), array.address()),
        Err(error) => error.to_string(),
    };
    let mut made = 0;
    for shape in [&[][..], &[0], &[1], &[5], &[2, 3], &[3, 0, 2], &[2, 1, 2], &[1; 7], &[isize::MAX as usize]]
    {
        for (dtype, start, len_bytes) in [
            (Dtype::U8, 0, 0),
            (Dtype::U8, 3, 6),
            (Dtype::U16, 1, 12),
            (Dtype::F64, 0, 95),
            (Dtype::F64, 8, 48),
            (Dtype::C128, 8, 80),
        ] {
            for (offset, origin) in [(0, 0), (1, 0), (-1, 0), (2, 2), (-1, 2), (isize::MAX, 0), (0, -1)] {
                for order in [Order::C, Order::F] {
                    let part = memory.sub_buffer(start, len_bytes).unwrap();
                    let one = Layout::contiguous(&[0], Order::C).unwrap();
                    let Ok(published) = UsmArray::from_parts(part.clone(), dtype, one, origin) else {
                        continue;
                    };
                    let builder = UsmArray::builder(shape, dtype).offset(offset).order(order);
                    let source = BufferSource::SharedWith(&published);
                    let layout = Layout::new(shape, None, offset.saturating_add(origin), order);
                    let expected = layout
                        .map_err(Error::from)
                        .and_then(|layout| UsmArray::from_parts(part, dtype, layout, origin));
                    made += usize::from(expected.is_ok());
                    let expected = told(expected);
                    assert_eq!(told(builder.clone().build(source.clone())), expected, "{shape:?} {offset}");
                    assert_eq!(told(builder.build_boxed(source).map(|array| *array)), expected);
                }
            }
        }
    }
    assert!(made > 100, "{made}");
    let new = BufferSource::Allocate { kind: UsmKind::Host, queue };
    let built = UsmArray::builder(&[2, 3], Dtype::F32).order(Order::F).build_boxed(new.clone()).unwrap();
    assert_eq!((built.strides(), built.buffer().len_bytes()), (&[1, 2][..], 24));
    let built = UsmArray::builder(&[2, 2], Dtype::U8).strides(&[2, -1]).build_boxed(new).unwrap();
    assert_eq!((built.offset(), built.buffer().len_bytes()), (1, 4));
}

#[test]
fn a_view_that_begins_elsewhere_needs_an_offset() {
    for queue in queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Shared, &[8], Dtype::F32).unwrap();
        let part = |start, stop, step| array.slice(&[SliceItem::Slice { start, stop, step }]).unwrap();
        let builder = || UsmArray::builder(&[2], Dtype::F32);
        for (view, offset) in [(part(Some(4), None, 1), 4), (part(None, None, -1), 7)] {
            let error = builder().build(BufferSource::SharedWith(&view)).unwrap_err();
            assert!(
                matches!(error, Error::Create(CreateError::ViewOffset { offset: found, .. }) if found == offset)
            );
            let built = builder().offset(1).build(BufferSource::SharedWith(&view)).unwrap();
            assert_eq!(built.offset(), 1, "a number counts from the start of the memory");
            assert!(builder().build_boxed(BufferSource::Existing(view.buffer().clone())).is_ok());
        }
        for view in [part(None, Some(3), 1), part(Some(0), None, 2), array.clone()] {
            assert_eq!(builder().build(BufferSource::SharedWith(&view)).unwrap().offset(), 0);
        }
    }
}

#[test]
fn errors_print_as_sentences_from_main() {
    let queue = &queues()[0];
    let built = UsmArray::builder(&[2], Dtype::U8).strides(&[1, 1]);
    let error = built.build(BufferSource::Allocate { kind: UsmKind::Host, queue }).unwrap_err();
    let layout = Layout::new(&[2], Some(&[1, 1]), 0, Order::C).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(format!("{layout:?}"), layout.to_string());
    assert_eq!(format!("{error:?}"), format!("{layout:?}"));
    let array = UsmArray::zeros(queue, UsmKind::Host, &[2], Dtype::U8).unwrap();
    let memory = array.buffer().sub_buffer(7, 1).unwrap_err();
    assert_eq!(format!("{memory:?}"), memory.to_string());
    let refused = array.buffer().copy_from_vec_async(vec![0; 9], 0, &[]).unwrap_err();
    assert_eq!(format!("{refused:?}"), refused.to_string());
}

#[test]
fn strides_that_look_like_bytes_are_hinted_at() {
    let queue = &queues()[0];
    let memory = UsmBuffer::allocate(queue, UsmKind::Host, 24).unwrap();
    let refused = |dtype, shape: &[usize], strides: &[isize], offset| {
        let builder = UsmArray::builder(shape, dtype).strides(strides).offset(offset);
        builder.build(BufferSource::Existing(memory.clone())).unwrap_err().to_string()
    };
    let hint = "strides count elements, not bytes: divide them by the item size of 8";
    assert!(refused(Dtype::F64, &[3], &[8], 0).ends_with(hint));
    assert!(refused(Dtype::F64, &[3], &[-8], 2).ends_with(hint), "an offset in elements");
    assert!(refused(Dtype::F64, &[3], &[-8], 16).ends_with(hint), "an offset in bytes");
    for (dtype, shape, strides) in [
        (Dtype::F64, [3], [7]),
        (Dtype::F64, [4], [8]),
        (Dtype::U8, [25], [1]),
        (Dtype::F64, [2], [isize::MAX - 7]),
    ] {
        assert!(!refused(dtype, &shape, &strides, 0).contains("bytes:"), "{dtype} {shape:?} {strides:?}");
    }
}
