//! Other arrays over the same memory; no element is touched

use super::UsmArray;
use crate::error::{Error, Result};
use crate::layout::{Layout, SliceItem};

impl UsmArray {
    /// Some of the elements, with the meaning of Python's `array[items]`.
    ///
    /// # Errors
    /// - [`Error::Layout`]: see [`Layout::slice`]
    pub fn slice(&self, items: &[SliceItem]) -> Result<Self> {
        Ok(self.view_of(self.layout.slice(items)?))
    }

    /// The axes in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.view_of(self.layout.transpose())
    }

    /// The axes in the given order: axis `k` of the result is axis `axes[k]` of this array.
    ///
    /// # Errors
    /// - [`Error::Layout`]: not each axis exactly once
    pub fn permute(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.view_of(self.layout.permute(axes)?))
    }

    /// The array repeated to a larger shape with stride 0. The result is read-only, as one
    /// element is then at many indices.
    ///
    /// # Errors
    /// - [`Error::Layout`]: see [`Layout::broadcast_to`]
    /// - [`Error::TooManyBytes`]: the repeated array counts more than `isize::MAX` bytes
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.broadcast_to(shape)?;
        if layout.size_bytes(self.dtype).is_none() {
            return Err(Error::TooManyBytes { shape: shape.to_vec(), len: layout.size(), dtype: self.dtype });
        }
        Ok(self.view_of(layout).read_only())
    }

    /// The same array, through which nothing can be written, nor through its buffer or any view.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self {
            buffer: self.buffer.read_only(),
            dtype: self.dtype,
            layout: self.layout.clone(),
            origin: self.origin,
        }
    }

    /// An array over the same buffer.
    ///
    /// The layout must come from this array's by the operations of [`Layout`] and must not have
    /// more bytes than `isize::MAX` (A3). Its elements are then elements of this array (A1), and
    /// its offset is that of one of them, or unchanged if there is none (A4).
    fn view_of(&self, layout: Layout) -> Self {
        Self { buffer: self.buffer.clone(), dtype: self.dtype, layout, origin: self.origin }
    }
}
