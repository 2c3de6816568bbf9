//! The lower or upper triangles of matrices
//!
//! Elements pass through the host in pieces, where those outside the triangle become zero.

use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{LayoutError, SliceItem};
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
        if self.ndim() < 2 {
            return Err(LayoutError::TooFewAxes { ndim: self.ndim(), needed: 2 }.into());
        }
        let result = Self::empty(self.queue(), self.kind(), self.shape(), self.dtype())?;
        if !self.is_empty() {
            let reachable = self.is_host_reachable();
            let piece_bytes = if reachable { HOST_PIECE_BYTES } else { DEVICE_PIECE_BYTES };
            // Sizes are at most `isize::MAX`, so a diagonal that far away is outside every matrix.
            let mut triangle = Triangle { k: k as i128, lower, piece_bytes, bytes: Vec::new() };
            triangle.copy(&result, self, 0, 0)?;
        }
        Ok(result)
    }
}

struct Triangle {
    k: i128,
    lower: bool,
    piece_bytes: usize,
    bytes: Vec<u8>,
}

impl Triangle {
    /// Copies a part of the matrices that begins at the given row and column, by halves until they are small enough.
    fn copy(&mut self, target: &UsmArray, source: &UsmArray, row: usize, column: usize) -> Result<()> {
        let longest = source.shape().iter().position(|&size| size > 1);
        let Some(axis) = longest.filter(|_| source.size_bytes() > self.piece_bytes) else {
            return self.copy_piece(target, source, row, column);
        };
        let middle = source.shape()[axis] / 2;
        let mut items = vec![SliceItem::FULL; axis + 1];
        items[axis] = SliceItem::between(0, middle);
        self.copy(&target.slice(&items)?, &source.slice(&items)?, row, column)?;
        items[axis] = SliceItem::between(middle, source.shape()[axis]);
        let (target, source) = (target.slice(&items)?, source.slice(&items)?);
        match source.ndim() - axis {
            1 => self.copy(&target, &source, row, column + middle),
            2 => self.copy(&target, &source, row + middle, column),
            _ => self.copy(&target, &source, row, column),
        }
    }

    fn copy_piece(&mut self, target: &UsmArray, source: &UsmArray, row: usize, column: usize) -> Result<()> {
        let len_bytes = source.size_bytes();
        if self.bytes.len() < len_bytes {
            self.bytes = zeroed_vec(len_bytes)?;
        }
        let bytes = &mut self.bytes[..len_bytes];
        source.copy_to_host_contiguous(bytes)?;
        let [.., rows, columns] = *source.shape() else {
            return Ok(()); // there are two axes
        };
        let itemsize = source.itemsize_bytes();
        for (i, line) in bytes.chunks_exact_mut(columns * itemsize).enumerate() {
            // The first column to the right of the diagonal, as far as this piece has it.
            let diagonal = (row + i % rows) as i128 - column as i128 + self.k;
            let first = if self.lower { diagonal + 1 } else { diagonal };
            let first = first.clamp(0, columns as i128) as usize * itemsize;
            let outside = if self.lower { &mut line[first..] } else { &mut line[..first] };
            outside.fill(0);
        }
        target.copy_from_host_contiguous(bytes)
    }
}
