//! One row of words into a dense run

use usm_memory::usm_core::bulk::{copy_bytes, has_avx2};

use super::word::Word;

/// Copies `count` words, `stride` words from one to the next, into a dense run.
///
/// # Safety
/// 1. The words are readable, and part of one allocation.
/// 2. The run is writable.
/// 3. No word that is written has a byte in common with one that is read.
#[inline]
pub(super) unsafe fn gather<W: Word>(dst: *mut W, src: *const W, stride: isize, count: usize) {
    // Constant strides become shuffles of whole registers.
    let copy: unsafe fn(*mut W, *const W, isize, usize) = match (stride, has_avx2()) {
        (1, _) => |dst, src, _, count| {
            // SAFETY: the caller's promises.
            unsafe { run(dst, src, count) }
        },
        (0, _) => repeat,
        (2, true) => avx2_steps::<W, 2>,
        (-1, true) => avx2_steps::<W, -1>,
        (-1, false) => steps::<W, -1>,
        (2, false) => steps::<W, 2>,
        (3, _) => steps::<W, 3>,
        (4, _) => steps::<W, 4>,
        (-2, _) => steps::<W, -2>,
        _ => any_steps,
    };
    // SAFETY: the caller's promises.
    unsafe { copy(dst, src, stride, count) };
}

/// Copies a dense run. Short ones without a call.
///
/// # Safety
/// Those of [`gather`].
#[inline(always)]
pub(super) unsafe fn run<W: Word>(dst: *mut W, src: *const W, count: usize) {
    let len_bytes = count * size_of::<W>();
    if !(16..=256).contains(&len_bytes) {
        // SAFETY: the caller's promises; bytes have no alignment.
        return unsafe { copy_bytes(dst.cast(), src.cast(), len_bytes) };
    }
    let (dst, src) = (dst.cast::<u8>(), src.cast::<u8>());
    let mut at = 0;
    loop {
        // The last 16 bytes may overlap those before.
        let here = at.min(len_bytes - 16);
        // SAFETY: `here + 16` is at most the length.
        let word = unsafe { src.wrapping_add(here).cast::<u128>().read_unaligned() };
        // SAFETY: `here + 16` is at most the length.
        unsafe { dst.wrapping_add(here).cast::<u128>().write_unaligned(word) };
        at += 16;
        if at >= len_bytes {
            return;
        }
    }
}

/// # Safety
/// Those of [`gather`].
unsafe fn repeat<W: Word>(dst: *mut W, src: *const W, _stride: isize, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: condition 1.
    let word = unsafe { src.read_unaligned() };
    for i in 0..count {
        // SAFETY: inside the run.
        let to = unsafe { dst.add(i) };
        // SAFETY: condition 2.
        unsafe { to.write_unaligned(word) };
    }
}

/// # Safety
/// Those of [`gather`].
unsafe fn steps<W: Word, const STRIDE: isize>(dst: *mut W, src: *const W, _stride: isize, count: usize) {
    // SAFETY: the caller's promises.
    unsafe { any_steps(dst, src, STRIDE, count) };
}

/// # Safety
/// Those of [`gather`], and the processor has AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn avx2_steps<W: Word, const STRIDE: isize>(dst: *mut W, src: *const W, _stride: isize, count: usize) {
    // SAFETY: the caller's promises.
    unsafe { any_steps(dst, src, STRIDE, count) };
}

/// # Safety
/// Those of [`gather`].
#[inline(always)]
unsafe fn any_steps<W: Word>(dst: *mut W, src: *const W, stride: isize, count: usize) {
    for i in 0..count {
        // SAFETY: one of the words, inside their allocation by condition 1.
        let from = unsafe { src.offset(i.cast_signed() * stride) };
        // SAFETY: condition 1.
        let word = unsafe { from.read_unaligned() };
        // SAFETY: inside the run.
        let to = unsafe { dst.add(i) };
        // SAFETY: condition 2.
        unsafe { to.write_unaligned(word) };
    }
}
