//! Copies and fills by host code: on several threads for large ranges, past the caches for ranges larger than those
//!
//! Thresholds follow from the caches and processors of the machine ([`Machine`]).
//!
//! | file | job |
//! |---|---|
//! | `machine.rs` | caches and processors of this machine |
//! | `threads.rs` | work that several threads share |
//! | `progress.rs` | how far it is |
//! | `stream.rs` | stores past the caches |
//! | `copy_bytes.rs` | a copy by the calling thread |
//! | `simd.rs` | what the processor can do |

mod copy_bytes;
mod machine;
mod progress;
mod simd;
pub mod stream;
mod threads;

pub use copy_bytes::copy_bytes;
pub use machine::{Cache, Machine};
pub use progress::{Progress, Steps};
pub use simd::has_avx2;
pub use threads::{MIN_PART_BYTES, num_threads, parts_for, set_num_threads, share, threads_for};

use stream::LINE_BYTES;

/// Bytes of a repeated pattern that are copied at once: they stay in the nearest cache.
const PATTERN_BYTES: usize = 4096;

/// The start of both sides of a copy, for the threads that share it.
///
/// Invariant P1: the bytes that the function's caller promises are valid on any thread until the function returns, and nobody else
/// touches the target or writes the source meanwhile.
#[derive(Clone, Copy)]
struct Ends {
    dst: *mut u8,
    src: *const u8,
}

// SAFETY: P1.
unsafe impl Send for Ends {}
// SAFETY: P1.
unsafe impl Sync for Ends {}

impl Ends {
    fn at(self, start: usize) -> (*mut u8, *const u8) {
        (self.dst.wrapping_add(start), self.src.wrapping_add(start))
    }
}

/// Copies `len_bytes` bytes. The ranges may overlap; one thread copies such ranges.
///
/// # Safety
/// 1. `len_bytes` bytes are readable from `src`.
/// 2. `len_bytes` bytes are writable from `dst`.
/// 3. No other code touches the target or writes the source during the call.
pub unsafe fn copy(dst: *mut u8, src: *const u8, len_bytes: usize) {
    let stream = len_bytes >= Machine::this().copy_stream_bytes();
    if (threads_for(len_bytes) == 1 && !stream) || dst.addr().abs_diff(src.addr()) < len_bytes {
        // SAFETY: P1 (1 to 3) for all bytes.
        return unsafe { copy_bytes(dst, src, len_bytes) };
    }
    let ends = Ends { dst, src };
    in_parts(len_bytes, LINE_BYTES, move |start, part_bytes| {
        let (dst, src) = ends.at(start);
        if stream {
            // SAFETY: P1 for a part of both ranges, which do not overlap.
            unsafe { stream::copy(dst, src, part_bytes) };
            stream::fence();
        } else {
            // SAFETY: P1 for a part of both ranges.
            unsafe { copy_bytes(dst, src, part_bytes) };
        }
    });
}

/// Repeats a pattern over `len_bytes` bytes, a multiple of its length.
///
/// # Safety
/// 1. `len_bytes` bytes are writable from `dst`.
/// 2. No other code touches them during the call.
pub unsafe fn fill(dst: *mut u8, pattern: &[u8], len_bytes: usize) {
    let Some((&first, rest)) = pattern.split_first().filter(|_| pattern.len() <= len_bytes) else { return };
    let stream = len_bytes >= Machine::this().fill_stream_bytes();
    if !stream && rest.iter().all(|&byte| byte == first) {
        let ends = Ends { dst, src: dst };
        return in_parts(len_bytes, LINE_BYTES, move |start, part_bytes| {
            // SAFETY: P1 for a part of the range.
            unsafe { ends.at(start).0.write_bytes(first, part_bytes) };
        });
    }
    // Whole patterns at the start of the range. All others are copied from them.
    let head_bytes = (PATTERN_BYTES.min(len_bytes) / pattern.len()).max(1) * pattern.len();
    // SAFETY: P1 for the first bytes of the range; the pattern may be a view of it.
    unsafe { std::ptr::copy(pattern.as_ptr(), dst, pattern.len()) };
    let mut done = pattern.len();
    while done < head_bytes {
        let bytes = done.min(head_bytes - done);
        // SAFETY: P1: at most what is before `done` is read, and what is written lies within the range.
        unsafe { dst.wrapping_add(done).copy_from_nonoverlapping(dst, bytes) };
        done += bytes;
    }
    let ends = Ends { dst: dst.wrapping_add(head_bytes), src: dst };
    in_parts(len_bytes - head_bytes, head_bytes, move |start, part_bytes| {
        for at in (0..part_bytes).step_by(head_bytes) {
            let (to, bytes) = (ends.at(start + at).0, head_bytes.min(part_bytes - at));
            let copy = if stream { stream::copy } else { copy_bytes };
            // SAFETY: P1 for a part of the range behind its head, from the head, which nobody writes any more.
            unsafe { copy(to, ends.src, bytes) };
        }
        if stream {
            stream::fence();
        }
    });
}

/// Calls `work` with the start and the length of each part; parts begin at multiples of `unit` bytes.
fn in_parts(len_bytes: usize, unit: usize, work: impl Fn(usize, usize) + Send + Sync + 'static) {
    let parts = parts_for(len_bytes);
    if parts == 1 {
        return work(0, len_bytes);
    }
    let part_bytes = len_bytes.div_ceil(parts).next_multiple_of(unit);
    let parts = len_bytes.div_ceil(part_bytes);
    share(parts, threads_for(len_bytes), move |number| {
        let start = number * part_bytes;
        work(start, part_bytes.min(len_bytes - start));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around those from which on threads and streams are used.
    fn lengths() -> Vec<usize> {
        let stream = Machine::this().fill_stream_bytes().min(32 << 20);
        let around = [1, 100, 64 << 10, 512 << 10, 1 << 20, stream].map(|len| [len - 1, len, len + 1]);
        around.into_iter().flatten().collect()
    }

    fn bytes(len: usize) -> Vec<u8> {
        let mut bytes = (0..=250).collect::<Vec<u8>>().repeat(len / 251 + 1);
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn copies_of_every_length() {
        for len in lengths() {
            let source = bytes(len + 1);
            let mut target = vec![0xa5; len + 2];
            // SAFETY: `len` bytes behind the first one of both.
            unsafe { copy(target.as_mut_ptr().wrapping_add(1), source.as_ptr().wrapping_add(1), len) };
            assert!(target[1..=len] == source[1..], "{len}");
            assert_eq!((target[0], target[len + 1]), (0xa5, 0xa5), "the bytes around {len}");
        }
    }

    #[test]
    fn overlapping_copies_of_every_length() {
        for len in lengths() {
            for (from, to) in [(0, 1), (1, 0), (0, len), (0, len / 2), (len / 3, 0)] {
                let mut found = bytes(2 * len + 1);
                let mut expected = found.clone();
                expected.copy_within(from..from + len, to);
                let start = found.as_mut_ptr();
                // SAFETY: both ranges are parts of the vector.
                unsafe { copy(start.wrapping_add(to), start.wrapping_add(from), len) };
                assert!(found == expected, "{len} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn fills_of_every_length() {
        let patterns: [&[u8]; 5] =
            [&[7], &[0, 0], &[1, 2, 3], &[9; 16], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]];
        for pattern in patterns {
            for len in lengths().into_iter().map(|len| len / pattern.len() * pattern.len()) {
                let mut target = vec![0xa5; len + 2];
                // SAFETY: `len` bytes behind the first one.
                unsafe { fill(target.as_mut_ptr().wrapping_add(1), pattern, len) };
                let expected = pattern.repeat(len / pattern.len());
                assert!(target[1..=len] == expected, "{len} bytes of {pattern:?}");
                assert_eq!((target[0], target[len + 1]), (0xa5, 0xa5), "the bytes around {len}");
            }
        }
    }

    #[test]
    fn a_fill_with_a_pattern_out_of_its_target() {
        let mut target = bytes(3000);
        let expected = target[1..4].repeat(1000);
        let start = target.as_mut_ptr();
        // SAFETY: three bytes of the vector, which are read before they are written.
        let pattern = unsafe { std::slice::from_raw_parts(start.wrapping_add(1), 3) };
        // SAFETY: all of the vector.
        unsafe { fill(start, pattern, 3000) };
        assert_eq!(target, expected);
    }

    #[test]
    fn an_empty_pattern_fills_nothing() {
        // SAFETY: nothing is written.
        unsafe { fill(std::ptr::null_mut(), &[], 0) };
    }
}
