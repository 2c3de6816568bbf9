//! Views by other strides: broadcasting, windows, diagonals, any strides

use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{Overlap, broadcast_shapes};

impl UsmArray {
    /// The array repeated to a larger shape with stride 0. The result is read-only, as one
    /// element is then at many indices.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::broadcast_to`](crate::Layout::broadcast_to)
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): the repeated array counts more than `isize::MAX` bytes
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        self.larger_view_of(self.layout.broadcast_to(shape)?, self.buffer.read_only())
    }

    /// Several arrays repeated to the shape they have in common, all of them read-only.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`broadcast_shapes`]
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): a repeated array counts more than `isize::MAX` bytes
    pub fn broadcast_arrays(arrays: &[&Self]) -> Result<Vec<Self>> {
        let shapes: Vec<&[usize]> = arrays.iter().map(|array| array.shape()).collect();
        let common = broadcast_shapes(&shapes)?;
        arrays.iter().map(|array| array.broadcast_to(&common)).collect()
    }

    /// All windows of the given shape, see [`Layout::sliding_window_view`](crate::Layout::sliding_window_view). The result is
    /// read-only, as one element is then in many windows.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): the window does not fit
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): the windows count more than `isize::MAX` bytes
    pub fn sliding_window_view(&self, window_shape: &[usize], axes: Option<&[isize]>) -> Result<Self> {
        let windows = self.layout.sliding_window_view(window_shape, axes)?;
        self.larger_view_of(windows, self.buffer.read_only())
    }

    /// The diagonals of the matrices of two axes, as the last axis behind the others, `offset` elements to the right of the
    /// main one. They can be written if this array can.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): not two different axes
    pub fn diagonal(&self, offset: isize, axis1: isize, axis2: isize) -> Result<Self> {
        Ok(self.view_of(self.layout.diagonal(offset, axis1, axis2)?))
    }

    /// Any shape and strides within the elements from the lowest to the highest of this array, gaps included. The offset counts
    /// from the element with index zero. The result is read-only unless it is certain that no element is at two indices.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): with [`LayoutError::OutsideSpan`](crate::LayoutError::OutsideSpan) if an element would lie outside; else see
    ///   [`Layout::as_strided`](crate::Layout::as_strided)
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): the elements count more than `isize::MAX` bytes
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: isize) -> Result<Self> {
        let layout = self.layout.as_strided(shape, strides, offset)?;
        let view = self.larger_view_of(layout, self.buffer.clone())?;
        let overlaps = view.layout.internal_overlap(Overlap::DEFAULT_WORK_LIMIT).is_possible();
        Ok(if overlaps { view.read_only() } else { view })
    }
}
