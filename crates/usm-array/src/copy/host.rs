//! Arrays to and from slices of host memory, whatever the kind of the array

use super::execute::{Source, Target, copy_elements};
use super::plan::CopyPlan;
use super::staged;
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::view::{bytes_of_mut, zeroed_vec};

impl UsmArray {
    /// The elements in row-major order, copied to the host.
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the elements are no `T`
    /// - [`Error::OutOfHostMemory`]: no memory for the elements
    /// - [`Error::Memory`]: the memory is borrowed for writing, or the runtime failed
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::DtypeMismatch { found: self.dtype(), expected: T::DTYPE });
        }
        let mut elements = zeroed_vec::<T>(self.size())?;
        self.copy_to_host_contiguous(bytes_of_mut(&mut elements))?;
        Ok(elements)
    }

    /// The elements in row-major order, as bytes of the host without gaps.
    ///
    /// # Errors
    /// As [`UsmArray::to_vec`], for elements of any type.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed_vec::<u8>(self.size_bytes())?;
        self.copy_to_host_contiguous(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies the elements in row-major order, without gaps, to bytes of the host. Device memory
    /// with gaps between its elements is copied with the gaps and sorted out on the host.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many bytes as [`UsmArray::size_bytes`]
    /// - [`Error::OutOfHostMemory`]: no memory to sort elements out in
    /// - [`Error::Memory`]: the memory is borrowed for writing, or the runtime failed
    pub fn copy_to_host_contiguous(&self, bytes: &mut [u8]) -> Result<()> {
        self.check_len_bytes(bytes.len())?;
        if self.is_empty() {
            return Ok(());
        }
        let range = self.byte_range();
        if self.is_c_contiguous() {
            self.buffer().copy_to_host(bytes, range.start)?;
            return Ok(());
        }
        let contiguous = Layout::contiguous(self.shape(), Order::C)?;
        let source_layout = self.layout_from_lowest()?;
        let staging;
        let source = if self.is_host_accessible() {
            Source::lock(self)?
        } else {
            staging = staged::read(self)?;
            Source::Bytes(&staging)
        };
        copy_elements(Target::Bytes(bytes), &contiguous, &source, &source_layout, self.dtype())
    }

    /// Copies bytes of the host, elements in row-major order without gaps, to the elements. What
    /// lies between the elements keeps its value.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many bytes as [`UsmArray::size_bytes`]
    /// - [`Error::ReadOnly`]: the array is read-only
    /// - [`Error::OutOfHostMemory`]: no memory to put elements in their places in
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    pub fn copy_from_host_contiguous(&self, bytes: &[u8]) -> Result<()> {
        self.check_len_bytes(bytes.len())?;
        self.write_elements(bytes, &Layout::contiguous(self.shape(), Order::C)?)
    }

    /// Copies elements out of bytes of the host, where a layout of the same shape says they are.
    pub(super) fn write_elements(&self, bytes: &[u8], source_layout: &Layout) -> Result<()> {
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        let target_layout = self.layout_from_lowest()?;
        let Some(plan) = CopyPlan::new(&target_layout, source_layout) else {
            return Ok(());
        };
        if plan.is_one_run() && plan.row.count * self.itemsize_bytes() == bytes.len() {
            self.buffer().copy_from_host(bytes, self.byte_range().start)?;
            return Ok(());
        }
        let source = Source::Bytes(bytes);
        if self.is_host_accessible() {
            let target = Target::lock(self)?;
            return copy_elements(target, &target_layout, &source, source_layout, self.dtype());
        }
        staged::update(self, |span| {
            let target = Target::Bytes(span);
            copy_elements(target, &target_layout, &source, source_layout, self.dtype())
        })
    }

    /// The layout counted from the lowest element, as in a copy of [`UsmArray::byte_range`].
    pub(crate) fn layout_from_lowest(&self) -> Result<Layout> {
        let lowest = self.layout().extent_with_offset().map_or(0, |extent| extent.min);
        // The result is at most the reach of the elements. Without elements it does not matter.
        Ok(self.layout().with_offset(self.offset().saturating_sub(lowest))?)
    }

    fn check_len_bytes(&self, found: usize) -> Result<()> {
        let expected = self.size_bytes();
        if found == expected {
            return Ok(());
        }
        let shape = self.shape().to_vec();
        Err(Error::LengthMismatch { found, expected, unit: "bytes", shape })
    }
}
