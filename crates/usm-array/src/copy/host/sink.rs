//! A dense run of the target, written block by block

use std::ptr;

use super::emit::Emit;
use super::gather::gather;
use super::plane::{Plane, split_plane};
use super::word::{Block, Word};
use crate::copy::cast::Cast;
use crate::copy::plan::{Loop, for_each_step};

/// Rows of so many bytes without gaps go to the target from where they are.
const LONG_ROW_BYTES: usize = 1024;

/// Collects words in a block before they go to the next place of the target.
pub(super) struct Sink {
    emit: Emit,
    block: Block,
    // S1. At most `capacity`, the number of elements that the block holds; so many words are in the block.
    filled: usize,
    capacity: usize,
    dst_itemsize_bytes: usize,
    // S2. What is not yet written of the run begins here.
    dst: *mut u8,
}

impl Sink {
    /// For a run that begins at `dst`.
    pub(super) fn new(cast: Cast, stream: bool, dst: *mut u8) -> Self {
        Self {
            emit: Emit::new(cast, stream),
            block: Block::new(),
            filled: 0,
            capacity: Emit::block_len(cast),
            dst_itemsize_bytes: cast.dst.itemsize_bytes(),
            dst,
        }
    }

    /// Begins another run.
    pub(super) fn restart(&mut self, dst: *mut u8) {
        self.dst = dst;
        self.filled = 0;
    }

    /// Writes all words of a nest of loops to the run, in the order of the loops.
    ///
    /// # Safety
    /// 1. A word is readable at each displacement of the loops' source from `src`; all are part of one allocation.
    /// 2. What is not yet written of the run has place for as many elements, and is writable.
    /// 3. No byte is both read and written.
    pub(super) unsafe fn write<W: Word>(&mut self, loops: &[Loop], src: *const W) {
        let (outer, plane) = split_plane(loops);
        for_each_step(outer, |_, step| {
            // SAFETY: the planes together are the words of the loops.
            unsafe { self.write_plane(plane, src.wrapping_offset(step)) };
        });
        // SAFETY: condition 2.
        unsafe { self.flush::<W>() };
    }

    /// # Safety
    /// Those of [`write`](Self::write) for a plane.
    unsafe fn write_plane<W: Word>(&mut self, plane: Plane, src: *const W) {
        let Plane { rows, row } = plane;
        let is_long = row.src == 1 && row.count * size_of::<W>() >= LONG_ROW_BYTES;
        if is_long || row.count > self.capacity {
            for i in 0..rows.count.cast_signed() {
                // SAFETY: a row of the plane.
                unsafe { self.write_row(row, src.wrapping_offset(i * rows.src)) };
            }
            return;
        }
        if rows.src < 0 && rows.count * row.count > self.capacity {
            // SAFETY: the caller's promises; a row fits into the block.
            return unsafe { self.write_upwards(plane, src) };
        }
        let copy = self.emit.copy_rows::<W>();
        let mut done = 0;
        while done < rows.count {
            let fits = (self.capacity - self.filled) / row.count;
            if fits == 0 {
                // SAFETY: condition 2.
                unsafe { self.flush_for::<W>(row.count) };
                continue;
            }
            let count = fits.min(rows.count - done);
            let part = Plane {
                rows: Loop { count, dst: row.count.cast_signed(), src: rows.src },
                row: Loop { dst: 1, ..row },
            };
            let from = src.wrapping_offset(done.cast_signed() * rows.src);
            let to = self.block.as_mut_ptr().cast::<W>().wrapping_add(self.filled);
            // SAFETY: rows of the plane, by 1; so many fit into the block behind what is there (S1).
            unsafe { copy(part, to, from) };
            self.filled += count * row.count;
            done += count;
        }
    }

    /// Writes rows that go down in the source from the last one to the first: processors read ahead upwards only.
    ///
    /// # Safety
    /// Those of [`write`](Self::write) for a plane with rows that fit into the block.
    unsafe fn write_upwards<W: Word>(&mut self, Plane { rows, row }: Plane, src: *const W) {
        // SAFETY: condition 2.
        unsafe { self.flush::<W>() };
        let (copy, itemsize) = (self.emit.copy_rows::<W>(), self.dst_itemsize_bytes);
        let block = self.block.as_mut_ptr().cast::<W>();
        // Of the plane, `missing` rows are not read, `rest` words not written; the last `filled` of these end the block.
        let (mut missing, mut rest, mut filled) = (rows.count, rows.count * row.count, 0);
        while rest > 0 {
            let count = missing.min((self.capacity - filled) / row.count);
            let part = Plane {
                rows: Loop { count, dst: -row.count.cast_signed(), src: -rows.src },
                row: Loop { dst: 1, ..row },
            };
            let from = src.wrapping_offset((missing - 1).cast_signed() * rows.src);
            let to = block.wrapping_add(self.capacity - filled - row.count);
            // SAFETY: rows of the plane, by 1; so many fit into the block before what is there.
            unsafe { copy(part, to, from) };
            missing -= count;
            filled += count * row.count;
            let first = block.wrapping_add(self.capacity - filled);
            let place = self.dst.wrapping_add((rest - filled) * itemsize);
            let kept = if missing == 0 { 0 } else { self.emit.kept(place.addr().wrapping_neg(), row.count) };
            let written = filled - kept;
            let (place, words) = (place.wrapping_add(kept * itemsize), first.wrapping_add(kept));
            // SAFETY: so many words are in the block; their place in the run, counted from its beginning (S2), is free, and
            // writable by 2.
            unsafe { self.emit.put(place, 1, words.cast_const(), written) };
            // SAFETY: words of the block, to its end.
            unsafe { ptr::copy(first, first.wrapping_add(written), kept) };
            (rest, filled) = (rest - written, kept);
        }
        self.dst = self.dst.wrapping_add(rows.count * row.count * itemsize);
    }

    /// Writes what is in the block, but for the beginning of a line, so that a row of so many words fits.
    ///
    /// # Safety
    /// Condition 2 of [`write`](Self::write) for what is in the block.
    unsafe fn flush_for<W: Word>(&mut self, row: usize) {
        let end = self.dst.wrapping_add(self.filled * self.dst_itemsize_bytes);
        let kept = self.emit.kept(end.addr(), row);
        self.filled -= kept;
        let written = self.filled;
        // SAFETY: condition 2; S1.
        unsafe { self.flush::<W>() };
        let block = self.block.as_mut_ptr().cast::<W>();
        // SAFETY: words of the block, to its start.
        unsafe { ptr::copy(block.wrapping_add(written), block, kept) };
        self.filled = kept;
    }

    /// # Safety
    /// Those of [`write`](Self::write) for a row.
    unsafe fn write_row<W: Word>(&mut self, row: Loop, src: *const W) {
        // SAFETY: condition 2.
        unsafe { self.flush::<W>() };
        if row.src == 1 {
            // SAFETY: the words of the row, by 1 to 3.
            return unsafe { self.put(src, row.count) };
        }
        let block = self.block.as_mut_ptr().cast::<W>();
        let mut first = 0;
        while first < row.count {
            let count = self.capacity.min(row.count - first);
            if row.src != 0 || first == 0 {
                // SAFETY: words of the row by 1, into the block, which is empty and large enough for them.
                unsafe { gather(block, src.wrapping_offset(first.cast_signed() * row.src), row.src, count) };
            }
            // SAFETY: so many words are in the block: now, or since the first time when all are the same.
            unsafe { self.put(block.cast_const(), count) };
            first += count;
        }
    }

    /// # Safety
    /// Condition 2 of [`write`](Self::write) for what is in the block.
    unsafe fn flush<W: Word>(&mut self) {
        let block = self.block.as_mut_ptr().cast::<W>().cast_const();
        let count = std::mem::take(&mut self.filled);
        // SAFETY: so many words are in the block, by S1.
        unsafe { self.put(block, count) };
    }

    /// # Safety
    /// 1. `count` words are readable, not in the run.
    /// 2. The run has place for them, and is writable.
    unsafe fn put<W: Word>(&mut self, src: *const W, count: usize) {
        // SAFETY: the caller's promises; S2.
        unsafe { self.emit.put(self.dst, 1, src, count) };
        self.dst = self.dst.wrapping_add(count * self.dst_itemsize_bytes);
    }
}
