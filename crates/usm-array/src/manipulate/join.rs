//! Arrays joined along an axis of theirs, or along a new one

use super::follow::{Followed, put};
use crate::array::UsmArray;
use crate::error::{ManipulateError, Result};
use crate::layout::{Axes, Layout, SliceItem, normalise_axis};

impl UsmArray {
    /// Arrays joined one behind the other along an axis, or without one all their elements in row-major order.
    ///
    /// The dtype is the promoted one, and the kind [`coerced_kind`](crate::coerced_kind) of the kinds. Axes that are in one order of memory
    /// in all arrays are in this order in the result, too, as in NumPy: joined transposes are copied without a transposition.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let a = UsmArray::from_nested(&queue, UsmKind::Device, &[[1_u8, 2], [3, 4]])?;
    /// let b = UsmArray::from_nested(&queue, UsmKind::Host, &[[5_i8], [6]])?;
    /// let joined = UsmArray::concat(&[&a, &b], Some(1))?;
    /// assert_eq!((joined.shape(), joined.kind()), (&[2, 3][..], UsmKind::Device));
    /// assert_eq!(joined.to_vec::<i16>()?, [1, 2, 5, 3, 4, 6]);
    /// assert_eq!(UsmArray::concat(&[&a, &b], None)?.to_vec::<i16>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ManipulateError::NoArrays`], [`ManipulateError::QueuesDiffer`]: no arrays, or of several queues
    /// - [`ManipulateError::NdimDiffers`], [`ManipulateError::SizeDiffers`]: shapes that differ in more than the axis
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or too many elements
    /// - the errors of [`UsmArray::copy`]
    pub fn concat(arrays: &[&Self], axis: Option<isize>) -> Result<Self> {
        let followed = Followed::data(arrays)?;
        let first = followed.first;
        let Some(axis) = axis else {
            return flat(&followed, arrays);
        };
        let axis = normalise_axis("axis", axis, first.ndim())?;
        check_shapes(arrays, Some(axis))?;
        let mut shape = first.shape().to_vec();
        shape[axis] = total(arrays.iter().map(|array| array.shape()[axis]));
        let result = match common_memory_order(arrays) {
            None => followed.empty(&shape)?,
            Some(axes) => {
                let ordered: Vec<_> = axes.iter().map(|&axis| shape[axis.cast_unsigned()]).collect();
                let places: Vec<_> = (0..axes.len().cast_signed()).collect();
                followed.empty(&ordered)?.moveaxis(&places, &axes)?
            }
        };
        let mut items = vec![SliceItem::FULL; axis + 1];
        let mut start = 0;
        for array in arrays {
            let stop = start + array.shape()[axis];
            items[axis] = SliceItem::between(start, stop);
            put(&result.slice(&items)?, array)?;
            start = stop;
        }
        Ok(result)
    }

    /// Arrays of one shape joined along a new axis, at the given place in the result.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let a = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1_u8, 2, 3])?;
    /// let b = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[4_u8, 5, 6])?;
    /// let stacked = UsmArray::stack(&[&a, &b], -1)?;
    /// assert_eq!(stacked.shape(), [3, 2]);
    /// assert_eq!(stacked.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArray::concat`].
    pub fn stack(arrays: &[&Self], axis: isize) -> Result<Self> {
        let followed = Followed::data(arrays)?;
        let mut shape = followed.first.shape().to_vec();
        let place = normalise_axis("axis", axis, shape.len() + 1)?;
        check_shapes(arrays, None)?;
        shape.insert(place, arrays.len());
        let result = followed.empty(&shape)?;
        result.unstack(axis)?.zip(arrays).try_for_each(|(target, array)| put(&target, array))?;
        Ok(result)
    }
}

/// The order of memory that the axes of all arrays have, where it is not row-major. Repeated axes have none.
fn common_memory_order(arrays: &[&UsmArray]) -> Option<Axes<isize>> {
    let layouts = || arrays.iter().map(|array| array.layout());
    let axes = layouts().next()?.memory_order();
    let is_repeated = |layout: &Layout| {
        layout.shape().iter().zip(layout.strides()).any(|(&size, &stride)| size > 1 && stride == 0)
    };
    let is_common = layouts().all(|layout| !is_repeated(layout) && layout.memory_order() == axes);
    (is_common && !axes.is_sorted()).then_some(axes)
}

/// All elements in row-major order, one array after the other.
fn flat(followed: &Followed<'_>, arrays: &[&UsmArray]) -> Result<UsmArray> {
    let result = followed.empty(&[total(arrays.iter().map(|array| array.size()))])?;
    let mut start = 0;
    for array in arrays.iter().filter(|array| !array.is_empty()) {
        let stop = start + array.size();
        let part = result.slice(&[SliceItem::between(start, stop)])?;
        put(&part.reshape_view(&signed(array.shape()), crate::layout::Order::C)?, array)?;
        start = stop;
    }
    Ok(result)
}

/// As the product of a shape, a sum that does not fit is refused by the layout.
fn total(mut sizes: impl Iterator<Item = usize>) -> usize {
    sizes.try_fold(0_usize, |sum, size| sum.checked_add(size)).unwrap_or(usize::MAX)
}

/// A shape in the form for [`UsmArray::reshape`]. Sizes fit by L2 of the layout they are from.
pub(super) fn signed(shape: &[usize]) -> Vec<isize> {
    shape.iter().map(|&size| size.cast_signed()).collect()
}

/// Refuses shapes other than the first one, in axes other than the given one.
fn check_shapes(arrays: &[&UsmArray], except: Option<usize>) -> Result<()> {
    let expected = arrays.first().map_or(&[][..], |array| array.shape());
    for (place, array) in arrays.iter().enumerate() {
        if array.ndim() != expected.len() {
            let (found, expected) = (array.ndim(), expected.len());
            return Err(ManipulateError::NdimDiffers { place, found, expected }.into());
        }
        for (axis, (&found, &expected)) in array.shape().iter().zip(expected).enumerate() {
            if found != expected && Some(axis) != except {
                return Err(ManipulateError::SizeDiffers { place, axis, found, expected }.into());
            }
        }
    }
    Ok(())
}
