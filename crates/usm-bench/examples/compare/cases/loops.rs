//! Loops written for one case each: what the memory allows

use std::arch::x86_64::*;

use super::stage::Loops;

pub(crate) type Src = usize;
pub(crate) type Dst = usize;

/// The loop on one thread and on two, with and without streaming.
pub(crate) fn ways(run: impl Fn(usize, bool) + Clone + 'static) -> Loops {
    let mut loops: Loops = vec![];
    for (threads, nt) in [(1, false), (1, true), (2, false), (2, true)] {
        let run = run.clone();
        loops.push(Box::new(move || run(threads, nt)));
    }
    loops
}

/// Calls `work` with parts of `0..count` on one or two threads.
pub(crate) fn split(threads: usize, count: usize, work: impl Fn(usize, usize) + Sync) {
    if threads == 1 {
        return work(0, count);
    }
    let half = (count / 2).next_multiple_of(64).min(count);
    rayon::join(|| work(0, half), || work(half, count));
}

fn fence() {
    unsafe { _mm_sfence() };
}

/// 64 bytes at a time, from and to multiples of 32 bytes in the target.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn stream(dst: *mut u8, src: *const u8, bytes: usize) {
    unsafe {
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

/// A contiguous copy, streamed or by the C library.
pub(crate) fn contiguous(dst: Dst, src: Src, bytes: usize) -> Loops {
    ways(move |threads, nt| {
        split(threads, bytes, |from, to| unsafe {
            let (dst, src) = ((dst + from) as *mut u8, (src + from) as *const u8);
            if nt {
                stream(dst, src, to - from)
            } else {
                std::ptr::copy_nonoverlapping(src, dst, to - from)
            }
            fence();
        });
    })
}

/// Rows of `bytes` bytes, streamed when long.
pub(crate) fn rows(
    threads: usize,
    nt: bool,
    dst: Dst,
    src: Src,
    count: usize,
    bytes: usize,
    dst_step: usize,
    src_step: usize,
) {
    split(threads, count, |from, to| unsafe {
        for row in from..to {
            let (d, s) = ((dst + row * dst_step) as *mut u8, (src + row * src_step) as *const u8);
            if nt { stream(d, s, bytes) } else { std::ptr::copy_nonoverlapping(s, d, bytes) }
        }
        fence();
    });
}

/// `dst[i] = of(i)`, by way of a small buffer that is streamed where `nt` says so.
pub(crate) fn elements<T: Copy>(
    threads: usize,
    nt: bool,
    dst: Dst,
    count: usize,
    of: impl Fn(usize) -> T + Sync,
) {
    #[target_feature(enable = "avx2")]
    unsafe fn part<T: Copy>(nt: bool, dst: *mut T, first: usize, last: usize, of: &impl Fn(usize) -> T) {
        #[repr(align(64))]
        struct Buffer([u8; 4096]);
        let mut buffer = Buffer([0; 4096]);
        // Whole lines of the cache.
        let block = (4096 / size_of::<T>()) & !63;
        let mut at = first;
        while at < last {
            let n = block.min(last - at);
            unsafe {
                let out = if nt { buffer.0.as_mut_ptr().cast() } else { dst.add(at) };
                for i in 0..n {
                    *out.add(i) = of(at + i);
                }
                if nt {
                    stream(dst.add(at).cast(), buffer.0.as_ptr(), n * size_of::<T>());
                }
            }
            at += n;
        }
        fence();
    }
    split(threads, count, |first, last| unsafe { part(nt, dst as *mut T, first, last, &of) });
}

/// The element `i` of an array at `src`.
#[inline(always)]
pub(crate) fn at<T: Copy>(src: Src, i: usize) -> T {
    unsafe { *(src as *const T).add(i) }
}

/// One value in each row of numbers, streamed.
pub(crate) fn set(threads: usize, dst: Dst, rows: usize, columns: usize, of: impl Fn(usize) -> f64 + Sync) {
    split(threads, rows, |from, to| unsafe {
        for row in from..to {
            let pair = _mm_set1_pd(of(row));
            for i in (0..columns).step_by(2) {
                _mm_stream_pd((dst as *mut f64).add(row * columns + i), pair);
            }
        }
        fence();
    });
}

/// A transpose whose rows are at given elements of source (`from`) and target (`to`).
#[derive(Clone)]
pub(crate) struct Transpose {
    pub(crate) from: Vec<usize>,
    pub(crate) to: Vec<usize>,
}

/// Steps of some axes, the last one fastest.
pub(crate) fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    shape.iter().zip(strides).fold(vec![0], |all, (&n, &stride)| {
        all.into_iter().flat_map(|start| (0..n).map(move |i| start + i * stride)).collect()
    })
}

impl Transpose {
    /// Of a matrix without gaps.
    pub(crate) fn of(rows: usize, columns: usize) -> Self {
        Self { from: offsets(&[rows], &[columns]), to: offsets(&[columns], &[rows]) }
    }

    /// In tiles of several sizes, on one thread and on two; batches begin at these elements of target and source.
    pub(crate) fn loops(
        self,
        sides: &[usize],
        itemsize: usize,
        dst: Dst,
        src: Src,
        batches: Vec<(usize, usize)>,
    ) -> Loops {
        let run = match itemsize {
            1 => transpose_8,
            4 => transpose_32,
            8 => transpose_64,
            _ => transpose_128,
        };
        let fits = |side: &&usize| (**side + 32 / itemsize) * **side * itemsize < 128 << 10;
        let of_side = |&side: &usize| {
            let (table, batches) = (self.clone(), batches.clone());
            ways(move |threads, nt| {
                if let [(t, f)] = batches[..] {
                    return run(threads, nt, side, dst + t * itemsize, src + f * itemsize, &table);
                }
                split(threads, batches.len(), |first, last| {
                    for (t, f) in &batches[first..last] {
                        run(1, nt, side, dst + t * itemsize, src + f * itemsize, &table);
                    }
                });
            })
        };
        sides.iter().filter(fits).flat_map(of_side).collect()
    }
}

macro_rules! transpose {
    ($name:ident, $ty:ty, $n:literal, $kernel:ident) => {
        pub(crate) fn $name(threads: usize, nt: bool, side: usize, dst: Dst, src: Src, t: &Transpose) {
            split(threads, t.to.len(), |first, last| unsafe {
                part(nt, side, dst as *mut $ty, src as *const $ty, t, first, last)
            });

            #[target_feature(enable = "avx2")]
            unsafe fn part(
                nt: bool,
                side: usize,
                dst: *mut $ty,
                src: *const $ty,
                t: &Transpose,
                first: usize,
                last: usize,
            ) {
                #[repr(align(64))]
                struct Buffer(#[allow(dead_code)] [u8; 128 << 10]);
                let mut buffer = std::mem::MaybeUninit::<Buffer>::uninit();
                let buffer = buffer.as_mut_ptr().cast::<$ty>();
                let pitch = side + 32 / size_of::<$ty>();
                for j0 in (0..t.from.len()).step_by(side) {
                    let rows = &t.from[j0..(j0 + side).min(t.from.len())];
                    for i0 in (first..last).step_by(side) {
                        let cols = &t.to[i0..(i0 + side).min(last)];
                        let (gr, gc) = (rows.len() / $n * $n, cols.len() / $n * $n);
                        unsafe {
                            for j in (0..gr).step_by($n) {
                                for i in (0..gc).step_by($n) {
                                    $kernel(
                                        buffer.add(i * pitch + j),
                                        pitch,
                                        std::array::from_fn(|r| src.add(rows[j + r] + i0 + i)),
                                    );
                                }
                            }
                            for j in 0..rows.len() {
                                for i in if j < gr { gc } else { 0 }..cols.len() {
                                    *buffer.add(i * pitch + j) = *src.add(rows[j] + i0 + i);
                                }
                            }
                            for (i, &col) in cols.iter().enumerate() {
                                let (d, s) =
                                    (dst.add(col + j0).cast::<u8>(), buffer.add(i * pitch).cast::<u8>());
                                let bytes = rows.len() * size_of::<$ty>();
                                if nt {
                                    stream(d, s, bytes)
                                } else {
                                    std::ptr::copy_nonoverlapping(s, d, bytes)
                                }
                            }
                        }
                    }
                }
                fence();
            }
        }
    };
}

transpose!(transpose_8, u8, 16, kernel_8);
transpose!(transpose_32, u32, 8, kernel_32);
transpose!(transpose_64, u64, 4, kernel_64);
transpose!(transpose_128, u128, 1, kernel_128);

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn kernel_8(out: *mut u8, pitch: usize, from: [*const u8; 16]) {
    unsafe {
        let mut r = from.map(|p| _mm_loadu_si128(p.cast()));
        for _ in 0..4 {
            let mut n = r;
            for k in 0..8 {
                n[2 * k] = _mm_unpacklo_epi8(r[k], r[k + 8]);
                n[2 * k + 1] = _mm_unpackhi_epi8(r[k], r[k + 8]);
            }
            r = n;
        }
        for (k, row) in r.into_iter().enumerate() {
            _mm_storeu_si128(out.add(k * pitch).cast(), row);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn kernel_32(out: *mut u32, pitch: usize, from: [*const u32; 8]) {
    unsafe {
        let r = from.map(|p| _mm256_loadu_ps(p.cast()));
        let t: [__m256; 8] = [
            _mm256_unpacklo_ps(r[0], r[1]),
            _mm256_unpackhi_ps(r[0], r[1]),
            _mm256_unpacklo_ps(r[2], r[3]),
            _mm256_unpackhi_ps(r[2], r[3]),
            _mm256_unpacklo_ps(r[4], r[5]),
            _mm256_unpackhi_ps(r[4], r[5]),
            _mm256_unpacklo_ps(r[6], r[7]),
            _mm256_unpackhi_ps(r[6], r[7]),
        ];
        let s = [
            _mm256_shuffle_ps(t[0], t[2], 0x44),
            _mm256_shuffle_ps(t[0], t[2], 0xee),
            _mm256_shuffle_ps(t[1], t[3], 0x44),
            _mm256_shuffle_ps(t[1], t[3], 0xee),
            _mm256_shuffle_ps(t[4], t[6], 0x44),
            _mm256_shuffle_ps(t[4], t[6], 0xee),
            _mm256_shuffle_ps(t[5], t[7], 0x44),
            _mm256_shuffle_ps(t[5], t[7], 0xee),
        ];
        for k in 0..4 {
            _mm256_storeu_ps(out.add(k * pitch).cast(), _mm256_permute2f128_ps(s[k], s[k + 4], 0x20));
            _mm256_storeu_ps(out.add((k + 4) * pitch).cast(), _mm256_permute2f128_ps(s[k], s[k + 4], 0x31));
        }
    }
}

/// The largest side of the squares that [`swaps_32`] takes.
pub(crate) const MAX_SWAP: usize = 64;

/// Squares of numbers of 4 bytes, transposed one by one, without a gap on either side; `side` is a multiple of 8.
pub(crate) fn swaps_32(threads: usize, nt: bool, dst: Dst, src: Src, side: usize, count: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn part(nt: bool, dst: *mut u32, src: *const u32, side: usize, first: usize, last: usize) {
        #[repr(align(64))]
        struct Buffer([u32; MAX_SWAP * MAX_SWAP]);
        let mut buffer = Buffer([0; MAX_SWAP * MAX_SWAP]);
        let square = side * side;
        let each = if nt { (2048 / square).max(1) } else { 1 };
        for at in (first..last).step_by(each) {
            let n = each.min(last - at);
            unsafe {
                for k in 0..n {
                    let from = src.add((at + k) * square);
                    let to =
                        if nt { buffer.0.as_mut_ptr().add(k * square) } else { dst.add((at + k) * square) };
                    for j in (0..side).step_by(8) {
                        for i in (0..side).step_by(8) {
                            let rows = std::array::from_fn(|r| from.add((j + r) * side + i));
                            kernel_32(to.add(i * side + j), side, rows);
                        }
                    }
                }
                if nt {
                    stream(dst.add(at * square).cast(), buffer.0.as_ptr().cast(), n * square * 4);
                }
            }
        }
        fence();
    }
    split(threads, count, |first, last| unsafe {
        part(nt, dst as *mut u32, src as *const u32, side, first, last)
    });
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn kernel_64(out: *mut u64, pitch: usize, from: [*const u64; 4]) {
    unsafe {
        let r = from.map(|p| _mm256_loadu_pd(p.cast()));
        let t = [
            _mm256_unpacklo_pd(r[0], r[1]),
            _mm256_unpackhi_pd(r[0], r[1]),
            _mm256_unpacklo_pd(r[2], r[3]),
            _mm256_unpackhi_pd(r[2], r[3]),
        ];
        _mm256_storeu_pd(out.cast(), _mm256_permute2f128_pd(t[0], t[2], 0x20));
        _mm256_storeu_pd(out.add(pitch).cast(), _mm256_permute2f128_pd(t[1], t[3], 0x20));
        _mm256_storeu_pd(out.add(2 * pitch).cast(), _mm256_permute2f128_pd(t[0], t[2], 0x31));
        _mm256_storeu_pd(out.add(3 * pitch).cast(), _mm256_permute2f128_pd(t[1], t[3], 0x31));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn kernel_128(out: *mut u128, _pitch: usize, from: [*const u128; 1]) {
    unsafe { *out = from[0].read_unaligned() };
}

/// Rows of `inner` elements of 8 bytes, dense in the target, by way of a buffer.
pub(crate) fn halo_plane(nt: bool, dst: Dst, src: Src, inner: usize, side: usize) {
    unsafe {
        let mut buffer = std::mem::MaybeUninit::<[u64; 4096]>::uninit();
        let buffer = buffer.as_mut_ptr().cast::<u64>();
        let capacity = 4096 / inner.max(1);
        for first in (0..inner).step_by(capacity.max(1)) {
            let rows = capacity.max(1).min(inner - first);
            let out = if nt { buffer } else { (dst as *mut u64).add(first * inner) };
            for r in 0..rows {
                let from = (src as *const u64).add((first + r) * side);
                for i in 0..inner {
                    *out.add(r * inner + i) = *from.add(i);
                }
            }
            if nt {
                stream((dst as *mut u64).add(first * inner).cast(), buffer.cast(), rows * inner * 8);
            }
        }
        fence();
    }
}
