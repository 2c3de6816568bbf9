//! The kernels of rows: what copies the words of the two innermost loops

use usm_memory::usm_core::bulk::{copy_bytes, has_avx2};

use crate::copy::plan::{Loop, ONE};

/// An unsigned integer as large as an element. Every pattern of bytes is one, and none of its bytes is padding.
pub(super) trait Word: Copy + 'static {}

impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}
impl Word for u128 {}

/// Rows of so many bytes are copied without a call.
pub(super) const SHORT_BYTES: usize = 256;

/// The same for rows that are probably in no cache. The C library reads the end of longer rows first, and then the processor does not
/// read ahead.
pub(super) const FAR_BYTES: usize = 1024;

/// The two innermost loops, in words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub(super) rows: Loop,
    pub(super) row: Loop,
}

impl Plane {
    /// The loops around the two innermost ones, and these; missing ones have one step.
    pub(super) fn split(loops: &[Loop]) -> (&[Loop], Self) {
        match loops {
            [outer @ .., rows, row] => (outer, Self { rows: *rows, row: *row }),
            [row] => (&[], Self { rows: ONE, row: *row }),
            [] => (&[], Self { rows: ONE, row: ONE }),
        }
    }
}

/// Copies the words of a plane, whose rows are as those that the kernel was chosen for.
///
/// # Safety
/// For each step of the two loops:
/// 1. The word is writable there from the first address.
/// 2. The word is readable there from the second address; all of them are part of one allocation.
/// 3. No word that is written has a byte in common with one that is read.
pub(super) type RowKernel<W> = unsafe fn(Plane, *mut W, *const W);

/// The kernel for such rows; `is_far` says that the source is probably in no cache.
pub(super) fn kernel<W: Word>(row: Loop, is_far: bool) -> RowKernel<W> {
    match (row.dst, row.src, row.count) {
        (1, 1, 2) => short::<W, 2>,
        (1, 1, 3) => short::<W, 3>,
        (1, 1, 4) => short::<W, 4>,
        (1, 1, 5) => short::<W, 5>,
        (1, 1, 6) => short::<W, 6>,
        (1, 1, 7) => short::<W, 7>,
        (1, 1, 8) => short::<W, 8>,
        (1, 1, _) if is_far => dense::<W, FAR_BYTES>,
        (1, 1, _) => dense::<W, SHORT_BYTES>,
        // Constant strides become shuffles of whole registers.
        (_, 0, _) => repeat,
        (1, 2, _) if has_avx2() => avx2_steps::<W, 2>,
        (1, -1, _) if has_avx2() => avx2_steps::<W, -1>,
        (1, 2, _) => steps::<W, 2>,
        (1, -1, _) => steps::<W, -1>,
        (1, 3, _) => steps::<W, 3>,
        (1, 4, _) => steps::<W, 4>,
        (1, -2, _) => steps::<W, -2>,
        _ => strided,
    }
}

/// # Safety
/// Those of [`RowKernel`] for rows of `N` words without gaps on either side.
unsafe fn short<W: Word, const N: usize>(plane: Plane, dst: *mut W, src: *const W) {
    let rows = plane.rows;
    for i in 0..rows.count.cast_signed() {
        let from = src.wrapping_offset(i * rows.src).cast::<[W; N]>();
        // SAFETY: promise 2.
        let row = unsafe { from.read_unaligned() };
        // SAFETY: promise 1.
        unsafe { dst.wrapping_offset(i * rows.dst).cast::<[W; N]>().write_unaligned(row) };
    }
}

/// # Safety
/// Those of [`RowKernel`] for rows without gaps on either side.
unsafe fn dense<W: Word, const SHORT: usize>(plane: Plane, dst: *mut W, src: *const W) {
    let len_bytes = plane.row.count * size_of::<W>();
    for i in 0..plane.rows.count.cast_signed() {
        let (to, from) = (dst.wrapping_offset(i * plane.rows.dst), src.wrapping_offset(i * plane.rows.src));
        // SAFETY: the words of a row, by promises 1 to 3.
        unsafe { run::<SHORT>(to.cast(), from.cast(), len_bytes) };
    }
}

/// Copies a dense run of bytes; up to `SHORT` of them without a call.
///
/// # Safety
/// 1. So many bytes are readable from `src` and writable from `dst`, and the two ranges have no byte in common.
#[inline(always)]
pub(super) unsafe fn run<const SHORT: usize>(dst: *mut u8, src: *const u8, len_bytes: usize) {
    if len_bytes < 16 || len_bytes > SHORT {
        // SAFETY: the caller's promise 1.
        return unsafe { copy_bytes(dst, src, len_bytes) };
    }
    let mut at = 0;
    loop {
        // The last 16 bytes may overlap those before.
        let here = at.min(len_bytes - 16);
        // SAFETY: promise 1: `here + 16` is at most the length.
        let word = unsafe { src.wrapping_add(here).cast::<u128>().read_unaligned() };
        // SAFETY: promise 1: `here + 16` is at most the length.
        unsafe { dst.wrapping_add(here).cast::<u128>().write_unaligned(word) };
        at += 16;
        if at >= len_bytes {
            return;
        }
    }
}

/// # Safety
/// Those of [`RowKernel`] for rows of one word of the source.
unsafe fn repeat<W: Word>(Plane { rows, row }: Plane, dst: *mut W, src: *const W) {
    for i in 0..rows.count.cast_signed() {
        let to = dst.wrapping_offset(i * rows.dst);
        // SAFETY: promise 2.
        let word = unsafe { src.wrapping_offset(i * rows.src).read_unaligned() };
        for j in 0..row.count.cast_signed() {
            // SAFETY: promise 1.
            unsafe { to.wrapping_offset(j * row.dst).write_unaligned(word) };
        }
    }
}

/// # Safety
/// Those of [`RowKernel`] for rows without gaps in the target, whose words are so far apart in the source.
#[inline(always)]
unsafe fn steps<W: Word, const STRIDE: isize>(plane: Plane, dst: *mut W, src: *const W) {
    let row = Loop { dst: 1, src: STRIDE, ..plane.row };
    // SAFETY: the caller's promises 1 to 3.
    unsafe { strided(Plane { row, ..plane }, dst, src) };
}

/// # Safety
/// Those of [`steps`], and the processor has AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn avx2_steps<W: Word, const STRIDE: isize>(plane: Plane, dst: *mut W, src: *const W) {
    // SAFETY: the caller's promises 1 to 3.
    unsafe { steps::<W, STRIDE>(plane, dst, src) };
}

/// # Safety
/// Those of [`RowKernel`] for rows of any strides.
#[inline(always)]
unsafe fn strided<W: Word>(Plane { rows, row }: Plane, dst: *mut W, src: *const W) {
    for i in 0..rows.count.cast_signed() {
        let (to, from) = (dst.wrapping_offset(i * rows.dst), src.wrapping_offset(i * rows.src));
        for j in 0..row.count.cast_signed() {
            // SAFETY: one of the words, part of the allocation of the first one by promise 2. Without the promise of `offset` strides
            // of 2 to 4 do not become shuffles.
            let from = unsafe { from.offset(j * row.src) };
            // SAFETY: promise 2.
            let word = unsafe { from.read_unaligned() };
            // SAFETY: promise 1.
            unsafe { to.wrapping_offset(j * row.dst).write_unaligned(word) };
        }
    }
}
