//! Plans that go row by row

use super::emit::Emit;
use super::gather::gather;
use super::plane::{self, split_plane};
use super::sink::Sink;
use super::word::{Block, Word};
use crate::copy::cast::Cast;
use crate::copy::plan::{CopyPlan, for_each_step};

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
    // From what is read to what lies before it processors do not read ahead; what is streamed may be written in any order. Rows
    // that fit into a block are put right there, which keeps their lines whole.
    let inside = match plan.row().src {
        1 => MIN_STREAM_BYTES / cast.dst.itemsize_bytes(),
        _ => Emit::block_len(cast) + 1,
    };
    let upwards = stream.then(|| plan.clone().upwards_in_source(inside));
    let plan = upwards.as_ref().unwrap_or(plan);
    let src = src.wrapping_offset(plan.src_start);
    let itemsize = cast.dst.itemsize_bytes();
    let target = |step: isize| dst.wrapping_offset((plan.dst_start + step) * itemsize.cast_signed());
    let (outer, run) = plan.loops.split_at(plan.loops.len() - plan.dense_target_loops());
    let run_bytes = run.iter().map(|axis| axis.count).product::<usize>() * itemsize;
    let stream = stream && run_bytes >= MIN_STREAM_BYTES;

    if !stream && cast.run().is_none() {
        let (outer, plane) = split_plane(&plan.loops);
        // SAFETY: the planes together are the pairs of the plan (P1).
        for_each_step(outer, |dst, from| unsafe {
            plane::copy(plane, target(dst).cast::<W>(), src.wrapping_offset(from))
        });
    } else if plan.row().dst == 1 {
        let mut sink = Sink::new(cast, stream, target(0));
        for_each_step(outer, |dst, from| {
            sink.restart(target(dst));
            // SAFETY: the loops of the run visit the target's elements in dense order, so the pairs of the plan (P1) are the
            // words of these loops and the places of the run.
            unsafe { sink.write(run, src.wrapping_offset(from)) };
        });
    } else {
        let (outer, plane) = split_plane(&plan.loops);
        let mut emit = Emit::new(cast, false);
        let mut block: Block = Block::new();
        let block = block.as_mut_ptr().cast::<W>();
        let row = plane.row;
        let capacity = Emit::block_len(cast);
        for_each_step(outer, |dst, from| {
            for step in 0..plane.rows.count.cast_signed() {
                let to = dst + step * plane.rows.dst;
                let from = src.wrapping_offset(from + step * plane.rows.src);
                for first in (0..row.count).step_by(capacity) {
                    let count = capacity.min(row.count - first);
                    let skipped = first.cast_signed();
                    // SAFETY: source elements of the row, into the block, which holds them.
                    unsafe { gather(block, from.wrapping_offset(skipped * row.src), row.src, count) };
                    // SAFETY: so many words are in the block; the elements of the row are writable.
                    unsafe { emit.put(target(to + skipped * row.dst), row.dst, block.cast_const(), count) };
                }
            }
        });
    }
}
