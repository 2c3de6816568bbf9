//! From array to interface and back, over borrowed memory, on every kind

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::Arc;

use common::{layouts, places};
use proptest::prelude::*;
use usm_array::usm_core::{BackendId, Queue, Runtime};
use usm_array::usm_memory::UsmBuffer;
use usm_array::{
    Error, InterfaceError, SliceItem, UsmArray, UsmArrayInterface, ValidInterface, cuda_syclobj,
    queue_of_cuda_syclobj,
};

/// What a consumer does: validate, borrow exactly the span, make an array that keeps the producer.
fn import(interface: &UsmArrayInterface, queue: &Queue, producer: UsmArray) -> UsmArray {
    let valid = interface.validate().unwrap();
    let span = valid.span();
    // SAFETY: the producer is an array over this memory and is kept alive; nobody else uses it.
    let buffer =
        unsafe { UsmBuffer::borrow(queue, span.start_address, span.len_bytes, true, Arc::new(producer)) };
    UsmArray::from_interface(&valid, buffer.unwrap()).unwrap()
}

fn normalised(interface: &ValidInterface) -> Option<Vec<i64>> {
    let strides = interface.layout().strides().iter().map(|&stride| stride as i64);
    (!interface.layout().is_c_contiguous()).then(|| strides.collect())
}

#[test]
fn memory_of_cuda_names_its_device() {
    let runtime = Runtime::global();
    for queue in common::queues() {
        let syclobj = cuda_syclobj(&queue);
        assert_eq!(syclobj.is_some(), queue.backend_id() == BackendId::Cuda);
        let Some(syclobj) = syclobj else { continue };
        let found = queue_of_cuda_syclobj(runtime, &syclobj).unwrap().unwrap();
        assert_eq!(found.device(), queue.device(), "{syclobj}");
    }
    for text in ["cuda:gpu:4711", "cuda:gpu:", "cuda:gpu", "gpu:0", ""] {
        assert_eq!(queue_of_cuda_syclobj(runtime, text).unwrap(), None, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn an_imported_array_publishes_what_it_was_imported_from(
        layout in layouts(),
        read_only: bool,
        shift in -7_isize..8,
    ) {
        for (queue, kind) in places() {
            let len = layout.required_len();
            let numbers: Vec<i32> = (0..len as i32).collect();
            let whole = UsmArray::from_slice(&queue, kind, &[len], &numbers).unwrap();
            let array =
                UsmArray::from_parts(whole.buffer().clone(), whole.dtype(), layout.clone(), 0).unwrap();
            // A producer may publish any address, as long as the offset leads to index zero; without
            // elements there is only the address to be known.
            let shift = if layout.is_empty() { 0 } else { shift };
            let mut interface = array.interface().unwrap();
            interface.address = interface.address.wrapping_add_signed(4 * shift as i64);
            interface.offset -= shift as i64;
            interface.read_only = read_only;

            let imported = import(&interface, &queue, array.clone());
            prop_assert_eq!(imported.interface().unwrap(), interface.clone());
            prop_assert_eq!(imported.kind(), kind);
            prop_assert_eq!(imported.is_writable(), !read_only);
            prop_assert_eq!(imported.to_vec::<i32>().unwrap(), array.to_vec::<i32>().unwrap());
            if !layout.is_empty() {
                prop_assert_eq!(imported.address(), array.address());
                prop_assert_eq!(imported.byte_range().start, 0);
                prop_assert_eq!(imported.byte_range().end, imported.buffer().len_bytes());
                if !read_only {
                    imported.fill(-5_i32).unwrap();
                    prop_assert!(array.to_vec::<i32>().unwrap().iter().all(|&value| value == -5));
                }
            }

            // Explicit strides come back as None exactly when they say C-contiguous.
            let strides = layout.strides().iter().map(|&stride| stride as i64).collect();
            let explicit = UsmArrayInterface { strides: Some(strides), ..interface };
            let valid = explicit.validate().unwrap();
            let again = import(&explicit, &queue, array.clone()).interface().unwrap();
            prop_assert_eq!(&again.strides, &normalised(&valid));
            prop_assert_eq!(again, UsmArrayInterface { strides: normalised(&valid), ..explicit });
        }
    }
}

#[test]
fn views_of_imported_arrays_keep_the_published_address() {
    for (queue, kind) in places() {
        let whole = UsmArray::from_slice(&queue, kind, &[8], &[0_u16, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        // The producer points to its last element and walks downwards.
        let interface = UsmArrayInterface {
            shape: vec![4],
            typestr: "|u2".to_owned(),
            address: whole.interface().unwrap().address + 14,
            read_only: false,
            strides: Some(vec![-2]),
            offset: 0,
            version: 1,
        };
        let imported = import(&interface, &queue, whole.clone());
        assert_eq!(imported.buffer().address(), whole.address() + 2);
        assert_eq!(imported.to_vec::<u16>().unwrap(), [7, 5, 3, 1]);
        let view = imported.slice(&[SliceItem::Slice { start: Some(-1), stop: None, step: -1 }]).unwrap();
        assert_eq!(view.to_vec::<u16>().unwrap(), [1, 3, 5, 7]);
        let published = view.interface().unwrap();
        assert_eq!((published.address, published.offset), (interface.address, -6));
        assert_eq!(published.strides, Some(vec![2]));

        let again = UsmArray::builder(&[4], imported.dtype())
            .strides(&[-2])
            .offset(0)
            .build(usm_array::BufferSource::SharedWith(&imported))
            .unwrap();
        assert_eq!(again.interface().unwrap(), interface, "offsets count from the published address");
    }
}

#[test]
fn the_producer_lives_as_long_as_the_array() {
    for (queue, kind) in places() {
        let producer = UsmArray::from_slice(&queue, kind, &[3], &[1_i8, 2, 3]).unwrap();
        let interface = producer.interface().unwrap();
        let imported = import(&interface, &queue, producer);
        let view = imported.slice(&[SliceItem::Index(2)]).unwrap();
        drop(imported);
        assert_eq!(view.to_vec::<i8>().unwrap(), [3]);
    }
}

#[test]
fn a_buffer_over_other_memory_is_refused() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[4], &[1_i32, 2, 3, 4]).unwrap();
        let valid = array.interface().unwrap().validate().unwrap();
        let memory = array.buffer();
        let other = UsmBuffer::allocate(&queue, kind, 16).unwrap();
        for buffer in [
            memory.sub_buffer(0, 12).unwrap(),
            memory.sub_buffer(4, 12).unwrap(),
            memory.sub_buffer(0, 15).unwrap(),
            other,
        ] {
            let refused = UsmArray::from_interface(&valid, buffer);
            assert!(matches!(refused, Err(Error::NotTheDescribedMemory { .. })));
        }
        // Larger than needed is fine.
        let mut tail = array.interface().unwrap();
        (tail.shape, tail.offset) = (vec![2], 2);
        let tail = UsmArray::from_interface(&tail.validate().unwrap(), memory.clone()).unwrap();
        assert_eq!(tail.to_vec::<i32>().unwrap(), [3, 4]);
    }
}

#[test]
fn a_read_only_buffer_makes_a_read_only_array() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[2], usm_array::Dtype::C64).unwrap();
        let valid = array.interface().unwrap().validate().unwrap();
        let imported = UsmArray::from_interface(&valid, array.buffer().read_only()).unwrap();
        assert!(!imported.is_writable() && imported.interface().unwrap().read_only);
    }
}

#[test]
fn refusals_pass_through_with_their_key() {
    let interface = UsmArrayInterface {
        shape: vec![-1],
        typestr: "|f4".to_owned(),
        address: 64,
        read_only: false,
        strides: None,
        offset: 0,
        version: 1,
    };
    let error: Error = interface.validate().unwrap_err().into();
    assert!(matches!(error, Error::Interface(InterfaceError::Size { axis: 0, found: -1 })));
    assert!(error.to_string().starts_with("shape: "));
}
