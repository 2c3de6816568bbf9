//! An array repeated as a whole

use super::follow::put;
use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{LayoutError, Order, SliceItem};

impl UsmArray {
    /// The array laid side by side `repetitions[k]` times along axis `k`. The shorter one of repetitions and shape is filled up with
    /// leading ones.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1_u8, 2])?;
    /// let tiled = array.tile(&[2, 2])?;
    /// assert_eq!(tiled.shape(), [2, 4]);
    /// assert_eq!(tiled.to_vec::<u8>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): more axes or elements than an array can have
    /// - the errors of [`UsmArray::copy`]
    pub fn tile(&self, repetitions: &[usize]) -> Result<Self> {
        let ndim = repetitions.len().max(self.ndim());
        let padded = |sizes: &[usize]| [&[1].repeat(ndim - sizes.len()), sizes].concat();
        let (shape, repetitions) = (padded(self.shape()), padded(repetitions));
        let axes = || shape.iter().zip(&repetitions);
        let sizes: Vec<usize> = axes().map(|(&size, &times)| size.saturating_mul(times)).collect();
        if axes().any(|(&size, &times)| size.checked_mul(times).is_none()) {
            return Err(LayoutError::TooManyElements { shape: sizes }.into());
        }
        let result = Self::empty(self.queue(), self.kind(), &sizes, self.dtype())?;
        if result.is_empty() {
            return Ok(result);
        }
        // Each axis of the result as one of the repetitions and one of the array. Axes of size 1 are left out, so that there
        // are at most 63 with elements to copy.
        let (mut split, mut items) = (Vec::new(), Vec::new());
        for (axis, (&size, &times)) in axes().enumerate() {
            if times > 1 {
                split.push(times.cast_signed());
                items.push(SliceItem::NewAxis);
            }
            if size > 1 {
                split.push(size.cast_signed());
                items.push(SliceItem::FULL);
            } else if axis >= ndim - self.ndim() {
                items.push(SliceItem::Index(0));
            }
        }
        put(&result.reshape_view(&split, Order::C)?, &self.slice(&items)?)?;
        Ok(result)
    }
}
