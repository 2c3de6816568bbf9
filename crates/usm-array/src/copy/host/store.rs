//! Dense words to their places in the target: cast, streamed past the caches, or spread over a stride

use std::mem::MaybeUninit;

use usm_memory::usm_core::bulk::{
    copy_bytes,
    stream::{self, LINE_BYTES},
};

use super::row::{Plane, Word, kernel, run};
use crate::copy::cast::Cast;
use crate::copy::plan::{Loop, ONE};

/// Bytes of a block: two of them fit into the first level of any cache.
pub(super) const BLOCK_BYTES: usize = 4096;

/// So many bytes of a block, which is in the nearest cache, are copied without a call.
const SHORT_BYTES: usize = 128;

/// Memory for a block of `N` bytes, on the stack and uninitialised.
#[repr(C, align(64))]
pub(super) struct StackBlock<const N: usize = BLOCK_BYTES>([MaybeUninit<u8>; N]);

impl<const N: usize> StackBlock<N> {
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); N])
    }

    /// Start of `N` writable bytes, at a multiple of 64.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// What happens to words on their way into the target.
pub(super) struct Store {
    cast: Cast,
    stream: bool,
    block: StackBlock,
}

impl Store {
    pub(super) fn new(cast: Cast, stream: bool) -> Self {
        Self { cast, stream, block: StackBlock::new() }
    }

    /// Bytes of an element of the target.
    pub(super) fn itemsize_bytes(&self) -> usize {
        self.cast.dst.itemsize_bytes()
    }

    /// How many elements fit into a block, whichever side they are of.
    pub(super) fn block_len(&self) -> usize {
        BLOCK_BYTES / self.cast.src.itemsize_bytes().max(self.itemsize_bytes())
    }

    /// How many of `count` elements from `dst` on to store at a time where at most so many can be: what is streamed ends with a line.
    pub(super) fn part_len(&self, dst: *mut u8, count: usize, most: usize) -> usize {
        let itemsize = self.itemsize_bytes();
        if self.stream && count > most {
            ending_with_a_line(dst.addr(), most, itemsize)
        } else {
            count.min(most)
        }
    }

    /// How many of `filled` elements are not worth storing yet, of which so many bytes lie beyond the end of a line: only whole lines
    /// can be streamed.
    pub(super) fn kept(&self, bytes: usize, filled: usize) -> usize {
        if self.stream { (bytes % LINE_BYTES / self.itemsize_bytes()).min(filled) } else { 0 }
    }

    /// Stores elements, `stride` elements of the target from one to the next.
    ///
    /// # Safety
    /// 1. `count` elements of the source's dtype, as large as `W`, are readable side by side.
    /// 2. `count` elements of the target's dtype are writable from `dst`, by the stride.
    /// 3. No byte is both read and written.
    pub(super) unsafe fn put<W: Word>(&mut self, dst: *mut u8, stride: isize, src: *const W, count: usize) {
        let Some(cast) = self.cast.run() else {
            // SAFETY: the caller's promises 1 to 3; the dtypes are equal, and so are the sizes.
            return unsafe { self.place(dst, stride, src.cast(), count) };
        };
        if stride == 1 && !self.stream {
            // SAFETY: the caller's promises 1 to 3; `cast` is the one for both dtypes (C1).
            return unsafe { cast.call(src.cast(), dst, count) };
        }
        let step_bytes = stride * self.itemsize_bytes().cast_signed();
        let mut first = 0;
        while first < count {
            let to = dst.wrapping_offset(first.cast_signed() * step_bytes);
            let part = self.part_len(to, count - first, self.block_len());
            let block = self.block.as_mut_ptr();
            // SAFETY: elements of the source by promise 1; the block holds the results and is nobody else's.
            unsafe { cast.call(src.wrapping_add(first).cast(), block, part) };
            // SAFETY: so many elements were just written to the block; the target is writable by promise 2.
            unsafe { self.place(to, stride, block, part) };
            first += part;
        }
    }

    /// Stores elements that have the target's dtype already.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    unsafe fn place(&self, dst: *mut u8, stride: isize, src: *const u8, count: usize) {
        let itemsize = self.itemsize_bytes();
        let len_bytes = count * itemsize;
        if stride != 1 {
            let row = Loop { count, dst: stride, src: 1 };
            let spread: unsafe fn(Loop, *mut u8, *const u8) = match itemsize {
                1 => spread::<u8>,
                2 => spread::<u16>,
                4 => spread::<u32>,
                8 => spread::<u64>,
                _ => spread::<u128>,
            };
            // SAFETY: the caller's promises 1 to 3; the words are as large as the target's elements.
            return unsafe { spread(row, dst, src) };
        }
        let copy: unsafe fn(*mut u8, *const u8, usize) = match (self.stream, len_bytes) {
            (true, _) => stream::copy,
            (false, ..=SHORT_BYTES) => run::<SHORT_BYTES>,
            (false, _) => copy_bytes,
        };
        // SAFETY: the caller's promises 1 to 3; without gaps the elements are so many bytes.
        unsafe { copy(dst, src, len_bytes) };
    }
}

/// # Safety
/// As for [`Store::put`] without a cast, for elements as large as `W`.
unsafe fn spread<W: Word>(row: Loop, dst: *mut u8, src: *const u8) {
    // SAFETY: the caller's promises 1 to 3; the kernel is for this row.
    unsafe { kernel::<W>(row, false)(Plane { rows: ONE, row }, dst.cast(), src.cast()) };
}

/// At most so many elements from `start` on, fewer where the last ones would begin another line: what follows has whole lines then.
fn ending_with_a_line(start: usize, count: usize, itemsize_bytes: usize) -> usize {
    let over = (start + count * itemsize_bytes) % LINE_BYTES / itemsize_bytes;
    if over < count { count - over } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_a_line() {
        for itemsize in [1, 2, 4, 8, 16] {
            for (start, count) in (0..200).flat_map(|start| (1..100).map(move |count| (start, count))) {
                let fewer = ending_with_a_line(start, count, itemsize);
                assert!((1..=count).contains(&fewer), "{itemsize}: {count} from {start}");
                let is_past_a_line = start / LINE_BYTES < (start + count * itemsize) / LINE_BYTES;
                if start % itemsize == 0 && is_past_a_line && fewer < count {
                    assert_eq!(
                        (start + fewer * itemsize) % LINE_BYTES,
                        0,
                        "{itemsize}: {count} from {start}"
                    );
                }
            }
        }
        assert_eq!(ending_with_a_line(32, 64, 8), 60);
        assert_eq!(ending_with_a_line(0, 64, 8), 64);
    }
}
