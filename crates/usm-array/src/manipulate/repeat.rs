//! Each element repeated along an axis

use super::follow::{check_queues, put};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::Dtype;
use crate::error::{ManipulateError, Result};
use crate::index::IndexMode;
use crate::kernel_engine::is_for_kernels;
use crate::layout::{LayoutError, Order, SliceItem, normalise_axis};
use crate::view::zeroed_vec;

/// Places along the axis whose elements are fewer bytes pass through the host together, others are copied one by one.
const SMALL_PLACE_BYTES: usize = 16 << 10;
const PIECE_BYTES: usize = 256 << 10;

/// How often the elements at each place along an axis are repeated.
#[derive(Clone, Copy, Debug)]
pub enum Repeats<'a> {
    /// Each as often
    Each(usize),
    /// A count for each place, or one for all
    Counts(&'a [usize]),
    /// The same, integers in an array of at most one axis and of the same queue
    Array(&'a UsmArray),
}

impl UsmArray {
    /// Each element repeated along an axis, or without one each of all elements in row-major order.
    ///
    /// ```
    /// use usm_array::{Repeats, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_nested(&queue, UsmKind::Device, &[[1_u8, 2], [3, 4]])?;
    /// assert_eq!(array.repeat(Repeats::Each(2), None)?.to_vec::<u8>()?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// let counted = array.repeat(Repeats::Counts(&[0, 3]), Some(1))?;
    /// assert_eq!(counted.to_vec::<u8>()?, [2, 2, 2, 4, 4, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ManipulateError::CountsLength`], [`ManipulateError::NotCounts`], [`ManipulateError::NegativeCount`]: counts that are not
    ///   one, or one for each place; no integers; negative ones
    /// - [`ManipulateError::QueuesDiffer`]: counts in an array of another queue
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or more elements than an array can have
    /// - the errors of [`UsmArray::copy`]
    pub fn repeat(&self, repeats: Repeats<'_>, axis: Option<isize>) -> Result<Self> {
        let Some(axis) = axis else {
            return self.reshape(&[-1], Order::C, CopyMode::IfNeeded)?.repeat(repeats, Some(0));
        };
        let axis = normalise_axis("axis", axis, self.ndim())?;
        match repeats {
            Repeats::Each(times) => self.repeat_each(times, axis),
            Repeats::Counts(&[times]) => self.repeat_each(times, axis),
            Repeats::Counts(counts) => self.repeat_counted(counts, axis),
            Repeats::Array(array) => {
                check_queues([("x", self.into()), ("repeats", array.into())])?;
                self.repeat(Repeats::Counts(&counts_of(array)?), Some(axis.cast_signed()))
            }
        }
    }

    fn repeat_each(&self, times: usize, axis: usize) -> Result<Self> {
        let size = self.shape()[axis];
        let result = self.empty_with(axis, size.checked_mul(times))?;
        if result.is_empty() {
            return Ok(result);
        }
        // The axis as one of its places and one of the repetitions; without the axes of size 1 there are at most 63.
        let (mut split, mut items) = (Vec::new(), Vec::new());
        for (other, &size) in self.shape().iter().enumerate() {
            if size > 1 {
                split.push(size.cast_signed());
                items.push(SliceItem::FULL);
            } else {
                items.push(SliceItem::Index(0));
            }
            if other == axis && times > 1 {
                split.push(times.cast_signed());
                items.push(SliceItem::NewAxis);
            }
        }
        put(&result.reshape_view(&split, Order::C)?, &self.slice(&items)?)?;
        Ok(result)
    }

    fn repeat_counted(&self, counts: &[usize], axis: usize) -> Result<Self> {
        let size = self.shape()[axis];
        if counts.len() != size {
            return Err(ManipulateError::CountsLength { found: counts.len(), size }.into());
        }
        let total = counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count));
        let result = self.empty_with(axis, total)?;
        if result.is_empty() {
            return Ok(result);
        }
        if is_for_kernels(self) {
            let repeated = |(place, &count)| std::iter::repeat_n(place as i64, count);
            let places: Vec<i64> = counts.iter().enumerate().flat_map(repeated).collect();
            return self.take(&places[..], Some(axis.cast_signed()), IndexMode::Raise);
        }
        let place_bytes = self.size_bytes() / size;
        let mut items = vec![SliceItem::FULL; axis + 1];
        let mut part = |array: &Self, start, stop| {
            items[axis] = SliceItem::between(start, stop);
            array.slice(&items)
        };
        let (mut place, mut target) = (0, 0);
        while place < size {
            // As many places as make a piece, at least one.
            let (mut stop, mut len) = (place + 1, counts[place]);
            let fits = |len: usize| len.saturating_mul(place_bytes) <= PIECE_BYTES;
            while place_bytes < SMALL_PLACE_BYTES
                && stop < size
                && fits(len + counts[stop])
                && fits(stop + 1 - place)
            {
                len += counts[stop]; // at most the total
                stop += 1;
            }
            if len > 0 {
                let source = part(self, place, stop)?;
                let target = part(&result, target, target + len)?;
                match stop - place {
                    1 => put(&target, &source)?,
                    _ => through_host(&target, &source, &counts[place..stop], axis)?,
                }
            }
            (place, target) = (stop, target + len);
        }
        Ok(result)
    }

    /// A new array with another size of one axis; `None` is one that does not fit.
    fn empty_with(&self, axis: usize, size: Option<usize>) -> Result<Self> {
        let mut shape = self.shape().to_vec();
        shape[axis] = size.unwrap_or(usize::MAX);
        if size.is_none() {
            return Err(LayoutError::TooManyElements { shape }.into());
        }
        Self::empty(self.queue(), self.kind(), &shape, self.dtype())
    }
}

/// Repeats places in host memory.
fn through_host(target: &UsmArray, source: &UsmArray, counts: &[usize], axis: usize) -> Result<()> {
    let inner_bytes = source.shape()[axis + 1..].iter().product::<usize>() * source.itemsize_bytes();
    let mut bytes = zeroed_vec::<u8>(target.size_bytes())?;
    let mut rest = &mut bytes[..];
    for (run, count) in source.to_bytes()?.chunks_exact(inner_bytes).zip(counts.iter().cycle()) {
        let (repeated, behind) = rest.split_at_mut(count * inner_bytes);
        repeated.chunks_exact_mut(inner_bytes).for_each(|copy| copy.copy_from_slice(run));
        rest = behind;
    }
    target.copy_from_host_contiguous(&bytes)
}

fn counts_of(array: &UsmArray) -> Result<Vec<usize>> {
    let (dtype, ndim) = (array.dtype(), array.ndim());
    if ndim > 1 || !dtype.is_integer() {
        return Err(ManipulateError::NotCounts { dtype, ndim }.into());
    }
    if dtype.kind() == 'u' {
        let counts = array.astype(Dtype::U64, CopyMode::IfNeeded)?.to_vec::<u64>()?;
        return Ok(counts.into_iter().map(|count| usize::try_from(count).unwrap_or(usize::MAX)).collect());
    }
    let counts = array.astype(Dtype::I64, CopyMode::IfNeeded)?.to_vec::<i64>()?;
    let checked = counts.into_iter().enumerate().map(|(place, count)| {
        usize::try_from(count).map_err(|_| ManipulateError::NegativeCount { place, count }.into())
    });
    checked.collect()
}
