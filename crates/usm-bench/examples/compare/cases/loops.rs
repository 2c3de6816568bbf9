//! Loops written for one case each: what the memory allows. Addresses are numbers, so that a loop can go to another thread.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Candidates for a limit.
pub(crate) type Loops = Vec<Box<dyn Fn()>>;

/// The loop on one thread and on two, with and without streaming.
pub(crate) fn ways(run: impl Fn(usize, bool) + Clone + 'static) -> Loops {
    let ways = [(1, false), (1, true), (2, false), (2, true)];
    let way = |(threads, nt)| {
        let run = run.clone();
        Box::new(move || run(threads, nt)) as Box<dyn Fn()>
    };
    ways.map(way).into()
}

/// Calls `work` with parts of `0..count` on one or two threads.
pub(crate) fn split(threads: usize, count: usize, work: impl Fn(usize, usize) + Sync) {
    let work = |from, to| {
        work(from, to);
        unsafe { _mm_sfence() };
    };
    if threads == 1 {
        return work(0, count);
    }
    let half = (count / 2).next_multiple_of(64).min(count);
    rayon::join(|| work(0, half), || work(half, count));
}

/// A copy of bytes, streamed or by the C library. Streams take 64 bytes at a time, to multiples of 64 in the target.
#[target_feature(enable = "avx2")]
unsafe fn copy(nt: bool, dst: *mut u8, src: *const u8, bytes: usize) {
    unsafe {
        if !nt {
            return std::ptr::copy_nonoverlapping(src, dst, bytes);
        }
        let head = dst.align_offset(64).min(bytes);
        std::ptr::copy_nonoverlapping(src, dst, head);
        let end = head + (bytes - head) / 64 * 64;
        let mut at = head;
        while at < end {
            let a = _mm256_loadu_si256(src.add(at).cast());
            let b = _mm256_loadu_si256(src.add(at + 32).cast());
            _mm256_stream_si256(dst.add(at).cast(), a);
            _mm256_stream_si256(dst.add(at + 32).cast(), b);
            at += 64;
        }
        std::ptr::copy_nonoverlapping(src.add(end), dst.add(end), bytes - end);
    }
}

/// Takes up to 32 KiB that are streamed afterwards.
#[repr(align(64))]
struct Buffer(#[allow(dead_code)] [u8; 32 << 10]);

pub(crate) fn contiguous(dst: usize, src: usize, bytes: usize) -> Loops {
    ways(move |threads, nt| {
        split(threads, bytes, |from, to| unsafe {
            copy(nt, (dst + from) as *mut u8, (src + from) as *const u8, to - from);
        });
    })
}

/// Rows that are dense in the target. In the source each plane of `count` rows begins at a number of bytes, and so many bytes lie
/// between the beginnings of rows. Short rows also go through a buffer, many at a time.
pub(crate) fn rows(
    dst: usize,
    src: usize,
    (planes, count): (Vec<usize>, usize),
    (bytes, step): (usize, isize),
) -> Loops {
    let short = (bytes < 512).then(|| {
        let run = move |nt, to, from, count| unsafe { short_rows_of_plane(nt, to, from, count, bytes, step) };
        of_planes(dst, src, (planes.clone(), count), (bytes, step), run)
    });
    let run = move |nt, to, from, count| unsafe { rows_of_plane(nt, to, from, count, bytes, step) };
    let all = of_planes(dst, src, (planes, count), (bytes, step), run);
    all.into_iter().chain(short.into_iter().flatten()).collect()
}

/// Parts of one plane, or of many planes, on each thread.
fn of_planes(
    dst: usize,
    src: usize,
    (planes, count): (Vec<usize>, usize),
    (bytes, step): (usize, isize),
    run: impl Fn(bool, usize, usize, usize) + Copy + Sync + 'static,
) -> Loops {
    ways(move |threads, nt| match planes[..] {
        [plane] => split(threads, count, |first, last| {
            let from = (src + plane).wrapping_add_signed(first as isize * step);
            run(nt, dst + first * bytes, from, last - first);
        }),
        _ => split(threads, planes.len(), |first, last| {
            for (k, plane) in (first..last).zip(&planes[first..last]) {
                run(nt, dst + k * count * bytes, src + plane, count);
            }
        }),
    })
}

#[inline(always)]
unsafe fn rows_of_plane(nt: bool, dst: usize, src: usize, count: usize, bytes: usize, step: isize) {
    for k in 0..count {
        // The source is read forwards.
        let row = if step < 0 { count - 1 - k } else { k };
        let from = src.wrapping_add_signed(row as isize * step);
        unsafe { copy(nt, (dst + row * bytes) as *mut u8, from as *const u8, bytes) };
    }
}

#[inline(always)]
unsafe fn short_rows_of_plane(nt: bool, dst: usize, src: usize, count: usize, bytes: usize, step: isize) {
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    let buffer = buffer.as_mut_ptr().cast::<u64>();
    // By pointers to numbers, which the compiler can tell apart.
    let (dst, src, numbers, step) = (dst as *mut u64, src as *const u64, bytes / 8, step as usize / 8);
    let each = (4096 / numbers).max(1);
    for first in (0..count).step_by(each) {
        let n = each.min(count - first);
        unsafe {
            let out = if nt { buffer } else { dst.add(first * numbers) };
            for row in 0..n {
                let from = src.add((first + row) * step);
                for i in 0..numbers {
                    *out.add(row * numbers + i) = *from.add(i);
                }
            }
            if nt {
                copy(nt, dst.add(first * numbers).cast(), buffer.cast(), n * bytes);
            }
            _mm_sfence();
        }
    }
}

/// `dst[i] = of(i)`, in blocks of 4 KiB.
pub(crate) fn elements<T: Copy + 'static>(
    dst: usize,
    count: usize,
    of: impl Fn(usize) -> T + Copy + Sync + 'static,
) -> Loops {
    #[target_feature(enable = "avx2")]
    unsafe fn part<T>(nt: bool, dst: *mut T, first: usize, last: usize, of: &impl Fn(usize) -> T) {
        let mut buffer = MaybeUninit::<Buffer>::uninit();
        // Whole lines of the cache.
        let block = (4096 / size_of::<T>()) & !63;
        let mut at = first;
        while at < last {
            let n = block.min(last - at);
            unsafe {
                let out = if nt { buffer.as_mut_ptr().cast() } else { dst.add(at) };
                for i in 0..n {
                    *out.add(i) = of(at + i);
                }
                if nt {
                    copy(nt, dst.add(at).cast(), out.cast(), n * size_of::<T>());
                }
            }
            at += n;
        }
    }
    ways(move |threads, nt| {
        split(threads, count, |first, last| unsafe { part(nt, dst as *mut T, first, last, &of) });
    })
}

/// The element `i` of an array at `src`.
#[inline(always)]
pub(crate) fn at<T: Copy>(src: usize, i: usize) -> T {
    unsafe { *(src as *const T).add(i) }
}

/// One value in each row of numbers, streamed.
pub(crate) fn set(
    threads: usize,
    dst: usize,
    (rows, columns): (usize, usize),
    of: impl Fn(usize) -> f64 + Sync,
) {
    split(threads, rows, |from, to| unsafe {
        for row in from..to {
            let pair = _mm_set1_pd(of(row));
            for i in (0..columns).step_by(2) {
                _mm_stream_pd((dst as *mut f64).add(row * columns + i), pair);
            }
        }
    });
}

/// Steps of some axes, the last one fastest.
pub(crate) fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    shape.iter().zip(strides).fold(vec![0], |all, (&n, &stride)| {
        all.into_iter().flat_map(|start| (0..n).map(move |i| start + i * stride)).collect()
    })
}

/// A transpose whose rows are at given elements of source and target. Batches begin at other elements of target and source.
#[derive(Clone)]
pub(crate) struct Transpose {
    pub(crate) from: Vec<usize>,
    pub(crate) to: Vec<usize>,
    pub(crate) batches: Vec<(usize, usize)>,
}

impl Transpose {
    /// Of a matrix without gaps.
    pub(crate) fn of(rows: usize, columns: usize) -> Self {
        Self { from: offsets(&[rows], &[columns]), to: offsets(&[columns], &[rows]), batches: vec![(0, 0)] }
    }

    /// In tiles of several sizes.
    pub(crate) fn loops(&self, sides: &[usize], itemsize: usize, dst: usize, src: usize) -> Loops {
        let run = match itemsize {
            1 => Self::tiles::<u8, 16>,
            4 => Self::tiles::<u32, 4>,
            8 => Self::tiles::<u64, 2>,
            _ => Self::tiles::<u128, 1>,
        };
        let fits = |side: &&usize| (**side + 32 / itemsize) * **side * itemsize < 128 << 10;
        let of_side = |&side: &usize| {
            let table = self.clone();
            let run = move |nt, (t, f): (usize, usize), first, last| unsafe {
                run(&table, nt, side, dst + t * itemsize, src + f * itemsize, first, last);
            };
            let (batches, columns) = (self.batches.clone(), self.to.len());
            ways(move |threads, nt| match batches[..] {
                [batch] => split(threads, columns, |first, last| run(nt, batch, first, last)),
                _ => split(threads, batches.len(), |first, last| {
                    batches[first..last].iter().for_each(|&batch| run(nt, batch, 0, columns));
                }),
            })
        };
        sides.iter().filter(fits).flat_map(of_side).collect()
    }

    /// The columns from `first` to `last` of the source by tiles, each by way of a buffer.
    #[target_feature(enable = "avx2")]
    unsafe fn tiles<T: Copy, const N: usize>(
        &self,
        nt: bool,
        side: usize,
        dst: usize,
        src: usize,
        first: usize,
        last: usize,
    ) {
        #[repr(align(64))]
        struct Buffer(#[allow(dead_code)] [u8; 128 << 10]);
        let mut buffer = MaybeUninit::<Buffer>::uninit();
        let (buffer, dst, src) = (buffer.as_mut_ptr().cast::<T>(), dst as *mut T, src as *const T);
        let pitch = side + 32 / size_of::<T>();
        for j0 in (0..self.from.len()).step_by(side) {
            let rows = &self.from[j0..(j0 + side).min(self.from.len())];
            for i0 in (first..last).step_by(side) {
                let columns = &self.to[i0..(i0 + side).min(last)];
                let (whole_rows, whole_columns) = (rows.len() / (2 * N) * 2 * N, columns.len() / N * N);
                unsafe {
                    for j in (0..whole_rows).step_by(2 * N) {
                        for i in (0..whole_columns).step_by(N) {
                            kernel::<T, N>(buffer.add(i * pitch + j), pitch, |r| {
                                src.add(rows[j + r] + i0 + i)
                            });
                        }
                    }
                    for (j, row) in rows.iter().enumerate() {
                        for i in if j < whole_rows { whole_columns } else { 0 }..columns.len() {
                            *buffer.add(i * pitch + j) = *src.add(row + i0 + i);
                        }
                    }
                    for (i, column) in columns.iter().enumerate() {
                        let from = buffer.add(i * pitch).cast();
                        copy(nt, dst.add(column + j0).cast(), from, rows.len() * size_of::<T>());
                    }
                }
            }
        }
    }
}

/// `2 N` rows of `N` elements, which have 16 bytes, become `N` rows of `2 N`. A register has a row in each half; rounds of
/// interleaving with the register half the rows away bring the elements of a column together.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn kernel<T, const N: usize>(out: *mut T, pitch: usize, from: impl Fn(usize) -> *const T) {
    let mut rows: [__m256i; N] =
        std::array::from_fn(|r| unsafe { _mm256_loadu2_m128i(from(r + N).cast(), from(r).cast()) });
    for _ in 0..N.ilog2() {
        let before = rows;
        for k in 0..N / 2 {
            let (a, b) = (before[k], before[k + N / 2]);
            (rows[2 * k], rows[2 * k + 1]) = match size_of::<T>() {
                1 => (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)),
                4 => (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)),
                _ => (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)),
            };
        }
    }
    for (k, row) in rows.into_iter().enumerate() {
        unsafe { _mm256_storeu_si256(out.add(k * pitch).cast(), row) };
    }
}

/// The largest side of the squares that [`swaps`] takes.
pub(crate) const MAX_SWAP: usize = 64;

/// Squares of numbers of 4 bytes, transposed one by one, without a gap on either side; `side` is a multiple of 8.
pub(crate) fn swaps(dst: usize, src: usize, side: usize, count: usize) -> Loops {
    #[target_feature(enable = "avx2")]
    unsafe fn part(nt: bool, dst: *mut u32, src: *const u32, side: usize, first: usize, last: usize) {
        let mut buffer = MaybeUninit::<Buffer>::uninit();
        let square = side * side;
        let each = if nt { (2048 / square).max(1) } else { 1 };
        for first in (first..last).step_by(each) {
            let n = each.min(last - first);
            unsafe {
                let out = if nt { buffer.as_mut_ptr().cast() } else { dst.add(first * square) };
                for k in 0..n {
                    let (from, to) = (src.add((first + k) * square), out.add(k * square));
                    for j in (0..side).step_by(8) {
                        for i in (0..side).step_by(4) {
                            kernel::<u32, 4>(to.add(i * side + j), side, |r| from.add((j + r) * side + i));
                        }
                    }
                }
                if nt {
                    copy(nt, dst.add(first * square).cast(), out.cast(), n * square * 4);
                }
            }
        }
    }
    ways(move |threads, nt| {
        split(threads, count, |first, last| unsafe {
            part(nt, dst as *mut u32, src as *const u32, side, first, last)
        });
    })
}
