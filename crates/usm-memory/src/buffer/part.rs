//! What makes a buffer something else than all of its block.

use std::sync::Arc;

use usm_core::Queue;

use super::{BlockRef, UsmBuffer};

/// A part of a block. Most buffers are whole blocks and have none of this: two words are a buffer then, which are handed on in
/// registers. Longer ones are written as words and read as pairs of them soon after, for which a processor waits.
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
}
