//! Every check on the numbers of an interface, before any of them is trusted

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::{InterfaceError, UsmArrayInterface};
use crate::dtype::Dtype;
use crate::layout::{Axes, Extent, Layout, LayoutError, Order};

/// The one version of the protocol.
pub const VERSION: i64 = 1;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSpan {
    /// Address of the first byte
    pub start_address: usize,
    /// Number of bytes; 0 for an array without elements
    pub len_bytes: usize,
}

/// An interface whose numbers are consistent. That there is memory at the span, and of which
/// kind, is still to be asked of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidInterface {
    dtype: Dtype,
    // Invariant V1: `layout.size() * itemsize` is at most `isize::MAX`.
    layout: Layout,
    // Invariant V2: Not zero, and a multiple of the dtype's alignment.
    address: usize,
    read_only: bool,
    // Invariant V3: Covers every byte of every element, first and last one exactly; its end is inside the
    //     address space and its length at most `isize::MAX`. Without elements it has length 0 and
    //     starts at the address.
    span: ByteSpan,
}

impl ValidInterface {
    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Shape, strides and offset, relative to the address.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The pointer as published; elements may lie below it.
    #[must_use]
    pub const fn address(&self) -> usize {
        self.address
    }

    /// True when the producer forbids writing.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The addresses from the first byte of the lowest to the last byte of the highest element.
    #[must_use]
    pub const fn span(&self) -> ByteSpan {
        self.span
    }

    /// Whether all elements lie within `len_bytes` bytes from `start_address` on.
    ///
    /// ```
    /// use usm_array::UsmArrayInterface;
    ///
    /// let (shape, typestr, strides) = (vec![4], "|f8".to_owned(), Some(vec![-2]));
    /// let (address, read_only, offset, version) = (0x1000, false, 7, 1);
    /// let found = UsmArrayInterface { shape, typestr, address, read_only, strides, offset, version };
    /// let valid = found.validate()?;
    /// assert!(valid.lies_within(0x1000, 64) && !valid.lies_within(0x1000, 63));
    /// # Ok::<(), usm_array::InterfaceError>(())
    /// ```
    #[must_use]
    pub fn lies_within(&self, start_address: usize, len_bytes: usize) -> bool {
        let skipped_bytes = self.span.start_address.checked_sub(start_address);
        let end = skipped_bytes.and_then(|skipped| skipped.checked_add(self.span.len_bytes));
        end.is_some_and(|end| end <= len_bytes)
    }
}

impl UsmArrayInterface {
    /// Checks all numbers and derives dtype, layout and the span of addresses. No memory is
    /// touched.
    ///
    /// # Errors
    /// - [`InterfaceError::Version`]: not 1
    /// - [`InterfaceError::Typestr`]: an element type that is not supported
    /// - [`InterfaceError::TooManyAxes`], [`InterfaceError::Size`], [`InterfaceError::TooLarge`]:
    ///   a shape with too many axes, a negative size, or too many bytes
    /// - [`InterfaceError::StridesLength`], [`InterfaceError::Reach`]: strides that do not fit the
    ///   shape or the memory
    /// - [`InterfaceError::Null`], [`InterfaceError::AddressTooLarge`],
    ///   [`InterfaceError::Misaligned`], [`InterfaceError::OutsideAddressSpace`]: an address that
    ///   cannot be that of the data
    /// - [`InterfaceError::Offset`]: an offset that leaves the address space
    pub fn validate(&self) -> Result<ValidInterface, InterfaceError> {
        if self.version != VERSION {
            return Err(InterfaceError::Version { found: self.version });
        }
        self.validate_as(Dtype::from_typestr(&self.typestr).map_err(InterfaceError::Typestr)?)
    }

    /// As [`validate`](Self::validate), for elements of a dtype whatever the typestr is.
    pub(crate) fn validate_as(&self, dtype: Dtype) -> Result<ValidInterface, InterfaceError> {
        let layout = self.checked_layout(dtype)?;
        let address = self.checked_address(dtype)?;
        let span = self.checked_span(&layout, dtype, address)?;
        Ok(ValidInterface { dtype, layout, address, read_only: self.read_only, span })
    }

    fn reach(&self, dtype: Dtype) -> InterfaceError {
        InterfaceError::Reach {
            strides: self.strides.clone().unwrap_or_default(),
            shape: self.shape.clone(),
            itemsize_bytes: dtype.itemsize_bytes(),
        }
    }

    fn offset_error(&self, dtype: Dtype) -> InterfaceError {
        let itemsize_bytes = dtype.itemsize_bytes();
        InterfaceError::Offset { offset: self.offset, itemsize_bytes, address: self.address }
    }

    /// Shape, strides and offset as a layout that satisfies V1.
    fn checked_layout(&self, dtype: Dtype) -> Result<Layout, InterfaceError> {
        let itemsize_bytes = dtype.itemsize_bytes();
        let sizes = self.shape.iter().enumerate().map(|(axis, &found)| {
            let size = isize::try_from(found).ok().filter(|&size| size >= 0);
            size.map(isize::cast_unsigned).ok_or(InterfaceError::Size { axis, found })
        });
        let shape: Axes<usize> = sizes.collect::<Result<_, _>>()?;
        let too_large = || InterfaceError::TooLarge { shape: self.shape.clone(), itemsize_bytes };
        let strides = match &self.strides {
            None => None,
            Some(strides) => {
                let strides = strides.iter().map(|&stride| isize::try_from(stride));
                Some(strides.collect::<Result<Axes<_>, _>>().map_err(|_| self.reach(dtype))?)
            }
        };
        let offset = isize::try_from(self.offset).map_err(|_| self.offset_error(dtype))?;

        let layout =
            Layout::new(&shape, strides.as_deref(), offset, Order::C).map_err(|error| match error {
                LayoutError::TooManyAxes { found } => InterfaceError::TooManyAxes { found },
                LayoutError::StridesLength { ndim, found } => InterfaceError::StridesLength { ndim, found },
                LayoutError::ExtentOverflow { .. } => self.reach(dtype),
                LayoutError::OffsetOverflow { .. } => self.offset_error(dtype),
                _ => too_large(),
            })?;
        if layout.size_bytes(dtype).is_none() {
            return Err(too_large());
        }
        Ok(layout)
    }

    /// The address, which satisfies V2.
    fn checked_address(&self, dtype: Dtype) -> Result<usize, InterfaceError> {
        let address = usize::try_from(self.address)
            .map_err(|_| InterfaceError::AddressTooLarge { address: self.address })?;
        if address == 0 {
            return Err(InterfaceError::Null);
        }
        if !address.is_multiple_of(dtype.align_bytes()) {
            return Err(InterfaceError::Misaligned {
                address: self.address,
                align_bytes: dtype.align_bytes(),
            });
        }
        Ok(address)
    }

    /// The span, which satisfies V3.
    fn checked_span(
        &self,
        layout: &Layout,
        dtype: Dtype,
        address: usize,
    ) -> Result<ByteSpan, InterfaceError> {
        let itemsize_bytes = dtype.itemsize_bytes();
        let Some((extent, with_offset)) = layout.extent().zip(layout.extent_with_offset()) else {
            // Nothing is there, but the address of index zero has to exist.
            let zero = Extent { min: layout.offset(), max: layout.offset() };
            span_at(address, zero, itemsize_bytes).ok_or_else(|| self.offset_error(dtype))?;
            return Ok(ByteSpan { start_address: address, len_bytes: 0 });
        };
        let (min_bytes, max_bytes) = byte_bounds(extent, itemsize_bytes).ok_or_else(|| self.reach(dtype))?;
        match span_at(address, with_offset, itemsize_bytes) {
            Some(span) => Ok(span),
            // The key to blame is the one without which it would fit.
            None if self.offset != 0 && span_at(address, extent, itemsize_bytes).is_some() => {
                Err(self.offset_error(dtype))
            }
            None => Err(InterfaceError::OutsideAddressSpace { address: self.address, min_bytes, max_bytes }),
        }
    }
}

/// First byte of the lowest and last byte of the highest element, if they and the number of bytes
/// between them can be counted.
fn byte_bounds(extent: Extent, itemsize_bytes: usize) -> Option<(isize, isize)> {
    let itemsize = isize::try_from(itemsize_bytes).ok()?;
    let first = extent.min.checked_mul(itemsize)?;
    let last = extent.max.checked_mul(itemsize)?.checked_add(itemsize.checked_sub(1)?)?;
    last.checked_sub(first)?.checked_add(1)?;
    Some((first, last))
}

/// The bytes of an extent around an address, if all of them have addresses.
fn span_at(address: usize, extent: Extent, itemsize_bytes: usize) -> Option<ByteSpan> {
    let (first, last) = byte_bounds(extent, itemsize_bytes)?;
    let start_address = address.checked_add_signed(first)?;
    let len_bytes = last.abs_diff(first).checked_add(1)?;
    // One past the end has an address too, as Rust's objects need it.
    start_address.checked_add(len_bytes)?;
    Some(ByteSpan { start_address, len_bytes })
}

#[cfg(test)]
mod tests;
