//! Arrays to arrays, of any kinds and contexts, overlapping or not

use super::execute::{Source, Target, copy_elements};
use super::plan::CopyPlan;
use crate::array::UsmArray;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order, SliceItem};
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
    /// The two may be of any kinds and contexts. If they overlap, the result is as if the source
    /// had been copied first. If this array has several indices for one element, which of the
    /// values it gets is not specified.
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the source has another dtype
    /// - [`Error::ReadOnly`]: this array is read-only
    /// - [`Error::Layout`]: the source does not broadcast to this shape
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    /// - [`Error::OutOfHostMemory`]: no host memory for a copy through the host
    pub fn assign(&self, source: &Self) -> Result<()> {
        if source.dtype() != self.dtype() {
            return Err(Error::DtypeMismatch { found: source.dtype(), expected: self.dtype() });
        }
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        let broadcast = source.layout_from_lowest()?;
        let broadcast = without_leading_unit_axes(&broadcast, self.ndim())?.broadcast_to(self.shape())?;
        let own = self.layout_from_lowest()?;
        let Some(plan) = CopyPlan::new(&own, &broadcast) else {
            return Ok(());
        };
        if plan.is_one_run() {
            // Both are exactly the bytes they span. Buffers copy overlapping bytes correctly.
            let from = source.buffer().sub_buffer(source.byte_range().start, self.size_bytes())?;
            let to = self.buffer().sub_buffer(self.byte_range().start, self.size_bytes())?;
            return Ok(to.copy_from(&from)?);
        }
        let both_accessible = self.is_host_accessible() && source.is_host_accessible();
        if both_accessible && !spans_overlap(self, source) {
            let from = Source::lock(source)?;
            let to = Target::lock(self)?;
            return copy_elements(to, &own, &from, &broadcast, self.dtype());
        }
        let bytes = source.to_bytes()?;
        let contiguous = Layout::contiguous(source.shape(), Order::C)?;
        let contiguous = without_leading_unit_axes(&contiguous, self.ndim())?;
        self.write_elements(&bytes, &contiguous.broadcast_to(self.shape())?)
    }
}

/// At most `ndim` axes, as far as the first ones have size 1.
fn without_leading_unit_axes(layout: &Layout, ndim: usize) -> Result<Layout> {
    let excess = layout.ndim().saturating_sub(ndim);
    let units = layout.shape().iter().take(excess).take_while(|&&size| size == 1).count();
    Ok(layout.slice(&vec![SliceItem::Index(0); units])?)
}

/// True when the bytes two arrays span have a byte in common. Addresses tell, and not buffers: the
/// same foreign memory may be borrowed twice.
fn spans_overlap(a: &UsmArray, b: &UsmArray) -> bool {
    let addresses = |array: &UsmArray| {
        let range = array.byte_range();
        let start = array.buffer().address();
        start + range.start..start + range.end // inside the buffer, by A1
    };
    let (a, b) = (addresses(a), addresses(b));
    a.start < b.end && b.start < a.end
}
