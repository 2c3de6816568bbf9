//! Indexing and assignment against brute force and against NumPy, on every kind of memory

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
mod errors;
mod numpy;
mod operations;
mod random;
mod reference;
mod whole;

use std::sync::LazyLock;

use proptest::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Bool8, Dtype, IndexItem, SliceItem, UsmArray, dispatch};

static PLACES: LazyLock<Vec<(Queue, UsmKind)>> = LazyLock::new(common::places);

fn place() -> impl Strategy<Value = (Queue, UsmKind)> {
    prop::sample::select(&PLACES[..])
}

/// Whole arrays, on devices: of a long campaign a fiftieth, so that it ends.
fn config() -> ProptestConfig {
    let cases = ProptestConfig::default().cases;
    ProptestConfig::with_cases(cases.min(256).max(cases / 50))
}

/// An index item of the tests.
#[derive(Clone, Debug)]
enum Item {
    Basic(SliceItem),
    Integers { shape: Vec<usize>, values: Vec<i64> },
    Mask { shape: Vec<usize>, values: Vec<bool> },
}

impl Item {
    /// The same as host slices.
    fn on_host(&self) -> IndexItem<'_> {
        match self {
            Self::Basic(item) => (*item).into(),
            Self::Integers { shape, values } => IndexItem::Integers { values, shape: Some(shape) },
            Self::Mask { shape, values } => IndexItem::Mask { values, shape: Some(shape) },
        }
    }

    /// The same as an array, integers in the given dtype; `None` for basic items.
    fn array(&self, (queue, kind): &(Queue, UsmKind), dtype: Dtype) -> Option<UsmArray> {
        match self {
            Self::Basic(_) => None,
            Self::Integers { shape, values } => {
                let wide = UsmArray::from_slice(queue, *kind, shape, values).unwrap();
                Some(wide.astype(dtype, usm_array::CopyMode::IfNeeded).unwrap())
            }
            Self::Mask { shape, values } => {
                // Every byte but zero is true.
                let bytes: Vec<Bool8> =
                    values.iter().map(|&v| Bool8::from_byte(if v { 2 } else { 0 })).collect();
                Some(UsmArray::from_slice(queue, *kind, shape, &bytes).unwrap())
            }
        }
    }
}

/// An array of 0, 1, 2, … in row-major order.
fn counting((queue, kind): &(Queue, UsmKind), shape: &[usize], dtype: Dtype) -> UsmArray {
    let numbers: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
    let wide = UsmArray::from_slice(queue, *kind, shape, &numbers).unwrap();
    wide.astype(dtype, usm_array::CopyMode::IfNeeded).unwrap()
}

/// The elements as integers.
fn integers(array: &UsmArray) -> Vec<i64> {
    assert!(dispatch!(array.dtype(), T => array.to_vec::<T>().is_ok()));
    array.astype(Dtype::I64, usm_array::CopyMode::Always).unwrap().to_vec().unwrap()
}
