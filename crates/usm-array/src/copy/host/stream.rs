//! Stores past the caches, for results that are larger than those
//!
//! An ordinary store reads the line that it changes first. A streaming one of whole lines does not, which takes a third of the
//! traffic off a large copy.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Copies bytes. Other threads see them for certain only after [`fence`].
///
/// # Safety
/// 1. So many bytes are readable from `src`.
/// 2. So many bytes are writable from `dst`.
/// 3. The two ranges have no byte in common.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, len_bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    let head = dst.align_offset(LINE_BYTES).min(len_bytes);
    // SAFETY: 1 to 3, for the bytes before the first whole line.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, head) };
    let end = head + (len_bytes - head) / LINE_BYTES * LINE_BYTES;
    let mut at = head;
    while at < end {
        let from = src.wrapping_add(at).cast::<__m128i>();
        let to = dst.wrapping_add(at).cast::<__m128i>();
        // SAFETY: condition 1 for the four words of a line, which need no alignment.
        let line = unsafe { [0, 1, 2, 3].map(|word| _mm_loadu_si128(from.wrapping_add(word))) };
        for (word, value) in line.into_iter().enumerate() {
            // SAFETY: condition 2; the line starts at a multiple of 64.
            unsafe { _mm_stream_si128(to.wrapping_add(word), value) };
        }
        at += LINE_BYTES;
    }
    // SAFETY: 1 to 3, for the bytes behind the last whole line.
    unsafe { std::ptr::copy_nonoverlapping(src.wrapping_add(end), dst.wrapping_add(end), len_bytes - end) };
}

/// Makes what this thread has streamed visible before whatever it stores next.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) fn fence() {
    // SAFETY: this function is there only where every processor has SSE.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Copies bytes: other processors have no such stores in Rust.
///
/// # Safety
/// 1. So many bytes are readable from `src`.
/// 2. So many bytes are writable from `dst`.
/// 3. The two ranges have no byte in common.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, len_bytes: usize) {
    // SAFETY: the caller's promises.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, len_bytes) };
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
pub(super) fn fence() {}
