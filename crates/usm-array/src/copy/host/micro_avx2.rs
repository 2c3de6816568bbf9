//! Blocks of words of 4 and 8 bytes, transposed with AVX2: 1.2 times as fast as with SSE2 for 8 bytes

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_castsi128_si256, _mm256_inserti128_si256, _mm256_storeu_si256,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::word::Word;

macro_rules! squares {
    ($name:ident, $lanes:literal, $low:ident, $high:ident) => {
        /// Transposes the blocks of twice as many rows as columns that fit, as [`load`](super::micro::load) does.
        ///
        /// # Safety
        /// Those of [`load`](super::micro::load) with a stride of 1, for words of which so many fill 16 bytes; and the
        /// processor has AVX2.
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $name<W: Word>(
            buffer: *mut W,
            pitch: usize,
            src: *const W,
            rows: &[isize],
            count: usize,
        ) {
            const N: usize = $lanes;
            let (groups, _) = rows.as_chunks::<{ 2 * N }>();
            for (group, rows) in groups.iter().enumerate() {
                for first in (0..count / N * N).step_by(N) {
                    let from = rows.map(|row| src.wrapping_offset(row).wrapping_add(first));
                    // SAFETY: condition 1, for `N` words, which are 16 bytes.
                    let halves = from.map(|from| unsafe { _mm_loadu_si128(from.cast()) });
                    // Rows `k` and `N + k` side by side: both halves of the registers are transposed at once.
                    let mut words: [__m256i; N] = std::array::from_fn(|k| {
                        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(halves[k]), halves[N + k])
                    });
                    // As in `micro.rs`: the bits of rows and columns change places.
                    for _ in 0..N.ilog2() {
                        let mut next = words;
                        for row in 0..N / 2 {
                            next[2 * row] = $low(words[row], words[row + N / 2]);
                            next[2 * row + 1] = $high(words[row], words[row + N / 2]);
                        }
                        words = next;
                    }
                    let to = buffer.wrapping_add(first * pitch + group * 2 * N);
                    for (row, words) in words.into_iter().enumerate() {
                        // SAFETY: condition 2, for `2 * N` words.
                        unsafe { _mm256_storeu_si256(to.wrapping_add(row * pitch).cast(), words) };
                    }
                }
            }
        }
    };
}

squares!(squares_32, 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
squares!(squares_64, 2, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64);
