//! Dense words to their places in the target: cast, streamed past the caches, or spread over a stride

use usm_memory::usm_core::bulk::{
    self,
    stream::{self, LINE_BYTES},
};

use super::gather;
use super::plane::{self, Plane};
use super::word::{BLOCK_BYTES, Block, Word};
use crate::copy::cast::Cast;
use crate::copy::plan::{Loop, ONE};

/// So many bytes of a block, which is in the nearest cache, are copied without a call.
const SHORT_BYTES: usize = 128;

/// What happens to words on their way into the target.
pub(super) struct Emit {
    cast: Cast,
    stream: bool,
    block: Block,
}

impl Emit {
    pub(super) fn new(cast: Cast, stream: bool) -> Self {
        Self { cast, stream, block: Block::new() }
    }

    /// How rows come into a block: what is streamed is so much that its source is probably in no cache either.
    pub(super) fn copy_rows<W: Word>(&self) -> unsafe fn(Plane, *mut W, *const W) {
        if self.stream { plane::copy_far } else { plane::copy }
    }

    /// How many elements stay in a block, where so many bytes lie on the other side of a line's end: only whole lines can be
    /// streamed. None where a row of so many words would not fit into the block then.
    pub(super) fn kept(&self, bytes: usize, row: usize) -> usize {
        let kept = bytes % LINE_BYTES / self.cast.dst.itemsize_bytes();
        if self.stream && row + kept <= Self::block_len(self.cast) { kept } else { 0 }
    }

    /// How many elements fit into a block, whichever side they are of.
    pub(super) fn block_len(cast: Cast) -> usize {
        BLOCK_BYTES / cast.src.itemsize_bytes().max(cast.dst.itemsize_bytes())
    }

    /// Writes elements, `stride` elements of the target from one to the next.
    ///
    /// # Safety
    /// 1. `count` elements of the source's dtype, as large as `W`, are readable side by side.
    /// 2. `count` elements of the target's dtype are writable from `dst`, by the stride.
    /// 3. No byte is both read and written.
    pub(super) unsafe fn put<W: Word>(&mut self, dst: *mut u8, stride: isize, src: *const W, count: usize) {
        let size = self.cast.dst.itemsize_bytes();
        let Some(cast) = self.cast.run() else {
            // SAFETY: the caller's promises; the dtypes are equal, and so are the sizes.
            return unsafe { self.place(dst, stride, src.cast(), count) };
        };
        if stride == 1 && !self.stream {
            // SAFETY: the caller's promises; `cast` is the one for both dtypes (C1).
            return unsafe { cast(src.cast(), dst, count) };
        }
        let capacity = Self::block_len(self.cast);
        for first in (0..count).step_by(capacity) {
            let part = capacity.min(count - first);
            let block = self.block.as_mut_ptr();
            // SAFETY: elements of the source by 1; the block holds the results and is nobody else's.
            unsafe { cast(src.wrapping_add(first).cast(), block, part) };
            let skipped = first.cast_signed() * stride * size.cast_signed();
            // SAFETY: so many elements were just written to the block; the target is writable by 2.
            unsafe { self.place(dst.wrapping_offset(skipped), stride, block, part) };
        }
    }

    /// Writes elements that have the target's dtype already.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    unsafe fn place(&self, dst: *mut u8, stride: isize, src: *const u8, count: usize) {
        if stride != 1 {
            // SAFETY: the caller's promises.
            return unsafe { self.spread(dst, stride, src, count) };
        }
        let len_bytes = count * self.cast.dst.itemsize_bytes();
        let copy: unsafe fn(*mut u8, *const u8, usize) = match (self.stream, len_bytes) {
            (true, _) => stream::copy,
            (false, ..=SHORT_BYTES) => gather::run::<u8>,
            (false, _) => bulk::copy_bytes,
        };
        // SAFETY: the caller's promises; without gaps the elements are so many bytes.
        unsafe { copy(dst, src, len_bytes) };
    }

    /// # Safety
    /// As for [`put`](Self::put).
    unsafe fn spread(&self, dst: *mut u8, stride: isize, src: *const u8, count: usize) {
        let plane = Plane { rows: ONE, row: Loop { count, dst: stride, src: 1 } };
        let copy: unsafe fn(Plane, *mut u8, *const u8) = match self.cast.dst.itemsize_bytes() {
            1 => plane::copy_bytes::<u8>,
            2 => plane::copy_bytes::<u16>,
            4 => plane::copy_bytes::<u32>,
            8 => plane::copy_bytes::<u64>,
            _ => plane::copy_bytes::<u128>,
        };
        // SAFETY: the caller's promises; the words are as large as the target's elements.
        unsafe { copy(plane, dst, src) };
    }
}
