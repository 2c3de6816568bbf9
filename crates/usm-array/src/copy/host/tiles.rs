//! Plans that transpose, block by block
//!
//! A block is read along the source into a small buffer, where it is transposed, and written along the target from there: both
//! sides see whole cache lines, whatever the distance between them.

use super::direct;
use super::emit::Emit;
use super::micro::load;
use super::prefetch::prefetch;
use super::word::{Block, Word};
use crate::copy::cast::Cast;
use crate::copy::plan::{Loop, Tiles, for_each_step};
use crate::layout::Axes;

/// Bytes of the buffer.
const TILE_BYTES: usize = 72 << 10;
/// The most rows of a block, on either side, and of a strip of blocks.
const MAX_ROWS: usize = 512;
/// The blocks of a strip follow each other along the target until so many of its bytes are one piece: a page, and whole lines but for
/// the ends.
const STRIP_BYTES: usize = 4096;
/// Words between two rows of the buffer beyond those of the row, so that a column does not meet itself in a cache set.
const fn pad<W>() -> usize {
    16 / size_of::<W>()
}

/// The words along each side of a block.
pub(super) const fn side(itemsize_bytes: usize) -> usize {
    match itemsize_bytes {
        1 => 256,
        2 => 128,
        4 => 128,
        _ => 64,
    }
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
    // Short pieces of lines are not worth streaming.
    let stream = stream && block_along * cast.dst.itemsize_bytes() >= 128;

    let is_direct =
        !stream && (across_step, along_step) == (1, 1) && cast.run().is_none() && direct::is_for::<W>();
    let strip_along = strip(block_along, cast.dst.itemsize_bytes());

    let mut emit = Emit::new(cast, stream);
    let mut buffer: Block<TILE_BYTES> = Block::new();
    let buffer = buffer.as_mut_ptr().cast::<W>();
    let mut src_rows = [0; MAX_ROWS];
    let mut dst_rows = [0; MAX_ROWS];
    for_each_step(&tiles.outer, |outer_dst, outer_src| {
        let dst_start = tiles.dst_start + outer_dst;
        let src_start = src.wrapping_offset(tiles.src_start + outer_src);
        for first_strip in (0..along).step_by(strip_along) {
            let src_rows = &mut src_rows[..strip_along.min(along - first_strip)];
            displacements(&tiles.along, first_strip, |axis| axis.src, src_rows);
            for first_across in (0..across).step_by(block_across) {
                let dst_rows = &mut dst_rows[..block_across.min(across - first_across)];
                displacements(&tiles.across, first_across, |axis| axis.dst, dst_rows);
                let from = src_start.wrapping_offset(first_across.cast_signed() * across_step);
                let below = from.wrapping_offset(block_across.cast_signed() * across_step);
                let row_bytes = dst_rows.len() * across_step.unsigned_abs() * size_of::<W>();
                let mut blocks = src_rows.chunks(block_along).enumerate().peekable();
                while let Some((number, src_rows_here)) = blocks.next() {
                    let columns = src_rows_here.len();
                    let first_along = first_strip + number * block_along;
                    let dst_start = dst_start + first_along.cast_signed() * along_step;
                    if is_direct {
                        let to = dst.wrapping_offset(dst_start * itemsize).cast::<W>();
                        // SAFETY: by T1 and T2 these are elements of the plan, on both sides as large as `W`.
                        unsafe { direct::transpose(to, dst_rows, from, src_rows_here) };
                        continue;
                    }
                    let pitch = columns + pad::<W>();
                    // SAFETY: by T1 and T2 these are source elements of the plan; the buffer has room for as many rows of that
                    // pitch as a block has.
                    unsafe { load(buffer, pitch, from, src_rows_here, across_step, dst_rows.len()) };
                    // The block after this one: beside it, or the first one of the strip below.
                    let (next, next_rows) = match blocks.peek() {
                        Some(&(_, rows)) => (from, rows),
                        None => (below, &src_rows[..block_along.min(src_rows.len())]),
                    };
                    for (row, &displacement) in dst_rows.iter().enumerate() {
                        if stream && let Some(&ahead) = next_rows.get(row) {
                            prefetch(next.wrapping_offset(ahead).cast(), row_bytes);
                        }
                        let to = dst.wrapping_offset((dst_start + displacement) * itemsize);
                        let words = buffer.wrapping_add(row * pitch).cast_const();
                        // SAFETY: the words of the row were just written; by T1 and T2 their places are target elements of the
                        // plan.
                        unsafe { emit.put(to, along_step, words, columns) };
                    }
                }
            }
        }
    });
}

/// How many elements along the target a strip has: whole blocks.
pub(super) fn strip(block_along: usize, itemsize_bytes: usize) -> usize {
    let wanted = (STRIP_BYTES / itemsize_bytes).min(MAX_ROWS);
    (wanted / block_along).max(1) * block_along
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
                let strips = [1, 2, 4, 8, 16].map(|itemsize_bytes| strip(columns, itemsize_bytes));
                let whole =
                    |strip: &usize| strip.is_multiple_of(columns) && (columns..=MAX_ROWS).contains(strip);
                assert!(strips.iter().all(whole), "{across} x {along}: strips of {strips:?}");
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
