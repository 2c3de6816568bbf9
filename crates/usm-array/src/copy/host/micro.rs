//! One block of words, transposed into a buffer

use std::marker::PhantomData;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use usm_memory::usm_core::bulk::has_avx2;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use super::micro_avx2;
use super::word::Word;

/// Transposes as many rows and columns as come in whole squares: [`load`] with a stride of 1.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
type Squares<W> = unsafe fn(*mut W, usize, *const W, &[isize], usize);

/// How words are transposed, chosen once for many blocks.
#[derive(Clone, Copy)]
pub(super) struct Kernel<W> {
    // W1. The processor can do it.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    squares: Option<(usize, usize, Squares<W>)>,
    stride: isize,
    words: PhantomData<W>,
}

impl<W: Word> Kernel<W> {
    /// For columns that are so many words apart in the source.
    pub(super) fn new(stride: isize) -> Self {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        let squares = (stride == 1).then(|| {
            let lanes = 16 / size_of::<W>();
            let (at_once, squares): (_, Squares<W>) = match (lanes, has_avx2()) {
                (16, _) => (16, x86::squares_8),
                (8, _) => (8, x86::squares_16),
                (4, true) => (8, micro_avx2::squares_32),
                (4, false) => (4, x86::squares_32),
                (2, true) => (4, micro_avx2::squares_64),
                (2, false) => (2, x86::squares_64),
                _ => (1, x86::squares_128),
            };
            (at_once, lanes, squares)
        });
        Self {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            squares,
            stride,
            words: PhantomData,
        }
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
    kernel: Kernel<W>,
    count: usize,
) {
    let stride = kernel.stride;
    let (mut done_rows, mut done) = (0, 0);
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    if let Some((at_once, lanes, squares)) = kernel.squares {
        done_rows = rows.len() / at_once * at_once;
        done = count / lanes * lanes;
        // SAFETY: the caller's promises, for the rows and columns that fill whole squares; W1.
        unsafe { squares(buffer, pitch, src, rows, count) };
    }
    let (square, rest) = rows.split_at(done_rows);
    if done < count && !square.is_empty() {
        // SAFETY: the caller's promises, for what is behind the squares.
        unsafe { load_words(buffer, pitch, src, square, stride, done..count) };
    }
    if rest.is_empty() {
        return;
    }
    // SAFETY: the caller's promises, for what is beside the squares.
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
            // SAFETY: condition 1.
            let word = unsafe { from.wrapping_offset(i.cast_signed() * stride).read_unaligned() };
            // SAFETY: condition 2.
            unsafe { buffer.wrapping_add(i * pitch + j).write_unaligned(word) };
        }
    }
}

/// Squares of as many words as a register of SSE2 has, which every x86-64 has.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
        _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32,
        _mm_unpacklo_epi64,
    };

    use super::Word;

    macro_rules! squares {
        ($name:ident, $lanes:literal, $low:ident, $high:ident) => {
            /// # Safety
            /// Those of [`squares`].
            pub(super) unsafe fn $name<W: Word>(
                buffer: *mut W,
                pitch: usize,
                src: *const W,
                rows: &[isize],
                count: usize,
            ) {
                let shuffle = |a, b| {
                    // SAFETY: this module is there only where every processor has SSE2.
                    let low = unsafe { $low(a, b) };
                    // SAFETY: this module is there only where every processor has SSE2.
                    [low, unsafe { $high(a, b) }]
                };
                // SAFETY: the caller's promises.
                unsafe { squares::<W, $lanes>(buffer, pitch, src, rows, count, shuffle) };
            }
        };
    }

    squares!(squares_8, 16, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
    squares!(squares_16, 8, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
    squares!(squares_32, 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
    squares!(squares_64, 2, _mm_unpacklo_epi64, _mm_unpackhi_epi64);

    /// # Safety
    /// Those of [`squares`].
    pub(super) unsafe fn squares_128<W: Word>(
        buffer: *mut W,
        pitch: usize,
        src: *const W,
        rows: &[isize],
        count: usize,
    ) {
        // SAFETY: the caller's promises; a square of one word stays as it is.
        unsafe { squares::<W, 1>(buffer, pitch, src, rows, count, |a, b| [a, b]) };
    }

    /// Transposes `N` registers of `N` words. Shuffling the first half of the rows with the second one moves the highest bit of
    /// a row's number into the lowest bit of the column's; after as many times as there are bits the two have changed places.
    #[inline(always)]
    fn transpose<const N: usize>(
        mut rows: [__m128i; N],
        shuffle: impl Fn(__m128i, __m128i) -> [__m128i; 2],
    ) -> [__m128i; N] {
        for _ in 0..N.ilog2() {
            let mut next = rows;
            for row in 0..N / 2 {
                [next[2 * row], next[2 * row + 1]] = shuffle(rows[row], rows[row + N / 2]);
            }
            rows = next;
        }
        rows
    }

    /// Transposes the squares of `N` rows and `N` columns that fit.
    ///
    /// # Safety
    /// Those of [`load`](super::load) with a stride of 1, where `N` words fill a register.
    #[inline(always)]
    pub(super) unsafe fn squares<W: Word, const N: usize>(
        buffer: *mut W,
        pitch: usize,
        src: *const W,
        rows: &[isize],
        count: usize,
        shuffle: impl Fn(__m128i, __m128i) -> [__m128i; 2] + Copy,
    ) {
        let (groups, _) = rows.as_chunks::<N>();
        for (group, rows) in groups.iter().enumerate() {
            for first in (0..count / N * N).step_by(N) {
                let from = rows.map(|row| src.wrapping_offset(row).wrapping_add(first));
                // SAFETY: condition 1, for `N` words, which fill a register.
                let square = from.map(|from| unsafe { _mm_loadu_si128(from.cast()) });
                let to = buffer.wrapping_add(first * pitch + group * N);
                for (row, words) in transpose(square, shuffle).into_iter().enumerate() {
                    // SAFETY: condition 2, for `N` words.
                    unsafe { _mm_storeu_si128(to.wrapping_add(row * pitch).cast(), words) };
                }
            }
        }
    }
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
        unsafe { load(found.as_mut_ptr(), pitch, source.as_ptr(), &starts, Kernel::new(stride), count) };
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
