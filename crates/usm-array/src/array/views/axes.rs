//! The axes in another order, other directions, more or fewer of them

use crate::array::UsmArray;
use crate::error::Result;

impl UsmArray {
    /// The axes in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.view_of(self.layout.transpose())
    }

    /// The axes in the given order: axis `k` of the result is axis `axes[k]` of this array. Negative axes count from the last.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): not each axis exactly once, see [`Layout::permute`](crate::Layout::permute)
    pub fn permute(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.view_of(self.layout.permute(axes)?))
    }

    /// The last two axes exchanged: a stack of matrices, each transposed.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): fewer than two axes
    pub fn matrix_transpose(&self) -> Result<Self> {
        Ok(self.view_of(self.layout.matrix_transpose()?))
    }

    /// Two axes exchanged.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3, 4], Dtype::F32)?;
    /// assert_eq!(array.swapaxes(0, -1)?.shape(), [4, 3, 2]);
    /// assert_eq!(array.moveaxis(&[0], &[-1])?.shape(), [3, 4, 2]);
    /// assert_eq!(array.expand_dims(&[0])?.squeeze(None)?.shape(), array.shape());
    /// assert!(array.swapaxes(0, 3).is_err(), "there are three axes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn swapaxes(&self, axis1: isize, axis2: isize) -> Result<Self> {
        Ok(self.view_of(self.layout.swapaxes(axis1, axis2)?))
    }

    /// Axis `source[k]` at place `destination[k]`, the others in their order in the places that are left.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::moveaxis`](crate::Layout::moveaxis)
    pub fn moveaxis(&self, source: &[isize], destination: &[isize]) -> Result<Self> {
        Ok(self.view_of(self.layout.moveaxis(source, destination)?))
    }

    /// New axes of size 1 at the given places of the result. Negative places count from the last axis of the result.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::expand_dims`](crate::Layout::expand_dims)
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.view_of(self.layout.expand_dims(axes)?))
    }

    /// Without the given axes of size 1, or without all of them.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::squeeze`](crate::Layout::squeeze)
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.view_of(self.layout.squeeze(axes)?))
    }

    /// The elements in reverse order along the given axes, or along all of them.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or one twice
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.view_of(self.layout.flip(axes)?))
    }

    /// Rotated by `k` quarters, from the first towards the second of two axes; a negative `k` rotates back.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or one twice
    pub fn rot90(&self, k: isize, axes: [isize; 2]) -> Result<Self> {
        Ok(self.view_of(self.layout.rot90(k, axes)?))
    }

    /// The arrays at the places along one axis, from the first to the last; the axis itself goes away.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn unstack(&self, axis: isize) -> Result<impl ExactSizeIterator<Item = Self>> {
        Ok(self.layout.unstack(axis)?.map(|layout| self.view_of(layout)))
    }
}
