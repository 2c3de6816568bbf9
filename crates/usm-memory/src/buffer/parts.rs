//! Parts of a buffer that share its memory, and deep copies that do not.

use std::sync::Arc;

use usm_core::Queue;

use super::{BlockRef, UsmBuffer};
use crate::Result;

/// What a buffer has that differs from its block. Most buffers are whole blocks and have no part: they are two words.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Invariant U1: the offset and `len_bytes` together are at most the block's length.
    pub(super) offset_bytes: usize,
    pub(super) len_bytes: usize,
    /// Of the block's context; in place of the block's own.
    pub(super) queue: Option<Queue>,
}

impl UsmBuffer {
    /// All of a block.
    #[inline(always)]
    pub(super) fn over_all(block: BlockRef) -> Self {
        Self { block, part: None }
    }

    /// The same block, but for what `change` makes of its part, which keeps U1.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Part)) -> Self {
        let whole = || Part { offset_bytes: 0, len_bytes: self.block.len_bytes(), queue: None };
        let mut part = self.part.as_deref().cloned().unwrap_or_else(whole);
        change(&mut part);
        Self { block: self.block.clone(), part: Some(Arc::new(part)) }
    }

    /// Where the buffer starts in its block.
    #[inline]
    pub(super) fn offset_bytes(&self) -> usize {
        self.part.as_ref().map_or(0, |part| part.offset_bytes)
    }

    /// The part of `len_bytes` bytes at `offset_bytes`; no memory is touched.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds).
    pub fn sub_buffer(&self, offset_bytes: usize, len_bytes: usize) -> Result<Self> {
        self.check_range(offset_bytes, len_bytes)?;
        if len_bytes == self.len_bytes() {
            return Ok(self.clone());
        }
        Ok(self.changed(|part| {
            part.offset_bytes += offset_bytes;
            part.len_bytes = len_bytes;
        }))
    }

    /// The parts before and from `mid_bytes` on, which do not overlap: both can be written at the same time.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) when `mid_bytes` is beyond the end.
    pub fn split_at(&self, mid_bytes: usize) -> Result<(Self, Self)> {
        let first = self.sub_buffer(0, mid_bytes)?;
        Ok((first, self.sub_buffer(mid_bytes, self.len_bytes() - mid_bytes)?))
    }

    /// A deep copy in new memory of the same kind and queue, writable even when this buffer is not.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate) and [`copy_from`](Self::copy_from).
    pub fn try_clone(&self) -> Result<Self> {
        let copy = Self::allocate_or_empty(self.queue(), self.kind(), self.len_bytes())?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}
