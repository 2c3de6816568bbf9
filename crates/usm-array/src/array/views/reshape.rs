//! Another shape as a view
//!
//! `layout/reshape.rs` finds the strides. `manipulate/reshape_copy.rs` copies where there is no view.

use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{LayoutError, Order};

impl UsmArray {
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
}
