//! Two loops of words: rows of one length, equally far from each other

use super::gather::{gather, run};
use super::word::Word;
use crate::copy::plan::{Loop, ONE};

/// Of more bytes the C library reads the end first, and then the processor does not read ahead.
const PIECE_BYTES: usize = 256;

/// Both loops, in words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub(super) rows: Loop,
    pub(super) row: Loop,
}

/// The loops around the two innermost ones, and these; missing ones have one step.
pub(super) fn split_plane(loops: &[Loop]) -> (&[Loop], Plane) {
    match loops {
        [outer @ .., rows, row] => (outer, Plane { rows: *rows, row: *row }),
        [row] => (&[], Plane { rows: ONE, row: *row }),
        [] => (&[], Plane { rows: ONE, row: ONE }),
    }
}

/// Copies the words of a plane.
///
/// # Safety
/// For each step of the two loops:
/// 1. The word is writable there from `dst`.
/// 2. The word is readable there from `src`; all of them are part of one allocation.
/// 3. No word that is written has a byte in common with one that is read.
pub(super) unsafe fn copy<W: Word>(plane: Plane, dst: *mut W, src: *const W) {
    let copy: unsafe fn(Plane, *mut W, *const W) = match (plane.row.dst, plane.row.src, plane.row.count) {
        (1, 1, 2) => short_rows::<W, 2>,
        (1, 1, 3) => short_rows::<W, 3>,
        (1, 1, 4) => short_rows::<W, 4>,
        (1, 1, 5) => short_rows::<W, 5>,
        (1, 1, 6) => short_rows::<W, 6>,
        (1, 1, 7) => short_rows::<W, 7>,
        (1, 1, 8) => short_rows::<W, 8>,
        (1, 1, _) => dense_rows,
        (1, _, _) => gathered_rows,
        _ => spread_rows,
    };
    // SAFETY: the caller's promises; the rows are as the chosen function wants them.
    unsafe { copy(plane, dst, src) };
}

/// [`copy`] with the addresses of bytes.
///
/// # Safety
/// Those of [`copy`].
pub(super) unsafe fn copy_bytes<W: Word>(plane: Plane, dst: *mut u8, src: *const u8) {
    // SAFETY: the caller's promises.
    unsafe { copy(plane, dst.cast::<W>(), src.cast::<W>()) };
}

/// [`copy`] where the source is probably in no cache.
///
/// # Safety
/// Those of [`copy`].
pub(super) unsafe fn copy_far<W: Word>(plane: Plane, dst: *mut W, src: *const W) {
    let Plane { rows, row } = plane;
    if (row.dst, row.src) != (1, 1) || row.count * size_of::<W>() <= PIECE_BYTES {
        // SAFETY: the caller's promises.
        return unsafe { copy(plane, dst, src) };
    }
    let capacity = PIECE_BYTES / size_of::<W>();
    for i in 0..rows.count.cast_signed() {
        let (to, from) = (dst.wrapping_offset(i * rows.dst), src.wrapping_offset(i * rows.src));
        for first in (0..row.count).step_by(capacity) {
            let count = capacity.min(row.count - first);
            // SAFETY: words of a row, 1 to 3.
            unsafe { run(to.wrapping_add(first), from.wrapping_add(first), count) };
        }
    }
}

/// # Safety
/// Those of [`copy`] for rows of `N` words without gaps on either side.
unsafe fn short_rows<W: Word, const N: usize>(plane: Plane, dst: *mut W, src: *const W) {
    let rows = plane.rows;
    for i in 0..rows.count.cast_signed() {
        let from = src.wrapping_offset(i * rows.src).cast::<[W; N]>();
        // SAFETY: condition 2.
        let row = unsafe { from.read_unaligned() };
        // SAFETY: condition 1.
        unsafe { dst.wrapping_offset(i * rows.dst).cast::<[W; N]>().write_unaligned(row) };
    }
}

/// # Safety
/// Those of [`copy`] for rows without gaps on either side.
unsafe fn dense_rows<W: Word>(plane: Plane, dst: *mut W, src: *const W) {
    for i in 0..plane.rows.count.cast_signed() {
        let (to, from) = (dst.wrapping_offset(i * plane.rows.dst), src.wrapping_offset(i * plane.rows.src));
        // SAFETY: the words of a row, 1 to 3.
        unsafe { run(to, from, plane.row.count) };
    }
}

/// # Safety
/// Those of [`copy`] for rows without gaps in the target.
unsafe fn gathered_rows<W: Word>(plane: Plane, dst: *mut W, src: *const W) {
    for i in 0..plane.rows.count.cast_signed() {
        let (to, from) = (dst.wrapping_offset(i * plane.rows.dst), src.wrapping_offset(i * plane.rows.src));
        // SAFETY: the words of a row, 1 to 3.
        unsafe { gather(to, from, plane.row.src, plane.row.count) };
    }
}

/// # Safety
/// Those of [`copy`].
unsafe fn spread_rows<W: Word>(plane: Plane, dst: *mut W, src: *const W) {
    for i in 0..plane.rows.count.cast_signed() {
        let (mut to, mut from) =
            (dst.wrapping_offset(i * plane.rows.dst), src.wrapping_offset(i * plane.rows.src));
        for _ in 0..plane.row.count {
            // SAFETY: condition 2.
            let word = unsafe { from.read_unaligned() };
            // SAFETY: condition 1.
            unsafe { to.write_unaligned(word) };
            to = to.wrapping_offset(plane.row.dst);
            from = from.wrapping_offset(plane.row.src);
        }
    }
}
