//! Another shape, by a copy where there is no view
//!
//! Views are made by `array/views/reshape.rs`, from layouts of `layout/reshape.rs`.

use super::follow::put;
use crate::array::{BufferSource, UsmArray};
use crate::copy::CopyMode;
use crate::error::Result;
use crate::layout::Order;

impl UsmArray {
    /// The same elements in the given order with another shape. One size may be -1: it follows from the others.
    ///
    /// Without a copy it is the view that [`reshape_view`](Self::reshape_view) gives. A copy is new memory of the same kind and
    /// queue, in the given order without gaps.
    ///
    /// ```
    /// use usm_array::{CopyMode, Order, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// assert_eq!(array.reshape(&[-1], Order::C, CopyMode::Never)?.address(), array.address());
    /// let transposed = array.transpose();
    /// assert!(transposed.reshape(&[-1], Order::C, CopyMode::Never).is_err());
    /// let copy = transposed.reshape(&[2, -1], Order::C, CopyMode::IfNeeded)?;
    /// assert_eq!(copy.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): with [`LayoutError::NeedsCopy`](crate::LayoutError::NeedsCopy) if a copy is needed
    ///   and not allowed; a shape of another number of elements
    /// - the errors of [`UsmArray::copy`]
    pub fn reshape(&self, shape: &[isize], order: Order, mode: CopyMode) -> Result<Self> {
        if mode == CopyMode::Never {
            return self.reshape_view(shape, order);
        }
        // Also before a copy that is wanted in any case, since it refuses wrong shapes.
        if let Some(view) = self.try_reshape_view(shape, order)?.filter(|_| mode == CopyMode::IfNeeded) {
            return Ok(view);
        }
        self.in_order(order)?.reshape_view(shape, order)
    }

    /// All elements in the given order along one axis, without gaps: a view if they are so in memory, else a copy.
    ///
    /// ```
    /// use usm_array::{Order, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// assert_eq!(array.ravel(Order::C)?.address(), array.address());
    /// assert_eq!(array.ravel(Order::F)?.to_vec::<u8>()?, [1, 3, 2, 4]);
    /// assert_ne!(array.flatten(Order::C)?.address(), array.address());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArray::copy`].
    pub fn ravel(&self, order: Order) -> Result<Self> {
        let dense = if order == Order::C { self.is_c_contiguous() } else { self.is_f_contiguous() };
        self.reshape(&[-1], order, if dense { CopyMode::IfNeeded } else { CopyMode::Always })
    }

    /// A copy of all elements in the given order along one axis.
    ///
    /// # Errors
    /// The errors of [`UsmArray::copy`].
    pub fn flatten(&self, order: Order) -> Result<Self> {
        self.reshape(&[-1], order, CopyMode::Always)
    }

    /// A copy without gaps in the given order.
    fn in_order(&self, order: Order) -> Result<Self> {
        let source = BufferSource::Allocate { kind: self.kind(), queue: self.queue() };
        let copy = Self::builder(self.shape(), self.dtype()).order(order).build(source)?;
        put(&copy, self)?;
        Ok(copy)
    }
}
