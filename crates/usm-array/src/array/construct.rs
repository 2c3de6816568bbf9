//! The one place where the bounds of an array are proved

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use usm_memory::UsmBuffer;

use super::UsmArray;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;

impl UsmArray {
    /// An array over a buffer, with a layout whose offset counts from the start of the buffer.
    ///
    /// `origin` is the number of elements from the start of the buffer to the address that the
    /// interface publishes, 0 if there is no reason for another one. An array without elements
    /// fits any buffer.
    ///
    /// # Errors
    /// - [`Error::OutOfBuffer`]: an element would lie outside the buffer
    /// - [`Error::BufferMisaligned`]: the buffer is not aligned for the dtype
    /// - [`Error::TooManyBytes`]: the elements side by side exceed `isize::MAX` bytes
    /// - [`Error::NoAddress`]: origin or offset lead out of the address space
    pub fn from_parts(buffer: UsmBuffer, dtype: Dtype, layout: Layout, origin: isize) -> Result<Self> {
        let made = Self { buffer, dtype, layout, origin };
        made.check()?;
        Ok(made)
    }

    /// A quick check of A1 to A4 for the common case: the elements are among the `reach` ones from the offset on,
    /// and the array publishes the start of its memory.
    pub(super) fn is_surely_valid(&self, reach: usize) -> bool {
        let Self { buffer, dtype, layout, origin } = self;
        let buffer_len = buffer.len_bytes() >> dtype.itemsize_bytes().trailing_zeros();
        // Within the memory, so no number of bytes is too large (A3), and every place has an address (A4).
        let end = usize::try_from(layout.offset()).ok().and_then(|offset| offset.checked_add(reach));
        *origin == 0
            && end.is_some_and(|end| end <= buffer_len)
            && buffer.address() & dtype.align_bytes().wrapping_sub(1) == 0
    }

    /// Whether A1 to A4 hold, or which one does not.
    pub(super) fn check(&self) -> Result<()> {
        let Self { buffer, dtype, layout, origin } = self;
        let (dtype, origin) = (*dtype, *origin);
        check_bounds(layout, dtype, buffer.len_bytes())?; // A1, A3
        let address = buffer.address();
        if address & dtype.align_bytes().wrapping_sub(1) != 0 {
            return Err(Error::BufferMisaligned { address, dtype });
        }
        // A4: the addresses exist, and no two places are too far from each other to count.
        let published = address_of(address, origin, dtype).filter(|&published| published != 0);
        let zero = address_of(address, layout.offset(), dtype);
        let distance = layout.offset().checked_sub(origin);
        let reach = origin.unsigned_abs().checked_add(buffer.len_bytes());
        let reach = reach.filter(|&reach| isize::try_from(reach).is_ok());
        if published.is_none() || zero.is_none() || distance.is_none() || reach.is_none() {
            return Err(Error::NoAddress { origin, offset: layout.offset(), dtype, buffer_address: address });
        }
        Ok(())
    }
}

/// A1 and A3 for a buffer of the given length.
pub(crate) fn check_bounds(layout: &Layout, dtype: Dtype, buffer_len_bytes: usize) -> Result<()> {
    if layout.size_bytes(dtype).is_none() {
        return Err(Error::TooManyBytes { shape: layout.shape().to_vec(), len: layout.size(), dtype });
    }
    let Some(extent) = layout.extent_with_offset() else {
        return Ok(());
    };
    // Whole elements that fit: a last one cut off by the end does not count. Sizes are powers of two, of which the compiler does not
    // know, and a division takes as long as all the rest.
    let buffer_len = buffer_len_bytes >> dtype.itemsize_bytes().trailing_zeros();
    let highest = usize::try_from(extent.max);
    if extent.min >= 0 && highest.is_ok_and(|highest| highest < buffer_len) {
        return Ok(());
    }
    Err(Error::OutOfBuffer {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
        offset: layout.offset(),
        min: extent.min,
        max: extent.max,
        itemsize_bytes: dtype.itemsize_bytes(),
        buffer_len_bytes,
    })
}

/// The address some elements away from another, if there is one.
pub(super) fn address_of(base: usize, elements: isize, dtype: Dtype) -> Option<usize> {
    let itemsize = isize::try_from(dtype.itemsize_bytes()).ok()?;
    base.checked_add_signed(elements.checked_mul(itemsize)?)
}
