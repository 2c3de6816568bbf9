//! New arrays of every dtype on every kind of memory, against brute force

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::{displacements, indices, layouts, places};
use proptest::prelude::*;
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{
    CopyOrder, CreateError, CreateOptions, Dtype, Error, Indexing, Layout, LayoutError, LikeOptions, Order,
    Scalar, UsmArray,
};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(places);

fn place() -> impl Strategy<Value = (Queue, UsmKind)> {
    prop::sample::select(&PLACES[..])
}

fn scalars(array: &UsmArray) -> Vec<Scalar> {
    let bytes = array.to_bytes().unwrap();
    bytes.chunks(array.itemsize_bytes()).map(|b| Scalar::from_bytes(array.dtype(), b).unwrap()).collect()
}

fn number(dtype: Dtype, value: i8) -> Scalar {
    match dtype.kind() {
        _ if dtype.is_narrow() => Scalar::Float(value.into()),
        'b' => Scalar::Bool(value != 0),
        'i' | 'u' => Scalar::Int(value.into()),
        'f' => Scalar::Float(value.into()),
        _ => Scalar::Complex(Complex64::new(value.into(), 0.0)),
    }
}

/// What the element at a place of the memory is; never 0.
fn value_at(place: usize) -> u16 {
    (place % 65_000) as u16 + 1
}

/// An array of a layout over memory that holds such values.
fn counting((queue, kind): &(Queue, UsmKind), layout: &Layout) -> UsmArray {
    let numbers: Vec<u16> = (0..layout.required_len()).map(value_at).collect();
    let whole = UsmArray::from_slice(queue, *kind, &[numbers.len()], &numbers).unwrap();
    UsmArray::from_parts(whole.buffer().clone(), Dtype::U16, layout.clone(), 0).unwrap()
}

#[test]
fn one_value_of_every_dtype() {
    for (queue, kind) in PLACES.iter() {
        for dtype in Dtype::ALL {
            let new = CreateOptions::new(queue, *kind).dtype(dtype).order(Order::F);
            for (array, value) in [
                (new.zeros(&[2, 3]), 0),
                (new.ones(&[2, 3]), 1),
                (new.full(&[2, 3], Scalar::Int(7)), 7),
                (new.full(&[2, 3], number(dtype, 5)), 5),
            ] {
                let array = array.unwrap();
                assert_eq!(scalars(&array), [number(dtype, value); 6]);
                assert_eq!((array.dtype(), array.kind(), array.queue()), (dtype, *kind, queue));
                assert!(array.is_f_contiguous_only() && array.is_writable());
            }
            assert_eq!(new.empty(&[4]).unwrap().shape(), [4]);
            assert_eq!(scalars(&new.ones(&[]).unwrap()), [number(dtype, 1)]);
            assert_eq!(new.ones(&[2, 0]).unwrap().shape(), [2, 0]);
            assert_eq!(new.zeros(&[1; 64]).unwrap().ndim(), 64);
        }
    }
}

#[test]
fn defaults_follow_from_the_value() {
    let (queue, kind) = &PLACES[0];
    let new = CreateOptions::new(queue, *kind);
    for (value, dtype) in [
        (Scalar::Bool(true), Dtype::Bool),
        (Scalar::Int(1), Dtype::I64),
        (Scalar::Float(1.0), Dtype::F64),
        (Scalar::Complex(Complex64::I), Dtype::C128),
    ] {
        assert_eq!(scalars(&new.full(&[1], value).unwrap()), [value]);
        assert_eq!(new.full(&[1], value).unwrap().dtype(), dtype);
    }
    for array in [new.empty(&[1]), new.zeros(&[1]), new.ones(&[1]), new.eye(1, None, 0)] {
        assert_eq!(array.unwrap().dtype(), Dtype::F64);
    }
    let ints = new.dtype(Dtype::I8);
    assert!(matches!(ints.full(&[1], Scalar::Float(1.5)), Err(Error::ScalarKind { .. })));
    assert!(matches!(ints.full(&[1], Scalar::Int(128)), Err(Error::ScalarRange { .. })));
    assert!(matches!(
        new.zeros(&[1 << 40, 1 << 40]),
        Err(Error::Layout(LayoutError::TooManyElements { .. }))
    ));
    assert!(matches!(new.zeros(&[1 << 61]), Err(Error::TooManyBytes { .. })));
}

#[test]
fn after_a_model() {
    for (queue, kind) in PLACES.iter() {
        let model = UsmArray::full(queue, *kind, &[2, 3], 5_i16).unwrap().transpose().read_only();
        let same = LikeOptions::default();
        let full = model.full_like(Scalar::Int(-4), &same).unwrap();
        assert_eq!(scalars(&full), [Scalar::Int(-4); 6]);
        assert_eq!(
            (full.shape(), full.dtype(), full.kind(), full.queue()),
            (&[3, 2][..], Dtype::I16, *kind, queue)
        );
        assert!(full.is_c_contiguous() && full.is_writable());
        assert!(matches!(model.full_like(Scalar::Float(0.5), &same), Err(Error::ScalarKind { .. })));
        for (order, strides) in [(CopyOrder::Keep, [1, 3]), (CopyOrder::C, [2, 1]), (CopyOrder::F, [1, 3])] {
            let like = model.full_like(Scalar::Int(7), &LikeOptions { order, ..same }).unwrap();
            assert_eq!(like.strides(), strides);
            assert_eq!(scalars(&like), [Scalar::Int(7); 6]);
        }
        for (to_queue, to_kind) in PLACES.iter() {
            let (shape, dtype) = (Some(&[4][..]), Some(Dtype::C64));
            let other = LikeOptions {
                shape,
                dtype,
                kind: Some(*to_kind),
                queue: Some(to_queue),
                order: CopyOrder::Keep,
            };
            let ones = model.ones_like(&other).unwrap();
            assert_eq!(scalars(&ones), [number(Dtype::C64, 1); 4]);
            assert_eq!((ones.kind(), ones.queue()), (*to_kind, to_queue));
            assert_eq!(scalars(&model.zeros_like(&other).unwrap()), [number(Dtype::C64, 0); 4]);
            assert_eq!(model.empty_like(&other).unwrap().shape(), [4]);
        }
    }
}

#[test]
fn ones_on_every_diagonal() {
    for (queue, kind) in PLACES.iter() {
        for dtype in [Dtype::Bool, Dtype::F16, Dtype::I32, Dtype::C128] {
            let new = CreateOptions::new(queue, *kind).dtype(dtype);
            for (rows, columns) in [(0, 0), (1, 1), (3, 3), (2, 4), (4, 2), (3, 0)] {
                for k in [-5, -2, -1, 0, 1, 2, 5, isize::MIN, isize::MAX] {
                    let on = |index: &Vec<usize>| index[1] as i128 - index[0] as i128 == k as i128;
                    let expected: Vec<Scalar> = indices(&[rows, columns])
                        .iter()
                        .map(|index| number(dtype, on(index).into()))
                        .collect();
                    let eye = new.eye(rows, Some(columns), k).unwrap();
                    assert_eq!(scalars(&eye), expected, "{rows} {columns} {k}");
                    assert_eq!(eye.shape(), [rows, columns]);
                }
            }
            assert_eq!(new.eye(3, None, 0).unwrap().shape(), [3, 3]);
        }
    }
}

/// The elements of an array where the predicate says so, else zero.
fn masked(array: &UsmArray, values: &[u16], keep: impl Fn(i128, i128) -> bool) -> Vec<u16> {
    let kept = |(index, &value): (&Vec<usize>, &u16)| {
        let [.., row, column] = index[..] else { panic!("two axes") };
        if keep(row as i128, column as i128) { value } else { 0 }
    };
    indices(array.shape()).iter().zip(values).map(kept).collect()
}

proptest! {
    #[test]
    fn triangles_equal_brute_force(
        place in place(),
        layout in layouts().prop_filter("two axes", |layout| layout.ndim() >= 2),
        k in prop_oneof![-5_isize..=5, Just(isize::MIN), Just(isize::MAX)],
    ) {
        let array = counting(&place, &layout).read_only();
        let values: Vec<u16> = displacements(&layout).into_iter().map(value_at).collect();
        let k128 = k as i128;
        let lower = masked(&array, &values, |row, column| column - row <= k128);
        let upper = masked(&array, &values, |row, column| column - row >= k128);
        prop_assert_eq!(array.tril(k).unwrap().to_vec::<u16>().unwrap(), lower);
        prop_assert_eq!(array.triu(k).unwrap().to_vec::<u16>().unwrap(), upper);
        prop_assert!(array.tril(k).unwrap().is_writable());
    }
}

#[test]
fn triangles_larger_than_a_piece() {
    for place in PLACES.iter() {
        for (shape, k) in [
            (&[3, 150, 120][..], 7),
            (&[1, 2, 70_000], 30_000),
            (&[20_000, 3], -19_998),
            (&[9, 1, 1, 2, 1, 1, 60, 40], -3),
            (&[190, 200], 11),
        ] {
            let layout = Layout::contiguous(shape, Order::F).unwrap();
            let array = counting(place, &layout);
            let values: Vec<u16> = displacements(&layout).into_iter().map(value_at).collect();
            let lower = masked(&array, &values, |row, column| column - row <= k as i128);
            let upper = masked(&array, &values, |row, column| column - row >= k as i128);
            assert!(array.tril(k).unwrap().to_vec::<u16>().unwrap() == lower, "{shape:?}");
            assert!(array.triu(k).unwrap().to_vec::<u16>().unwrap() == upper, "{shape:?}");
        }
        let vector = counting(place, &Layout::contiguous(&[3], Order::C).unwrap());
        let refused = vector.tril(0).unwrap_err();
        assert_eq!(refused.to_string(), "shape: found 1 axes, allowed are 2 and more");
    }
}

#[test]
fn grids_equal_brute_force() {
    for (queue, kind) in PLACES.iter() {
        let vector = |numbers: &[i32]| UsmArray::from_slice(queue, *kind, &[numbers.len()], numbers).unwrap();
        let scalar = UsmArray::full(queue, *kind, &[], 2.5_f32).unwrap();
        let backwards = vector(&[3, 2, 1]).flip(None).unwrap();
        let wide = vector(&[10, 20]);
        for copy in [true, false] {
            for indexing in [Indexing::Xy, Indexing::Ij] {
                let swaps = indexing == Indexing::Xy;
                let grid = UsmArray::meshgrid(&[&backwards, &wide, &scalar], indexing, copy).unwrap();
                let shape = if swaps { [2, 3, 1] } else { [3, 2, 1] };
                for array in &grid {
                    assert_eq!((array.shape(), array.kind()), (&shape[..], *kind));
                    assert_eq!(array.is_writable(), copy);
                }
                let points = indices(&shape);
                let axis = |k: usize| if swaps { 1 - k } else { k };
                let expected = |values: &[i32], axis: usize| -> Vec<i32> {
                    points.iter().map(|index| values[index[axis]]).collect()
                };
                assert_eq!(grid[0].to_vec::<i32>().unwrap(), expected(&[1, 2, 3], axis(0)));
                assert_eq!(grid[1].to_vec::<i32>().unwrap(), expected(&[10, 20], axis(1)));
                assert_eq!(grid[2].to_vec::<f32>().unwrap(), [2.5; 6]);
                assert_eq!(grid[0].buffer().same_allocation(backwards.buffer()), !copy);

                let alone = UsmArray::meshgrid(&[&wide], indexing, copy).unwrap();
                assert_eq!(alone[0].to_vec::<i32>().unwrap(), [10, 20]);
                let empty = UsmArray::meshgrid(&[&wide, &vector(&[])], indexing, copy).unwrap();
                assert_eq!(empty[0].shape(), if swaps { [0, 2] } else { [2, 0] });
                assert!(UsmArray::meshgrid(&[], indexing, copy).unwrap().is_empty());
            }
        }
        let matrix = UsmArray::zeros(queue, *kind, &[1, 1], Dtype::U8).unwrap();
        let refused = UsmArray::meshgrid(&[&wide, &matrix], Indexing::Xy, true).unwrap_err();
        assert_eq!(refused.to_string(), "arrays[1]: found 2 axes, allowed are arrays of at most one axis");
        let many = vec![&scalar; 65];
        assert!(matches!(
            UsmArray::meshgrid(&many, Indexing::Xy, true),
            Err(Error::Layout(LayoutError::TooManyAxes { .. }))
        ));
    }
}

#[test]
fn from_values_of_the_host() {
    for (queue, kind) in PLACES.iter() {
        let (queue, kind) = (queue, *kind);
        let nested = vec![vec![[1_u8, 2], [3, 4]], vec![[5, 6], [7, 8]], vec![[9, 10], [11, 12]]];
        let array = UsmArray::from_nested(queue, kind, &nested).unwrap();
        assert_eq!((array.shape(), array.dtype()), (&[3, 2, 2][..], Dtype::U8));
        assert_eq!(array.to_vec::<u8>().unwrap(), (1..=12).collect::<Vec<_>>());
        let slices: [&[f64]; 2] = [&[1.0], &[2.0]];
        assert_eq!(UsmArray::from_nested(queue, kind, &slices[..]).unwrap().shape(), [2, 1]);
        assert_eq!(UsmArray::from_nested(queue, kind, &7_i64).unwrap().ndim(), 0);
        let nothing: Vec<Vec<f32>> = vec![];
        assert_eq!(UsmArray::from_nested(queue, kind, &nothing).unwrap().shape(), [0, 0]);
        assert_eq!(UsmArray::from_nested(queue, kind, &vec![vec![0_u8; 0]; 2]).unwrap().shape(), [2, 0]);

        let ragged = vec![vec![vec![1, 2], vec![3, 4]], vec![vec![5, 6], vec![7, 8, 9]]];
        let refused = |error: Error| match error {
            Error::Create(error) => error,
            other => panic!("{other}"),
        };
        assert_eq!(
            refused(UsmArray::from_nested(queue, kind, &ragged).unwrap_err()),
            CreateError::Ragged { index: vec![1, 1], found: 3, expected: 2 }
        );
        let shorter = vec![vec![1.5, 2.5], vec![]];
        assert_eq!(
            refused(UsmArray::from_nested(queue, kind, &shorter).unwrap_err()),
            CreateError::Ragged { index: vec![1], found: 0, expected: 2 }
        );

        let squares = UsmArray::from_iter_in(queue, kind, (0..100_u32).map(|i| i * i)).unwrap();
        assert!(squares.to_vec::<u32>().unwrap().into_iter().eq((0..100).map(|i| i * i)));
        assert_eq!(UsmArray::from_iter_in(queue, kind, [0_i8; 0]).unwrap().shape(), [0]);

        let shape = [3, 1, 4, 2];
        let value = |index: &[usize]| index.iter().fold(0_i64, |sum, &i| 10 * sum + i as i64);
        let table = UsmArray::from_fn(queue, kind, &shape, value).unwrap();
        let expected: Vec<i64> = indices(&shape).iter().map(|index| value(index)).collect();
        assert_eq!(table.to_vec::<i64>().unwrap(), expected);
        assert_eq!(UsmArray::from_fn(queue, kind, &[], |_| 3_u8).unwrap().to_vec::<u8>().unwrap(), [3]);
        let none = UsmArray::from_fn(queue, kind, &[2, 0], |_| -> u8 { panic!("no element") });
        assert_eq!(none.unwrap().shape(), [2, 0]);
    }
}
