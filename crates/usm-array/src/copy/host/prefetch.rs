//! Asking for memory before it is read
//!
//! Rows of a block lie far apart, each in pages of its own: the processor does not guess which come next.

/// Asks for the lines with these bytes, which may lie anywhere.
#[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
#[inline(always)]
pub(super) fn prefetch(from: *const u8, len_bytes: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    use super::stream::LINE_BYTES;

    // From the start of the first line, so that the last one is among them.
    let skew_bytes = from.addr() % LINE_BYTES;
    let first = from.wrapping_sub(skew_bytes).cast::<i8>();
    for at in (0..skew_bytes + len_bytes).step_by(LINE_BYTES) {
        // SAFETY: a hint, which reads nothing and faults nowhere; this function is there only where every processor has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
    }
}

/// Other processors have no such hint in stable Rust.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
pub(super) fn prefetch(_from: *const u8, _len_bytes: usize) {}
