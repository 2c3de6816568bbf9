//! Loops written for one case each: what the memory allows

use std::arch::x86_64::*;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) type Src = usize;
pub(crate) type Dst = usize;

/// Overrules every other number of threads.
pub(crate) static ONE_THREAD: AtomicBool = AtomicBool::new(false);

/// Calls `work` with parts of `0..count` on one or two threads.
pub(crate) fn split(threads: usize, count: usize, work: impl Fn(usize, usize) + Sync) {
    if threads == 1 || ONE_THREAD.load(Ordering::Relaxed) {
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

pub(crate) fn contiguous(threads: usize, dst: Dst, src: Src, bytes: usize) {
    split(threads, bytes, |from, to| unsafe {
        stream((dst + from) as *mut u8, (src + from) as *const u8, to - from);
        fence();
    });
}

pub(crate) fn memcpy(threads: usize, dst: Dst, src: Src, bytes: usize) {
    split(threads, bytes, |from, to| unsafe {
        std::ptr::copy_nonoverlapping((src + from) as *const u8, (dst + from) as *mut u8, to - from);
    });
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

macro_rules! every_other {
    ($name:ident, $ty:ty) => {
        /// Every `STEP`-th element, by way of a small buffer that is streamed.
        pub(crate) fn $name<const STEP: usize, const BACK: bool>(
            threads: usize,
            nt: bool,
            dst: Dst,
            src: Src,
            count: usize,
        ) {
            #[target_feature(enable = "avx2")]
            unsafe fn part<const STEP: usize, const BACK: bool>(
                nt: bool,
                dst: *mut $ty,
                src: *const $ty,
                from: usize,
                to: usize,
            ) {
                const BLOCK: usize = 4096 / size_of::<$ty>();
                #[repr(align(64))]
                struct Buffer([$ty; BLOCK]);
                let mut buffer = Buffer([Default::default(); BLOCK]);
                let mut at = from;
                while at < to {
                    let n = BLOCK.min(to - at);
                    unsafe {
                        let out = if nt { buffer.0.as_mut_ptr() } else { dst.add(at) };
                        for i in 0..n {
                            let place = (at + i) * STEP;
                            *out.add(i) = if BACK { *src.sub(place) } else { *src.add(place) };
                        }
                        if nt {
                            stream(dst.add(at).cast(), buffer.0.as_ptr().cast(), n * size_of::<$ty>());
                        }
                    }
                    at += n;
                }
                fence();
            }
            split(threads, count, |from, to| unsafe {
                part::<STEP, BACK>(nt, dst as *mut $ty, src as *const $ty, from, to)
            });
        }
    };
}

every_other!(steps_u8, u8);
every_other!(steps_f32, f32);
every_other!(steps_f64, f64);
every_other!(steps_c128, [f64; 2]);

/// `dst[i] = src[i]` for a cast.
macro_rules! cast {
    ($name:ident, $from:ty, $to:ty) => {
        pub(crate) fn $name(threads: usize, nt: bool, dst: Dst, src: Src, count: usize) {
            #[target_feature(enable = "avx2")]
            unsafe fn part(nt: bool, dst: *mut $to, src: *const $from, from: usize, to: usize) {
                const BLOCK: usize = 4096 / size_of::<$to>();
                #[repr(align(64))]
                struct Buffer([$to; BLOCK]);
                let mut buffer = Buffer([Default::default(); BLOCK]);
                let mut at = from;
                while at < to {
                    let n = BLOCK.min(to - at);
                    unsafe {
                        let out = if nt { buffer.0.as_mut_ptr() } else { dst.add(at) };
                        for i in 0..n {
                            *out.add(i) = *src.add(at + i) as $to;
                        }
                        if nt {
                            stream(dst.add(at).cast(), buffer.0.as_ptr().cast(), n * size_of::<$to>());
                        }
                    }
                    at += n;
                }
                fence();
            }
            split(threads, count, |from, to| unsafe {
                part(nt, dst as *mut $to, src as *const $from, from, to)
            });
        }
    };
}

cast!(f4_f8, f32, f64);
cast!(i4_f4, i32, f32);
cast!(f8_f4, f64, f32);

/// One value everywhere.
pub(crate) fn set(threads: usize, dst: Dst, value: f64, count: usize) {
    split(threads, count, |from, to| unsafe {
        for i in (from..to).step_by(2) {
            let pair = _mm_set1_pd(value);
            _mm_stream_pd((dst as *mut f64).add(i), pair);
        }
        fence();
    });
}

/// Rows of `n` elements of 8 bytes out of rows of 4.
pub(crate) fn tiny<const N: usize>(threads: usize, nt: bool, dst: Dst, src: Src, rows: usize) {
    const BLOCK: usize = 128;
    split(threads, rows, |from, to| unsafe {
        let mut buffer = [[0_u64; N]; BLOCK];
        let mut at = from;
        while at < to {
            let n = BLOCK.min(to - at);
            let out = if nt { buffer.as_mut_ptr() } else { (dst as *mut [u64; N]).add(at) };
            for i in 0..n {
                *out.add(i) = *(src as *const u64).add((at + i) * 4).cast::<[u64; N]>();
            }
            if nt {
                stream((dst as *mut [u64; N]).add(at).cast(), buffer.as_ptr().cast(), n * N * 8);
            }
            at += n;
        }
        fence();
    });
}

/// A transpose whose rows are at given elements of source (`from`) and target (`to`).
pub(crate) struct Transpose {
    pub(crate) from: Vec<usize>,
    pub(crate) to: Vec<usize>,
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
        for k in 0..16 {
            _mm_storeu_si128(out.add(k * pitch).cast(), r[k]);
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
        let room = 4096 / inner.max(1);
        for first in (0..inner).step_by(room.max(1)) {
            let rows = room.max(1).min(inner - first);
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
