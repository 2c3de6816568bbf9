//! Stores past the caches, for results that are larger than the caches
//!
//! An ordinary store reads the line that it changes first. A streaming one of whole lines does not, which takes a third of the
//! traffic off a large copy.

use super::simd::has_avx2;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Copies bytes. Other threads see them for certain only after [`fence`].
///
/// # Safety
/// Invariant P3: so many bytes are readable from `src` and writable from `dst`, and the two ranges have no byte in common.
pub unsafe fn copy(dst: *mut u8, src: *const u8, len_bytes: usize) {
    let head = dst.align_offset(LINE_BYTES).min(len_bytes);
    // SAFETY: P3 for the bytes before the first whole line.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, head) };
    let lines = (len_bytes - head) / LINE_BYTES;
    let copy_lines = if has_avx2() { lines::avx2 } else { lines::any };
    // SAFETY: P3 for the whole lines, which start at a multiple of 64; AVX2 is used where there is AVX2.
    unsafe { copy_lines(dst.wrapping_add(head), src.wrapping_add(head), lines) };
    let end = head + lines * LINE_BYTES;
    // SAFETY: P3 for the bytes behind the last whole line.
    unsafe { std::ptr::copy_nonoverlapping(src.wrapping_add(end), dst.wrapping_add(end), len_bytes - end) };
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod lines {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm_stream_si128, _mm256_loadu_si256, _mm256_stream_si256,
    };

    /// With SSE2, which every processor has where this is compiled.
    ///
    /// # Safety
    /// P3 holds for so many lines, of which the first is at a multiple of 64 in the target.
    pub(super) unsafe fn any(dst: *mut u8, src: *const u8, lines: usize) {
        let (dst, src) = (dst.cast::<__m128i>(), src.cast::<__m128i>());
        for line in 0..lines {
            let from = src.wrapping_add(4 * line);
            // SAFETY: P3 for the four words of a line, which need no alignment.
            let words = [0, 1, 2, 3].map(|word| unsafe { _mm_loadu_si128(from.wrapping_add(word)) });
            for (word, value) in words.into_iter().enumerate() {
                // SAFETY: P3; the line starts at a multiple of 64.
                unsafe { _mm_stream_si128(dst.wrapping_add(4 * line + word), value) };
            }
        }
    }

    /// With half as many, larger words: 1.1 times as fast.
    ///
    /// # Safety
    /// P3 holds as for [`any`], and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2(dst: *mut u8, src: *const u8, lines: usize) {
        let (dst, src) = (dst.cast::<__m256i>(), src.cast::<__m256i>());
        for line in 0..lines {
            let at = 2 * line;
            // SAFETY: P3 for the first half of a line.
            let low = unsafe { _mm256_loadu_si256(src.wrapping_add(at)) };
            // SAFETY: P3 for the second half of a line.
            let high = unsafe { _mm256_loadu_si256(src.wrapping_add(at + 1)) };
            // SAFETY: P3; the line starts at a multiple of 64.
            unsafe { _mm256_stream_si256(dst.wrapping_add(at), low) };
            // SAFETY: P3; the second half of that line.
            unsafe { _mm256_stream_si256(dst.wrapping_add(at + 1), high) };
        }
    }
}

/// Other processors have no such stores in Rust.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
mod lines {
    /// # Safety
    /// P3 holds for so many lines.
    pub(super) unsafe fn any(dst: *mut u8, src: *const u8, lines: usize) {
        // SAFETY: P3.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, lines * super::LINE_BYTES) };
    }

    pub(super) use any as avx2;
}

/// Makes the streaming stores of this thread visible before its later stores.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub fn fence() {
    // SAFETY: PR1: this function is there only where every processor has SSE.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Does nothing, since no store is a streaming one.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
pub fn fence() {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lines_are_copies() {
        let source: Vec<u8> = (0..1000_u32).map(|i| (i * 7) as u8).collect();
        for copy in [lines::any, lines::avx2].into_iter().take(if has_avx2() { 2 } else { 1 }) {
            for (skip, lines) in [(0, 0), (0, 1), (1, 3), (13, 15)] {
                let mut target = vec![9_u8; 1100];
                let start = target.as_ptr().align_offset(LINE_BYTES);
                // SAFETY: the source has 15 lines behind the 13 bytes, the target as many behind at most 63 bytes.
                unsafe {
                    copy(target.as_mut_ptr().wrapping_add(start), source.as_ptr().wrapping_add(skip), lines)
                };
                fence();
                let mut expected = vec![9_u8; 1100];
                expected[start..start + lines * LINE_BYTES]
                    .copy_from_slice(&source[skip..skip + lines * LINE_BYTES]);
                assert_eq!(target, expected);
            }
        }
    }
}
