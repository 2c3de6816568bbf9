//! The loop nest of plans that go row by row
//!
//! A kernel copies the rows right into the target. What is cast or streamed goes through a block in the nearest cache: there the rows of
//! a dense run of the target come together, however short they are.

use std::ops::Range;

use super::row::{FAR_BYTES, Kernel, Plane, kernel};
use super::store::{Block, Store, Word};
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
        // SAFETY: the caller's promises.
        return unsafe { in_blocks(plan, dense, Store::new(cast, stream), itemsize, dst, src) };
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
/// Those of [`execute`].
unsafe fn in_blocks<W: Word>(
    plan: &CopyPlan,
    dense: usize,
    mut store: Store,
    itemsize: usize,
    dst: *mut u8,
    src: *const W,
) {
    let row = plan.row();
    let most = store.block_len();
    // Rows that need no block, and those that fill one, are runs of their own.
    let is_long = row.src == 1 && row.count * size_of::<W>() >= FAR_BYTES || row.count >= most;
    let inside = if is_long { dense.min(1) } else { dense }.max(1);
    // From what is read to what lies before it processors do not read ahead; blocks may be written in any order.
    let plan = plan.clone().upwards_in_source(inside);
    let (outer, run) = plan.loops.split_at(plan.loops.len().saturating_sub(inside));
    let run = if run.is_empty() { &[ONE][..] } else { run };
    let run_len = size(run);
    let is_packed = run.len() == 1 && row.src == 1;
    let is_down = run.first().is_some_and(|axis| axis.src < 0);
    let most = if is_packed { run_len } else { most };

    let target = |at: isize| dst.wrapping_offset((plan.dst_start + at) * itemsize.cast_signed());
    let src = src.wrapping_offset(plan.src_start);
    let mut block: Block = Block::new();
    let block = block.as_mut_ptr().cast::<W>();
    let copy = kernel::<W>(Loop { dst: 1, ..row }, true);
    for_each_step(outer, |to, from| {
        let from = src.wrapping_offset(from);
        let head = store.part_len(target(to), run_len, most);
        let blocks = 1 + (run_len - head).div_ceil(most);
        for number in 0..blocks {
            let end = head + most * if is_down { blocks - 1 - number } else { number };
            let part = end.saturating_sub(most)..end.min(run_len);
            let (place, len) = (target(to + part.start.cast_signed() * row.dst), part.len());
            if !is_packed {
                // SAFETY: words of the run, which are source elements of the plan (P1), into the block, which holds so many.
                unsafe { fill(run, copy, part, block, from) };
            }
            let words = if is_packed { from } else { block.cast_const() };
            // SAFETY: the words of this part; by P1 their places are target elements of the plan.
            unsafe { store.put(place, row.dst, words, len) };
        }
    });
}

/// Copies some of the words of a nest of loops, counted in the order of the loops, to a dense run. `copy` is the kernel for whole rows.
///
/// # Safety
/// 1. These words are readable, counted from `src`.
/// 2. As many words are writable from `dst`.
/// 3. No word that is written has a byte in common with one that is read.
unsafe fn fill<W: Word>(
    loops: &[Loop],
    copy: Kernel<W>,
    mut part: Range<usize>,
    mut dst: *mut W,
    src: *const W,
) {
    let Some((axis, inner)) = loops.split_first() else { return };
    let from = |step: usize| src.wrapping_offset(step.cast_signed() * axis.src);
    let len = size(inner);
    let (mut step, mut skipped) = (part.start / len, part.start % len);
    if inner.is_empty() {
        let row = Loop { count: part.len(), dst: 1, src: axis.src };
        // SAFETY: the caller's promises; the kernel is for this row.
        return unsafe { kernel::<W>(row, true)(Plane { rows: ONE, row }, dst, from(step)) };
    }
    while !part.is_empty() {
        let whole = part.len() / len;
        let count = if skipped == 0
            && whole > 0
            && let [row] = inner
        {
            let mut rows = Loop { count: whole, dst: len.cast_signed(), src: axis.src };
            let (mut to, mut at) = (0, 0);
            if rows.src < 0 {
                rows.reverse(&mut to, &mut at);
            }
            let plane = Plane { rows, row: Loop { dst: 1, ..*row } };
            // SAFETY: the caller's promises for whole rows; the kernel is theirs.
            unsafe { copy(plane, dst.wrapping_offset(to), from(step).wrapping_offset(at)) };
            step += whole;
            whole * len
        } else {
            let count = (len - skipped).min(part.len());
            // SAFETY: the caller's promises for words of one step.
            unsafe { fill(inner, copy, skipped..skipped + count, dst, from(step)) };
            (step, skipped) = (step + 1, 0);
            count
        };
        part.start += count;
        dst = dst.wrapping_add(count);
    }
}

/// The number of elements in a nest of loops.
fn size(loops: &[Loop]) -> usize {
    loops.iter().map(|axis| axis.count).product()
}
