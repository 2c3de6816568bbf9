//! Other shapes over the same memory: broadcasting, reshaping, windows, diagonals, any strides

use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{LayoutError, Order, Overlap, broadcast_shapes};

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

    /// The same elements in the given order with another shape, in the same memory. One size may be -1, it follows from the
    /// others.
    ///
    /// ```
    /// use usm_array::{Order, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// let view = array.reshape_view(&[3, -1], Order::C)?;
    /// assert_eq!(view.shape(), [3, 2]);
    /// assert!(array.transpose().reshape_view(&[-1], Order::C).is_err(), "would need a copy");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): with [`LayoutError::NeedsCopy`] if no strides can say where the elements are;
    ///   else see [`Layout::reshape_view`](crate::Layout::reshape_view)
    pub fn reshape_view(&self, shape: &[isize], order: Order) -> Result<Self> {
        let needs_copy = || LayoutError::NeedsCopy {
            shape: self.shape().to_vec(),
            strides: self.strides().to_vec(),
            to: shape.to_vec(),
        };
        Ok(self.try_reshape_view(shape, order)?.ok_or_else(needs_copy)?)
    }

    /// As [`reshape_view`](Self::reshape_view), but `None` if no strides can say where the elements are.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::reshape_view`](crate::Layout::reshape_view)
    pub fn try_reshape_view(&self, shape: &[isize], order: Order) -> Result<Option<Self>> {
        Ok(self.layout.reshape_view(shape, order)?.map(|layout| self.view_of(layout)))
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
    /// - [`Error::Layout`](crate::Error::Layout): with [`LayoutError::OutsideSpan`] if an element would lie outside; else see
    ///   [`Layout::as_strided`](crate::Layout::as_strided)
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): the elements count more than `isize::MAX` bytes
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: isize) -> Result<Self> {
        let layout = self.layout.as_strided(shape, strides, offset)?;
        let view = self.larger_view_of(layout, self.buffer.clone())?;
        let overlaps = view.layout.internal_overlap(Overlap::DEFAULT_WORK_LIMIT).is_possible();
        Ok(if overlaps { view.read_only() } else { view })
    }
}
