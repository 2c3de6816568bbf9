//! The figures and the constructor examples of the USM array container specification, with values

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::places;
use usm_array::half::f16;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{BufferSource, Dtype, Element, Layout, Order, SliceItem, UsmArray};

/// A place of a figure: the index of the element there, or a place that belongs to no element.
type Cell = Option<&'static [usize]>;

const GAP: Cell = None;
const GAP_BYTE: u8 = 0xA5;

const fn a(index: &'static [usize]) -> Cell {
    Some(index)
}

fn item(index: &[usize]) -> Vec<SliceItem> {
    index.iter().map(|&i| SliceItem::Index(i.cast_signed())).collect()
}

/// Writes each element through its index and compares the whole buffer with the figure, then
/// changes the buffer and compares what the indices read.
#[track_caller]
fn matches_figure<T: Element>(array: &UsmArray, buf_flat: &[Cell], value: impl Fn(usize) -> T) {
    let buffer = array.buffer();
    let len_bytes = buf_flat.len() * size_of::<T>();
    assert_eq!(buffer.len_bytes(), len_bytes, "elements of the buffer");

    buffer.fill(&[GAP_BYTE]).unwrap();
    let flat = UsmArray::from_parts(
        buffer.clone(),
        T::DTYPE,
        Layout::contiguous(&[buf_flat.len()], Order::C).unwrap(),
        0,
    )
    .unwrap();
    let gap = flat.slice(&item(&[0])).unwrap().to_vec::<T>().unwrap()[0];
    let tag = |index: &[usize]| value(index.iter().fold(1, |tag, &i| 10 * tag + i));

    let elements: Vec<&[usize]> = buf_flat.iter().copied().flatten().collect();
    assert_eq!(elements.len(), array.size(), "the figure shows every element");
    for index in &elements {
        array.slice(&item(index)).unwrap().fill(tag(index)).unwrap();
    }
    let expected: Vec<T> = buf_flat.iter().map(|place| place.map_or(gap, tag)).collect();
    assert_eq!(flat.to_vec::<T>().unwrap(), expected);
    let row_major: Vec<T> = common::indices(array.shape()).iter().map(|index| tag(index)).collect();
    assert_eq!(array.to_vec::<T>().unwrap(), row_major);

    // The other way: the buffer is written in order, the indices find the values.
    let ordered: Vec<T> = (0..buf_flat.len()).map(&value).collect();
    flat.assign(&UsmArray::from_slice(array.queue(), array.kind(), flat.shape(), &ordered).unwrap()).unwrap();
    for (place, index) in buf_flat.iter().enumerate().filter_map(|(p, index)| Some((p, (*index)?))) {
        let read = array.slice(&item(index)).unwrap().to_vec::<T>().unwrap();
        assert_eq!(read, [ordered[place]], "{index:?}");
    }
}

#[test]
fn figure_c_contiguous_matrix() {
    for (queue, kind) in places() {
        let array = UsmArray::empty(&queue, kind, &[2, 3], Dtype::I32).unwrap();
        assert_eq!(array.ndim(), 2);
        assert_eq!(array.strides(), [3, 1]);
        assert_eq!(array.address(), array.buffer().address());
        assert!(array.is_c_contiguous() && !array.is_f_contiguous());
        let buf_flat = [a(&[0, 0]), a(&[0, 1]), a(&[0, 2]), a(&[1, 0]), a(&[1, 1]), a(&[1, 2])];
        matches_figure(&array, &buf_flat, |tag| tag as i32);
    }
}

#[test]
fn figure_f_contiguous_matrix() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[2, 3], Dtype::F64).order(Order::F).build(source).unwrap();
        assert_eq!(array.strides(), [1, 2]);
        assert!(array.is_f_contiguous() && !array.is_c_contiguous());
        let buf_flat = [a(&[0, 0]), a(&[1, 0]), a(&[0, 1]), a(&[1, 1]), a(&[0, 2]), a(&[1, 2])];
        matches_figure(&array, &buf_flat, |tag| tag as f64);
    }
}

#[test]
fn figure_submatrix() {
    for (queue, kind) in places() {
        let matrix = UsmArray::empty(&queue, kind, &[2, 3], Dtype::F32).unwrap();
        let first_two = SliceItem::Slice { start: None, stop: Some(2), step: 1 };
        let array = matrix.slice(&[SliceItem::FULL, first_two]).unwrap();
        assert_eq!((array.shape(), array.strides()), (&[2, 2][..], &[3, 1][..]));
        assert_eq!(array.address(), array.buffer().address());
        let buf_flat = [a(&[0, 0]), a(&[0, 1]), GAP, a(&[1, 0]), a(&[1, 1]), GAP];
        matches_figure(&array, &buf_flat, |tag| tag as f32);
    }
}

#[test]
fn figure_negative_strides() {
    for (queue, kind) in places() {
        let vector = UsmArray::empty(&queue, kind, &[8], Dtype::U64).unwrap();
        // contig_vec[7::-2]
        let array = vector.slice(&[SliceItem::Slice { start: Some(7), stop: None, step: -2 }]).unwrap();
        assert_eq!((array.shape(), array.strides(), array.offset()), (&[4][..], &[-2][..], 7));
        assert_eq!(array.address(), array.buffer().address() + 7 * 8);
        let buf_flat = [GAP, a(&[3]), GAP, a(&[2]), GAP, a(&[1]), GAP, a(&[0])];
        matches_figure(&array, &buf_flat, |tag| tag as u64);
        vector.copy_from_host_contiguous(&(0..8_u64).flat_map(u64::to_ne_bytes).collect::<Vec<_>>()).unwrap();
        assert_eq!(array.to_vec::<u64>().unwrap(), [7, 5, 3, 1]);
    }
}

/// The formula the figures illustrate: `a[i] == buf_flat[offset + Σ strides[k]·i[k]]`.
#[test]
fn figure_formula() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[3, 2, 2], Dtype::I16).strides(&[-4, 1, 14]).build(source).unwrap();
        let len = array.buffer().len_bytes() / 2;
        let flat: Vec<i16> = (0..len as i16).collect();
        let bytes: Vec<u8> = flat.iter().flat_map(|value| value.to_ne_bytes()).collect();
        array.buffer().copy_from_host(&bytes, 0).unwrap();
        let expected: Vec<i16> = common::displacements(array.layout()).iter().map(|&p| flat[p]).collect();
        assert_eq!(array.to_vec::<i16>().unwrap(), expected);
        assert_eq!(expected, [8, 22, 9, 23, 4, 18, 5, 19, 0, 14, 1, 15]);
    }
}

#[test]
fn example_1_unsigned_shorts() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[2, 3], "u2".parse().unwrap()).build(source).unwrap();
        assert_eq!(array.buffer().len_bytes(), 12);
        assert_eq!((array.dtype(), array.kind()), (Dtype::U16, kind));
        let buf_flat = [a(&[0, 0]), a(&[0, 1]), a(&[0, 2]), a(&[1, 0]), a(&[1, 1]), a(&[1, 2])];
        matches_figure(&array, &buf_flat, |tag| tag as u16);
    }
}

#[test]
fn example_2_gap_between_rows() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array = UsmArray::builder(&[2, 3], "i8".parse().unwrap()).strides(&[6, 1]).build(source).unwrap();
        assert_eq!(array.buffer().len_bytes(), 9 * 8);
        assert_eq!(array.offset(), 0);
        let buf_flat =
            [a(&[0, 0]), a(&[0, 1]), a(&[0, 2]), GAP, GAP, GAP, a(&[1, 0]), a(&[1, 1]), a(&[1, 2])];
        matches_figure(&array, &buf_flat, |tag| tag as i64);
    }
}

#[test]
fn example_3_automatic_offset() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let array =
            UsmArray::builder(&[2, 2], "u1".parse().unwrap()).strides(&[2, -1]).build(source).unwrap();
        assert_eq!(array.buffer().len_bytes(), 4);
        assert_eq!(array.offset(), 1);
        let buf_flat = [a(&[0, 1]), a(&[0, 0]), a(&[1, 1]), a(&[1, 0])];
        matches_figure(&array, &buf_flat, |tag| tag as u8);
    }
}

#[test]
fn example_4_existing_memory() {
    for (queue, kind) in places() {
        let memory = UsmBuffer::allocate(&queue, kind, 64).unwrap();
        let address = memory.address();
        let array = UsmArray::builder(&[4], "f8".parse().unwrap())
            .strides(&[-2])
            .offset(7)
            .build(BufferSource::Existing(memory))
            .unwrap();
        assert_eq!(array.buffer().address(), address);
        let buf_flat = [GAP, a(&[3]), GAP, a(&[2]), GAP, a(&[1]), GAP, a(&[0])];
        matches_figure(&array, &buf_flat, |tag| tag as f64);
    }
}

#[test]
fn example_5_same_memory_same_interface() {
    for (queue, kind) in places() {
        let source = BufferSource::Allocate { kind, queue: &queue };
        let w = UsmArray::builder(&[4, 2], "i4".parse().unwrap()).strides(&[-5, -2]).build(source).unwrap();
        let w_iface = w.interface().unwrap();
        assert_eq!(w_iface.offset, 17);
        assert_eq!(w_iface.strides, Some(vec![-5, -2]));
        assert_eq!(w_iface.address as usize, w.buffer().address());

        let shape: Vec<usize> = w_iface.shape.iter().map(|&n| n as usize).collect();
        let strides: Vec<isize> = w_iface.strides.iter().flatten().map(|&s| s as isize).collect();
        for source in [BufferSource::SharedWith(&w), BufferSource::Existing(w.buffer().clone())] {
            let w2 = UsmArray::builder(&shape, w_iface.typestr.parse().unwrap())
                .strides(&strides)
                .offset(w_iface.offset as isize)
                .build(source)
                .unwrap();
            assert_eq!(w_iface, w2.interface().unwrap());
            w.fill(0_i32).unwrap();
            w2.slice(&item(&[3, 1])).unwrap().fill(5_i32).unwrap();
            assert_eq!(w.to_vec::<i32>().unwrap(), [0, 0, 0, 0, 0, 0, 0, 5]);
        }
    }
}

#[test]
fn every_dtype_can_be_constructed_and_holds_its_values() {
    for (queue, kind) in places() {
        for dtype in Dtype::ALL {
            let array = UsmArray::zeros(&queue, kind, &[2, 3], dtype).unwrap();
            assert_eq!(array.size_bytes(), 6 * dtype.itemsize_bytes());
            let mut bytes = vec![1; array.size_bytes()];
            array.transpose().copy_to_host_contiguous(&mut bytes).unwrap();
            assert!(bytes.iter().all(|&byte| byte == 0), "{dtype}");
        }
        let halves = [1.5, -2.0, 0.25].map(f16::from_f32);
        let array = UsmArray::from_slice(&queue, kind, &[3], &halves).unwrap();
        assert_eq!(array.to_vec::<f16>().unwrap(), halves);
    }
}
