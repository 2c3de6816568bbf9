//! Blocks of words of 8 bytes, transposed with AVX2 from where they are to where they belong
//!
//! Without the pass through a buffer, for what stays in the caches: 1.3 to 2 times as fast there, as fast where rows are nearly 4 KiB
//! apart. A square of eight rows and eight columns has a whole line in each row on either side, so that few lines are needed twice.

use super::simd::has_avx2;
use super::word::Word;

/// Rows and columns of a square.
const SIDE: usize = 8;

/// Whether [`transpose`] is fast for such words.
pub(super) fn is_for<W: Word>() -> bool {
    cfg!(all(target_arch = "x86_64", target_feature = "sse2")) && size_of::<W>() == SIDE && has_avx2()
}

/// Sets the word `dst_rows[i] + j` of the target to the word `src_rows[j] + i` of the source, for all rows of both.
///
/// # Safety
/// 1. These words of the source are readable.
/// 2. These words of the target are writable.
/// 3. No word that is written has a byte in common with one that is read.
pub(super) unsafe fn transpose<W: Word>(dst: *mut W, dst_rows: &[isize], src: *const W, src_rows: &[isize]) {
    let (mut done_dst, mut done_src) = (0, 0);
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    if is_for::<W>() {
        done_dst = dst_rows.len() / SIDE * SIDE;
        done_src = src_rows.len() / SIDE * SIDE;
        // SAFETY: the caller's promises, for words of 8 bytes; there is AVX2.
        unsafe { x86::squares(dst.cast(), dst_rows, src.cast(), src_rows) };
    }
    let (square, below) = dst_rows.split_at(done_dst);
    // SAFETY: the caller's promises, for what is beside the squares.
    unsafe { words(dst.wrapping_add(done_src), square, src, &src_rows[done_src..]) };
    let src = src.wrapping_add(done_dst);
    // SAFETY: the caller's promises, for what is below the squares.
    unsafe { words(dst, below, src, src_rows) };
}

/// Word by word.
///
/// # Safety
/// Those of [`transpose`].
unsafe fn words<W: Word>(dst: *mut W, dst_rows: &[isize], src: *const W, src_rows: &[isize]) {
    for (i, &to) in dst_rows.iter().enumerate() {
        for (j, &from) in src_rows.iter().enumerate() {
            // SAFETY: condition 1.
            let word = unsafe { src.wrapping_offset(from).wrapping_add(i).read_unaligned() };
            // SAFETY: condition 2.
            unsafe { dst.wrapping_offset(to).wrapping_add(j).write_unaligned(word) };
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_storeu_si256, _mm256_unpackhi_epi64,
        _mm256_unpacklo_epi64,
    };

    /// Words of 8 bytes in a register.
    const LANES: usize = 4;

    /// Four rows of four words.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transposed([a, b, c, d]: [__m256i; LANES]) -> [__m256i; LANES] {
        let (even, odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (even_right, odd_right) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        [
            _mm256_permute2x128_si256::<0x20>(even, even_right),
            _mm256_permute2x128_si256::<0x20>(odd, odd_right),
            _mm256_permute2x128_si256::<0x31>(even, even_right),
            _mm256_permute2x128_si256::<0x31>(odd, odd_right),
        ]
    }

    /// [`transpose`](super::transpose) for the squares of eight rows and columns that fit.
    ///
    /// # Safety
    /// Those of [`transpose`](super::transpose) for words of 8 bytes, and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn squares(dst: *mut u64, dst_rows: &[isize], src: *const u64, src_rows: &[isize]) {
        let (src_groups, _) = src_rows.as_chunks::<{ 2 * LANES }>();
        let (dst_groups, _) = dst_rows.as_chunks::<{ 2 * LANES }>();
        // Along the target: a line that two squares have in common is written by one after the other.
        for (down, to) in dst_groups.iter().enumerate() {
            for (right, from) in src_groups.iter().enumerate() {
                let from = from.map(|row| src.wrapping_offset(row));
                let (halves, _) = to.as_chunks::<LANES>();
                for (half, to) in halves.iter().enumerate() {
                    let first = (2 * down + half) * LANES;
                    let load = |row: usize| {
                        // SAFETY: condition 1, for four words of a row.
                        unsafe { _mm256_loadu_si256(from[row].wrapping_add(first).cast()) }
                    };
                    let left = transposed([load(0), load(1), load(2), load(3)]);
                    let rest = transposed([load(4), load(5), load(6), load(7)]);
                    for (row, &to) in to.iter().enumerate() {
                        let to = dst.wrapping_offset(to).wrapping_add(2 * LANES * right);
                        // SAFETY: condition 2, for the first half of eight words of a row.
                        unsafe { _mm256_storeu_si256(to.cast(), left[row]) };
                        // SAFETY: as above, for the second half.
                        unsafe { _mm256_storeu_si256(to.wrapping_add(LANES).cast(), rest[row]) };
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn squares_equal_word_by_word((rows, columns) in (1_usize..40, 1_usize..40), extra in 0_usize..4) {
            let (src_pitch, dst_pitch) = (columns + extra, rows + extra);
            let source: Vec<u64> = (0..(rows * src_pitch) as u64).map(|i| i << 7).collect();
            // Rows in any order.
            let starts = |count: usize, pitch: usize, step: usize| -> Vec<isize> {
                let step = if count.is_multiple_of(step) { 1 } else { step };
                (0..count).map(|row| ((row * step + 3) % count * pitch) as isize).collect()
            };
            let (src_rows, dst_rows) = (starts(rows, src_pitch, 7), starts(columns, dst_pitch, 5));
            let mut found = vec![77_u64; columns * dst_pitch];
            let mut expected = found.clone();
            // SAFETY: source and target were made large enough for just this.
            unsafe { transpose(found.as_mut_ptr(), &dst_rows, source.as_ptr(), &src_rows) };
            // SAFETY: as above.
            unsafe { words(expected.as_mut_ptr(), &dst_rows, source.as_ptr(), &src_rows) };
            prop_assert_eq!(&found, &expected);
            for (i, &to) in dst_rows.iter().enumerate() {
                for (j, &from) in src_rows.iter().enumerate() {
                    prop_assert_eq!(found[to as usize + j], source[from as usize + i]);
                }
            }
        }
    }
}
