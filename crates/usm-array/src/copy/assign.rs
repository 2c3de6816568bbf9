//! Arrays to arrays, of any kinds, contexts and dtypes, overlapping or not

use super::cast::Cast;
use super::execute::assign;
use super::place::small_run;
use super::plan::CopyPlan;
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Casting, can_cast};
use crate::error::{Error, Result};
use crate::layout::{Layout, SliceItem};
use usm_memory::usm_core::{Queue, UsmKind};

impl UsmArray {
    /// A C-contiguous copy in memory of the same kind and queue.
    ///
    /// # Errors
    /// - [`Error::Memory`]: the allocation failed, the memory is borrowed for writing, or the
    ///   runtime failed
    /// - [`Error::OutOfHostMemory`]: no host memory for a copy through the host
    pub fn copy(&self) -> Result<Self> {
        self.copy_to(self.queue(), self.kind())
    }

    /// A C-contiguous copy in memory of the given kind, of the queue's context.
    ///
    /// # Errors
    /// As [`UsmArray::copy`].
    pub fn copy_to(&self, queue: &Queue, kind: UsmKind) -> Result<Self> {
        let copy = Self::empty(queue, kind, self.shape(), self.dtype())?;
        copy.assign(self)?;
        Ok(copy)
    }

    /// Copies the elements of another array of the same dtype, broadcast to this array's shape. As in NumPy, the source may have more
    /// axes than this array if the first ones have size 1.
    ///
    /// Where only devices reach both arrays, the copy is submitted to this array's queue as far as the queue can do it, and may be under way
    /// when this returns: reads by the host, exports, drops and later operations come after it ([`events`](Self::events)). Its error
    /// comes out of the next read of this array, or out of [`wait`](Self::wait). With memory that host code reaches, the copy is complete.
    ///
    /// The two may be of any kinds and contexts. If they overlap, the result is as if the source
    /// had been copied first. If this array has several indices for one element, which of the
    /// values it gets is not specified.
    ///
    /// # Errors
    /// - [`Error::SourceDtype`]: the source has another dtype
    /// - [`Error::ReadOnly`]: this array is read-only
    /// - [`Error::Layout`]: the source does not broadcast to this shape
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    /// - [`Error::OutOfHostMemory`]: no host memory for a copy through the host
    pub fn assign(&self, source: &Self) -> Result<()> {
        if source.dtype() != self.dtype() {
            return Err(Error::SourceDtype { found: source.dtype(), expected: self.dtype() });
        }
        self.assign_elements(source)
    }

    /// Copies the elements of another array of any dtype that [`can_cast`] to this array's, broadcast to this array's shape and
    /// cast in the same pass as by [`astype`](Self::astype).
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Casting, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let numbers = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[0.0_f64; 4])?;
    /// let row = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1_u8, 2])?;
    /// numbers.assign_cast(&row, Casting::Safe)?;
    /// assert_eq!(numbers.to_vec::<f64>()?, [1.0, 2.0, 1.0, 2.0]);
    /// assert!(row.assign_cast(&numbers, Casting::SameKind).is_err(), "real numbers are no integers");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::CastNotAllowed`]: the casting does not allow it
    /// - those of [`assign`](Self::assign) but the first
    pub fn assign_cast(&self, source: &Self, casting: Casting) -> Result<()> {
        let (from, to) = (source.dtype(), self.dtype());
        if !can_cast(from, to, casting) {
            return Err(Error::CastNotAllowed { from, to, casting });
        }
        self.assign_elements(source)
    }

    /// One value for all elements, or the elements of an array as by [`assign_cast`](Self::assign_cast).
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Casting, UsmArray};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[0.0, 0.0])?;
    /// array.assign_any(7, Casting::Unsafe)?;
    /// assert_eq!(array.to_vec::<f64>()?, [7.0, 7.0]);
    /// array.assign_any(&UsmArray::from_slice(&queue, UsmKind::Host, &[1], &[2_u8])?, Casting::Safe)?;
    /// assert_eq!(array.to_vec::<f64>()?, [2.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fill_scalar`](Self::fill_scalar), to which the casting means nothing, or of [`assign_cast`](Self::assign_cast).
    pub fn assign_any<'a>(&self, value: impl Into<ArrayOrScalar<'a>>, casting: Casting) -> Result<()> {
        match value.into() {
            ArrayOrScalar::Array(source) => self.assign_cast(source, casting),
            ArrayOrScalar::Scalar(value) => self.fill_scalar(value),
        }
    }

    fn assign_elements(&self, source: &Self) -> Result<()> {
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        if source.dtype() == self.dtype()
            && source.shape() == self.shape()
            && source.strides() == self.strides()
            && let (Some(from), Some(to)) = (small_run(source), small_run(self))
        {
            // Buffers copy overlapping bytes correctly.
            let from = source.buffer().sub_buffer(from.start, from.len())?;
            match self.buffer().sub_buffer(to.start, to.len())?.submit_copy_from(&from) {
                Err(error) if error.is_out_of_memory() => {} // a plan does with other memory
                copied => return Ok(copied?),
            }
        }
        let broadcast;
        let from = if source.shape() == self.shape() {
            source.layout()
        } else {
            broadcast =
                without_leading_unit_axes(source.layout(), self.ndim())?.broadcast_to(self.shape())?;
            &broadcast
        };
        let Some(plan) = CopyPlan::new(self.layout(), from) else {
            return Ok(());
        };
        assign(self, source, plan.counted_from_lowest(), Cast::new(source.dtype(), self.dtype()))
    }
}

/// At most `ndim` axes, as far as the first ones have size 1.
fn without_leading_unit_axes(layout: &Layout, ndim: usize) -> Result<Layout> {
    let excess = layout.ndim().saturating_sub(ndim);
    let units = layout.shape().iter().take(excess).take_while(|&&size| size == 1).count();
    if units == 0 {
        return Ok(layout.clone());
    }
    Ok(layout.slice(&vec![SliceItem::Index(0); units])?)
}
