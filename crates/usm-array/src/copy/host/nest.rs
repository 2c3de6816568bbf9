//! The loop nest of plans that go row by row
//!
//! A kernel copies the rows right into the target. What is cast or streamed goes through a block in the nearest cache: there the rows of
//! a dense run of the target come together, however short they are.

use std::ptr;

use super::row::{FAR_BYTES, Plane, RowKernel, Word, kernel};
use super::store::{StackBlock, Store};
use crate::copy::cast::Cast;
use crate::copy::plan::{CopyPlan, Loop, ONE, for_each_step};

/// Runs of so many bytes of the target can be streamed: few of their lines are at an end.
const MIN_STREAM_BYTES: usize = 1024;

/// Carries out a plan.
///
/// # Safety
/// Those of [`super::execute`], with elements of the source as large as `W`.
pub(super) unsafe fn execute<W: Word>(
    plan: &CopyPlan,
    cast: Cast,
    stream: bool,
    dst: *mut u8,
    src: *const W,
) {
    let itemsize = cast.dst.itemsize_bytes();
    let dense = plan.dense_target_loops();
    let run_len = size(&plan.loops[plan.loops.len() - dense..]);
    let stream = stream && run_len * itemsize >= MIN_STREAM_BYTES;
    if stream || cast.run().is_some() {
        // SAFETY: the caller's promises 1 to 4.
        return unsafe { in_blocks(plan, dense, Store::new(cast, stream), dst, src) };
    }
    let dst = dst.cast::<W>().wrapping_offset(plan.dst_start);
    let src = src.wrapping_offset(plan.src_start);
    let (outer, plane) = Plane::split(&plan.loops);
    let copy = kernel::<W>(plane.row, false);
    // SAFETY: the planes together are the pairs of the plan (P1).
    for_each_step(outer, |to, from| unsafe {
        copy(plane, dst.wrapping_offset(to), src.wrapping_offset(from))
    });
}

/// # Safety
/// Those of [`execute`]; the `dense` innermost loops fill a dense run of the target.
unsafe fn in_blocks<W: Word>(plan: &CopyPlan, dense: usize, store: Store, dst: *mut u8, src: *const W) {
    let row = plan.row();
    let capacity = store.block_len();
    // Rows that need no block, and those that fill one, are runs of their own.
    let is_long = row.count >= capacity || row.src == 1 && row.count * size_of::<W>() >= FAR_BYTES;
    let inside = if is_long { dense.min(1) } else { dense };
    // From what is read to what lies before it processors do not read ahead.
    let plan = plan.clone().upwards_in_source(inside.max(1));
    let itemsize = store.itemsize_bytes();
    let target = |at: isize| dst.wrapping_offset((plan.dst_start + at) * itemsize.cast_signed());
    let src = src.wrapping_offset(plan.src_start);
    let copy = kernel::<W>(Loop { dst: 1, ..row }, true);
    let mut blocks = BlockWriter { store, block: StackBlock::new(), capacity, filled: 0, dst };
    if inside >= 2 {
        let (outer, run) = plan.loops.split_at(plan.loops.len() - inside);
        let (around, plane) = Plane::split(run);
        for_each_step(outer, |to, from| {
            blocks.dst = target(to);
            for_each_step(around, |_, step| {
                // SAFETY: by P1 the words of the plane are source elements, and the run has place for them where the last ones end.
                unsafe { blocks.add(plane, copy, src.wrapping_offset(from + step)) };
            });
            // SAFETY: by P1 the run has place for what is in the block (BW1).
            unsafe { blocks.flush::<W>(false, 0) };
        });
        return;
    }
    let (outer, plane) = Plane::split(&plan.loops);
    for_each_step(outer, |to, from| {
        for step in 0..plane.rows.count.cast_signed() {
            let (to, from) = (to + step * plane.rows.dst, from + step * plane.rows.src);
            // SAFETY: by P1 these are elements of the source and the target.
            unsafe { blocks.put_row(row, copy, target(to), src.wrapping_offset(from)) };
        }
    });
}

/// Words that come together in a block on their way into the target.
struct BlockWriter {
    store: Store,
    block: StackBlock,
    // Invariant BW1: At most `capacity`, the number of elements that the block holds. So many words are at its beginning, or downwards at its end.
    filled: usize,
    capacity: usize,
    /// Where what is in the block begins in the target, or downwards ends.
    dst: *mut u8,
}

impl BlockWriter {
    /// Stores a row.
    ///
    /// # Safety
    /// 1. The words of the row are readable from `src`; `copy` is their kernel.
    /// 2. The elements of the row are writable from `dst`.
    /// 3. No byte is both read and written.
    unsafe fn put_row<W: Word>(&mut self, row: Loop, copy: RowKernel<W>, dst: *mut u8, src: *const W) {
        if row.src == 1 {
            // SAFETY: the caller's promises 1 to 3.
            return unsafe { self.store.put(dst, row.dst, src, row.count) };
        }
        let block = self.block.as_mut_ptr().cast::<W>();
        for first in (0..row.count).step_by(self.capacity) {
            let count = self.capacity.min(row.count - first);
            let skipped = first.cast_signed();
            if row.src != 0 || first == 0 {
                let plane = Plane { rows: ONE, row: Loop { count, dst: 1, src: row.src } };
                // SAFETY: words of the row, by promise 1, into the block, which holds them (BW1).
                unsafe { copy(plane, block, src.wrapping_offset(skipped * row.src)) };
            }
            let step_bytes = row.dst * self.store.itemsize_bytes().cast_signed();
            let to = dst.wrapping_offset(skipped * step_bytes);
            // SAFETY: so many words are in the block: now, or since the first time if all are the same; promise 2.
            unsafe { self.store.put(to, row.dst, block.cast_const(), count) };
        }
    }

    /// Adds the rows of a plane to a run. Rows that go down in the source are read from the last one to the first.
    ///
    /// # Safety
    /// 1. The words of the plane are readable from `src`; `copy` is their kernel.
    /// 2. The run has place for them behind what is in the block, and is writable.
    /// 3. No byte is both read and written.
    unsafe fn add<W: Word>(&mut self, Plane { mut rows, row }: Plane, copy: RowKernel<W>, src: *const W) {
        let size = rows.count * row.count;
        let is_down = rows.src < 0 && size > self.capacity;
        rows.dst = row.count.cast_signed();
        let (mut end, mut from) = (0, 0);
        if is_down {
            // SAFETY: promise 2.
            unsafe { self.flush::<W>(false, 0) };
            rows.reverse(&mut end, &mut from);
            self.dst = self.dst.wrapping_add(size * self.store.itemsize_bytes());
        }
        let mut from = src.wrapping_offset(from);
        let mut missing = rows.count;
        while missing > 0 {
            let count = missing.min((self.capacity - self.filled) / row.count);
            if count == 0 {
                // SAFETY: promise 2 for what is in the block.
                unsafe { self.flush::<W>(is_down, row.count) };
                continue;
            }
            let part = Plane { rows: Loop { count, ..rows }, row: Loop { dst: 1, ..row } };
            let at = if is_down { self.capacity - self.filled - row.count } else { self.filled };
            // SAFETY: rows of the plane, by 1; so many fit into the block beside what is there (BW1).
            unsafe { copy(part, self.block.as_mut_ptr().cast::<W>().wrapping_add(at), from) };
            self.filled += count * row.count;
            missing -= count;
            from = from.wrapping_offset(count.cast_signed() * rows.src);
        }
        if is_down {
            // SAFETY: promise 2 for what is in the block.
            unsafe { self.flush::<W>(true, 0) };
            self.dst = self.dst.wrapping_add(size * self.store.itemsize_bytes());
        }
    }

    /// Stores what is in the block, but for what does not fill a line if a row of `next` words fits beside it.
    ///
    /// # Safety
    /// 1. The target is writable where what is in the block belongs.
    unsafe fn flush<W: Word>(&mut self, is_down: bool, next: usize) {
        let itemsize = self.store.itemsize_bytes();
        let len_bytes = self.filled * itemsize;
        let beyond = if is_down {
            self.dst.wrapping_sub(len_bytes).addr().wrapping_neg()
        } else {
            self.dst.wrapping_add(len_bytes).addr()
        };
        let kept = if next > 0 { self.store.kept(beyond, self.filled) } else { 0 };
        let kept = if next + kept <= self.capacity { kept } else { 0 };
        let len = self.filled - kept;
        // The words to store, those to keep, and where these go.
        let first = self.capacity - self.filled;
        let (stored, rest, back) =
            if is_down { (first + kept, first, self.capacity - kept) } else { (0, len, 0) };
        let to = if is_down { self.dst.wrapping_sub(len * itemsize) } else { self.dst };
        let block = self.block.as_mut_ptr().cast::<W>();
        // SAFETY: words of the block (BW1), and the caller's promise 1.
        unsafe { self.store.put(to, 1, block.wrapping_add(stored).cast_const(), len) };
        // SAFETY: words of the block (BW1), to its beginning or end.
        unsafe { ptr::copy(block.wrapping_add(rest), block.wrapping_add(back), kept) };
        self.filled = kept;
        self.dst = if is_down { to } else { self.dst.wrapping_add(len * itemsize) };
    }
}

/// The number of elements in a nest of loops.
fn size(loops: &[Loop]) -> usize {
    loops.iter().map(|axis| axis.count).product()
}
