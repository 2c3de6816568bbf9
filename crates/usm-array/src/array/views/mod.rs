//! Other arrays over the same memory; no element is touched
//!
//! | file | job |
//! |---|---|
//! | `axes.rs` | the axes in another order, other directions, more or fewer of them |
//! | `reshape.rs` | another shape of the same elements |
//! | `strided.rs` | broadcasting, windows, diagonals, any strides |
//! | `reinterpret.rs` | real and imaginary parts, the bytes as another dtype |
//! | `sharing.rs` | whether arrays share memory |
//!
//! # Which views can be written
//! 1. A view of a read-only array is read-only, however long the chain.
//! 2. [`UsmArray::broadcast_to`], [`UsmArray::broadcast_arrays`] and [`UsmArray::sliding_window_view`] give read-only arrays, as
//!    in NumPy: one element may be at many indices.
//! 3. [`UsmArray::as_strided`] gives a read-only array unless it is certain that no element is at two indices.
//! 4. Every other view can be written if its array can, also [`UsmArray::diagonal`], which NumPy makes read-only for historical
//!    reasons.

mod axes;
mod reinterpret;
mod reshape;
mod sharing;
mod strided;

use usm_memory::UsmBuffer;
use usm_memory::usm_core::Queue;

use super::UsmArray;
use crate::error::{Error, Result};
use crate::layout::{Layout, SliceItem, SliceItems};

impl UsmArray {
    /// Some of the elements, with the meaning of Python's `array[items]`.
    ///
    /// ```
    /// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// let view = array.slice((-1, SliceItem::every(-2)))?; // array[-1, ::-2]
    /// assert_eq!((view.strides(), view.to_vec::<u8>()?), (&[-2][..], vec![6, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`]: see [`Layout::slice`]
    pub fn slice(&self, items: impl SliceItems) -> Result<Self> {
        items.with_items(|items| {
            let mut view = self.clone();
            view.narrow(items)?;
            Ok(view)
        })
    }

    /// As [`slice`](Self::slice), in a box, where the view is made and stays: for objects that hold arrays, which are moved often.
    ///
    /// # Errors
    /// The errors of [`slice`](Self::slice).
    pub fn slice_boxed(&self, items: &[SliceItem]) -> Result<Box<Self>> {
        if let &[SliceItem::Index(index)] = items {
            let offset = self.layout.offset_at(index)?;
            return Ok(self.boxed_as(|layout| layout.without_first_axis(offset)));
        }
        let mut view = self.boxed();
        view.narrow(items)?;
        Ok(view)
    }

    /// As [`transpose`](Self::transpose), in a box, where the view is made and stays.
    #[must_use]
    pub fn transpose_boxed(&self) -> Box<Self> {
        let mut view = self.boxed();
        view.layout.reverse_axes();
        view
    }

    #[inline]
    fn boxed(&self) -> Box<Self> {
        self.boxed_as(Layout::clone)
    }

    /// For layouts as those of `view_of`.
    #[inline(always)]
    fn boxed_as(&self, layout: impl FnOnce(&Layout) -> Layout) -> Box<Self> {
        let place = Box::new_uninit();
        let Self { buffer, dtype, origin, .. } = self;
        let (buffer, layout) = (buffer.clone(), layout(&self.layout));
        // Field by field into its place: an array that was just made elsewhere takes 9 ns to copy.
        Box::write(place, Self { buffer, dtype: *dtype, layout, origin: *origin })
    }

    /// Sets this value to the view, for which A1 to A4 hold as in `view_of`. After an error the value is invalid.
    fn narrow(&mut self, items: &[SliceItem]) -> Result<()> {
        Ok(self.layout.narrow(items)?)
    }

    /// The same array, read-only, like its buffer and all its views.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self {
            buffer: self.buffer.read_only(),
            dtype: self.dtype,
            layout: self.layout.clone(),
            origin: self.origin,
        }
    }

    /// The same elements, whose copies are submitted to another queue of the context.
    ///
    /// # Errors
    /// - [`Error::Memory`]: the queue is of another context
    pub fn on_queue(&self, queue: &Queue) -> Result<Self> {
        let buffer = self.buffer.on_queue(queue)?;
        Ok(Self { buffer, dtype: self.dtype, layout: self.layout.clone(), origin: self.origin })
    }

    /// An array over the same buffer.
    ///
    /// The layout must come from this array's by the operations of [`Layout`] and must not have
    /// more bytes than `isize::MAX` (A3). Its elements are then elements of this array or lie between them (A1), and
    /// its offset is that of one of them, or unchanged if there is none (A4).
    fn view_of(&self, layout: Layout) -> Self {
        Self { buffer: self.buffer.clone(), dtype: self.dtype, layout, origin: self.origin }
    }

    /// As `view_of`, for layouts with more elements than this array's: A3 is checked. The buffer is this array's, or that without write
    /// access.
    fn larger_view_of(&self, layout: Layout, buffer: UsmBuffer) -> Result<Self> {
        if layout.size_bytes(self.dtype).is_none() {
            let (shape, len) = (layout.shape().to_vec(), layout.size());
            return Err(Error::TooManyBytes { shape, len, dtype: self.dtype });
        }
        Ok(Self { buffer, dtype: self.dtype, layout, origin: self.origin })
    }
}
