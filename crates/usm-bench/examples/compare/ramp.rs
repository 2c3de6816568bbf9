//! The loop by hand for numbers with equal steps.

use super::limit::{split, stream};

/// `dst[i] = start + i * step` for doubles, on one or two threads, past the caches where `nt` says so.
pub(crate) fn ramp(threads: usize, nt: bool, dst: usize, count: usize, start: f64, step: f64) {
    #[target_feature(enable = "avx2")]
    unsafe fn part(nt: bool, dst: *mut f64, from: usize, to: usize, start: f64, step: f64) {
        const BLOCK: usize = 512;
        #[repr(align(64))]
        struct Buffer([f64; BLOCK]);
        let mut buffer = Buffer([0.0; BLOCK]);
        let mut at = from;
        while at < to {
            let n = BLOCK.min(to - at);
            unsafe {
                let out = if nt { buffer.0.as_mut_ptr() } else { dst.add(at) };
                for i in 0..n {
                    *out.add(i) = start + (at + i) as u32 as f64 * step;
                }
                if nt {
                    stream(dst.add(at).cast(), buffer.0.as_ptr().cast(), n * 8);
                }
            }
            at += n;
        }
        std::arch::x86_64::_mm_sfence();
    }
    split(threads, count, |from, to| unsafe { part(nt, dst as *mut f64, from, to, start, step) });
}
