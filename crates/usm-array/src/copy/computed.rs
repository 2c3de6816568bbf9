//! Elements that a function computes, in memory that host code reaches: a block at a time in the cache, and from there to its place
//!
//! So each byte of a large result goes to memory once, past the caches, and nothing of it is read.

use std::ops::Range;

use usm_memory::usm_core::bulk::{Machine, has_avx2, share, stream, threads_for};

use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;
use crate::view::{Writing, bytes_of, elements_of_mut};

/// Bytes of a block: it fits into the first level of any cache. Larger ones are slower past the caches of a large processor.
const BLOCK_BYTES: usize = 4 << 10;

/// Bytes of the block of a small result, which has none to clear that it does not use.
const SMALL_BLOCK_BYTES: usize = 1 << 10;

/// Bytes that a thread takes at a time.
const PART_BYTES: usize = 512 << 10;

#[repr(align(64))]
struct AlignedBytes<const BYTES: usize>([u8; BYTES]);

// Invariant CT1: each thread follows the pointer to a part that no other thread has.
#[derive(Clone, Copy)]
struct Target(*mut u8);

// SAFETY: CT1.
unsafe impl Send for Target {}
// SAFETY: CT1.
unsafe impl Sync for Target {}

impl Target {
    fn at(self, offset_bytes: usize) -> *mut u8 {
        self.0.wrapping_add(offset_bytes)
    }
}

/// Sets all elements, where host code reaches them and they lie side by side in row-major order: `fill` computes those from a number
/// on, in no particular order. Otherwise nothing is done, and the answer is false.
///
/// # Errors
/// - [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::Memory`](crate::Error::Memory): those of a guard
pub(crate) fn compute<T: Element>(
    array: &UsmArray,
    fill: impl Fn(usize, &mut [T]) + Send + Sync + 'static,
) -> Result<bool> {
    if array.itemsize_bytes() != size_of::<T>() || !array.is_c_contiguous() || !array.is_host_reachable() {
        return Ok(false);
    }
    let mut to = Writing::of(array, array.byte_range())?;
    // SAFETY: the access is over exactly the elements (G4), which lie side by side.
    unsafe { produce(to.bytes().as_mut_ptr(), array.size(), fill) };
    Ok(true)
}

/// Sets `len` elements from `dst` on to what `fill` makes of them, which is told the number of the first one: in no particular order, and
/// on several threads if there are many.
///
/// # Safety
/// 1. So many elements are writable from `dst`, by nobody else meanwhile.
unsafe fn produce<T: Element>(
    dst: *mut u8,
    len: usize,
    fill: impl Fn(usize, &mut [T]) + Send + Sync + 'static,
) {
    let (itemsize, part_len) = (size_of::<T>(), PART_BYTES / size_of::<T>());
    let target = Target(dst);
    let bytes = len * itemsize;
    let (parts, stream) = (len.div_ceil(part_len), bytes >= Machine::this().computed_stream_bytes());
    if bytes <= SMALL_BLOCK_BYTES {
        // SAFETY: the caller's promise 1.
        return unsafe { produce_part::<T, _, SMALL_BLOCK_BYTES>(target, 0..len, stream, &fill) };
    }
    let work = move |number: usize| {
        let start = number * part_len;
        let part = start..len.min(start + part_len);
        // SAFETY: the caller's promise 1; each part is somebody else's.
        unsafe { produce_part::<T, _, BLOCK_BYTES>(target, part, stream, &fill) };
    };
    share(parts, threads_for(bytes), work);
}

/// # Safety
/// 1. The elements with these numbers are writable, by nobody else meanwhile.
unsafe fn produce_part<T: Element, F: Fn(usize, &mut [T]), const BYTES: usize>(
    target: Target,
    part: Range<usize>,
    stream: bool,
    fill: &F,
) {
    let itemsize = size_of::<T>();
    // The same function twice: what it does is inlined and compiled for the registers that there are.
    let compute: unsafe fn(&F, usize, &mut [T]) = if has_avx2() { compute_avx2 } else { compute_any };
    let mut block = AlignedBytes([0; BYTES]);
    let buffer: &mut [T] = elements_of_mut(&mut block.0).unwrap_or_default(); // whole and aligned
    for start in part.clone().step_by(BYTES / itemsize) {
        let elements = &mut buffer[..(part.end - start).min(BYTES / itemsize)];
        // SAFETY: AVX2 is used where there is AVX2 (usm-core PR1).
        unsafe { compute(fill, start, elements) };
        let (to, bytes) = (target.at(start * itemsize), bytes_of(elements));
        if stream {
            // SAFETY: elements of the part (promise 1); the block is memory of our own.
            unsafe { stream::copy(to, bytes.as_ptr(), bytes.len()) };
        } else {
            // SAFETY: elements of the part (promise 1); the block is memory of our own.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        }
    }
    if stream {
        stream::fence();
    }
}

fn compute_any<T>(fill: &impl Fn(usize, &mut [T]), start: usize, part: &mut [T]) {
    fill(start, part);
}

/// The same operations for each element, but twice as many at a time: `linspace` of `f64` is 1.7 times as fast on one thread.
///
/// # Safety
/// The processor has AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn compute_avx2<T>(fill: &impl Fn(usize, &mut [T]), start: usize, part: &mut [T]) {
    fill(start, part);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bits of what both functions compute.
    fn both<T: Element>(fill: impl Fn(usize, &mut [T]), start: usize, len: usize, zero: T) {
        let (mut found, mut expected) = (vec![zero; len], vec![zero; len]);
        compute_any(&fill, start, &mut expected);
        if has_avx2() {
            // SAFETY: there is AVX2.
            unsafe { compute_avx2(&fill, start, &mut found) };
            assert_eq!(bytes_of(&found), bytes_of(&expected));
        }
    }

    /// Results of about so many bytes, whose elements are their numbers, at an odd address.
    fn around<T: Element>(bytes: usize, number: fn(usize) -> T) {
        let itemsize = size_of::<T>();
        for len in bytes / itemsize - 1..=bytes / itemsize + 1 {
            let mut found = vec![0xa5_u8; len * itemsize + 2];
            let fill = move |start: usize, part: &mut [T]| {
                part.iter_mut().enumerate().for_each(|(i, to)| *to = number(start + i));
            };
            // SAFETY: so many elements from the second byte on, of memory that is ours.
            unsafe { produce(found[1..].as_mut_ptr(), len, fill) };
            let expected: Vec<T> = (0..len).map(number).collect();
            assert_eq!(&found[1..=len * itemsize], bytes_of(&expected), "{len} of {itemsize} bytes");
            assert_eq!((found[0], found[len * itemsize + 1]), (0xa5, 0xa5), "the bytes around");
        }
    }

    #[test]
    fn every_size_of_block_is_filled() {
        for bytes in [SMALL_BLOCK_BYTES, BLOCK_BYTES, PART_BYTES] {
            around(bytes, |i| i as u8);
            around(bytes, |i| i as i16);
            around(bytes, |i| i as f32);
            around(bytes, |i| i as u64);
            around(bytes, |i| num_complex::Complex64::new(i as f64, -1.0));
        }
        around(Machine::this().computed_stream_bytes().min(64 << 20), |i| i as u64);
    }

    proptest! {
        #[test]
        fn wide_registers_change_no_bit(
            (start, len) in (0_usize..1 << 40, 0_usize..100),
            (first, step) in (any::<f64>(), any::<f64>()),
            integers in any::<(u64, u64)>(),
        ) {
            let end = (start + len / 2) as f64;
            let value = move |i: f64| if i == end { first } else { i * step + first };
            let number = move |i: usize| start as f64 + f64::from(i as i32);
            both(
                move |_, part| part.iter_mut().enumerate().for_each(|(i, to)| *to = value(number(i))),
                start, len, 0.0_f64,
            );
            both(
                move |_, part| part.iter_mut().enumerate().for_each(|(i, to)| *to = value(number(i)) as f32),
                start, len, 0.0_f32,
            );
            let (first, step) = integers;
            both(
                move |start, part| {
                    let mut next = first.wrapping_add(step.wrapping_mul(start as u64));
                    for to in part {
                        *to = next;
                        next = next.wrapping_add(step);
                    }
                },
                start, len, 0_u64,
            );
        }
    }
}
