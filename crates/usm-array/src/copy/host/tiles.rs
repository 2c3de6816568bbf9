//! Plans that transpose, block by block
//!
//! A block is read along the source into a small buffer, where it is transposed, and written along the target from there: both
//! sides see whole cache lines, whatever the distance between them.

use usm_memory::usm_core::bulk::stream::LINE_BYTES;

use super::micro::{MicroKernel, load};
use super::row::Word;
use super::store::{StackBlock, Store};
use crate::copy::cast::Cast;
use crate::copy::plan::{Loop, Tiles, for_each_step};
use crate::layout::Axes;

/// Rows of a block have so many lines: few of those that are streamed are at an end.
const ROW_LINES: usize = 8;
/// The most bytes of a block.
const MAX_BLOCK_BYTES: usize = 64 << 10;
/// Bytes of the buffer: a block, and what its rows are apart.
const TILE_BYTES: usize = MAX_BLOCK_BYTES + (8 << 10);
/// Small blocks are written together when they have so many bytes: they are still in the nearest cache.
const BATCH_BYTES: usize = 8 << 10;
/// The most rows of a block, on either side.
const MAX_ROWS: usize = 512;
/// Words between two rows of the buffer beyond those of the row: as many as a store has, so that a column does not meet itself in a
/// cache set, and whole blocks keep their stores within lines.
const fn pad<W>() -> usize {
    32 / size_of::<W>()
}

/// The words along each side of a block, of which a power of two fits.
pub(super) fn side(itemsize_bytes: usize) -> usize {
    let most = 1 << ((MAX_BLOCK_BYTES / itemsize_bytes).ilog2() / 2);
    most.min(ROW_LINES * LINE_BYTES / itemsize_bytes)
}

/// Carries out a plan.
///
/// # Safety
/// Those of [`super::execute`] for the pairs of the tiles, with elements of the source as large as `W`.
pub(super) unsafe fn execute<W: Word>(tiles: &Tiles, cast: Cast, stream: bool, dst: *mut u8, src: *const W) {
    let size = |loops: &[Loop]| loops.iter().map(|axis| axis.count).product::<usize>();
    let (across, along) = (size(&tiles.across), size(&tiles.along));
    let (block_across, block_along) = block::<W>(across, along);
    let across_step = tiles.across.last().map_or(1, |axis| axis.src);
    let along_step = tiles.along.last().map_or(1, |axis| axis.dst);
    let itemsize = cast.dst.itemsize_bytes().cast_signed();
    let batches = dense_batches(tiles, across, along, side(size_of::<W>()));
    // Short pieces of lines are not worth streaming.
    let stream = stream && (batches.is_some() || block_along * cast.dst.itemsize_bytes() >= 128);

    let kernel = MicroKernel::new(across_step);
    let mut store = Store::new(cast, stream);
    let mut buffer: StackBlock<TILE_BYTES> = StackBlock::new();
    let buffer = buffer.as_mut_ptr().cast::<W>();
    let mut src_rows = [0; MAX_ROWS];
    if let Some((outer, batch)) = batches {
        let src_rows = &mut src_rows[..along];
        displacements(&tiles.along, 0, |axis| axis.src, src_rows);
        let (block, capacity) = (across * along, BATCH_BYTES / size_of::<W>());
        let each = (capacity / block).max(1);
        for_each_step(outer, |outer_dst, outer_src| {
            for first in (0..batch.count).step_by(each) {
                let count = each.min(batch.count - first);
                for number in 0..count {
                    let from = tiles.src_start + outer_src + batch.src * (first + number).cast_signed();
                    let to = buffer.wrapping_add(number * block);
                    // SAFETY: by T1 and T2 these are source elements of the plan; the buffer holds so many blocks.
                    unsafe { load(to, along, src.wrapping_offset(from), src_rows, kernel, across) };
                }
                let to = tiles.dst_start + outer_dst + batch.dst * first.cast_signed();
                // SAFETY: the blocks were just written; by T1 and T2 their places, side by side, are target elements of the plan.
                unsafe {
                    store.put(dst.wrapping_offset(to * itemsize), 1, buffer.cast_const(), count * block)
                };
            }
        });
        return;
    }
    let mut dst_rows = [0; MAX_ROWS];
    for_each_step(&tiles.outer, |outer_dst, outer_src| {
        let dst_start = tiles.dst_start + outer_dst;
        let src_start = src.wrapping_offset(tiles.src_start + outer_src);
        let mut first_along = 0;
        while first_along < along {
            let dst_start = dst_start + first_along.cast_signed() * along_step;
            let rest = along - first_along;
            let place = dst.wrapping_offset(dst_start * itemsize);
            let count = if along_step == 1 {
                store.part_len(place, rest, block_along)
            } else {
                rest.min(block_along)
            };
            let src_rows = &mut src_rows[..count];
            displacements(&tiles.along, first_along, |axis| axis.src, src_rows);
            let pitch = src_rows.len() + pad::<W>();
            for first_across in (0..across).step_by(block_across) {
                let dst_rows = &mut dst_rows[..block_across.min(across - first_across)];
                displacements(&tiles.across, first_across, |axis| axis.dst, dst_rows);
                let from = src_start.wrapping_offset(first_across.cast_signed() * across_step);
                // SAFETY: by T1 and T2 these are source elements of the plan; the buffer holds as many rows of that pitch as a
                // block has.
                unsafe { load(buffer, pitch, from, src_rows, kernel, dst_rows.len()) };
                for (row, &displacement) in dst_rows.iter().enumerate() {
                    let to = dst.wrapping_offset((dst_start + displacement) * itemsize);
                    let words = buffer.wrapping_add(row * pitch).cast_const();
                    // SAFETY: the words of the row were just written; by T1 and T2 their places are target elements of the plan.
                    unsafe { store.put(to, along_step, words, src_rows.len()) };
                }
            }
            first_along += count;
        }
    });
}

/// The loops around many small blocks that follow each other in the target without a gap, and the innermost of these loops: such
/// blocks are written together, as one run. None where blocks have gaps, or are large enough alone.
fn dense_batches(tiles: &Tiles, across: usize, along: usize, side: usize) -> Option<(&[Loop], Loop)> {
    let (batch, outer) = tiles.outer.split_last()?;
    let mut next = 1;
    let inside = tiles.across.iter().chain(tiles.along.iter()).rev();
    let is_dense = inside.chain([batch]).all(|axis| {
        let follows = axis.dst == next;
        next = axis.dst.saturating_mul(axis.count.cast_signed());
        follows
    });
    (is_dense && across.max(along) <= side).then_some((outer, *batch))
}

/// How many words of a block go across and along: about a square, longer where one side is short.
fn block<W>(across: usize, along: usize) -> (usize, usize) {
    let side = side(size_of::<W>());
    let words = TILE_BYTES / size_of::<W>();
    let longest = |rows: usize| (words / 2 / rows.max(1)).clamp(side, MAX_ROWS);
    if across < side {
        (across, along.min(longest(across)))
    } else if along < side {
        (across.min(longest(along + pad::<W>())), along)
    } else {
        (side, side)
    }
}

/// The displacements on one side of the elements `first`, `first + 1`, … of a group, counted in the order of its loops.
fn displacements(group: &[Loop], first: usize, stride: impl Fn(&Loop) -> isize, out: &mut [isize]) {
    if let [axis] = group {
        // As in most copies; a step of the general loop takes several times as long, which counts for small blocks.
        let step = stride(axis);
        for (index, to) in out.iter_mut().enumerate() {
            *to = (first + index).cast_signed() * step;
        }
        return;
    }
    let mut index: Axes<usize> = group.iter().map(|_| 0).collect();
    let mut rest = first;
    let mut at = 0;
    for (axis, index) in group.iter().zip(index.iter_mut()).rev() {
        *index = rest % axis.count;
        rest /= axis.count;
        at += index.cast_signed() * stride(axis);
    }
    for to in out {
        *to = at;
        for (axis, index) in group.iter().zip(index.iter_mut()).rev() {
            *index += 1;
            at += stride(axis);
            if *index < axis.count {
                break;
            }
            // What was just added is taken back, too; after the last element it does not matter.
            at -= index.cast_signed() * stride(axis);
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits<W: Word>() {
        for across in (1..600).chain([100_000]) {
            for along in (1..600).chain([100_000]) {
                let (rows, columns) = block::<W>(across, along);
                assert!((1..=across.min(MAX_ROWS)).contains(&rows), "{across} x {along}: {rows} rows");
                assert!(
                    (1..=along.min(MAX_ROWS)).contains(&columns),
                    "{across} x {along}: {columns} columns"
                );
                let bytes = rows * (columns + pad::<W>()) * size_of::<W>();
                assert!(bytes <= TILE_BYTES, "{across} x {along}: {bytes} bytes");
            }
        }
    }

    #[test]
    fn every_block_fits_into_the_buffer() {
        fits::<u8>();
        fits::<u16>();
        fits::<u32>();
        fits::<u64>();
        fits::<u128>();
    }
}
