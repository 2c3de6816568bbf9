//! Bytes from one place of this process to another

use std::ops::Range;

/// Lengths that C libraries copy by the instruction `rep movsb`. They stream longer blocks, and load and store shorter ones.
const BY_INSTRUCTION: Range<usize> = 2049..1 << 20;

/// A length that C libraries copy otherwise.
const PIECE_BYTES: usize = 2048;

/// Processors compare addresses modulo this length.
const PAGE_BYTES: usize = 4096;

/// Distances from source to target, modulo pages, at which that instruction waits for its own stores. It takes 3 to 14 times as long.
const NEAR: Range<usize> = 1..32;

/// Copies bytes of host memory; the ranges may overlap. This is [`std::ptr::copy`] without its slow case: a C library, and with it
/// NumPy, places large memory 16 bytes behind a page, and USM mostly begins at a page.
///
/// # Safety
/// Invariant P2: so many bytes are readable from `src` and writable from `dst`, as for [`std::ptr::copy`].
#[inline]
pub unsafe fn copy_bytes(dst: *mut u8, src: *const u8, len_bytes: usize) {
    if BY_INSTRUCTION.contains(&len_bytes) {
        let behind = dst.addr().wrapping_sub(src.addr());
        if NEAR.contains(&(behind % PAGE_BYTES)) && dst.addr().abs_diff(src.addr()) >= len_bytes {
            // SAFETY: P2, and the ranges are at least their length apart.
            return unsafe { in_pieces(dst, src, len_bytes) };
        }
    }
    // SAFETY: P2.
    unsafe { std::ptr::copy(src, dst, len_bytes) };
}

/// # Safety
/// P2 holds, and the ranges do not overlap.
unsafe fn in_pieces(dst: *mut u8, src: *const u8, len_bytes: usize) {
    for start in (0..len_bytes).step_by(PIECE_BYTES) {
        let piece_bytes = PIECE_BYTES.min(len_bytes - start);
        let (to, from) = (dst.wrapping_add(start), src.wrapping_add(start));
        // SAFETY: P2 for a part of both ranges.
        unsafe { std::ptr::copy_nonoverlapping(from, to, piece_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_at_every_distance() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|i| ((i * 31) >> 3) as u8).collect();
        for len_bytes in [0, 1, 2047, 2048, 2049, 4096, 5000, 8191] {
            for distance in [0, 1, 8, 16, 31, 32, 100, 4096, 4097, 4112, 8191, 8192, 8208, 8223] {
                for (from, to) in [(1000, 1000 + distance), (1000 + distance, 1000)] {
                    let mut expected = bytes.clone();
                    expected.copy_within(from..from + len_bytes, to);
                    let mut found = bytes.clone();
                    let start = found.as_mut_ptr();
                    // SAFETY: both ranges are parts of the vector.
                    unsafe { copy_bytes(start.wrapping_add(to), start.wrapping_add(from), len_bytes) };
                    assert!(found == expected, "{len_bytes} bytes from {from} to {to}");
                }
            }
        }
    }
}
