//! One test for each documented rule of views, on every backend and kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::places;
use usm_array::num_complex::Complex;
use usm_array::{
    BufferSource, Dtype, Error, Layout, LayoutError, Order, Overlap, SliceItem, UsmArray, UsmArrayInterface,
};

/// Every place's array of shape `[2, 3, 4]` whose elements count from 0.
fn counting() -> Vec<UsmArray> {
    let elements: Vec<i32> = (0..24).collect();
    let array = |(queue, kind)| UsmArray::from_slice(&queue, kind, &[2, 3, 4], &elements).unwrap();
    places().into_iter().map(array).collect()
}

fn refused(result: Result<UsmArray, Error>) -> LayoutError {
    match result {
        Err(Error::Layout(error)) => error,
        other => panic!("found {other:?}"),
    }
}

#[test]
fn axes_are_moved_without_moving_elements() {
    for array in counting() {
        let shape = |view: Result<UsmArray, Error>| view.unwrap().shape().to_vec();
        assert_eq!(shape(array.matrix_transpose()), [2, 4, 3]);
        assert_eq!(shape(array.swapaxes(0, -1)), [4, 3, 2]);
        assert_eq!(shape(array.moveaxis(&[0, 1], &[-1, 0])), [3, 4, 2]);
        assert_eq!(shape(array.expand_dims(&[0, -1])), [1, 2, 3, 4, 1]);
        assert_eq!(shape(array.expand_dims(&[1]).unwrap().squeeze(None)), [2, 3, 4]);
        assert_eq!(array.rot90(1, [1, 2]).unwrap().to_vec::<i32>().unwrap()[..3], [3, 7, 11]);
        assert_eq!(array.flip(None).unwrap().to_vec::<i32>().unwrap()[0], 23);
        let rows: Vec<i32> = array.unstack(-2).unwrap().map(|row| row.to_vec::<i32>().unwrap()[4]).collect();
        assert_eq!(rows, [12, 16, 20]);
        assert!(array.transpose().is_f_contiguous_only() && array.transpose().is_contiguous());
    }
}

#[test]
fn errors_name_the_argument_and_the_numbers() {
    let array = &counting()[0];
    for (result, message) in [
        (array.swapaxes(0, 3), "axis2: axis 3 is out of bounds for 3 axes, allowed are -3 to 2"),
        (array.permute(&[0, 1]), "axes: found 2 entries, allowed are 3, one for each axis"),
        (array.permute(&[0, 1, -2]), "axes: found axes [0, 1, -2], which name axis 1 more than once"),
        (array.moveaxis(&[0], &[0, 1]), "destination: found 2 entries, allowed are 1"),
        (array.squeeze(Some(&[1])), "axis: axis 1 has size 3, allowed is removing axes of size 1"),
        (array.reshape_view(&[5, -1], Order::C), "shape: found [5, -1], allowed are shapes of 24 elements"),
        (array.reshape_view(&[-2], Order::C), "shape[0]: found -2, allowed are sizes of 0 and more"),
        (
            array.transpose().reshape_view(&[24], Order::C),
            "shape: found [24] for shape [4, 3, 2] with strides",
        ),
        (
            array.sliding_window_view(&[5], Some(&[-1])),
            "window of 5 along axis 2 of size 4, allowed are 0 to 4",
        ),
        (array.as_strided(&[2], &[24], 0), "reaches from element 0 to 24 around index zero, allowed are"),
        (array.diagonal(0, 1, 1), "axis1, axis2: found axes [1, 1], which name axis 1 more than once"),
        (array.imag(), "found elements of int32, allowed are complex64 and complex128"),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} lacks {message:?}");
    }
}

#[test]
fn a_reshaped_view_shares_its_elements() {
    for array in counting() {
        let view = array.reshape_view(&[6, -1], Order::C).unwrap();
        view.slice(&[SliceItem::Index(5), SliceItem::Index(3)]).unwrap().fill(-1_i32).unwrap();
        assert_eq!(array.to_vec::<i32>().unwrap()[23], -1);
        let needs_copy = refused(array.transpose().reshape_view(&[-1], Order::C));
        assert!(matches!(needs_copy, LayoutError::NeedsCopy { .. }));
        assert_eq!(array.transpose().reshape_view(&[-1], Order::F).unwrap().strides(), [1]);
    }
}

#[test]
fn views_with_repeats_are_read_only() {
    for array in counting() {
        let repeated = array.broadcast_to(&[2, 2, 3, 4]).unwrap();
        let windows = array.sliding_window_view(&[2, 2], Some(&[1, 2])).unwrap();
        let overlapping = array.as_strided(&[4, 4], &[1, 1], 0).unwrap();
        let both = UsmArray::broadcast_arrays(&[&array, &array.slice(&[SliceItem::Index(0)]).unwrap()]);
        for view in [repeated, windows.clone(), overlapping].into_iter().chain(both.unwrap()) {
            assert!(!view.is_writable());
            assert!(matches!(view.fill(0_i32), Err(Error::ReadOnly)));
        }
        assert_eq!(windows.shape(), [2, 2, 3, 2, 2]);
        assert_eq!(windows.to_vec::<i32>().unwrap()[..8], [0, 1, 4, 5, 1, 2, 5, 6]);
    }
}

#[test]
fn views_without_repeats_can_be_written() {
    for array in counting() {
        let blocks = array.as_strided(&[3, 2], &[8, 1], 2).unwrap();
        assert_eq!(blocks.to_vec::<i32>().unwrap(), [2, 3, 10, 11, 18, 19]);
        let diagonal = array.diagonal(1, -2, -1).unwrap();
        assert_eq!(diagonal.to_vec::<i32>().unwrap(), [1, 6, 11, 13, 18, 23]);
        assert!(blocks.is_writable() && diagonal.is_writable());
        diagonal.fill(-1_i32).unwrap();
        assert_eq!(array.to_vec::<i32>().unwrap()[..8], [0, -1, 2, 3, 4, 5, -1, 7]);
        assert!(!array.read_only().diagonal(0, 0, 1).unwrap().is_writable());
        assert!(!array.read_only().as_strided(&[1], &[1], 0).unwrap().is_writable());
    }
}

#[test]
fn strides_stay_within_the_view_not_the_buffer() {
    for array in counting() {
        let row = array.slice(&[SliceItem::Index(1), SliceItem::Index(1)]).unwrap();
        assert_eq!(row.as_strided(&[2, 2], &[2, 1], 0).unwrap().to_vec::<i32>().unwrap(), [16, 17, 18, 19]);
        for (shape, stride, offset) in [(4, 1, 1), (2, 1, -1), (2, -1, 0), (1, 0, 4)] {
            let error = refused(row.as_strided(&[shape], &[stride], offset));
            assert!(matches!(error, LayoutError::OutsideSpan { .. }), "{error}");
        }
    }
}

#[test]
fn parts_of_complex_numbers_are_views() {
    for (queue, kind) in places() {
        let numbers: Vec<Complex<f64>> =
            (0..6).map(|i| Complex::new(f64::from(i), -f64::from(i) / 2.0)).collect();
        let array = UsmArray::from_slice(&queue, kind, &[2, 3], &numbers).unwrap();
        let column = array.slice(&[SliceItem::FULL, SliceItem::Index(1)]).unwrap();
        let (real, imag) = (column.real().unwrap(), column.imag().unwrap());
        assert_eq!((real.dtype(), real.strides()), (Dtype::F64, &[6][..]));
        assert_eq!(real.to_vec::<f64>().unwrap(), [1.0, 4.0]);
        assert_eq!(imag.to_vec::<f64>().unwrap(), [-0.5, -2.0]);
        assert_eq!(real.shares_memory(&imag, usize::MAX), Overlap::No);
        assert_eq!(imag.shares_memory(&array, usize::MAX), Overlap::Yes);
        imag.fill(9.0_f64).unwrap();
        assert_eq!(array.to_vec::<Complex<f64>>().unwrap()[4], Complex::new(4.0, 9.0));
        assert!(!array.read_only().real().unwrap().is_writable());
        assert_eq!(real.real().unwrap().layout(), real.layout());
        assert!(matches!(real.imag(), Err(Error::NotComplex { found: Dtype::F64 })));
    }
}

#[test]
fn bytes_are_reinterpreted_as_in_numpy() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2, 4], &[0x0403_0201_u32; 8]).unwrap();
        let bytes = array.reinterpret(Dtype::U8).unwrap();
        assert_eq!(bytes.shape(), [2, 16]);
        assert_eq!(bytes.to_vec::<u8>().unwrap()[..4], 0x0403_0201_u32.to_ne_bytes());
        assert_eq!(array.reinterpret(Dtype::U64).unwrap().shape(), [2, 2]);
        assert_eq!(bytes.reinterpret(Dtype::U32).unwrap().to_vec::<u32>().unwrap(), [0x0403_0201; 8]);
        assert_eq!(array.transpose().reinterpret(Dtype::F32).unwrap().shape(), [4, 2]);
        assert!(!array.read_only().reinterpret(Dtype::U8).unwrap().is_writable());
        for view in [
            array.transpose().reinterpret(Dtype::U8),
            array
                .slice(&[SliceItem::FULL, SliceItem::Slice { start: None, stop: Some(3), step: 1 }])
                .unwrap()
                .reinterpret(Dtype::U64),
            array.slice(&[SliceItem::Index(0), SliceItem::Index(0)]).unwrap().reinterpret(Dtype::U8),
        ] {
            refused(view);
        }
    }
}

#[test]
fn larger_elements_may_start_at_an_odd_place() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[7], &[0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let odd = array.slice(&[SliceItem::Slice { start: Some(1), stop: None, step: 1 }]).unwrap();
        let pairs = odd.reinterpret(Dtype::C64).unwrap();
        assert_eq!(pairs.address(), odd.address());
        assert_eq!(pairs.to_vec::<Complex<f32>>().unwrap()[2], Complex::new(5.0, 6.0));
        assert!(matches!(odd.reinterpret(Dtype::F64), Err(Error::BufferMisaligned { .. })));
        let UsmArrayInterface { address, offset, .. } = pairs.interface().unwrap();
        assert_eq!(address as usize + 8 * offset as usize, odd.address());
    }
}

#[test]
fn an_imported_origin_stays_where_it_can() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[8], Dtype::F32).unwrap();
        let published = |origin: isize| {
            let layout = Layout::new(&[4], Some(&[1]), 4, Order::C).unwrap();
            UsmArray::from_parts(array.buffer().clone(), Dtype::F32, layout, origin).unwrap()
        };
        let wide = published(2).reinterpret(Dtype::C64).unwrap();
        assert_eq!(
            (wide.published_offset(), wide.interface().unwrap().address as usize),
            (1, array.address() + 8)
        );
        // Not a whole number of the larger elements away: published is the start of the buffer.
        let wide = published(3).reinterpret(Dtype::C64).unwrap();
        assert_eq!(
            (wide.published_offset(), wide.interface().unwrap().address as usize),
            (2, array.address())
        );
    }
}

#[test]
fn overlaps_between_arrays_are_exact() {
    for array in counting() {
        let every_other = |start| {
            let items = SliceItem::Slice { start: Some(start), stop: None, step: 2 };
            array.slice(&[SliceItem::Ellipsis, items]).unwrap()
        };
        let (even, odd) = (every_other(0), every_other(1));
        assert_eq!(even.shares_memory(&odd, usize::MAX), Overlap::No);
        assert_eq!(even.shares_memory(&array.transpose(), usize::MAX), Overlap::Yes);
        assert_eq!(even.shares_memory(&array.copy().unwrap(), usize::MAX), Overlap::No);
        assert_eq!(array.internal_overlap(usize::MAX), Overlap::No);
        let repeated = UsmArray::builder(&[3], Dtype::I32).strides(&[0]);
        let repeated = repeated.build(BufferSource::SharedWith(&array)).unwrap();
        assert_eq!(repeated.internal_overlap(usize::MAX), Overlap::Yes);
        // The same bytes as another dtype.
        assert_eq!(odd.shares_memory(&array.reinterpret(Dtype::U8).unwrap(), usize::MAX), Overlap::Yes);
    }
}

#[test]
fn views_that_count_too_many_bytes_are_refused() {
    let array = &counting()[0];
    let huge = array.slice(&[SliceItem::Index(0), SliceItem::Index(0)]).unwrap();
    let shape = [1 << 30, 1 << 30, 4];
    assert!(matches!(huge.broadcast_to(&shape), Err(Error::TooManyBytes { len, .. }) if len == 1 << 62));
    let strided = huge.as_strided(&[1 << 62], &[0], 0);
    assert!(matches!(strided, Err(Error::TooManyBytes { .. })));
    let one = huge.slice(&[SliceItem::Index(0)]).unwrap();
    let rows = one.broadcast_to(&[1 << 58, 7]).unwrap();
    assert!(matches!(rows.sliding_window_view(&[2], Some(&[1])), Err(Error::TooManyBytes { .. })));
}
