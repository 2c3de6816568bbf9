//! Chains of random views against a list of elements that is rearranged index by index

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::sync::LazyLock;

use common::{indices, places};
use proptest::prelude::*;
use usm_array::{Dtype, Order, SliceItem, UsmArray};

const SHAPES: [&[usize]; 6] = [&[2, 3, 4], &[12], &[4, 1, 6], &[2, 0, 3], &[], &[3, 3, 2, 2, 2]];

/// An array of each shape on each kind of memory; element i has the value i.
static ARRAYS: LazyLock<Vec<UsmArray>> = LazyLock::new(|| {
    let mut arrays = vec![];
    for (queue, kind) in places() {
        for shape in SHAPES {
            let elements: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
            arrays.push(UsmArray::from_slice(&queue, kind, shape, &elements).unwrap());
        }
    }
    arrays
});

/// What a view must be.
#[derive(Clone, Debug)]
struct Expected {
    shape: Vec<usize>,
    /// In row-major order
    elements: Vec<u32>,
    writable: bool,
}

impl Expected {
    /// The array whose element at each index is the one of this array at the index that `back` says.
    fn remap(&self, shape: Vec<usize>, back: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let place =
            |index: Vec<usize>| back(&index).iter().zip(&self.shape).fold(0, |place, (&i, &n)| place * n + i);
        let elements = indices(&shape).into_iter().map(|index| self.elements[place(index)]).collect();
        Self { shape, elements, writable: self.writable }
    }

    fn locked(self) -> Self {
        Self { writable: false, ..self }
    }
}

/// A view operation; the numbers are brought into range when it is applied.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: u8,
    a: usize,
    b: usize,
    signed: isize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0_u8..18, 0_usize..720, 0_usize..720, -9_isize..10);
    prop::collection::vec(step.prop_map(|(kind, a, b, signed)| Step { kind, a, b, signed }), 0..=6)
}

/// The view and what it must be; `None` where the operation does not apply.
fn apply(array: &UsmArray, expected: &Expected, step: Step) -> Option<(UsmArray, Expected)> {
    let Step { kind, a, b, signed } = step;
    let shape = &expected.shape;
    let ndim = shape.len();
    let axis = a.checked_rem(ndim);
    let other = b.checked_rem(ndim);
    let with = |axis: usize, size: usize| {
        let mut shape = shape.clone();
        shape[axis] = size;
        shape
    };
    let negative = |axis: usize| axis.cast_signed() - if signed < 0 { ndim.cast_signed() } else { 0 };
    Some(match kind {
        0 => {
            let axis = axis?;
            let step = if signed == 0 { 1 } else { signed };
            let start = (b % (shape[axis] + 2)).cast_signed() - 1;
            let mut items = vec![SliceItem::FULL; axis];
            items.push(SliceItem::Slice { start: Some(start), stop: None, step });
            let n = shape[axis].cast_signed();
            let first = if start < 0 { start + n } else { start };
            let first = if step < 0 { first.min(n - 1) } else { first.max(0) };
            let taken: Vec<usize> = (0..n)
                .map(|i| first + i * step)
                .take_while(|i| (0..n).contains(i))
                .map(isize::cast_unsigned)
                .collect();
            let back = |index: &[usize]| {
                let mut index = index.to_vec();
                index[axis] = taken[index[axis]];
                index
            };
            (array.slice(&items).unwrap(), expected.remap(with(axis, taken.len()), back))
        }
        1 => {
            let axis = axis.filter(|&axis| shape[axis] > 0)?;
            let place = b % shape[axis];
            let rest = [&shape[..axis], &shape[axis + 1..]].concat();
            let back = |index: &[usize]| [&index[..axis], &[place], &index[axis..]].concat();
            let view = array.unstack(negative(axis)).unwrap().nth(place).unwrap();
            (view, expected.remap(rest, back))
        }
        2 => {
            let place = a % (ndim + 1);
            let larger = [&shape[..place], &[1], &shape[place..]].concat();
            let back = |index: &[usize]| [&index[..place], &index[place + 1..]].concat();
            (array.expand_dims(&[place.cast_signed()]).unwrap(), expected.remap(larger, back))
        }
        3 => {
            let kept: Vec<usize> = (0..ndim).filter(|&axis| shape[axis] != 1).collect();
            let smaller = kept.iter().map(|&axis| shape[axis]).collect();
            let back = |index: &[usize]| {
                let mut full = vec![0; ndim];
                kept.iter().zip(index).for_each(|(&axis, &i)| full[axis] = i);
                full
            };
            (array.squeeze(None).unwrap(), expected.remap(smaller, back))
        }
        4 => {
            let back = |index: &[usize]| index.iter().rev().copied().collect();
            (array.transpose(), expected.remap(shape.iter().rev().copied().collect(), back))
        }
        5 => {
            // A rotation of the axes.
            let order: Vec<usize> = (0..ndim).map(|k| (k + a) % ndim).collect();
            let given: Vec<isize> = order.iter().map(|&axis| negative(axis)).collect();
            let back = |index: &[usize]| {
                let mut source = vec![0; ndim];
                order.iter().zip(index).for_each(|(&axis, &i)| source[axis] = i);
                source
            };
            let permuted = order.iter().map(|&axis| shape[axis]).collect();
            (array.permute(&given).unwrap(), expected.remap(permuted, back))
        }
        6 => {
            let (axis, other) = (axis?, other?);
            let swap = |values: &[usize]| {
                let mut values = values.to_vec();
                values.swap(axis, other);
                values
            };
            (array.swapaxes(negative(axis), negative(other)).unwrap(), expected.remap(swap(shape), swap))
        }
        7 => {
            let (from, to) = (axis?, other?);
            let moved = |values: &[usize], from: usize, to: usize| {
                let mut values = values.to_vec();
                let value = values.remove(from);
                values.insert(to, value);
                values
            };
            let view = array.moveaxis(&[negative(from)], &[negative(to)]).unwrap();
            (view, expected.remap(moved(shape, from, to), |index| moved(index, to, from)))
        }
        8 => {
            let axis = axis?;
            let back = |index: &[usize]| {
                let mut index = index.to_vec();
                index[axis] = shape[axis] - 1 - index[axis];
                index
            };
            (array.flip(Some(&[negative(axis)])).unwrap(), expected.remap(shape.clone(), back))
        }
        9 => {
            let (axis, other) = (axis?, other?);
            if axis == other {
                return None;
            }
            let mut rotated = expected.clone();
            for _ in 0..signed.rem_euclid(4) {
                let mut shape = rotated.shape.clone();
                shape.swap(axis, other);
                // One quarter: result[i, j] is source[j, n - 1 - i].
                let last = rotated.shape[other];
                rotated = rotated.remap(shape, |index| {
                    let mut source = index.to_vec();
                    (source[axis], source[other]) = (index[other], last - 1 - index[axis]);
                    source
                });
            }
            (array.rot90(signed, [negative(axis), negative(other)]).unwrap(), rotated)
        }
        10 => {
            // One axis in two, or two in one, wherever it goes without a copy.
            let axis = axis?;
            let size = shape[axis];
            let reshaped = if b.is_multiple_of(2) && axis + 1 < ndim {
                [&shape[..axis], &[size * shape[axis + 1]], &shape[axis + 2..]].concat()
            } else {
                let factor = (2..=size).find(|&factor: &usize| size.is_multiple_of(factor))?;
                [&shape[..axis], &[factor, size / factor], &shape[axis + 1..]].concat()
            };
            let given: Vec<isize> = reshaped.iter().map(|&n| n.cast_signed()).collect();
            let view = array.reshape_view(&given, Order::C).ok()?;
            (view, Expected { shape: reshaped, ..expected.clone() })
        }
        11 => {
            let view = array.reshape_view(&[-1], Order::F).ok()?;
            let reversed = expected
                .remap(shape.iter().rev().copied().collect(), |index| index.iter().rev().copied().collect());
            (view, Expected { shape: vec![expected.elements.len()], ..reversed })
        }
        12 => {
            let repeats = b % 3;
            let stretched = shape.iter().map(|&n| if n == 1 { a % 4 } else { n });
            let larger: Vec<usize> = std::iter::once(repeats).chain(stretched).collect();
            if larger.iter().product::<usize>() > 4096 {
                return None;
            }
            let back = |index: &[usize]| {
                let own = index[1..].iter().zip(shape);
                own.map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
            };
            (array.broadcast_to(&larger).unwrap(), expected.remap(larger.clone(), back).locked())
        }
        13 => {
            let axis = axis?;
            let window = b % (shape[axis] + 1);
            let windows = [&with(axis, shape[axis] - window + 1)[..], &[window]].concat();
            if windows.iter().product::<usize>() > 4096 {
                return None;
            }
            let back = |index: &[usize]| {
                let mut source = index[..ndim].to_vec();
                source[axis] += index[ndim];
                source
            };
            let view = array.sliding_window_view(&[window], Some(&[negative(axis)])).unwrap();
            (view, expected.remap(windows, back).locked())
        }
        14 => {
            let (rows, columns) = (axis?, other?);
            if rows == columns {
                return None;
            }
            let (down, right) = ((-signed).max(0).unsigned_abs(), signed.max(0).unsigned_abs());
            let length = shape[rows].saturating_sub(down).min(shape[columns].saturating_sub(right));
            let others = (0..ndim).filter(|&axis| axis != rows && axis != columns);
            let diagonal: Vec<usize> = others.clone().map(|axis| shape[axis]).chain([length]).collect();
            let back = |index: &[usize]| {
                let mut source = vec![0; ndim];
                others.clone().zip(index).for_each(|(axis, &i)| source[axis] = i);
                let along = index[index.len() - 1];
                (source[rows], source[columns]) = (along + down, along + right);
                source
            };
            let view = array.diagonal(signed, negative(rows), negative(columns)).unwrap();
            (view, expected.remap(diagonal, back))
        }
        15 => {
            // The same strides once more can be written exactly if no element is at two indices.
            let view = array.as_strided(array.shape(), array.strides(), 0).unwrap();
            let mut different = expected.elements.clone();
            different.sort();
            different.dedup();
            let repeats = different.len() < expected.elements.len();
            (view, if repeats { expected.clone().locked() } else { expected.clone() })
        }
        16 => {
            let halves = array.reinterpret(Dtype::I32).unwrap().reinterpret(Dtype::U16).ok()?;
            (halves.reinterpret(Dtype::U32).unwrap(), expected.clone())
        }
        _ => (array.read_only(), expected.clone().locked()),
    })
}

proptest! {

    #[test]
    fn chains_of_views_equal_the_rearranged_elements(first in any::<prop::sample::Index>(), steps in steps()) {
        let whole = &ARRAYS[first.index(ARRAYS.len())];
        let mut view = whole.clone();
        let mut expected = Expected {
            shape: whole.shape().to_vec(),
            elements: (0..whole.size() as u32).collect(),
            writable: true,
        };
        for step in steps {
            if let Some((next, elements)) = apply(&view, &expected, step) {
                prop_assert_eq!(next.shape(), &elements.shape[..], "{:?}", step);
                prop_assert_eq!(next.is_writable(), elements.writable, "{:?}", step);
                prop_assert_eq!(next.interface().unwrap().read_only, !elements.writable);
                prop_assert!(next.buffer().same_allocation(whole.buffer()));
                prop_assert!(next.byte_range().end <= whole.buffer().len_bytes());
                (view, expected) = (next, elements);
            }
        }
        prop_assert_eq!(view.to_vec::<u32>().unwrap(), expected.elements);
    }
}
