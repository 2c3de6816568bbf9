//! How Rust code writes index expressions: integers, ranges and tuples of them
//!
//! Bounds have Python's meaning: negative ones count from the end of the axis.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::SliceItem;

/// An integer as an index along an axis. Integers that no axis reaches stay out of its bounds.
fn saturated<T: Copy + Default + PartialOrd + TryInto<isize>>(index: T) -> isize {
    index.try_into().unwrap_or(if index < T::default() { isize::MIN } else { isize::MAX })
}

impl SliceItem {
    /// `::step`, every `step`-th element of the axis; `every(-1)` is the axis in reverse order.
    ///
    /// ```
    /// use usm_array::SliceItem;
    ///
    /// assert_eq!(SliceItem::every(-1), SliceItem::Slice { start: None, stop: None, step: -1 });
    /// ```
    #[must_use]
    pub const fn every(step: isize) -> Self {
        Self::Slice { start: None, stop: None, step }
    }

    const fn range(start: Option<isize>, stop: Option<isize>) -> Self {
        Self::Slice { start, stop, step: 1 }
    }
}

/// Behind `last`. Behind the last element, -1, there is the end, which has no number.
fn behind(last: isize) -> Option<isize> {
    last.checked_add(1).filter(|&stop| stop != 0)
}

macro_rules! items_of {
    ($($integer:ty)*) => {$(
        impl From<$integer> for SliceItem {
            fn from(index: $integer) -> Self {
                Self::Index(saturated(index))
            }
        }

        items_of! { $integer:
            Range<$integer>, |range| Some(saturated(range.start)), Some(saturated(range.end));
            RangeFrom<$integer>, |range| Some(saturated(range.start)), None;
            RangeTo<$integer>, |range| None, Some(saturated(range.end));
            RangeInclusive<$integer>, |range| Some(saturated(*range.start())), behind(saturated(*range.end()));
            RangeToInclusive<$integer>, |range| None, behind(saturated(range.end));
        }
    )*};
    ($integer:ty: $($of:ty, |$range:ident| $start:expr, $stop:expr;)*) => {$(
        impl From<$of> for SliceItem {
            fn from($range: $of) -> Self {
                Self::range($start, $stop)
            }
        }
    )*};
}
items_of!(isize i32 usize);

impl From<RangeFull> for SliceItem {
    fn from(_: RangeFull) -> Self {
        Self::FULL
    }
}

/// The items of an index expression: a slice of [`SliceItem`], or a tuple of up to eight integers, ranges
/// and items.
///
/// ```
/// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.slice((.., 1..3))?.to_vec::<u8>()?, [2, 3, 5, 6]);
/// assert_eq!(array.slice((-1, ..=-2))?.to_vec::<u8>()?, [4, 5]);
/// assert_eq!(array.slice((SliceItem::Ellipsis, SliceItem::every(-2)))?.to_vec::<u8>()?, [3, 1, 6, 4]);
/// assert_eq!(array.slice(&[0.into(), (1..).into()])?.to_vec::<u8>()?, [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SliceItems {
    /// Calls a function with the items.
    fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R;
}

impl SliceItems for &[SliceItem] {
    fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
        function(self)
    }
}

impl<const N: usize> SliceItems for &[SliceItem; N] {
    fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
        function(self)
    }
}

impl SliceItems for &Vec<SliceItem> {
    fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
        function(self)
    }
}

macro_rules! items_of_tuples {
    ($($item:ident)*) => {
        impl<$($item: Into<SliceItem>),*> SliceItems for ($($item,)*) {
            #[allow(non_snake_case, reason = "a value for each type")]
            fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
                let ($($item,)*) = self;
                function(&[$($item.into()),*])
            }
        }
    };
}
items_of_tuples!(A);
items_of_tuples!(A B);
items_of_tuples!(A B C);
items_of_tuples!(A B C D);
items_of_tuples!(A B C D E);
items_of_tuples!(A B C D E F);
items_of_tuples!(A B C D E F G);
items_of_tuples!(A B C D E F G H);

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: Option<isize>, stop: Option<isize>) -> SliceItem {
        SliceItem::Slice { start, stop, step: 1 }
    }

    #[test]
    fn ranges_have_the_bounds_of_python() {
        assert_eq!(SliceItem::from(1..3), slice(Some(1), Some(3)));
        assert_eq!(SliceItem::from(-3..-1), slice(Some(-3), Some(-1)));
        assert_eq!(SliceItem::from(2_usize..), slice(Some(2), None));
        assert_eq!(SliceItem::from(..-1), slice(None, Some(-1)));
        assert_eq!(SliceItem::from(..), SliceItem::FULL);
        assert_eq!(SliceItem::from(-1), SliceItem::Index(-1));
    }

    #[test]
    fn inclusive_ranges_reach_the_end() {
        assert_eq!(SliceItem::from(1..=2), slice(Some(1), Some(3)));
        assert_eq!(SliceItem::from(..=-1), slice(None, None), "not ..0, which is empty");
        assert_eq!(SliceItem::from(0..=isize::MAX), slice(Some(0), None));
        assert_eq!(SliceItem::from(..=-2), slice(None, Some(-1)));
    }

    #[test]
    fn integers_that_no_axis_reaches_stay_outside() {
        assert_eq!(SliceItem::from(usize::MAX), SliceItem::Index(isize::MAX));
        assert_eq!(SliceItem::from(0..usize::MAX), slice(Some(0), Some(isize::MAX)));
    }
}
