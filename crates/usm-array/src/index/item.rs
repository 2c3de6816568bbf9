//! The items of an index expression

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use usm_memory::usm_core::UsmKind;

use crate::array::{ArrayOrScalar, UsmArray};
use crate::layout::SliceItem;

/// One item of an index: basic ([`SliceItem`]), or an array of integers or booleans.
///
/// Integers count from the end of the axis when they are negative. A mask of `n` axes stands for `n` axes of the array, whose
/// sizes it must have, and picks where it is true. A mask without axes stands for no axis, and picks all elements or none.
///
/// ```
/// use usm_array::{IndexItem, SliceItem};
///
/// // The Python index [2, ..., [0, -1], [True, False]].
/// let index: [IndexItem<'_>; 4] = [2.into(), SliceItem::Ellipsis.into(), (&[0, -1]).into(), (&[true, false]).into()];
/// assert!(matches!(index[2], IndexItem::Integers { values: [0, -1], shape: None }));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum IndexItem<'a> {
    /// An integer, a slice, an ellipsis or a new axis.
    Basic(SliceItem),
    /// An array in USM of any kind: integers of any dtype, or a boolean mask.
    Array(&'a UsmArray),
    /// Integers of the host in row-major order.
    Integers {
        /// The integers
        values: &'a [i64],
        /// Their shape; `None` is one axis
        shape: Option<&'a [usize]>,
    },
    /// A mask of the host in row-major order.
    Mask {
        /// The booleans
        values: &'a [bool],
        /// Their shape; `None` is one axis
        shape: Option<&'a [usize]>,
    },
}

impl IndexItem<'static> {
    /// `:`, the whole axis.
    pub const FULL: Self = Self::Basic(SliceItem::FULL);
}

impl IndexItem<'_> {
    /// The kind of memory of elements of an array that the index picks in an operation on both.
    pub(super) fn kind_with(&self, array: &UsmArray) -> UsmKind {
        match self {
            Self::Array(index) => array.kind_with([ArrayOrScalar::Array(index)]),
            _ => array.kind(),
        }
    }
}

impl From<SliceItem> for IndexItem<'_> {
    fn from(item: SliceItem) -> Self {
        Self::Basic(item)
    }
}

macro_rules! basic {
    ($($item:ty),*) => {$(
        impl From<$item> for IndexItem<'_> {
            fn from(item: $item) -> Self {
                Self::Basic(item.into())
            }
        }
    )*};
}
basic!(
    isize,
    Range<isize>,
    RangeFrom<isize>,
    RangeTo<isize>,
    RangeInclusive<isize>,
    RangeToInclusive<isize>,
    RangeFull
);

/// A mask without axes, Python's `True` and `False`.
impl From<bool> for IndexItem<'_> {
    fn from(value: bool) -> Self {
        Self::Mask { values: if value { &[true] } else { &[false] }, shape: Some(&[]) }
    }
}

impl<'a> From<&'a UsmArray> for IndexItem<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array(array)
    }
}

macro_rules! host_arrays {
    ($($values:ty => $variant:ident),*) => {$(
        impl<'a> From<&'a [$values]> for IndexItem<'a> {
            fn from(values: &'a [$values]) -> Self {
                Self::$variant { values, shape: None }
            }
        }

        impl<'a, const N: usize> From<&'a [$values; N]> for IndexItem<'a> {
            fn from(values: &'a [$values; N]) -> Self {
                Self::$variant { values, shape: None }
            }
        }
    )*};
}
host_arrays!(i64 => Integers, bool => Mask);
