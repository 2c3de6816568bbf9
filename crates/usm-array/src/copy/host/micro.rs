//! One block of words, transposed into a buffer

use super::row::Word;

/// Transposes as many rows and columns as come in whole squares: [`load`] with a stride of 1.
type Squares<W> = unsafe fn(*mut W, usize, *const W, &[isize], usize);

/// How words are transposed, chosen once for many blocks.
#[derive(Clone, Copy)]
pub(super) struct MicroKernel<W> {
    // Invariant MK1: So many rows and columns at a time, by a function that the processor can execute.
    squares: Option<(usize, usize, Squares<W>)>,
    stride: isize,
}

impl<W: Word> MicroKernel<W> {
    /// For columns that are so many words apart in the source.
    pub(super) fn new(stride: isize) -> Self {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        let squares = (stride == 1).then(x86::squares::<W>);
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        let squares = None;
        Self { squares, stride }
    }
}

/// Sets `buffer[i * pitch + j]` to the word `rows[j] + i * stride` of the source, for every row and every `i` below `count`; the stride is
/// that of the kernel.
///
/// # Safety
/// 1. These words of the source are readable.
/// 2. `count` rows of that pitch, as long as `rows`, are writable in the buffer.
/// 3. No word that is written has a byte in common with one that is read.
#[inline]
pub(super) unsafe fn load<W: Word>(
    buffer: *mut W,
    pitch: usize,
    src: *const W,
    rows: &[isize],
    kernel: MicroKernel<W>,
    count: usize,
) {
    let stride = kernel.stride;
    let (mut done_rows, mut done) = (0, 0);
    if let Some((at_once, lanes, squares)) = kernel.squares {
        done_rows = rows.len() / at_once * at_once;
        done = count / lanes * lanes;
        // SAFETY: the caller's promises 1 to 3, for the rows and columns that fill whole squares; MK1.
        unsafe { squares(buffer, pitch, src, rows, count) };
    }
    let (square, rest) = rows.split_at(done_rows);
    if done < count && !square.is_empty() {
        // SAFETY: the caller's promises 1 to 3, for what is behind the squares.
        unsafe { load_words(buffer, pitch, src, square, stride, done..count) };
    }
    if rest.is_empty() {
        return;
    }
    // SAFETY: the caller's promises 1 to 3, for what is beside the squares.
    unsafe { load_words(buffer.wrapping_add(done_rows), pitch, src, rest, stride, 0..count) };
}

/// Word by word, for some of the columns.
///
/// # Safety
/// Those of [`load`].
unsafe fn load_words<W: Word>(
    buffer: *mut W,
    pitch: usize,
    src: *const W,
    rows: &[isize],
    stride: isize,
    columns: std::ops::Range<usize>,
) {
    for (j, &row) in rows.iter().enumerate() {
        let from = src.wrapping_offset(row);
        for i in columns.clone() {
            // SAFETY: promise 1.
            let word = unsafe { from.wrapping_offset(i.cast_signed() * stride).read_unaligned() };
            // SAFETY: promise 2.
            unsafe { buffer.wrapping_add(i * pitch + j).write_unaligned(word) };
        }
    }
}

/// Squares of as many words as a register of SSE2 has, which every x86-64 has; with AVX2 two of them side by side, 1.2 times as fast
/// for words of 8 bytes.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
        _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32,
        _mm_unpacklo_epi64, _mm256_castsi128_si256, _mm256_inserti128_si256, _mm256_storeu_si256,
        _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    };

    use usm_memory::usm_core::bulk::has_avx2;

    use super::{Squares, Word};

    /// What the processor can execute, with the number of rows and columns at a time.
    pub(super) fn squares<W: Word>() -> (usize, usize, Squares<W>) {
        match (size_of::<W>(), has_avx2()) {
            (1, _) => (16, 16, squares_8),
            (2, _) => (8, 8, squares_16),
            (4, true) => (8, 4, wide_squares_32),
            (4, false) => (4, 4, squares_32),
            (8, true) => (4, 2, wide_squares_64),
            (8, false) => (2, 2, squares_64),
            _ => (1, 1, squares_128),
        }
    }

    macro_rules! squares {
        ($name:ident, $feature:literal, $lanes:literal x $beside:literal, $join:expr, $store:ident, $low:ident, $high:ident) => {
            /// # Safety
            /// Those of [`load`](super::load) with a stride of 1, for words of which so many fill 16 bytes; and the processor has
            /// the feature.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name<W: Word>(
                buffer: *mut W,
                pitch: usize,
                src: *const W,
                rows: &[isize],
                count: usize,
            ) {
                const N: usize = $lanes;
                let (groups, _) = rows.as_chunks::<{ $beside * N }>();
                for (group, rows) in groups.iter().enumerate() {
                    for first in (0..count / N * N).step_by(N) {
                        let from = rows.map(|row| src.wrapping_offset(row).wrapping_add(first));
                        // SAFETY: promise 1, for `N` words, which are 16 bytes.
                        let parts = from.map(|from| unsafe { _mm_loadu_si128(from.cast()) });
                        // With several squares their rows lie side by side: all are transposed at once.
                        let mut words: [_; N] = $join(parts);
                        // Shuffling the first half of the rows with the second one moves the highest bit of a row's number into the
                        // lowest bit of the column's; after as many times as there are bits the two have changed places.
                        for _ in 0..N.ilog2() {
                            let mut next = words;
                            for row in 0..words.len() / 2 {
                                next[2 * row] = $low(words[row], words[row + N / 2]);
                                next[2 * row + 1] = $high(words[row], words[row + N / 2]);
                            }
                            words = next;
                        }
                        let to = buffer.wrapping_add(first * pitch + group * $beside * N);
                        for (row, words) in words.into_iter().enumerate() {
                            // SAFETY: promise 2, for as many words.
                            unsafe { $store(to.wrapping_add(row * pitch).cast(), words) };
                        }
                    }
                }
            }
        };
        ($name:ident, $lanes:literal, $low:ident, $high:ident) => {
            squares!($name, "sse2", $lanes x 1, |parts| parts, _mm_storeu_si128, $low, $high);
        };
        (wide $name:ident, $lanes:literal, $low:ident, $high:ident) => {
            squares!($name, "avx2", $lanes x 2, |parts: [__m128i; 2 * N]| std::array::from_fn(|k| {
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(parts[k]), parts[N + k])
            }), _mm256_storeu_si256, $low, $high);
        };
    }

    squares!(squares_8, 16, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
    squares!(squares_16, 8, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
    squares!(squares_32, 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
    squares!(squares_64, 2, _mm_unpacklo_epi64, _mm_unpackhi_epi64);
    // A square of one word stays as it is.
    squares!(squares_128, 1, _mm_unpacklo_epi64, _mm_unpackhi_epi64);
    squares!(wide wide_squares_32, 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
    squares!(wide wide_squares_64, 2, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `load` writes, and what word by word is written, into buffers that hold something else before.
    fn both<W: Word + PartialEq + std::fmt::Debug>(
        value: fn(u32) -> W,
        rows: usize,
        count: usize,
        stride: isize,
        extra: usize,
    ) {
        let src_pitch = count * stride.unsigned_abs() + extra;
        let source: Vec<W> = (0..(rows * src_pitch + count) as u32).map(value).collect();
        // Rows in any order.
        let starts: Vec<isize> = (0..rows).map(|row| ((row * 7 + 3) % rows * src_pitch) as isize).collect();
        let pitch = rows + extra;
        let mut found = vec![value(77); pitch * count];
        let mut expected = found.clone();
        // SAFETY: sources and buffers were made large enough for just this.
        unsafe { load(found.as_mut_ptr(), pitch, source.as_ptr(), &starts, MicroKernel::new(stride), count) };
        // SAFETY: sources and buffers were made large enough for just this.
        unsafe { load_words(expected.as_mut_ptr(), pitch, source.as_ptr(), &starts, stride, 0..count) };
        assert_eq!(found, expected);
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        if stride == 1 {
            // Without AVX2, too; whole squares only.
            let lanes = 16 / size_of::<W>();
            let squares: Squares<W> = match lanes {
                4 => x86::squares_32,
                2 => x86::squares_64,
                _ => return,
            };
            let (rows, count) = (rows / lanes * lanes, count / lanes * lanes);
            let mut found = vec![value(77); pitch * count];
            let mut expected = found.clone();
            // SAFETY: sources and buffers were made large enough for just this.
            unsafe { squares(found.as_mut_ptr(), pitch, source.as_ptr(), &starts[..rows], count) };
            // SAFETY: sources and buffers were made large enough for just this.
            unsafe {
                load_words(expected.as_mut_ptr(), pitch, source.as_ptr(), &starts[..rows], 1, 0..count)
            };
            assert_eq!(found, expected);
        }
    }

    proptest! {
        #[test]
        fn squares_equal_word_by_word(
            (rows, count) in (1_usize..70, 1_usize..70),
            (stride, extra) in (1_isize..3, 0_usize..4),
        ) {
            both(|i| i as u8, rows, count, stride, extra);
            both(|i| i as u16, rows, count, stride, extra);
            both(|i| i, rows, count, stride, extra);
            both(|i| u64::from(i) << 7, rows, count, stride, extra);
            both(|i| u128::from(i) << 70, rows, count, stride, extra);
        }
    }
}
