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
    /// `start:stop:step` with Python's meaning: negative bounds count from the end, `None` is the end of the axis at which the step
    /// begins or stops.
    ///
    /// ```
    /// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[5], &[0_u8, 1, 2, 3, 4])?;
    /// assert_eq!(array.slice(SliceItem::range(3, None, -2))?.to_vec::<u8>()?, [3, 1]); // array[3::-2]
    /// assert_eq!(array.slice(SliceItem::range(1, -1, 2))?.to_vec::<u8>()?, [1, 3]); // array[1:-1:2]
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn range(start: impl Into<Option<isize>>, stop: impl Into<Option<isize>>, step: isize) -> Self {
        Self::Slice { start: start.into(), stop: stop.into(), step }
    }

    /// Every `step`-th element of a range of Rust; a negative step goes backwards, from the start of the range to its end. The macro
    /// [`s!`](crate::s) writes it as `range;step`.
    ///
    /// ```
    /// use usm_array::SliceItem;
    ///
    /// assert_eq!(SliceItem::stepped(1.., 2), SliceItem::range(1, None, 2));
    /// assert_eq!(SliceItem::stepped(4..=1, -1), SliceItem::range(4, 0, -1), "4, 3, 2, 1");
    /// assert_eq!(SliceItem::stepped(4..=0, -1), SliceItem::range(4, None, -1), "down to the first element");
    /// ```
    #[must_use]
    pub fn stepped(range: impl SliceRange, step: isize) -> Self {
        range.stepped(step)
    }

    /// `::step`, every `step`-th element of the axis; `every(-1)` is the axis in reverse order.
    ///
    /// ```
    /// use usm_array::SliceItem;
    ///
    /// assert_eq!(SliceItem::every(-1), SliceItem::range(None, None, -1));
    /// ```
    #[must_use]
    pub const fn every(step: isize) -> Self {
        Self::Slice { start: None, stop: None, step }
    }
}

/// The stop behind `last` in the direction of the step. Behind the last element, -1, or before the first one, 0, there is the end,
/// which has no number.
fn behind(last: isize, step: isize) -> Option<isize> {
    match step < 0 {
        true => last.checked_sub(1).filter(|_| last != 0),
        false => last.checked_add(1).filter(|&stop| stop != 0),
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A range of Rust along an axis, with `isize`, `i32` or `usize` as bounds: what [`SliceItem::stepped`] takes.
pub trait SliceRange: sealed::Sealed {
    /// Every `step`-th element of the range.
    #[must_use]
    fn stepped(self, step: isize) -> SliceItem;
}

macro_rules! items_of {
    ($($integer:ty)*) => {$(
        impl From<$integer> for SliceItem {
            fn from(index: $integer) -> Self {
                Self::Index(saturated(index))
            }
        }
        one_item!($integer);

        items_of! { $integer, step:
            Range<$integer>, |range| Some(saturated(range.start)), Some(saturated(range.end));
            RangeFrom<$integer>, |range| Some(saturated(range.start)), None;
            RangeTo<$integer>, |range| None, Some(saturated(range.end));
            RangeInclusive<$integer>, |range| Some(saturated(*range.start())), behind(saturated(*range.end()), step);
            RangeToInclusive<$integer>, |range| None, behind(saturated(range.end), step);
        }
    )*};
    ($integer:ty, $step:ident: $($of:ty, |$range:ident| $start:expr, $stop:expr;)*) => {$(
        impl sealed::Sealed for $of {}

        impl SliceRange for $of {
            fn stepped(self, $step: isize) -> SliceItem {
                let $range = self;
                SliceItem::Slice { start: $start, stop: $stop, step: $step }
            }
        }

        impl From<$of> for SliceItem {
            fn from(range: $of) -> Self {
                range.stepped(1)
            }
        }
        one_item!($of);
    )*};
}

/// One item without brackets around it, and an array of such items.
macro_rules! one_item {
    ($item:ty) => {
        impl SliceItems for $item {
            fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
                function(&[self.into()])
            }
        }

        impl<const N: usize> SliceItems for [$item; N] {
            fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
                function(&self.map(SliceItem::from))
            }
        }
    };
}
items_of!(isize i32 usize);
one_item!(RangeFull);

// Arrays of them are passed by reference.
impl SliceItems for SliceItem {
    fn with_items<R>(self, function: impl FnOnce(&[SliceItem]) -> R) -> R {
        function(&[self])
    }
}

impl sealed::Sealed for RangeFull {}

impl SliceRange for RangeFull {
    fn stepped(self, step: isize) -> SliceItem {
        SliceItem::every(step)
    }
}

impl From<RangeFull> for SliceItem {
    fn from(_: RangeFull) -> Self {
        Self::FULL
    }
}

/// The items of an index expression: one integer, range or [`SliceItem`], a tuple of up to eight of them, an array of integers
/// or ranges, or a slice of [`SliceItem`]. The macro [`s!`](crate::s) writes steps, too.
///
/// ```
/// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.slice(1..)?.to_vec::<u8>()?, [4, 5, 6]);
/// assert_eq!(array.slice(-1)?.to_vec::<u8>()?, [4, 5, 6]);
/// assert_eq!(array.slice([1, 2])?.to_vec::<u8>()?, [6]);
/// assert_eq!(array.slice((.., 1..3))?.to_vec::<u8>()?, [2, 3, 5, 6]);
/// assert_eq!(array.slice((-1, ..=-2))?.to_vec::<u8>()?, [4, 5]);
/// assert_eq!(array.slice((SliceItem::Ellipsis, SliceItem::every(-2)))?.to_vec::<u8>()?, [3, 1, 6, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no index expression",
    label = "not an integer, a range, a `SliceItem`, nor a tuple, an array or `s![…]` of them",
    note = "write `1..`, `(.., -1)` or `s![..;2, -1]`; integers are `isize`, `i32` or `usize`"
)]
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

/// The items of an index expression as a reference to an array of [`SliceItem`], written almost as in Python.
///
/// | in Python | in `s![…]` |
/// |---|---|
/// | `i`, `-1` | `i`, `-1` |
/// | `1:`, `:-1`, `1:3`, `:` | `1..`, `..-1`, `1..3`, `..` |
/// | `1::2`, `::-1`, `3::-1` | `1..;2`, `..;-1`, `3..;-1` |
/// | `3:0:-1` | `SliceItem::range(3, 0, -1)`: Clippy refuses `3..0` |
/// | `...` | `...` |
/// | `None` | `NewAxis` |
///
/// Variables of type [`SliceItem`] are items, too. A negative step goes from the start of the range to its end, as in Python; in the macro
/// of `ndarray` it goes from the end of the range to its start.
///
/// ```
/// use usm_array::{UsmArray, s, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.slice(s![.., ..;-1])?.to_vec::<u8>()?, [3, 2, 1, 6, 5, 4]);
/// assert_eq!(array.slice(s![-1, 0..;2])?.to_vec::<u8>()?, [4, 6]);
/// assert_eq!(array.slice(s![..., NewAxis, 1])?.shape(), [2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! s {
    // The items that are done are in the brackets.
    (@items [$($done:expr,)*]) => { &[$($done),*] };
    (@items [$($done:expr,)*] ... $(, $($rest:tt)*)?) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::Ellipsis,] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] NewAxis $(, $($rest:tt)*)?) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::NewAxis,] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $range:expr ; $step:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::stepped($range, $step),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::from($item),] $($($rest)*)?)
    };
    ($($items:tt)*) => { $crate::s!(@items [] $($items)*) };
}

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
    #[expect(clippy::reversed_empty_ranges, reason = "the step is negative")]
    fn ranges_with_steps_go_from_their_start_to_their_end() {
        let item = |start, stop, step| SliceItem::Slice { start, stop, step };
        assert_eq!(SliceItem::stepped(7.., -2), item(Some(7), None, -2));
        assert_eq!(SliceItem::stepped(7..2, -2), item(Some(7), Some(2), -2));
        assert_eq!(SliceItem::stepped(7..=2, -2), item(Some(7), Some(1), -2));
        assert_eq!(SliceItem::stepped(7..=0, -2), item(Some(7), None, -2), "not ..-1, the last element");
        assert_eq!(SliceItem::stepped(..=-1, -1), item(None, Some(-2), -1));
        assert_eq!(SliceItem::stepped(..=isize::MIN, -1), item(None, None, -1));
        assert_eq!(SliceItem::stepped(..=-1, 3), item(None, None, 3));
        assert_eq!(SliceItem::stepped(.., 0), item(None, None, 0), "refused where it is used");
        assert_eq!(SliceItem::range(None, -3, 2), item(None, Some(-3), 2));
    }

    #[test]
    fn the_macro_writes_all_items() {
        let (i, row) = (3_usize, SliceItem::every(5));
        let items: &[SliceItem; 9] =
            s![1, -i.cast_signed(), row, ..., NewAxis, 2..;-3, ..;2, .., ..=i - 1;2,];
        let expected = [
            SliceItem::Index(1),
            SliceItem::Index(-3),
            row,
            SliceItem::Ellipsis,
            SliceItem::NewAxis,
            SliceItem::range(2, None, -3),
            SliceItem::every(2),
            SliceItem::FULL,
            SliceItem::range(None, 3, 2),
        ];
        assert_eq!(*items, expected);
        let none: &[SliceItem; 0] = s![];
        assert!(none.is_empty());
    }

    #[test]
    fn integers_that_no_axis_reaches_stay_outside() {
        assert_eq!(SliceItem::from(usize::MAX), SliceItem::Index(isize::MAX));
        assert_eq!(SliceItem::from(0..usize::MAX), slice(Some(0), Some(isize::MAX)));
    }
}
