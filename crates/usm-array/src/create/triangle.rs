//! The lower or upper triangles of matrices
//!
//! Where there are no kernels for it, elements pass through the host in pieces, where those outside the triangle become zero.

use super::by_kernels;
use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{LayoutError, SliceItem, blocks};
use crate::view::zeroed_vec;

/// The most bytes of a piece.
const HOST_PIECE_BYTES: usize = 64 << 10;
const DEVICE_PIECE_BYTES: usize = 4 << 20;

impl UsmArray {
    /// A row-major copy of the matrices of the last two axes with zeros above the diagonal `k` elements to the right of the main one.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let matrix = UsmArray::full(&queue, UsmKind::Device, &[2, 3], 7_u8)?;
    /// assert_eq!(matrix.tril(0)?.to_vec::<u8>()?, [7, 0, 0, 7, 7, 0]);
    /// assert_eq!(matrix.triu(1)?.to_vec::<u8>()?, [0, 7, 7, 0, 0, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): fewer than two axes
    /// - the errors of [`UsmArray::copy`]
    pub fn tril(&self, k: isize) -> Result<Self> {
        self.triangle(k, true)
    }

    /// As [`tril`](Self::tril), with zeros below the diagonal.
    ///
    /// # Errors
    /// The errors of [`UsmArray::tril`].
    pub fn triu(&self, k: isize) -> Result<Self> {
        self.triangle(k, false)
    }

    fn triangle(&self, k: isize, lower: bool) -> Result<Self> {
        let Some(rows_axis) = self.ndim().checked_sub(2) else {
            return Err(LayoutError::TooFewAxes { ndim: self.ndim(), needed: 2 }.into());
        };
        let result = Self::empty(self.queue(), self.kind(), self.shape(), self.dtype())?;
        if by_kernels::triangle(&result, self, k, lower)? {
            return Ok(result);
        }
        let itemsize = self.itemsize_bytes();
        let piece_bytes = if self.is_host_reachable() { HOST_PIECE_BYTES } else { DEVICE_PIECE_BYTES };
        let mut bytes = zeroed_vec::<u8>(piece_bytes.min(self.size_bytes()))?;
        for (items, len) in blocks(self.shape(), piece_bytes / itemsize) {
            let (source, target, bytes) =
                (self.slice(&items)?, result.slice(&items)?, &mut bytes[..len * itemsize]);
            source.copy_to_host_contiguous(bytes)?;
            let first = |axis: usize| match items.get(axis) {
                Some(&(SliceItem::Index(place) | SliceItem::Slice { start: Some(place), .. })) => {
                    place as i128
                }
                _ => 0,
            };
            // Sizes are at most `isize::MAX`, so a diagonal that far away is outside every matrix.
            let diagonal = first(rows_axis) - first(rows_axis + 1) + k as i128;
            let (columns, others) =
                source.shape().split_last().map_or((1, &[][..]), |(&last, others)| (last, others));
            let rows = others.last().copied().unwrap_or(1);
            for (i, line) in bytes.chunks_exact_mut(columns * itemsize).enumerate() {
                // The first column to the right of the diagonal, as far as this piece has it.
                let first = diagonal + (i % rows) as i128 + i128::from(lower);
                let first = first.clamp(0, columns as i128) as usize * itemsize;
                let outside = if lower { &mut line[first..] } else { &mut line[..first] };
                outside.fill(0);
            }
            target.copy_from_host_contiguous(bytes)?;
        }
        Ok(result)
    }
}
